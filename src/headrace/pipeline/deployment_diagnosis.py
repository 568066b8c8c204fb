"""Diagnosis of a deployment: facts from its manifest, and the notes that follow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final

import polars as pl

from headrace.diagnosis import Facts, Note, QueryFacts, StreamFacts, diagnose
from headrace.diagnosis.demands import Needs
from headrace.diagnosis.probes import Probe, Tally
from headrace.kernel.columns import GRAPH, OBJECT, PREDICATE, SUBJECT
from headrace.kernel.data import Quads
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.evaluation import Around
from headrace.kernel.grid import NEVER
from headrace.pipeline.manifest import Manifest, QueryState, StreamState
from headrace.pipeline.setup import Setup
from headrace.planning.plan import Plan
from headrace.rdf.ids import term_id
from headrace.rdf.terms import Iri

_MOST_PREDICATES: Final = 1_000


class StaticLookup:
    """Finds statements in static data, and remembers the answers."""

    def __init__(self, static: Quads, dictionary: Dictionary) -> None:
        """Keep static data; compute nothing before the first question."""
        self._static = static
        self._dictionary = dictionary
        self._found: dict[tuple[Probe, tuple[Iri | None, ...] | None], bool] = {}

    def has(self, probe: Probe, graphs: Sequence[Iri | None] | None) -> bool:
        """Match a probe against the statements of some graphs; None means all named graphs."""
        key = probe, None if graphs is None else tuple(graphs)
        if key not in self._found:
            self._found[key] = self._has(probe, key[1])
        return self._found[key]

    def _has(self, probe: Probe, graphs: Sequence[Iri | None] | None) -> bool:
        seed, quads = self._dictionary.seed, self._static
        predicate = None if probe.predicate is None else term_id(probe.predicate, seed)
        if predicate is not None and not quads.has_predicate(predicate):
            return False
        conditions = [_in_graphs(graphs, seed)]
        terms = {SUBJECT: probe.subject, OBJECT: probe.object}
        conditions += [pl.col(n) == term_id(t, seed) for n, t in terms.items() if t is not None]
        found = quads.with_predicate(predicate, [GRAPH, SUBJECT, PREDICATE, OBJECT])
        return bool(found.select(pl.all_horizontal(conditions).any()).item())

    def is_of(self, static: Quads) -> bool:
        """Compare the static data with others by identity."""
        return self._static is static

    @cached_property
    def predicates(self) -> Sequence[str]:
        """The predicates of static statements, at most a thousand."""
        ids = self._static.frame[PREDICATE].unique().head(_MOST_PREDICATES).to_list()
        return sorted(self._dictionary.few_texts(ids))

    @cached_property
    def graphs(self) -> frozenset[str]:
        """The names of the static graphs."""
        ids = self._static.frame[GRAPH].drop_nulls().unique().to_list()
        return frozenset(each.strip("<>") for each in self._dictionary.few_texts(ids))


def _in_graphs(graphs: Sequence[Iri | None] | None, seed: int) -> pl.Expr:
    if graphs is None:
        return pl.col(GRAPH).is_not_null()
    names = [term_id(each, seed) for each in graphs if each is not None]
    among = pl.col(GRAPH).is_in(names).fill_null(value=False)
    return among | pl.col(GRAPH).is_null() if None in graphs else among


def stream_facts(iri: str, state: StreamState, sources: Iterable[str] = ()) -> StreamFacts:
    """Collect the facts about a stream from its committed state."""
    return StreamFacts(
        iri,
        tuple(sources),
        state.elements,
        state.late,
        state.rejected,
        _greatest(state),
        state.reason,
        state.tally or Tally(partial=state.elements > 0),
        None if state.jump is None else state.jump.fact,
    )


def _greatest(state: StreamState) -> int | None:
    return max((high for high in state.highs.values() if high is not None), default=None)


def query_facts(needs: Needs, state: QueryState | None) -> QueryFacts:
    """Collect the facts about a query from its committed state."""
    if state is None:
        return QueryFacts(needs, offered=0)
    progress = state.progress
    return QueryFacts(
        needs,
        state.evaluations - state.failed,
        state.rows,
        state.failure is not None or 0 < state.evaluations == state.failed,
        state.offered,
        state.outside,
        progress.reported is not None or progress.released > NEVER or progress.position >= 0,
        progress.first,
        progress.counted,
    )


def notes_by_query(notes: Sequence[Note], plans: Iterable[Plan]) -> dict[str, tuple[Note, ...]]:
    """Group notes by the queries that they concern; leave out queries without notes."""
    found = {
        plan.name: tuple(
            note
            for note in notes
            if note.concerns(plan.name, [stream.value for stream in plan.streams])
        )
        for plan in (plans if notes else ())
    }
    return {name: each for name, each in found.items() if each}


class DeploymentDiagnosis:
    """Makes the notes about a deployment after each batch."""

    def __init__(self, setup: Setup) -> None:
        """Read the queries of a deployment."""
        self._setup = setup
        self._needs = [Needs(plan) for plan in setup.plans]
        self._static: StaticLookup | None = None

    def of(self, manifest: Manifest, around: Around, *, ended: bool) -> tuple[Note, ...]:
        """Make the notes that are true after a batch.

        Args:
            manifest: what has been committed.
            around: the static data, and its terms.
            ended: whether the input has ended.
        """
        if self._static is None or not self._static.is_of(around.static):
            self._static = StaticLookup(around.static, around.dictionary)
        streams = {
            iri: stream_facts(iri, manifest.streams.get(iri, StreamState()), places)
            for iri, places in self._setup.sources.items()
        }
        queries = [
            query_facts(needs, manifest.queries.get(needs.plan.name)) for needs in self._needs
        ]
        facts = Facts(streams, queries, self._setup.live, ended, self._static)
        return (*diagnose(facts), *self._setup.notes(manifest))
