"""The operator graph as a drawing: sources at the bottom, the result at the top."""

from __future__ import annotations

from typing import Final

from headrace.graphs.layering import Edge
from headrace.graphs.layout import Item, Layout, Margins, Point, arranged
from headrace.graphs.operator_graph import Kind, Node, OGraph
from headrace.graphs.svg import Label, Picture, labels, size

_KINDS: Final = {
    Kind.STREAM: "stream",
    Kind.WINDOW: "stream",
    Kind.STATIC_GRAPH: "static",
    Kind.SERVICE: "service",
    Kind.FILTER: "added",
    Kind.AGGREGATION: "added",
    Kind.RESULT: "result",
}
"""How nodes look; `added` is what C-SPARQL adds to the operators of SPARQL."""
_ROUND: Final = {Kind.STREAM, Kind.STATIC_GRAPH, Kind.SERVICE, Kind.RESULT}


def operators_in_svg(graph: OGraph) -> str:
    """An operator graph as an SVG."""
    texts = [_lines(node) for node in graph.nodes]
    # A label of an edge is laid out like a node, so that nothing lies on it.
    edges: list[Edge] = []
    for edge in graph.edges:
        if edge.label:
            edges += [(edge.source, len(texts)), (len(texts), edge.target)]
            texts.append([Label(edge.label, "note")])
        else:
            edges.append((edge.source, edge.target))
    sizes = [size(lines) for lines in texts]
    layout = arranged([Item(height, width) for width, height in sizes], edges, Margins(layers=40))
    picture = Picture("The operators of the query", upright=True)
    for (_, target), route in zip(edges, layout.routes, strict=True):
        points = [_upright(point, layout) for point in route]
        picture.edge(points, arrow=target < len(graph.nodes))
    for number, (lines, extent) in enumerate(zip(texts, sizes, strict=True)):
        node = graph.nodes[number] if number < len(graph.nodes) else None
        centre = _upright(layout.centres[number], layout)
        kind = "label" if node is None else _KINDS.get(node.kind, "plain")
        rounded = 14.0 if node is not None and node.kind in _ROUND else 4.0
        picture.box(centre, extent, lines, kind=kind, rounded=rounded)
    picture.legend([Label(f"{prefix}: <{namespace}>") for prefix, namespace in graph.prefixes])
    return picture.text()


def _lines(node: Node) -> list[Label]:
    return [Label(node.title, "title"), *labels(node.details)]


def _upright(point: Point, layout: Layout) -> Point:
    """A point of the layout with the first layer at the bottom."""
    along, across = point
    return across, layout.along - along
