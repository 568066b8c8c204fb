"""In which order conditions are tested."""

from __future__ import annotations

from headrace.algebra.expressions import Expression
from headrace.algebra.notation import show
from headrace.algebra.operators import Filter, Operator
from headrace.rewrite.conditions import cost


def order_filters(operator: Operator) -> Operator:
    """FReordI: what is cheap to test is tested first.

    (P FILTER R1) FILTER R2  ->  (P FILTER R2) FILTER R1    if R2 is the cheaper
    """
    match operator:
        case Filter(later, Filter(sooner, source)) if _before(later, sooner):
            return Filter(sooner, order_filters(Filter(later, source)))
        case _:
            return operator


def _before(one: Expression, other: Expression) -> bool:
    return (cost(one), show(one)) < (cost(other), show(other))
