"""The operators of a query as values for JSON, each with how much it has found."""

from __future__ import annotations

from typing import Any

from headrace.algebra.query import Query
from headrace.graphs.drawing import GraphKind
from headrace.graphs.operator_graph import placed_operators
from headrace.planning.explain import Run
from headrace.rewrite.optimise import optimised
from headrace.rewrite.sources import KnownPredicates


def operators_as_json(
    query: Query,
    kind: GraphKind,
    run: Run | None = None,
    known: KnownPredicates | None = None,
) -> dict[str, Any]:
    """Return the graph of the operators as written or as run; figures go with the latter only."""
    if kind is GraphKind.OPERATORS:
        pattern, run = query.pattern, None
    else:
        pattern = optimised(query, known) if run is None else run.pattern
    graph, placed = placed_operators(query, pattern, known)
    seen = {} if run is None else run.seen
    rows = {number: seen[identity].rows for identity, number in placed.items() if identity in seen}
    return {
        "nodes": [
            {
                "id": node.id,
                "kind": str(node.kind),
                "title": node.title,
                "details": list(node.details),
                "rows": rows.get(node.id),
            }
            for node in graph.nodes
        ],
        "edges": [
            {"source": edge.source, "target": edge.target, "label": edge.label}
            for edge in graph.edges
        ],
        "prefixes": dict(graph.prefixes),
    }
