"""Conditions that must all hold."""

from __future__ import annotations

from headrace.algebra.expressions import Operation
from headrace.algebra.operators import Filter, Operator


def split_filters(operator: Operator) -> Operator:
    """FDecompI and H3: each condition is a filter of its own, which can go its own way.

    P FILTER (R1 && R2)  ->  (P FILTER R1) FILTER R2
    """
    match operator:
        case Filter(Operation("&&", conditions), source):
            for condition in conditions:
                source = split_filters(Filter(condition, source))
            return source
        case _:
            return operator
