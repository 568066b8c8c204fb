"""What rules may know besides the pattern itself."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from headrace.algebra.query import Query
from headrace.algebra.windows import WindowDeclaration
from headrace.rdf.terms import Iri
from headrace.rewrite.sources import Sources


@dataclass(frozen=True, slots=True)
class Known:
    """What is known where an operator stands.

    Attributes:
        sources: where statements of the default graph are expected.
        windows: the windows of the query.
        in_default_graph: whether patterns here are matched outside any GRAPH and WINDOW.
    """

    sources: Sources = field(default_factory=Sources)
    windows: tuple[WindowDeclaration, ...] = ()
    in_default_graph: bool = True

    @classmethod
    def of(cls, query: Query, predicates: frozenset[Iri] | None = None) -> Known:
        """What is known of a query, and of the static data if that is there."""
        return cls(Sources.of(query, predicates), query.windows)

    def within(self) -> Known:
        """The same inside a GRAPH or a WINDOW."""
        return replace(self, in_default_graph=False)
