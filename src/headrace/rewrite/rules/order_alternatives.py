"""In which order alternatives are tested."""

from __future__ import annotations

from headrace.algebra.expressions import Expression, Operation
from headrace.algebra.notation import show
from headrace.algebra.operators import Filter, Operator
from headrace.algebra.walk import rewritten
from headrace.rewrite.conditions import cost


def order_alternatives(operator: Operator) -> Operator:
    """FReordII: the alternatives of a condition stand in the order of what they cost.

    P FILTER (R1 || R2)  ->  P FILTER (R2 || R1)    if R2 is the cheaper
    """
    match operator:
        case Filter(condition, source):
            ordered = rewritten(condition, _ordered)
            return operator if ordered == condition else Filter(ordered, source)
        case _:
            return operator


def _ordered(expression: Expression) -> Expression | None:
    match expression:
        case Operation("||", alternatives):
            inner = [rewritten(each, _ordered) for each in alternatives]
            return Operation("||", tuple(sorted(inner, key=lambda each: (cost(each), show(each)))))
        case _:
            return None
