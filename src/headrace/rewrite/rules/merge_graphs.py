"""What is looked for in the same graph."""

from __future__ import annotations

from headrace.algebra.operators import Graph, Join, Operator


def merge_graphs(operator: Operator) -> Operator:
    """What is looked for in the same graph is one pattern.

    (GRAPH n P1) AND (GRAPH n P2)  ->  GRAPH n (P1 AND P2)
    """
    match operator:
        case Join(Graph(name, ours), Graph(same, theirs)) if name == same:
            return Graph(name, Join(ours, theirs))
        case Join(Join(first, Graph() as left), Graph() as right):
            merged = merge_graphs(Join(left, right))
            return Join(first, merged) if isinstance(merged, Graph) else operator
        case _:
            return operator
