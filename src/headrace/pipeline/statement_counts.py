"""Counts of the statements of a stream, for the notes of the diagnosis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from headrace.diagnosis.demands import demand_of, statements_of
from headrace.diagnosis.probes import Probe, Tally, first_names, limit_probes
from headrace.kernel.columns import GRAPH, OBJECT, PREDICATE, STATEMENT, SUBJECT
from headrace.planning.plan import Plan
from headrace.rdf.ids import term_id
from headrace.rdf.terms import Iri, Literal

_MOST_LOOKED_UP: Final = 1_000
"""With more distinct names than these, no examples are collected."""
_COUNT: Final = "count"
_NAMED: Final = "named"

Texts = Callable[[Sequence[int]], Sequence[str]]
"""The canonical texts of some ids."""


def choose_probes(plans: Iterable[Plan], stream: str) -> tuple[Probe, ...]:
    """Choose the probes of a stream from the demands of the queries that read it."""
    readers = [plan for plan in plans if any(each.value == stream for each in plan.streams)]
    return limit_probes(
        statement.probe for plan in readers for statement in statements_of(demand_of(plan))
    )


def tally_statements(
    statements: pl.DataFrame, probes: Sequence[Probe], seed: int, texts: Texts
) -> Tally:
    """Count the statements that match each probe.

    Args:
        statements: columns of ids.
        probes: the statements to count.
        seed: of the ids.
        texts: looks up the texts of ids.
    """
    if not probes or statements.is_empty():
        return Tally(dict.fromkeys((each.key for each in probes), 0))
    groups = statements.group_by(PREDICATE, pl.col(GRAPH).is_not_null().alias(_NAMED)).agg(
        pl.len().alias(_COUNT)
    )
    plain = [each for each in probes if each.is_plain]
    others = [each for each in probes if not each.is_plain]
    counts = {each.key: _plain_count(groups, each, seed) for each in plain}
    if others:
        counted = statements.select(
            _matches(each, seed).sum().alias(str(place)) for place, each in enumerate(others)
        )
        counts |= {
            each.key: int(number) for each, number in zip(others, counted.row(0), strict=True)
        }
    return Tally(
        counts,
        _names(groups[PREDICATE].unique(), texts),
        _names(statements[GRAPH].drop_nulls().unique(), texts) if groups[_NAMED].any() else (),
    )


def _plain_count(groups: pl.DataFrame, probe: Probe, seed: int) -> int:
    chosen = groups.filter(pl.col(_NAMED) == probe.named)
    if probe.predicate is not None:
        chosen = chosen.filter(pl.col(PREDICATE) == term_id(probe.predicate, seed))
    return int(chosen[_COUNT].sum())


def _matches(probe: Probe, seed: int) -> pl.Expr:
    """Build the condition under which a statement matches a probe."""
    graph = pl.col(GRAPH)
    if probe.graph is not None:
        found = (graph == term_id(probe.graph, seed)).fill_null(value=False)
    else:
        found = graph.is_not_null() if probe.named else graph.is_null()
    terms = {SUBJECT: probe.subject, PREDICATE: probe.predicate, OBJECT: probe.object}
    for name, term in terms.items():
        if term is not None:
            found &= pl.col(name) == term_id(term, seed)
    return found


def _names(ids: pl.Series, texts: Texts) -> tuple[str, ...]:
    if ids.len() > _MOST_LOOKED_UP:
        return ()
    return first_names(texts(ids.to_list()))


_FEW: Final = 32
"""The most statements that are counted one by one, which is faster than with columns."""
_Ids = tuple[bool, int | None, int | None, int | None]


class StatementCounter:
    """Counts the statements of a stream as they come, many at once or one by one."""

    def __init__(self, seed: int, texts: Texts) -> None:
        """Begin with nothing to be counted.

        Args:
            seed: of the ids.
            texts: looks up the texts of ids.
        """
        self.tally = Tally()
        self._seed = seed
        self._texts = texts
        self._probes: tuple[Probe, ...] = ()
        self._by_predicate: dict[int | None, list[tuple[str, _Ids]]] = {}
        self._known: set[int] = set()

    def watch(self, probes: Sequence[Probe]) -> None:
        """Replace the probes; new ones begin at zero."""
        self._probes = tuple(probes)
        self.tally = self.tally.counting(each.key for each in probes)
        self._by_predicate = {}
        for each in probes:
            predicate = self._id(each.predicate)
            ids = each.named, self._id(each.graph), self._id(each.subject), self._id(each.object)
            self._by_predicate.setdefault(predicate, []).append((each.key, ids))

    def _id(self, term: Iri | Literal | None) -> int | None:
        return None if term is None else term_id(term, self._seed)

    def count(self, statements: pl.DataFrame) -> None:
        """Add statements to the tally."""
        if not self._probes or statements.is_empty():
            return
        if statements.height > _FEW:
            counted = tally_statements(statements, self._probes, self._seed, self._texts)
            self.tally = self.tally.plus(counted)
            return
        counts, new = dict(self.tally.counts), dict[int, str]()
        for graph, subject, predicate, object_ in statements.select(*STATEMENT).iter_rows():
            new |= {each: kind for each, kind in ((predicate, PREDICATE), (graph, GRAPH)) if each}
            for probe in (predicate, None):
                for key, (named, *terms) in self._by_predicate.get(probe, ()):
                    given = zip(terms, (graph, subject, object_), strict=True)
                    if named == (graph is not None) and all(
                        term is None or term == found for term, found in given
                    ):
                        counts[key] += 1
        names = self._names_of(
            {each: kind for each, kind in new.items() if each not in self._known}
        )
        self.tally = replace(self.tally, counts=counts).plus(names)

    def _names_of(self, new: Mapping[int, str]) -> Tally:
        if not new or len(self._known) > _MOST_LOOKED_UP:
            return Tally()
        self._known |= new.keys()
        texts = dict(zip(new, self._texts(list(new)), strict=True))
        predicates = [texts[each] for each, kind in new.items() if kind == PREDICATE]
        graphs = [texts[each] for each, kind in new.items() if kind == GRAPH]
        return Tally({}, first_names(predicates), first_names(graphs))
