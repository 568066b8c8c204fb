"""Unions within unions."""

from __future__ import annotations

from headrace.algebra.operators import Operator, Union


def flatten_unions(operator: Operator) -> Operator:
    """UAss: one union in place of unions within unions.

    (P1 UNION P2) UNION P3  ->  P1 UNION P2 UNION P3
    """
    match operator:
        case Union(branches) if any(isinstance(branch, Union) for branch in branches):
            return Union(tuple(part for branch in branches for part in _parts(branch)))
        case _:
            return operator


def _parts(branch: Operator) -> tuple[Operator, ...]:
    return branch.branches if isinstance(branch, Union) else (branch,)
