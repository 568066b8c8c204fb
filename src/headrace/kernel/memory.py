"""What a kernel must not forget between two steps, apart from what its streams can bring again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from headrace.kernel.columns import ID, STATEMENT, TERMS
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.overload import Pace
from headrace.kernel.progress import Progress
from headrace.kernel.step import Arrivals, Kernel
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
    """

    progress: Progress
    since: int = -1
    failure: str | None = None
    previous: pl.DataFrame | None = None
    pace: Pace = field(default_factory=Pace)


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
    """

    position: int = -1
    queries: Mapping[str, QueryMemory] = field(default_factory=dict)
    derived: Mapping[str, DerivedMemory] = field(default_factory=dict)
    terms: pl.DataFrame = field(default_factory=TERMS.to_frame)


def memory_of(kernel: Kernel) -> Memory:
    """What a kernel remembers after a step."""
    queries = {
        plan.name: QueryMemory(query.progress, query.since, query.failure, previous, query.pace)
        for query in kernel.queries
        for plan, previous in query.answered()
    }
    derived = {}
    for query in kernel.queries:
        log = None if query.plan.stream is None else kernel.logs.get(query.plan.stream)
        if query.plan.stream is not None and log is not None:
            derived[query.plan.stream.value] = DerivedMemory(log.statements, log.high)
    terms = _terms(queries, derived, kernel.around.dictionary)
    return Memory(kernel.position, queries, derived, terms)


def _terms(
    queries: Mapping[str, QueryMemory],
    derived: Mapping[str, DerivedMemory],
    dictionary: Dictionary,
) -> pl.DataFrame:
    used = [each.statements[name] for each in derived.values() for name in STATEMENT]
    for each in queries.values():
        if each.previous is not None:
            names = [name for name in each.previous.columns if name.startswith("?")]
            used += [each.previous[name] for name in names]
    if not used:
        return TERMS.to_frame()
    ids = pl.concat([series.rename(ID) for series in used]).drop_nulls().unique()
    return pl.DataFrame([ids, dictionary.texts(ids)]).select(*TERMS)


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
            kernel.remember(Iri(iri), Arrivals(derived.statements, derived.high))
    kernel.position = memory.position
    for query in kernel.queries:
        found = memory.queries.get(query.plan.name)
        if found is None:
            query.since = memory.position
        else:
            query.progress, query.since = found.progress, found.since
            query.failure, query.previous = found.failure, found.previous
            query.pace = found.pace.allowed(query.plan.semantics) if kernel.live else Pace()
            kernel.resume(query)
