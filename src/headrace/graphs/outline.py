"""The operator graph as indented text: the result first, below each node what it reads."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.graphs.operator_graph import Node, OGraph

_STEP = "  "


def outline(graph: OGraph) -> str:
    """A graph as a tree of lines. What is read a second time is only named again."""
    lines = list(_lines(graph, graph.result, "", 0, set()))
    lines += [f"{'' if position else chr(10)}{line}" for position, line in enumerate(legend(graph))]
    return "\n".join(lines)


def legend(graph: OGraph) -> list[str]:
    """What the prefixes of a graph stand for."""
    width = max((len(prefix) for prefix, _ in graph.prefixes), default=0) + 2
    return [f"{f'{prefix}:':{width}}<{namespace}>" for prefix, namespace in graph.prefixes]


def _lines(graph: OGraph, node: Node, role: str, level: int, shown: set[int]) -> Iterator[str]:
    indent = _STEP * level
    title = f"({role}) {node.title}" if role else node.title
    if node.id in shown:
        named = f": {node.details[0]}" if node.details else ""
        yield f"{indent}{title}{named} (as above)"
        return
    shown.add(node.id)
    if len(node.details) == 1:
        yield f"{indent}{title}: {node.details[0]}"
    else:
        yield f"{indent}{title}"
        yield from (f"{indent}| {line}" for line in node.details)
    for below, label in graph.inputs(node):
        yield from _lines(graph, below, label, level + 1, shown)
