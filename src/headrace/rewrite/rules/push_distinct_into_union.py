"""DISTINCT above unions."""

from __future__ import annotations

from headrace.algebra.operators import Distinct, Operator, Union
from headrace.rewrite.branches import branches_of, is_distinct


def push_distinct_into_union(operator: Operator) -> Operator:
    """Each branch gives every solution once, before they are put together.

    DISTINCT (P1 UNION P2)  ->  DISTINCT ((DISTINCT P1) UNION (DISTINCT P2))
    """
    match operator:
        case Distinct(source) if not is_distinct(source):
            branches = branches_of(source)
            if len(branches) > 1 and not all(map(is_distinct, branches)):
                return Distinct(Union(tuple(map(_once, branches))))
    return operator


def _once(branch: Operator) -> Operator:
    return branch if is_distinct(branch) else Distinct(branch)
