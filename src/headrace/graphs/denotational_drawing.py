"""The denotational graph as a drawing: patterns from left to right, a dashed frame per source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headrace.graphs.denotation import (
    Box,
    BoxKind,
    DGraph,
    HyperNode,
    LinkKind,
    Role,
    Vertex,
)
from headrace.graphs.layering import Edge
from headrace.graphs.layout import Item, Layout, Margins, arranged
from headrace.graphs.svg import LINE, PADDING, Label, Picture, labels, size

_FRAME_PADDING: Final = 12.0
_LOOKS: Final = {
    Role.VARIABLE: "plain",
    Role.CONSTANT: "plain",
    Role.PREDICATE: "predicate",
    Role.QUOTED: "plain",
}


@dataclass(frozen=True, slots=True)
class _Shape:
    """What is drawn for a vertex, a group or a function."""

    lines: list[Label]
    kind: str
    rounded: float
    lane: int


@dataclass(frozen=True, slots=True)
class _Line:
    """An edge with how it is drawn."""

    edge: Edge
    arrow: bool = True
    dotted: bool = False


@dataclass(frozen=True, slots=True)
class _Lanes:
    """Which lane is whose: sources, what stands outside between them, aggregations last."""

    boxes: dict[int, int]
    outside: int
    aggregations: dict[int, int]

    @classmethod
    def of(cls, graph: DGraph) -> _Lanes:
        """Half of the sources above what stands outside, where there are not two kinds of them."""
        static = [box.id for box in graph.boxes if box.kind is BoxKind.STATIC]
        others = [box.id for box in graph.boxes if box.kind is not BoxKind.STATIC]
        order = static + others
        outside = len(static) if static and others else len(order) // 2
        boxes = {box: lane + (lane >= outside) for lane, box in enumerate(order)}
        first = len(order) + 1
        return cls(boxes, outside, {each: first + each for each in range(len(graph.aggregations))})


def terms_in_svg(graph: DGraph) -> str:
    """A denotational graph as an SVG."""
    lanes = _Lanes.of(graph)
    shapes, lines = _drawn(graph, lanes)
    headings = {lanes.boxes[box.id]: _heading(box) for box in graph.boxes}
    headings |= {lane: [Label("aggregation", "title")] for lane in lanes.aggregations.values()}
    sizes = [size(shape.lines) for shape in shapes]
    items = [
        Item(width, height, shape.lane)
        for shape, (width, height) in zip(shapes, sizes, strict=True)
    ]
    margins = Margins(
        nodes=12,
        head={lane: len(heading) * LINE + PADDING + 4 for lane, heading in headings.items()},
        foot=_FRAME_PADDING,
    )
    layout = arranged(items, [line.edge for line in lines], margins, lanes.outside)
    picture = Picture("The terms and sources of the query")
    for lane, heading in headings.items():
        _frame(picture, layout, items, lane, heading, lanes)
    for line, route in zip(lines, layout.routes, strict=True):
        if line.edge[0] == line.edge[1]:
            picture.loop(layout.centres[line.edge[0]], sizes[line.edge[0]])
        picture.edge(route, arrow=line.arrow, dotted=line.dotted)
    for shape, centre, extent in zip(shapes, layout.centres, sizes, strict=True):
        picture.box(centre, extent, shape.lines, kind=shape.kind, rounded=shape.rounded)
    picture.legend([Label(f"{prefix}: <{namespace}>") for prefix, namespace in graph.prefixes])
    return picture.text()


def _drawn(graph: DGraph, lanes: _Lanes) -> tuple[list[_Shape], list[_Line]]:
    """The shapes, those of the vertices first, and the lines between them."""
    bound = {node.variable: number for number, node in enumerate(graph.aggregations)}
    shapes = [_vertex(vertex, bound, lanes) for vertex in graph.vertices]
    lines = [_Line(edge) for edge in graph.edges]
    for link in graph.links:
        computed = link.kind is LinkKind.COMPUTED
        lines.append(_Line((link.source, link.target), arrow=computed, dotted=True))
    for number, node in enumerate(graph.aggregations):
        group, function = len(shapes), len(shapes) + 1
        lane = lanes.aggregations[number]
        shapes.append(_Shape(_group(graph, node), "added", 4.0, lane))
        shapes.append(_Shape(labels([node.function], "title"), "added", 14.0, lane))
        lines.append(_Line((group, function), arrow=False))
        lines += [_Line((each, function)) for each in node.parameters]
        lines.append(_Line((function, node.variable)))
    return shapes, lines


def _vertex(vertex: Vertex, bound: dict[int, int], lanes: _Lanes) -> _Shape:
    lines = [*labels([vertex.label]), *labels(vertex.annotations, "note")]
    kind = "result" if vertex.in_result else _LOOKS[vertex.role]
    if vertex.id in bound and not vertex.sources:
        lane = lanes.aggregations[bound[vertex.id]]
    else:
        lane = lanes.outside if vertex.box is None else lanes.boxes[vertex.box]
    return _Shape(lines, kind, 14.0 if vertex.role is Role.VARIABLE else 2.0, lane)


def _group(graph: DGraph, node: HyperNode) -> list[Label]:
    keys = [graph.vertices[each].label for each in node.group]
    return [Label("group by", "note"), *labels(keys)] if keys else [Label("one group", "note")]


def _heading(box: Box) -> list[Label]:
    return [*labels([f"{box.kind}: {box.title}"], "title"), *labels(box.details)]


def _frame(
    picture: Picture,
    layout: Layout,
    items: list[Item],
    lane: int,
    heading: list[Label],
    lanes: _Lanes,
) -> None:
    """Draw the frame of a lane around its shapes, as wide as they and its heading need."""
    members = [
        (centre[0] - item.along / 2, centre[0] + item.along / 2)
        for item, centre in zip(items, layout.centres, strict=True)
        if item.lane == lane
    ]
    left = min((start for start, _ in members), default=0.0) - _FRAME_PADDING
    right = max((end for _, end in members), default=0.0) + _FRAME_PADDING
    width = max(right - left, size(heading)[0])
    extent = layout.lanes[lane]
    kind = "hyper" if lane in lanes.aggregations.values() else "source"
    picture.frame((left, extent.start), (width, extent.end - extent.start), heading, kind=kind)
