"""Where the statements that a pattern asks for are expected: in static data, in streams, or both.

Patterns outside GRAPH and WINDOW see static data and the windows of the default graph as one. To
say which of the two a pattern is about needs knowledge: what static data are loaded, or else whose
names its predicate is made of. That is an expectation. It decides what is put together, and never
what a pattern sees.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

from headrace.algebra.expressions import TriplePattern
from headrace.algebra.paths import PathPattern
from headrace.algebra.query import Query
from headrace.rdf.terms import Iri


class Origin(StrEnum):
    """Where statements come from."""

    STATIC = "static"
    STREAM = "stream"


@dataclass(frozen=True, slots=True)
class Sources:
    """What is known of the default graph of a query.

    Attributes:
        static: the IRIs of the static graphs it reads.
        streams: the IRIs of the streams whose windows it holds.
        predicates: the predicates of the static data, if these are known.
    """

    static: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()
    predicates: frozenset[Iri] | None = None

    @classmethod
    def of(cls, query: Query, predicates: frozenset[Iri] | None = None) -> Sources:
        """The sources of a query, with what is known of the static data."""
        streams = [
            window.stream.value if isinstance(window.stream, Iri) else ""
            for window in query.windows
            if window.in_default_graph
        ]
        return cls(
            tuple(graph.value for graph in query.dataset.default),
            tuple(dict.fromkeys(streams)),
            predicates,
        )

    def expected(self, pattern: TriplePattern | PathPattern) -> Origin:
        """Where the statements of a pattern outside GRAPH and WINDOW are expected."""
        if not self.streams:
            return Origin.STATIC
        predicate = pattern.predicate if isinstance(pattern, TriplePattern) else pattern.path
        if not isinstance(predicate, Iri):
            return Origin.STREAM
        if self.predicates is not None:
            return Origin.STATIC if predicate in self.predicates else Origin.STREAM
        ours, theirs = _kinship(predicate, self.static), _kinship(predicate, self.streams)
        return Origin.STATIC if ours > theirs else Origin.STREAM


Patterns = tuple[TriplePattern | PathPattern, ...]
BOTH: Final = len(Origin)


def by_source(patterns: Patterns, sources: Sources) -> dict[Origin, Patterns]:
    """Patterns apart by where their statements are expected, in their order."""
    found: dict[Origin, Patterns] = {}
    for pattern in patterns:
        origin = sources.expected(pattern)
        found[origin] = (*found.get(origin, ()), pattern)
    return found


def _kinship(predicate: Iri, names: Iterable[str]) -> int:
    """How much of its host a predicate shares with the most similar of some names.

    All of the world shares a top-level domain: that alone says nothing.

    >>> _kinship(Iri("http://a.example.org/p"), ["http://b.example.org/data", "urn:x"])
    2
    >>> _kinship(Iri("http://a.example.org/p"), ["http://other.org/data"])
    0
    """
    own = _labels(predicate.value)
    shared = max((_common(own, _labels(name)) for name in names), default=0)
    return shared if shared > 1 or len(own) == shared else 0


def _labels(iri: str) -> list[str]:
    """The parts of a host, the most general first."""
    host = urlsplit(iri).hostname or ""
    return host.split(".")[::-1] if host else []


def _common(one: list[str], other: list[str]) -> int:
    count = 0
    for mine, yours in zip(one, other, strict=False):
        if mine != yours:
            break
        count += 1
    return count
