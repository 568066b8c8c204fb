"""Filters above joins."""

from __future__ import annotations

from headrace.algebra.operators import Filter, Join, Operator
from headrace.rewrite.conditions import is_about


def push_filter_into_join(operator: Operator) -> Operator:
    """FJPush: the side that a condition is about is filtered before it is joined.

    (P1 AND P2) FILTER R  ->  (P1 FILTER R) AND P2
        if P1 always binds the variables of R, and P2 never does
    """
    match operator:
        case Filter(condition, Join(left, right)):
            if is_about(condition, left, right):
                return Join(push_filter_into_join(Filter(condition, left)), right)
            if is_about(condition, right, left):
                return Join(left, push_filter_into_join(Filter(condition, right)))
    return operator
