"""Both graphs of a query as text: operators as an indented tree, terms as lists by source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from headrace.graphs.denotation import DGraph, HyperNode, PatternPath, Role, Vertex
from headrace.graphs.operator_graph import Node, OGraph

_STEP: Final = "  "

# -- the operator graph --------------------------------------------------------------------


def outline(graph: OGraph) -> str:
    """A graph as a tree of lines. What is read a second time is only named again."""
    return "\n".join([*_lines(graph, graph.result, "", 0, set()), *_legend(graph)])


def _legend(graph: OGraph | DGraph) -> list[str]:
    """What the prefixes of a graph stand for, below an empty line."""
    width = max((len(prefix) for prefix, _ in graph.prefixes), default=0) + 2
    lines = [f"{f'{prefix}:':{width}}<{namespace}>" for prefix, namespace in graph.prefixes]
    return ["", *lines] if lines else []


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


# -- the denotational graph ----------------------------------------------------------------


def inventory(graph: DGraph) -> str:
    """A denotational graph as lists: each source with its patterns, then what is made of them."""
    lines: list[str] = []
    for box in graph.boxes:
        lines.append(f"{box.kind}: {box.title}")
        lines += [f"| {line}" for line in box.details]
        lines += [f"{_STEP}{_path(graph, path)}" for path in graph.patterns if path.box == box.id]
    lines += _listed("shared", _labels(graph.shared))
    noted = [
        each for each in graph.vertices if each.annotations and each.role is not Role.PREDICATE
    ]
    made = {each.variable for each in graph.aggregations}
    lines += _listed("annotated", (_annotated(each) for each in noted if each.id not in made))
    lines += _listed("aggregations", (_aggregation(graph, each) for each in graph.aggregations))
    lines += _listed("of what was aggregated", (_annotated(e) for e in noted if e.id in made))
    lines += _listed("in the result", _labels(each for each in graph.vertices if each.in_result))
    return "\n".join([*lines, *_legend(graph)])


def _listed(title: str, entries: Iterable[str]) -> list[str]:
    below = [f"{_STEP}{entry}" for entry in entries]
    return [title, *below] if below else []


def _labels(vertices: Iterable[Vertex]) -> Iterator[str]:
    return (vertex.label for vertex in vertices)


def _annotated(vertex: Vertex) -> str:
    return f"{vertex.label}: {'; '.join(vertex.annotations)}"


def _path(graph: DGraph, path: PatternPath) -> str:
    ends = (graph.vertices[at].label for at in (path.subject, path.predicate, path.object))
    return " -> ".join(ends) + (f"   ({path.note})" if path.note else "")


def _aggregation(graph: DGraph, node: HyperNode) -> str:
    group = " ".join(graph.vertices[each].label for each in node.group)
    by = f" by {group}" if group else ""
    kept = ", every solution kept" if node.keeps_solutions else ""
    return f"{graph.vertices[node.variable].label} = {node.function}{by}{kept}"
