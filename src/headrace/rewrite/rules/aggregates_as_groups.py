"""AGGREGATE of which only the groups are asked for."""

from __future__ import annotations

from headrace.algebra.operators import Annotate, Distinct, Filter, Group, Operator, Project
from headrace.algebra.scope import Variables, mentioned
from headrace.rewrite.conditions import is_movable, timed_variables


def aggregates_as_groups(operator: Operator) -> Operator:
    """One solution for each group, where all others would be dropped as equal to it.

    DISTINCT (PROJECT S (P AGG A))  ->  DISTINCT (PROJECT S (GROUP P BY G))
        if all aggregates of A have the keys G, and neither S nor filters on A read other variables
    """
    match operator:
        case Distinct(Project(source, variables)):
            grouped = _grouped(source, frozenset(variables))
            return operator if grouped is None else Distinct(Project(grouped, variables))
        case _:
            return operator


def _grouped(operator: Operator, read: Variables) -> Operator | None:
    """Filtered aggregates as filtered groups, if all that is read is the same within a group."""
    match operator:
        # A group has keys, but no times of what bound them.
        case Filter(condition, source) if is_movable(condition) and not timed_variables(condition):
            below = _grouped(source, read | mentioned(condition))
            return None if below is None else Filter(condition, below)
        case Annotate(source, annotations):
            keys = annotations[0].keys
            alike = all(set(each.keys) == set(keys) for each in annotations)
            made = {each.variable for each in annotations}
            # Without a key there would be a group of nothing too.
            if not alike or not keys or not read <= made | set(keys):
                return None
            calls = tuple((each.variable, each.aggregate) for each in annotations)
            return Group(source, keys, calls)
        case _:
            return None
