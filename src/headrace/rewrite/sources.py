"""Where the statements that a pattern asks for are expected: in static data, in streams, or both.

Patterns outside GRAPH and WINDOW see static data and the windows of the default graph as one. To
say which of the two a pattern is about needs knowledge: which graphs the query reads, and which
predicates occur in static data and in streams. Nothing is concluded from how names look. What is
concluded is an expectation. It decides what is put together, and never what a pattern sees.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import Final

from headrace.algebra.expressions import TriplePattern
from headrace.algebra.paths import PathPattern
from headrace.algebra.query import Query
from headrace.rdf.terms import Iri


class Origin(StrEnum):
    """Where statements come from."""

    STATIC = "static"
    STREAM = "stream"
    EITHER = "static or stream"


@dataclass(frozen=True, slots=True)
class KnownPredicates:
    """The predicates that are known to occur, by graph.

    Attributes:
        static: those of the static data that were looked at, each with its graph; None if none
            were. The unnamed graph is None.
        is_all: whether the static data have no others.
        streams: those that were seen in streams.
    """

    static: frozenset[tuple[Iri | None, Iri]] | None = None
    is_all: bool = True
    streams: frozenset[Iri] = frozenset()

    @classmethod
    def of_static(
        cls, predicates: Iterable[Iri], graphs: Iterable[Iri | None] = (None,)
    ) -> KnownPredicates:
        """Know all predicates of the static data, which are the same in some graphs."""
        return cls(frozenset(product(graphs, predicates)))

    def among(self, graphs: Sequence[Iri]) -> frozenset[Iri] | None:
        """Return the predicates of a default graph: of some graphs, or of the unnamed one."""
        if self.static is None:
            return None
        read: set[Iri | None] = {*graphs} or {None}
        return frozenset(predicate for graph, predicate in self.static if graph in read)


NOTHING_KNOWN: Final = KnownPredicates()


@dataclass(frozen=True, slots=True)
class Sources:
    """What is known of the default graph of a query.

    Attributes:
        static: the IRIs of the static graphs it reads.
        streams: the IRIs of the streams whose windows it holds.
        predicates: those of its static data that are known; None if they were not looked at.
        is_all: whether these have no others.
        seen: the predicates that were seen in streams.
        has_static: whether it holds static data at all.
    """

    static: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()
    predicates: frozenset[Iri] | None = None
    is_all: bool = True
    seen: frozenset[Iri] = frozenset()
    has_static: bool = True

    @classmethod
    def of(cls, query: Query, known: KnownPredicates | None = None) -> Sources:
        """Return the sources of a query, with what is known of predicates."""
        streams = [
            window.stream.value if isinstance(window.stream, Iri) else ""
            for window in query.windows
            if window.in_default_graph
        ]
        dataset, known = query.dataset, known or NOTHING_KNOWN
        return cls(
            tuple(graph.value for graph in dataset.default),
            tuple(dict.fromkeys(streams)),
            known.among(dataset.default),
            known.is_all,
            known.streams,
            dataset.keeps_default or not dataset.names_no_default,
        )

    def origin(self, pattern: TriplePattern | PathPattern) -> Origin:
        """Say where the statements of a pattern outside GRAPH and WINDOW come from."""
        if not self.streams:
            return Origin.STATIC
        if not self.has_static or (self.predicates == frozenset() and self.is_all):
            return Origin.STREAM
        predicate = pattern.predicate if isinstance(pattern, TriplePattern) else pattern.path
        return self._of_predicate(predicate) if isinstance(predicate, Iri) else Origin.EITHER

    def _of_predicate(self, predicate: Iri) -> Origin:
        in_static = self.predicates is not None and predicate in self.predicates
        in_streams = predicate in self.seen
        if in_static is not in_streams:
            return Origin.STATIC if in_static else Origin.STREAM
        absent = self.predicates is not None and self.is_all and not in_static
        return Origin.STREAM if absent else Origin.EITHER

    def expected(self, pattern: TriplePattern | PathPattern) -> Origin:
        """Say the same for rules: what may stream is put together with what streams."""
        found = self.origin(pattern)
        return Origin.STREAM if found is Origin.EITHER else found


Patterns = tuple[TriplePattern | PathPattern, ...]
BOTH: Final = len((Origin.STATIC, Origin.STREAM))


def by_source(patterns: Patterns, sources: Sources) -> dict[Origin, Patterns]:
    """Patterns apart by where their statements are expected, in their order."""
    found: dict[Origin, list[TriplePattern | PathPattern]] = {}
    for pattern in patterns:
        found.setdefault(sources.expected(pattern), []).append(pattern)
    return {origin: tuple(each) for origin, each in found.items()}
