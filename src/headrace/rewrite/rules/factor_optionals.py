"""What all branches of a union have as OPTIONAL."""

from __future__ import annotations

from headrace.algebra.expressions import Expression
from headrace.algebra.operators import LeftJoin, Operator, Union


def factor_optionals(operator: Operator) -> Operator:
    """LUDistR, from right to left: what is optional in all branches is looked for once.

    (P1 OPT P3) UNION (P2 OPT P3)  ->  (P1 UNION P2) OPT P3
    """
    match operator:
        case Union((LeftJoin(_, optional, condition), *_) as branches) if len(branches) > 1:
            if all(_has(each, optional, condition) for each in branches):
                rests = tuple(each.left for each in branches if isinstance(each, LeftJoin))
                return LeftJoin(Union(rests), optional, condition)
    return operator


def _has(branch: Operator, optional: Operator, condition: Expression | None) -> bool:
    return (
        isinstance(branch, LeftJoin) and branch.right == optional and branch.condition == condition
    )
