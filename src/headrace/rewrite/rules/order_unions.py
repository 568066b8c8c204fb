"""The order of the branches of a union."""

from __future__ import annotations

from headrace.algebra.notation import show
from headrace.algebra.operators import Operator, Union


def order_unions(operator: Operator) -> Operator:
    """UComm: branches in the order of their texts, so that equal unions look equal.

    P2 UNION P1  ->  P1 UNION P2
    """
    match operator:
        case Union(branches):
            ordered = tuple(sorted(branches, key=show))
            return operator if ordered == branches else Union(ordered)
        case _:
            return operator
