"""Filters above AGGREGATE and GROUP BY."""

from __future__ import annotations

from headrace.algebra.expressions import Expression, Variable
from headrace.algebra.operators import Annotate, Filter, Group, Operator
from headrace.algebra.scope import mentioned
from headrace.rewrite.conditions import is_movable, timed_variables


def push_filter_below_aggregates(operator: Operator) -> Operator:
    """Whole groups are dropped before they are added up.

    (P AGG A) FILTER R  ->  (P FILTER R) AGG A    if all variables of R are keys of every group
    """
    match operator:
        case Filter(condition, Annotate(source, annotations)):
            shared = frozenset.intersection(*(frozenset(each.keys) for each in annotations))
            if _reads_only(condition, shared):
                return Annotate(Filter(condition, source), annotations)
        case Filter(condition, Group(source, keys, aggregates)):
            # Without a key there is a group even of nothing, which a filter must see.
            if keys and _reads_only(condition, frozenset(keys)):
                return Group(Filter(condition, source), keys, aggregates)
    return operator


def _reads_only(condition: Expression, keys: frozenset[Variable]) -> bool:
    return is_movable(condition) and mentioned(condition) <= keys and not timed_variables(condition)
