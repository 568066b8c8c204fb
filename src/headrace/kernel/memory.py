"""What a kernel must not forget between two steps, apart from what its streams can bring again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import polars as pl

from headrace.kernel.arrivals import Arrivals
from headrace.kernel.columns import ID, STATEMENT, TERMS
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.entailed import stated, with_entailed
from headrace.kernel.evaluation import Around
from headrace.kernel.group import Group, by_member
from headrace.kernel.members import MEMBER
from headrace.kernel.overload import Pace
from headrace.kernel.progress import Progress
from headrace.kernel.step import Kernel
from headrace.rdf.terms import Iri


@dataclass(frozen=True, slots=True)
class QueryMemory:
    """Where a query is.

    Attributes:
        progress: which of its instants have been evaluated.
        since: the position after which it sees elements.
        failure: why it has stopped, if it has.
        previous: its last answer, if the next one is compared with it.
        pace: how it keeps up with its streams.
        used: the matches whose triples can make no others, if each is used once.
        views: what it knows of remote data, by name.
    """

    progress: Progress
    since: int = -1
    failure: str | None = None
    previous: pl.DataFrame | None = None
    pace: Pace = field(default_factory=Pace)
    used: pl.DataFrame | None = None
    views: Mapping[str, pl.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GroupMemory:
    """The last answers of queries that were evaluated as one, in one frame.

    Attributes:
        names: of the queries; none where one has been removed.
        previous: the answers, with the places of the names.
    """

    names: tuple[str | None, ...]
    previous: pl.DataFrame

    def of_each(self) -> dict[str, pl.DataFrame]:
        """The last answer of each query."""
        found, nothing = by_member(self.previous), self.previous.clear().drop(MEMBER)
        names = enumerate(self.names)
        return {name: found.get(number, nothing) for number, name in names if name is not None}


@dataclass(frozen=True, slots=True)
class DerivedMemory:
    """What is left of a stream that a query makes, and how far it has come."""

    statements: pl.DataFrame
    high: int | None


@dataclass(frozen=True, slots=True)
class Memory:
    """What a kernel remembers.

    Attributes:
        position: of the last element that has come.
        queries: by their names.
        derived: the streams that queries make, by their IRIs.
        terms: what the ids in them stand for.
        groups: the last answers of queries that are evaluated as one.
    """

    position: int = -1
    queries: Mapping[str, QueryMemory] = field(default_factory=dict)
    derived: Mapping[str, DerivedMemory] = field(default_factory=dict)
    terms: pl.DataFrame = field(default_factory=TERMS.to_frame)
    groups: tuple[GroupMemory, ...] = ()


def memory_of(kernel: Kernel) -> Memory:
    """What a kernel remembers after a step."""
    queries = {
        plan.name: QueryMemory(
            query.progress,
            query.since,
            query.failure,
            None if isinstance(query, Group) else query.previous,
            query.pace,
            query.matching.used,
            {} if query.remote is None else query.remote.frames(),
        )
        for query in kernel.queries
        for plan in query.plans
    }
    groups = tuple(
        GroupMemory(query.names, query.previous)
        for query in kernel.queries
        if isinstance(query, Group) and query.previous is not None
    )
    derived = {}
    for query in kernel.queries:
        log = None if query.plan.stream is None else kernel.logs.get(query.plan.stream)
        if query.plan.stream is not None and log is not None:
            own = log.statements
            if kernel.around.tables is not None:  # it is entailed again for whoever asks then
                own = stated(own, log.elements)
            derived[query.plan.stream.value] = DerivedMemory(own, log.high)
    kept = [query.previous for query in kernel.queries]
    views = [each for query in kernel.queries if query.remote for each in query.remote.ids()]
    terms = _terms(kept, derived, views, kernel.around.dictionary)
    return Memory(kernel.position, queries, derived, terms, groups)


def _terms(
    previous: Iterable[pl.DataFrame | None],
    derived: Mapping[str, DerivedMemory],
    views: Iterable[pl.Series],
    dictionary: Dictionary,
) -> pl.DataFrame:
    used = [*views]
    used += [each.statements[name] for each in derived.values() for name in STATEMENT]
    for frame in previous:
        if frame is not None:
            names = [name for name in frame.columns if name.startswith("?")]
            used += [frame[name] for name in names]
    if not used:
        return TERMS.to_frame()
    ids = pl.concat([series.rename(ID) for series in used]).drop_nulls().unique()
    return pl.DataFrame([ids, dictionary.texts(ids)]).select(*TERMS)


def _arrivals(derived: DerivedMemory, around: Around) -> Arrivals:
    if around.tables is None:
        return Arrivals(derived.statements, derived.high)
    statements, elements = with_entailed(derived.statements, around.tables, around.dictionary)
    return Arrivals(statements, derived.high, elements)


def recall(kernel: Kernel, memory: Memory, streams: Mapping[Iri, Arrivals]) -> None:
    """Let a new kernel go on where another one has stopped.

    Args:
        kernel: with the same queries, in any order; those that are new see what comes from now on.
        memory: of the other one.
        streams: what windows still hold of the streams that no query makes; positions are
            those that the other kernel gave.
    """
    kernel.around.dictionary.learn(memory.terms)
    for stream, arrivals in streams.items():
        kernel.remember(stream, arrivals)
    for iri, derived in memory.derived.items():
        if Iri(iri) in kernel.logs:
            kernel.remember(Iri(iri), _arrivals(derived, kernel.around))
    kernel.position = memory.position
    answers = {name: each for group in memory.groups for name, each in group.of_each().items()}
    for query in kernel.queries:
        found = memory.queries.get(query.plan.name)
        if found is None:
            query.since = memory.position
        else:
            query.progress, query.since = found.progress, found.since
            query.failure = found.failure
            query.previous = answers.get(query.plan.name, found.previous)
            if query.remote is not None and found.views:
                query.remote.recall(found.views)
            query.pace = found.pace.allowed(query.plan.semantics) if kernel.live else Pace()
            query.matching.used = found.used
            kernel.resume(query)
