"""Joins within joins."""

from __future__ import annotations

from headrace.algebra.operators import Join, Operator


def associate_joins(operator: Operator) -> Operator:
    """JAss: chains of joins lean to the left, so that neighbours meet.

    P1 AND (P2 AND P3)  ->  (P1 AND P2) AND P3
    """
    match operator:
        case Join(left, Join(middle, right)):
            return Join(associate_joins(Join(left, middle)), right)
        case _:
            return operator
