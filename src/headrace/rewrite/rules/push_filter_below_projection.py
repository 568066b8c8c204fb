"""Filters above projections."""

from __future__ import annotations

from headrace.algebra.operators import Filter, Operator, Project
from headrace.algebra.scope import mentioned
from headrace.rewrite.conditions import is_movable, timed_variables


def push_filter_below_projection(operator: Operator) -> Operator:
    """A filter sees the same before other variables are dropped.

    (PROJECT S P) FILTER R  ->  PROJECT S (P FILTER R)    if all variables of R are in S
    """
    match operator:
        case Filter(condition, Project(source, variables)):
            # A time does not survive the projection, so it must not be asked for before it.
            if (
                is_movable(condition)
                and mentioned(condition) <= set(variables)
                and not timed_variables(condition)
            ):
                return Project(push_filter_below_projection(Filter(condition, source)), variables)
    return operator
