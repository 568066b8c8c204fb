"""BIND inside GRAPH."""

from __future__ import annotations

from headrace.algebra.operators import Extend, Graph, Operator
from headrace.algebra.scope import mentioned
from headrace.rewrite.conditions import is_movable


def pull_bind_out_of_graph(operator: Operator) -> Operator:
    """BGPush: what needs no data is computed outside, where patterns can meet.

    GRAPH n (P BIND_v C)  ->  (GRAPH n P) BIND_v C    if n is neither v nor in C
    """
    match operator:
        case Graph(name, Extend(source, variable, expression)):
            if is_movable(expression) and not {name} & {variable, *mentioned(expression)}:
                return Extend(pull_bind_out_of_graph(Graph(name, source)), variable, expression)
    return operator
