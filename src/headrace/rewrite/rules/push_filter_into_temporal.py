"""Filters above temporal operators."""

from __future__ import annotations

from dataclasses import replace

from headrace.algebra.operators import Filter, Operator, Temporal
from headrace.rewrite.conditions import is_about


def push_filter_into_temporal(operator: Operator) -> Operator:
    """The block that a condition is about is filtered before its times are compared.

    (P1 BEFORE P2) FILTER R  ->  (P1 FILTER R) BEFORE P2
        if P1 always binds the variables of R, and P2 never does; P2 alike, unless it is optional
    """
    match operator:
        case Filter(condition, Temporal(left, right, optional=optional) as blocks):
            if is_about(condition, left, right):
                return replace(blocks, left=push_filter_into_temporal(Filter(condition, left)))
            if not optional and is_about(condition, right, left):
                return replace(blocks, right=push_filter_into_temporal(Filter(condition, right)))
    return operator
