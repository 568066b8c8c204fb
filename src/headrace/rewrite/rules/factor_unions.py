"""What all branches of a union are joined with."""

from __future__ import annotations

from headrace.algebra.operators import Join, Operator, Union


def factor_unions(operator: Operator) -> Operator:
    """JUDistR, from right to left: what all branches join with is joined once.

    (P1 AND P3) UNION (P2 AND P3)  ->  (P1 UNION P2) AND P3
    """
    match operator:
        case Union((Join(_, shared), *_) as branches) if len(branches) > 1:
            if all(isinstance(each, Join) and each.right == shared for each in branches):
                rests = tuple(each.left for each in branches if isinstance(each, Join))
                return Join(Union(rests), shared)
    return operator
