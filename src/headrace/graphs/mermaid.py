"""Both graphs of a query as Mermaid flowcharts, which many viewers of Markdown draw."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from headrace.graphs.denotation import Box, DGraph, HyperNode, LinkKind, Role, Vertex
from headrace.graphs.operator_graph import Kind, Node, OGraph

_SHAPES: Final = {
    Kind.STREAM: ("([", "])"),
    Kind.STATIC_GRAPH: ("[(", ")]"),
    Kind.SERVICE: ("[(", ")]"),
    Kind.WINDOW: ("[/", "/]"),
    Kind.RESULT: ("([", "])"),
}
_ADDED: Final = {Kind.STREAM, Kind.WINDOW, Kind.FILTER, Kind.AGGREGATION}
"""What C-SPARQL adds to the operators of SPARQL's query graph model."""
_BOXED: Final = ("[", "]")
_ROUND: Final = ("([", "])")
_STEP: Final = "  "
_PLAIN: Final = frozenset(" ?:.,=+-_()/!")


def operators_in_mermaid(graph: OGraph) -> str:
    """An operator graph as a flowchart that grows upwards."""
    lines = ["flowchart BT", *_legend(graph)]
    lines += [f"{_STEP}{_node(node)}" for node in graph.nodes]
    for edge in graph.edges:
        role = f"|{_quoted([edge.label])}|" if edge.label else ""
        lines.append(f"{_STEP}n{edge.source} -->{role} n{edge.target}")
    lines += _classes(
        ("added", "fill:#e4e4e4,stroke:#555,color:#111", _of_kind(graph, _ADDED)),
        ("plain", "fill:#fff,stroke:#555,color:#111", _of_kind(graph, set(Kind) - _ADDED)),
    )
    return "\n".join(lines) + "\n"


def _node(node: Node) -> str:
    opening, closing = _SHAPES.get(node.kind, _BOXED)
    return f"n{node.id}{opening}{_quoted([node.title, *node.details])}{closing}"


def _of_kind(graph: OGraph, kinds: set[Kind]) -> list[str]:
    return [f"n{node.id}" for node in graph.nodes if node.kind in kinds]


def terms_in_mermaid(graph: DGraph) -> str:
    """A denotational graph as a flowchart with a subgraph for each source and aggregation."""
    bound = {node.variable for node in graph.aggregations}
    lines = ["flowchart LR", *_legend(graph)]
    for box in graph.boxes:
        lines += _subgraph(graph, box)
    outside = [each for each in graph.vertices if each.box is None and each.id not in bound]
    lines += [f"{_STEP}{_vertex(vertex)}" for vertex in outside]
    for number, node in enumerate(graph.aggregations):
        lines += _hyper_node(graph, number, node)
    lines += [f"{_STEP}v{source} --> v{target}" for source, target in graph.edges]
    for link in graph.links:
        arrow = "-.->" if link.kind is LinkKind.COMPUTED else "-.-"
        lines.append(f"{_STEP}v{link.source} {arrow} v{link.target}")
    lines += _classes(
        ("result", "fill:#cfe3ff,stroke:#333,color:#111", _ids(graph, in_result=True)),
        ("term", "fill:#fff,stroke:#333,color:#111", _ids(graph, in_result=False)),
        ("source", "fill:none,stroke:#555,stroke-dasharray:6 4", [f"b{b.id}" for b in graph.boxes]),
    )
    return "\n".join(lines) + "\n"


def _subgraph(graph: DGraph, box: Box) -> Iterator[str]:
    yield f"{_STEP}subgraph b{box.id}[{_quoted([f'{box.kind}: {box.title}', *box.details])}]"
    yield from (f"{_STEP * 2}{_vertex(vertex)}" for vertex in graph.inside(box))
    yield f"{_STEP}end"


def _hyper_node(graph: DGraph, number: int, node: HyperNode) -> Iterator[str]:
    keys = [graph.vertices[each].label for each in node.group]
    yield f"{_STEP}subgraph h{number}[{_quoted(['aggregation'])}]"
    yield f"{_STEP * 2}g{number}[[{_quoted(['group by', *keys] if keys else ['one group'])}]]"
    yield f"{_STEP * 2}f{number}{{{{{_quoted([node.function])}}}}}"
    yield f"{_STEP * 2}{_vertex(graph.vertices[node.variable])}"
    yield f"{_STEP}end"
    yield f"{_STEP}g{number} --- f{number}"
    yield f"{_STEP}f{number} --> v{node.variable}"
    yield from (f"{_STEP}v{each} --- f{number}" for each in node.parameters)


def _vertex(vertex: Vertex) -> str:
    opening, closing = _BOXED if vertex.role is Role.PREDICATE else _ROUND
    return f"v{vertex.id}{opening}{_quoted([vertex.label, *vertex.annotations])}{closing}"


def _ids(graph: DGraph, *, in_result: bool) -> list[str]:
    return [f"v{each.id}" for each in graph.vertices if each.in_result is in_result]


def _legend(graph: OGraph | DGraph) -> Iterator[str]:
    """What the prefixes stand for, as comments."""
    yield from (f"{_STEP}%% {prefix}: {namespace}" for prefix, namespace in graph.prefixes)


def _classes(*classes: tuple[str, str, list[str]]) -> Iterator[str]:
    for name, style, members in classes:
        if members:
            yield f"{_STEP}classDef {name} {style}"
            yield f"{_STEP}class {','.join(members)} {name}"


def _quoted(lines: Iterable[str]) -> str:
    """Lines as a quoted label."""
    return f'"{"<br/>".join(map(escaped, lines))}"'


def escaped(text: str) -> str:
    """A text that Mermaid shows as it is: what is not plain becomes a character code.

    >>> escaped('?n > 3 # "x"')
    '?n #62; 3 #35; #34;x#34;'
    """
    # Mermaid breaks lines at a backslash and an n, even as codes, but not with a joiner between.
    joined = text.replace("\\n", "\\\N{WORD JOINER}n")
    return "".join(
        each if each.isalnum() or each in _PLAIN else f"#{ord(each)};" for each in joined
    )
