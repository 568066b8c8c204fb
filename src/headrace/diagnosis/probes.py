"""Probes: patterns whose statements in a stream are counted for notes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from typing import Final, TypeAlias

from headrace.rdf.terms import Iri, Literal, canonical

MOST_PROBES: Final = 200
"""No more probes are counted for one stream; notes say nothing about the others."""
_MOST_NAMES: Final = 50

Constant: TypeAlias = Iri | Literal | None


@dataclass(frozen=True, slots=True)
class Probe:
    """Statements with some constant terms; None matches any term.

    Attributes:
        named: whether they stand in named graphs; otherwise they stand in the default graph.
        graph: in which named graph; None is any of them.
        subject: their subject.
        predicate: their predicate.
        object: their object.
    """

    named: bool = False
    graph: Iri | None = None
    subject: Constant = None
    predicate: Constant = None
    object: Constant = None

    @property
    def key(self) -> str:
        """A text that identifies the probe, for JSON."""
        graph = ("*" if self.graph is None else canonical(self.graph)) if self.named else "-"
        terms = (self.subject, self.predicate, self.object)
        return " ".join([graph, *("?" if term is None else canonical(term) for term in terms)])

    @property
    def is_plain(self) -> bool:
        """True if only the predicate and the kind of graph matter."""
        return self.graph is None and self.subject is None and self.object is None

    @property
    def by_predicate(self) -> Probe:
        """The same without the subject and the object."""
        return replace(self, subject=None, object=None)

    def related_probes(self) -> tuple[Probe, ...]:
        """Return the probe, and those that explain why it matches nothing."""
        plain = Probe(predicate=self.predicate)
        own = (self, self.by_predicate, plain, replace(plain, named=True))
        graph = () if self.graph is None else (Probe(named=True, graph=self.graph),)
        return tuple(dict.fromkeys([*own, *graph, Probe(), Probe(named=True)]))


@dataclass(frozen=True, slots=True)
class Tally:
    """The counts of the statements of a stream. Sums do not depend on any order.

    Attributes:
        counts: how many statements matched each probe, by its key.
        predicates: predicates that came; the first in alphabetical order if there are many.
        graphs: names of graphs that came, likewise.
        least: the least event time.
        partial: whether statements came before anything was counted.
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    predicates: tuple[str, ...] = ()
    graphs: tuple[str, ...] = ()
    least: int | None = None
    partial: bool = False

    def count(self, probe: Probe) -> int | None:
        """Return the number of statements that matched a probe; None if it is not known."""
        return None if self.partial else self.counts.get(probe.key)

    def plus(self, other: Tally) -> Tally:
        """Add another tally, for the probes of this one."""
        times = [time for time in (self.least, other.least) if time is not None]
        return Tally(
            {key: count + other.counts.get(key, 0) for key, count in self.counts.items()},
            first_names([*self.predicates, *other.predicates]),
            first_names([*self.graphs, *other.graphs]),
            min(times, default=None),
            self.partial or other.partial,
        )

    def counting(self, keys: Iterable[str]) -> Tally:
        """Replace the probes; new ones begin at zero."""
        return replace(self, counts={key: self.counts.get(key, 0) for key in keys})


def first_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the first of some names in alphabetical order, each once."""
    return tuple(nsmallest(_MOST_NAMES, set(names)))


def limit_probes(wanted: Iterable[Probe]) -> tuple[Probe, ...]:
    """Choose the probes that are counted, each with its related probes."""
    found: dict[Probe, None] = {}
    for probe in dict.fromkeys(wanted):
        more = {**found, **dict.fromkeys(probe.related_probes())}
        if len(more) <= MOST_PROBES:
            found = more
    return tuple(found)
