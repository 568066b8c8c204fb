"""Filters above BIND."""

from __future__ import annotations

from headrace.algebra.operators import Extend, Filter, Operator
from headrace.algebra.scope import mentioned
from headrace.rewrite.conditions import is_movable


def push_filter_below_bind(operator: Operator) -> Operator:
    """What a filter drops need not be computed.

    (P BIND_v C) FILTER R  ->  (P FILTER R) BIND_v C    if v does not occur in R
    """
    match operator:
        case Filter(condition, Extend(source, variable, expression)):
            if variable not in mentioned(condition) and is_movable(condition):
                return Extend(
                    push_filter_below_bind(Filter(condition, source)), variable, expression
                )
    return operator
