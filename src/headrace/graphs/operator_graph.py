"""The operator graph (O-Graph) of a query: what is read, what is computed of it, in which order.

Data flow along the edges, from streams, static graphs and endpoints through windows and graph
patterns up to the result. A source that several patterns read is one node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from headrace.algebra.display_names import choose_display_names
from headrace.algebra.expressions import Exists, Expression
from headrace.algebra.operators import (
    Annotate,
    Bgp,
    Distinct,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    Operator,
    OrderBy,
    Project,
    Reduced,
    Service,
    Slice,
    Temporal,
    Union,
    Values,
    Window,
)
from headrace.algebra.query import Ask, Construct, Describe, Query, Select
from headrace.algebra.scope import possible, possible_in_order
from headrace.algebra.walk import parts
from headrace.algebra.windows import WindowDeclaration
from headrace.graphs.names import Names, clipped, visible
from headrace.graphs.places import (
    Place,
    Reading,
    Source,
    StaticGraph,
    service_lines,
    static_text,
    stream_text,
)
from headrace.graphs.words import Words
from headrace.planning.explain import frame_text, report_text
from headrace.planning.tree import relation_text
from headrace.rewrite.sources import KnownPredicates, Origin

_ROWS_SHOWN = 4


class Kind(StrEnum):
    """What a node of the graph does."""

    STREAM = "stream"
    WINDOW = "window"
    STATIC_GRAPH = "static graph"
    SERVICE = "service"
    VALUES = "values"
    PATTERN = "graph pattern"
    JOIN = "join"
    LEFT_JOIN = "left join"
    TEMPORAL = "temporal join"
    UNION = "union"
    MINUS = "minus"
    FILTER = "filter"
    BIND = "bind"
    AGGREGATION = "aggregation"
    PROJECTION = "projection"
    MODIFIER = "solution modifier"
    RESULT = "result"


@dataclass(frozen=True, slots=True)
class Node:
    """An operator: its kind, a word or two for it, and lines that say more.

    Attributes:
        id: its place among the nodes of its graph.
        kind: what it does.
        title: how it is headed.
        details: what it does exactly, with short names.
    """

    id: int
    kind: Kind
    title: str
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Edge:
    """Data that flow from one node into another; the label says in which role, if not the only."""

    source: int
    target: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class OGraph:
    """Operators and the data that flow between them; each node stands after all that it reads.

    Attributes:
        nodes: the last one is the result.
        edges: in the order in which a node's inputs are written.
        prefixes: what the short names stand for.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    prefixes: tuple[tuple[str, str], ...] = ()

    @property
    def result(self) -> Node:
        """Where all data end."""
        return self.nodes[-1]

    def inputs(self, node: Node) -> tuple[tuple[Node, str], ...]:
        """What flows into a node, each with its role."""
        return tuple(
            (self.nodes[edge.source], edge.label) for edge in self.edges if edge.target == node.id
        )


def operator_graph(
    query: Query, pattern: Operator | None = None, known: KnownPredicates | None = None
) -> OGraph:
    """Return the graph of a query's operators, or of another pattern that means the same.

    Args:
        query: the query.
        pattern: what is shown in place of its own pattern.
        known: which predicates occur in static data and in streams.
    """
    return placed_operators(query, pattern, known)[0]


def placed_operators(
    query: Query, pattern: Operator | None = None, known: KnownPredicates | None = None
) -> tuple[OGraph, Mapping[int, int]]:
    """Return the graph, and the node of each operator by its identity."""
    shown = query.pattern if pattern is None else pattern
    names = Names.of(query, shown)
    words = Words(names, choose_display_names((query.form, shown)))
    builder = _Builder(query, words, Reading.of(query, known))
    top = builder.add(shown, Place())
    builder.finish(top)
    lines = [line for node in builder.nodes for line in node.details]
    graph = OGraph(tuple(builder.nodes), tuple(builder.edges), names.used_in(lines))
    return graph, builder.placed


class _Builder:
    """Adds nodes from the sources upwards."""

    def __init__(self, query: Query, words: Words, reading: Reading) -> None:
        self.query = query
        self.words = words
        self.reading = reading
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []
        self.placed: dict[int, int] = {}
        self._known: dict[tuple[Kind, object], int] = {}

    def finish(self, top: int) -> None:
        """Add the result."""
        query = self.query
        lines = self._form_lines()
        if query.registration is not None:
            name = visible(clipped(query.registration.name))
            lines.append(f"registered as {query.registration.kind} {name}")
        if query.is_continuous:
            semantics = query.semantics
            lines.append(f"{semantics.emit}, reported {report_text(semantics.report)}")
        self._node(Kind.RESULT, "Result", lines, [(top, "")])

    def _form_lines(self) -> list[str]:
        term = self.words.term
        match self.query.form:
            case Select(variables):
                return [f"SELECT {self.words.variables(variables)}".rstrip()]
            case Construct(template):
                triples = [
                    f"{term(quad.subject)} {term(quad.predicate)} {term(quad.object)}"
                    + ("" if quad.graph is None else f" in {term(quad.graph)}")
                    for quad in template
                ]
                return ["CONSTRUCT", *triples]
            case Ask():
                return ["ASK"]
            case Describe(targets):
                return [f"DESCRIBE {' '.join(map(term, targets))}"]
            case form:
                assert_never(form)

    def add(self, operator: Operator, place: Place) -> int:
        """Add an operator and all that it reads; its number."""
        number = self.placed[id(operator)] = self._added(operator, place)
        return number

    def _added(self, operator: Operator, place: Place) -> int:
        match operator:
            case Bgp():
                return self._bgp(operator, place)
            case Join(left, right):
                inputs = [(self.add(side, place), "") for side in (left, right)]
                return self._node(Kind.JOIN, "Join", self._shared(left, right), inputs)
            case LeftJoin(left, right, condition):
                lines = [] if condition is None else [f"ON {self.words.expression(condition)}"]
                inputs = self._sides(left, right, place, "optional")
                inputs += self._exists(condition, place)
                return self._node(Kind.LEFT_JOIN, "Left join", lines, inputs)
            case Temporal(left, right):
                inputs = [(self.add(side, place), "") for side in (left, right)]
                lines = [relation_text(operator), *self._shared(left, right)]
                return self._node(Kind.TEMPORAL, "Temporal join", lines, inputs)
            case Minus(left, right):
                inputs = self._sides(left, right, place, "taken away")
                return self._node(Kind.MINUS, "Minus", (), inputs)
            case Union():
                branches = self.reading.branches(operator, place)
                inputs = [(self.add(branch, place), "") for branch in branches]
                if len(inputs) == 1:
                    return inputs[0][0]
                return self._node(Kind.UNION, "Union", (), inputs)
            case Filter(condition, source):
                inputs = [(self.add(source, place), ""), *self._exists(condition, place)]
                lines = [self.words.expression(condition)]
                return self._node(Kind.FILTER, "Filter", lines, inputs)
            case Extend(source, variable, expression):
                inputs = [(self.add(source, place), ""), *self._exists(expression, place)]
                lines = [f"{self.words.term(variable)} = {self.words.expression(expression)}"]
                return self._node(Kind.BIND, "Bind", lines, inputs)
            case Values():
                return self._node(Kind.VALUES, "Values", self._rows(operator), [])
            case Graph(_, source) | Window(_, source):
                return self.add(source, place.inside(operator))
            case Service(_, source):
                return self._service(operator, source, place)
            case Group(source, keys, aggregates):
                lines = [f"{self.words.term(v)} = {self.words.aggregate(a)}" for v, a in aggregates]
                if keys:
                    lines.append(f"GROUP BY {self.words.variables(keys)}")
                return self._over(source, place, Kind.AGGREGATION, "Group", lines)
            case Annotate(source, annotations):
                lines = [
                    f"{self.words.term(each.variable)} = {self.words.aggregate(each.aggregate)}"
                    + (f" by {self.words.variables(each.keys)}" if each.keys else "")
                    for each in annotations
                ]
                return self._over(source, place, Kind.AGGREGATION, "Aggregation", lines)
            case OrderBy(source, keys):
                lines = [
                    ("DESC " if key.descending else "") + self.words.expression(key.expression)
                    for key in keys
                ]
                return self._over(source, place, Kind.MODIFIER, "Order by", lines)
            case Project(source, variables):
                lines = [self.words.variables(variables)]
                return self._over(source, place, Kind.PROJECTION, "Projection", lines)
            case Distinct(source):
                return self._over(source, place, Kind.MODIFIER, "Distinct", [])
            case Reduced(source):
                return self._over(source, place, Kind.MODIFIER, "Reduced", [])
            case Slice(source, offset, limit):
                lines = [f"OFFSET {offset}"] if offset else []
                lines += [] if limit is None else [f"LIMIT {limit}"]
                return self._over(source, place, Kind.MODIFIER, "Slice", lines)
            case _:
                assert_never(operator)

    def _over(
        self, source: Operator, place: Place, kind: Kind, title: str, details: list[str]
    ) -> int:
        return self._node(kind, title, details, [(self.add(source, place), "")])

    def _sides(
        self, left: Operator, right: Operator, place: Place, role: str
    ) -> list[tuple[int, str]]:
        return [(self.add(left, place), ""), (self.add(right, place), role)]

    def _exists(self, expression: Expression | None, place: Place) -> list[tuple[int, str]]:
        """The patterns that an expression asks for, as inputs."""
        if expression is None:
            return []
        asked = [part for part in parts(expression) if isinstance(part, Exists)]
        return [
            (self.add(each.pattern, place), "not exists" if each.negated else "exists")
            for each in asked
        ]

    # -- patterns and what they read ---------------------------------------------------------

    def _bgp(self, bgp: Bgp, place: Place) -> int:
        origins = {each: self.reading.origin(each, place) for each in bgp.patterns}
        mixed = len(set(origins.values())) > 1 or Origin.EITHER in origins.values()
        lines = list(place.remarks(self.words))
        for pattern in bgp.patterns:
            mark = f" ({origins[pattern]})" if mixed else ""
            lines.append(self.words.pattern(pattern) + mark)
        if not bgp.patterns:
            lines.append("one empty solution")
        read = [origin for origin in Origin if origin in origins.values()]
        sources = [each for origin in read for each in self.reading.sources_of(place, origin)]
        inputs = [(self._source(source), "") for source in dict.fromkeys(sources)]
        return self._node(Kind.PATTERN, "Graph pattern", lines, inputs)

    def _service(self, service: Service, source: Operator, place: Place) -> int:
        endpoint = self._source(service)
        before = len(self.edges)
        top = self.add(source, place.inside(service))
        if all(edge.source != endpoint for edge in self.edges[before:]):
            self.edges.append(Edge(endpoint, top))  # nothing inside reads: it is still asked
        return top

    def _source(self, source: Source) -> int:
        """The node of a source; the same one for all that read it."""
        match source:
            case StaticGraph():
                lines = [static_text(source, self.words)]
                return self._once(Kind.STATIC_GRAPH, source, "Static graph", lines, [])
            case WindowDeclaration():
                return self._window(source)
            case Service():
                lines = service_lines(source, self.words)
                return self._once(Kind.SERVICE, tuple(lines), "Service", lines, [])
            case _:
                assert_never(source)

    def _window(self, window: WindowDeclaration) -> int:
        lines = [stream_text(window, self.words)]
        stream = self._once(Kind.STREAM, window.stream, "Stream", lines, [])
        named = [] if window.name == window.stream else [self.words.term(window.name)]
        lines = [*named, frame_text(window.frame)]
        return self._once(Kind.WINDOW, window, "Window", lines, [(stream, "")])

    # -- nodes -------------------------------------------------------------------------------

    def _rows(self, values: Values) -> list[str]:
        lines = [self.words.variables(values.variables)] if values.variables else []
        for row in values.rows[:_ROWS_SHOWN]:
            lines.append(
                " ".join("UNDEF" if each is None else self.words.term(each) for each in row)
            )
        more = len(values.rows) - _ROWS_SHOWN
        return [*lines, f"and {more} more"] if more > 0 else lines

    def _shared(self, left: Operator, right: Operator) -> list[str]:
        from_left = possible_in_order(left)
        both = possible(right)
        shared = tuple(each for each in from_left if each in both)
        return [f"ON {self.words.variables(shared)}"] if shared else ["every pair"]

    def _once(
        self, kind: Kind, key: object, title: str, details: list[str], inputs: list[tuple[int, str]]
    ) -> int:
        known = self._known.get((kind, key))
        if known is None:
            known = self._known[kind, key] = self._node(kind, title, details, inputs)
        return known

    def _node(
        self, kind: Kind, title: str, details: Iterable[str], inputs: Iterable[tuple[int, str]]
    ) -> int:
        number = len(self.nodes)
        self.nodes.append(Node(number, kind, title, tuple(details)))
        self.edges += [Edge(source, number, label) for source, label in inputs]
        return number
