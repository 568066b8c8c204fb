"""DISTINCT above unions."""

from __future__ import annotations

from headrace.algebra.operators import Distinct, Operator, Project, Union
from headrace.rewrite.conditions import is_distinct


def push_distinct_into_union(operator: Operator) -> Operator:
    """Each branch gives every solution once, before they are put together.

    DISTINCT (P1 UNION P2)  ->  DISTINCT ((DISTINCT P1) UNION (DISTINCT P2))
    """
    match operator:
        case Distinct(Union(branches)) if not all(map(is_distinct, branches)):
            return Distinct(Union(tuple(map(_once, branches))))
        case Distinct(Project(Union(branches), variables)):
            projected = tuple(Project(branch, variables) for branch in branches)
            return push_distinct_into_union(Distinct(Union(projected)))
        case _:
            return operator


def _once(branch: Operator) -> Operator:
    return branch if is_distinct(branch) else Distinct(branch)
