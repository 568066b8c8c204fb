"""What rules may know besides the pattern itself."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from headrace.algebra.expressions import TriplePattern
from headrace.algebra.operators import Graph, Operator, Window
from headrace.algebra.paths import PathPattern
from headrace.algebra.query import Query
from headrace.algebra.windows import WindowDeclaration
from headrace.rewrite.sources import KnownPredicates, Origin, Sources


@dataclass(frozen=True, slots=True)
class Known:
    """What is known where an operator stands.

    Attributes:
        sources: where statements of the default graph are expected.
        windows: the windows of the query.
        in_default_graph: whether patterns here are matched outside any GRAPH and WINDOW.
        in_window: whether they are matched in a WINDOW.
        late: whether filters that may be dear are tested as late as possible.
    """

    sources: Sources = field(default_factory=Sources)
    windows: tuple[WindowDeclaration, ...] = ()
    in_default_graph: bool = True
    in_window: bool = False
    late: bool = False

    @classmethod
    def of(cls, query: Query, predicates: KnownPredicates | None = None) -> Known:
        """Collect the knowledge about a query and the predicates of its data."""
        return cls(Sources.of(query, predicates), query.windows)

    def inside(self, operator: Operator) -> Known:
        """The same for the inputs of an operator."""
        match operator:
            case Window():
                return replace(self, in_default_graph=False, in_window=True)
            case Graph():
                return replace(self, in_default_graph=False)
            case _:
                return self

    def origin(self, pattern: TriplePattern | PathPattern) -> Origin:
        """Say where the statements of a pattern come from, as far as it is known."""
        if self.in_default_graph:
            return self.sources.origin(pattern)
        return Origin.STREAM if self.in_window else Origin.STATIC

    def expected(self, pattern: TriplePattern | PathPattern) -> Origin:
        """Where the statements of a pattern are expected."""
        if self.in_default_graph:
            return self.sources.expected(pattern)
        return Origin.STREAM if self.in_window else Origin.STATIC
