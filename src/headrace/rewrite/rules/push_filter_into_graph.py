"""Filters above GRAPH."""

from __future__ import annotations

from headrace.algebra.operators import Filter, Graph, Operator
from headrace.rewrite.conditions import is_about


def push_filter_into_graph(operator: Operator) -> Operator:
    """A graph is filtered where it is read.

    (GRAPH n P) FILTER R  ->  GRAPH n (P FILTER R)    if P always binds the variables of R
    """
    match operator:
        case Filter(condition, Graph(name, source)) if is_about(condition, source):
            return Graph(name, push_filter_into_graph(Filter(condition, source)))
        case _:
            return operator
