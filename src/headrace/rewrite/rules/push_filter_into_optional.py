"""Filters above OPTIONAL."""

from __future__ import annotations

from headrace.algebra.operators import Filter, LeftJoin, Operator
from headrace.rewrite.conditions import is_about


def push_filter_into_optional(operator: Operator) -> Operator:
    """FLPush: the left side is filtered before the optional one is looked for.

    (P1 OPT P2) FILTER R  ->  (P1 FILTER R) OPT P2
        if P1 always binds the variables of R, and P2 never does
    """
    match operator:
        case Filter(condition, LeftJoin(left, right, extra)) if is_about(condition, left, right):
            return LeftJoin(push_filter_into_optional(Filter(condition, left)), right, extra)
        case _:
            return operator
