"""Filters above DISTINCT and ORDER BY."""

from __future__ import annotations

from headrace.algebra.operators import Distinct, Filter, Operator, OrderBy, Reduced
from headrace.rewrite.conditions import is_movable, timed_variables


def push_filter_below_distinct(operator: Operator) -> Operator:
    """Fewer solutions are compared, and none are put in an order that a filter would lose.

    (DISTINCT P) FILTER R  ->  DISTINCT (P FILTER R)    and so for REDUCED
    (ORDER P) FILTER R  ->  P FILTER R                  for nobody above can ask for that order
    """
    match operator:
        # Of equal solutions one is kept, and so are its times; a filter must not choose which.
        case Filter(condition, Distinct()) if timed_variables(condition):
            return operator
        case Filter(condition, Distinct(source)) if is_movable(condition):
            return Distinct(Filter(condition, source))
        case Filter(condition, Reduced(source)) if is_movable(condition):
            return Reduced(Filter(condition, source))
        case Filter(condition, OrderBy(source)):
            return Filter(condition, source)
        case _:
            return operator
