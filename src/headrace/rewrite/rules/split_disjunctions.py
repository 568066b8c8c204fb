"""Conditions of which one must hold."""

from __future__ import annotations

from headrace.algebra.expressions import BuiltIn, Operation
from headrace.algebra.operators import Filter, Operator, Union
from headrace.functions.values import FALSE, TRUE
from headrace.rewrite.conditions import is_movable


def split_disjunctions(operator: Operator) -> Operator:
    """FDecompII, in the form that keeps the number of solutions.

    P FILTER (R1 || R2)  ->  (P FILTER R1) UNION (P FILTER (!COALESCE(R1, false) && R2))

    The second branch has those for which R1 is false or an error, so none comes twice. It pays
    where each branch can be looked for in its own place, at the price of looking for P twice.
    """
    match operator:
        case Filter(Operation("||", (first, *others)), source) if is_movable(operator.condition):
            rest = others[0] if len(others) == 1 else Operation("||", tuple(others))
            # IF has an error for an error; COALESCE has the next value.
            known = BuiltIn("COALESCE", (BuiltIn("IF", (first, TRUE, FALSE)), FALSE))
            unlike = Operation("&&", (Operation("!", (known,)), rest))
            return Union((Filter(first, source), Filter(unlike, source)))
        case _:
            return operator
