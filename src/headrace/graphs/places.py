"""Where a pattern is matched: which static graphs, windows or endpoints it reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias, assert_never

from headrace.algebra.expressions import TriplePattern, Variable
from headrace.algebra.operators import (
    Annotate,
    Bgp,
    Distinct,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    Operator,
    Project,
    Reduced,
    Service,
    Union,
    Window,
)
from headrace.algebra.paths import PathPattern
from headrace.algebra.query import Query
from headrace.algebra.windows import WindowDeclaration
from headrace.graphs.words import Words
from headrace.planning.explain import length
from headrace.rdf.terms import Iri
from headrace.rewrite.sources import KnownPredicates, Origin, Sources


class Where(StrEnum):
    """What kind of place it is."""

    DEFAULT = "default graph"
    GRAPH = "named graph"
    WINDOW = "window"
    SERVICE = "service"


@dataclass(frozen=True, slots=True)
class Place:
    """What the operators around a pattern say of where it is matched.

    Attributes:
        where: whether it is outside all of them, or inside GRAPH, WINDOW or SERVICE.
        name: the name of that graph, window or endpoint.
        graph: the named graph inside a window or endpoint, if one is named.
        stream: what is bound to the stream that a window of every stream matched in.
        service: the operator without its pattern, where the place is an endpoint.
    """

    where: Where = Where.DEFAULT
    name: Variable | Iri | None = None
    graph: Variable | Iri | None = None
    stream: Variable | None = None
    service: Service | None = None

    def inside(self, operator: Graph | Window | Service) -> Place:
        """The place inside an operator that stands here."""
        match operator:
            case Service(endpoint):
                asked = replace(operator, input=Bgp())  # one source, whatever is asked of it
                return Place(Where.SERVICE, endpoint, service=asked)
            case _ if self.where is Where.SERVICE:
                return self if isinstance(operator, Window) else replace(self, graph=operator.name)
            case Graph(name) if self.where is Where.WINDOW:
                return replace(self, graph=name)
            case Graph(name):
                return Place(Where.GRAPH, name)
            case Window(name, _, stream):
                return Place(Where.WINDOW, name, stream=stream)
            case _:
                assert_never(operator)

    def remarks(self, words: Words) -> Iterator[str]:
        """What the place binds or asks for besides its name."""
        if self.where in {Where.GRAPH, Where.WINDOW} and isinstance(self.name, Variable):
            yield f"{'GRAPH' if self.where is Where.GRAPH else 'WINDOW'} {words.term(self.name)}"
        if self.stream is not None:
            yield f"STREAM {words.term(self.stream)}"
        if self.graph is not None:
            yield f"GRAPH {words.term(self.graph)}"


@dataclass(frozen=True, slots=True)
class StaticGraph:
    """Static data: a graph by its name, or all that the deployment holds of a kind."""

    name: Iri | None
    named: bool = False


Source: TypeAlias = StaticGraph | WindowDeclaration | Service


@dataclass(frozen=True, slots=True)
class Reading:
    """What each place of a query reads."""

    query: Query
    sources: Sources

    @classmethod
    def of(cls, query: Query, known: KnownPredicates | None = None) -> Reading:
        """Collect what is known about the sources of a query."""
        return cls(query, Sources.of(query, known))

    def origin(self, pattern: TriplePattern | PathPattern, place: Place) -> Origin:
        """Say where the statements of a pattern are expected."""
        match place.where:
            case Where.DEFAULT:
                return self.sources.origin(pattern)
            case Where.WINDOW:
                return Origin.STREAM
            case Where.GRAPH | Where.SERVICE:
                return Origin.STATIC
            case _:
                assert_never(place.where)

    def _of_default_graph(self, origin: Origin) -> Iterator[Source]:
        """Yield what patterns outside GRAPH and WINDOW read, of one origin or of both."""
        if origin is not Origin.STREAM:
            graphs = self.query.dataset.default
            yield from (StaticGraph(name) for name in graphs or (None,))
        if origin is not Origin.STATIC:
            yield from (each for each in self.query.windows if each.in_default_graph)

    def branches(self, union: Union, place: Place) -> tuple[Operator, ...]:
        """Yield the branches of a union that may have solutions."""
        if place.where is not Where.DEFAULT:
            return union.branches
        kept = tuple(each for each in union.branches if not self._reads_nothing(each))
        return kept or union.branches

    def _reads_nothing(self, operator: Operator) -> bool:
        """Test whether an operator has no solutions because no static named graph is read."""
        match operator:
            case Graph(Variable()):
                return not self.sources_of(Place().inside(operator), Origin.STATIC)
            case (
                Filter(_, source)
                | Extend(source)
                | Project(source)
                | Distinct(source)
                | Reduced(source)
                | Annotate(source)
            ):
                return self._reads_nothing(source)
            case Group(source, keys):
                return bool(keys) and self._reads_nothing(source)
            case Join(left, right):
                return self._reads_nothing(left) or self._reads_nothing(right)
            case _:
                return False

    def sources_of(self, place: Place, origin: Origin) -> tuple[Source, ...]:
        """Return the sources of a pattern in a place, of one origin."""
        match place.where:
            case Where.DEFAULT:
                return tuple(self._of_default_graph(origin))
            case Where.GRAPH if isinstance(place.name, Iri):
                return (StaticGraph(place.name, named=True),)
            case Where.GRAPH:
                dataset = self.query.dataset
                every = () if dataset.default else (StaticGraph(None, named=True),)
                return tuple(StaticGraph(name, named=True) for name in dataset.named) or every
            case Where.WINDOW:
                return tuple(
                    each
                    for each in self.query.windows
                    if isinstance(place.name, Variable) or each.name == place.name
                )
            case Where.SERVICE:
                return () if place.service is None else (place.service,)
            case _:
                assert_never(place.where)


def static_text(graph: StaticGraph, words: Words) -> str:
    """A static graph by its name, or what is read where none is given."""
    if graph.name is not None:
        return words.term(graph.name)
    return "every named graph" if graph.named else "the default graph"


def stream_text(window: WindowDeclaration, words: Words) -> str:
    """The stream that a window is on."""
    if isinstance(window.stream, Variable):
        return f"every stream {words.term(window.stream)}"
    return words.term(window.stream)


def service_lines(service: Service, words: Words) -> list[str]:
    """Write an endpoint and its budget as lines."""
    lines = [words.term(service.endpoint)]
    if service.silent:
        lines.append("SILENT")
    budget = service.budget
    if budget is not None:
        parts = [
            "" if budget.accuracy is None else f"ACCURACY {budget.accuracy}",
            "" if budget.within is None else f"WITHIN {length(budget.within)}",
            "" if budget.policy is None else f"POLICY {budget.policy}",
            "" if budget.requests is None else f"BUDGET {budget.requests}",
            "" if budget.rate is None else f"RATE {budget.rate:g}",
        ]
        lines.append(" ".join(filter(None, parts)))
    return lines
