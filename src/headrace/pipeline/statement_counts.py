"""Counts of the statements of a stream, for the notes of the diagnosis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from headrace.diagnosis.demands import demand_of, statements_of
from headrace.diagnosis.probes import Probe, Tally, first_names, limit_probes
from headrace.execution.relation.relation import UNBOUND
from headrace.kernel.columns import GRAPH, OBJECT, PREDICATE, STATEMENT, SUBJECT
from headrace.kernel.interval_rows import ids_of
from headrace.planning.plan import Plan
from headrace.rdf.ids import term_id
from headrace.rdf.terms import Iri, Literal

_MOST_LOOKED_UP: Final = 1_000
"""With more distinct names than these, no examples are collected."""

Ids: TypeAlias = npt.NDArray[np.int64]
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
    counted = _count_statements(statements, probes, seed)
    return Tally(counted.by_probe, _names(counted.predicates, texts), _names(counted.graphs, texts))


@dataclass(frozen=True, slots=True)
class _Counted:
    """Counts of statements by the keys of probes, and the names that occur in them."""

    by_probe: dict[str, int]
    predicates: list[int]
    graphs: list[int]


def _count_statements(statements: pl.DataFrame, probes: Sequence[Probe], seed: int) -> _Counted:
    """Count with arrays: most batches of a stream are too small for an engine of queries."""
    columns = {name: ids_of(statements[name]) for name in STATEMENT}
    named = columns[GRAPH] != UNBOUND
    sides = {True: columns[PREDICATE][named], False: columns[PREDICATE][~named]}
    totals: dict[tuple[bool, int | None], int] = {}
    for side, predicates in sides.items():
        distinct, numbers = np.unique(predicates, return_counts=True)
        totals[side, None] = predicates.size
        totals |= {
            (side, predicate): number
            for predicate, number in zip(distinct.tolist(), numbers.tolist(), strict=True)
        }
    by_probe = {}
    for each in probes:
        if each.is_plain:
            predicate = None if each.predicate is None else term_id(each.predicate, seed)
            by_probe[each.key] = totals.get((each.named, predicate), 0)
        else:
            by_probe[each.key] = int(np.count_nonzero(_matches(each, columns, named, seed)))
    found = dict.fromkeys(predicate for _, predicate in totals if predicate is not None)
    graphs = np.unique(columns[GRAPH][named]).tolist() if named.any() else []
    return _Counted(by_probe, list(found), graphs)


def _matches(
    probe: Probe, columns: Mapping[str, Ids], named: npt.NDArray[np.bool_], seed: int
) -> npt.NDArray[np.bool_]:
    """Flag the statements that match a probe."""
    found = named if probe.named or probe.graph is not None else ~named
    terms = {
        GRAPH: probe.graph,
        SUBJECT: probe.subject,
        PREDICATE: probe.predicate,
        OBJECT: probe.object,
    }
    for name, term in terms.items():
        if term is not None:
            found = found & (columns[name] == term_id(term, seed))
    return found


def _names(ids: Sequence[int], texts: Texts) -> tuple[str, ...]:
    return first_names(texts(ids)) if 0 < len(ids) <= _MOST_LOOKED_UP else ()


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
            counted = _count_statements(statements, self._probes, self._seed)
            kinds = dict.fromkeys(counted.predicates, PREDICATE)
            names = self._names_of(kinds | dict.fromkeys(counted.graphs, GRAPH))
            self.tally = self.tally.plus(Tally(counted.by_probe)).plus(names)
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
        self.tally = replace(self.tally, counts=counts).plus(self._names_of(new))

    def _names_of(self, kinds: Mapping[int, str]) -> Tally:
        """Look up the names that occur for the first time."""
        new = {each: kind for each, kind in kinds.items() if each not in self._known}
        if not new or max(len(new), len(self._known)) > _MOST_LOOKED_UP:
            return Tally()
        self._known |= new.keys()
        texts = dict(zip(new, self._texts(list(new)), strict=True))
        predicates = [texts[each] for each, kind in new.items() if kind == PREDICATE]
        graphs = [texts[each] for each, kind in new.items() if kind == GRAPH]
        return Tally({}, first_names(predicates), first_names(graphs))
