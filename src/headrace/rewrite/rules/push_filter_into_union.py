"""Filters above unions."""

from __future__ import annotations

from headrace.algebra.operators import Filter, Operator, Union
from headrace.rewrite.conditions import is_movable


def push_filter_into_union(operator: Operator) -> Operator:
    """FUPush: each branch is filtered on its own.

    (P1 UNION P2) FILTER R  ->  (P1 FILTER R) UNION (P2 FILTER R)
    """
    match operator:
        case Filter(condition, Union(branches)) if is_movable(condition):
            return Union(tuple(Filter(condition, branch) for branch in branches))
        case _:
            return operator
