"""Filters above MINUS."""

from __future__ import annotations

from headrace.algebra.operators import Filter, Minus, Operator
from headrace.rewrite.conditions import is_movable


def push_filter_into_minus(operator: Operator) -> Operator:
    """What stays is filtered before something is taken away from it.

    (P1 MINUS P2) FILTER R  ->  (P1 FILTER R) MINUS P2
    """
    match operator:
        case Filter(condition, Minus(left, right)) if is_movable(condition):
            return Minus(Filter(condition, left), right)
        case _:
            return operator
