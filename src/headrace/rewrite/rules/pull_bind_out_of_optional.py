"""BIND to the left of OPTIONAL."""

from __future__ import annotations

from headrace.algebra.operators import Extend, LeftJoin, Operator
from headrace.algebra.scope import mentioned, possible
from headrace.rewrite.conditions import is_about


def pull_bind_out_of_optional(operator: Operator) -> Operator:
    """BLPush, from right to left: patterns meet, and a value is computed after them.

    (P1 BIND_v C) OPT P2  ->  (P1 OPT P2) BIND_v C
        if P2 and its condition know neither v nor a variable of C, and P1 always binds those
    """
    match operator:
        case LeftJoin(Extend(source, variable, expression), right, condition):
            asked = frozenset() if condition is None else mentioned(condition)
            free = variable not in possible(right) | asked
            if free and is_about(expression, source, right):
                below = pull_bind_out_of_optional(LeftJoin(source, right, condition))
                return Extend(below, variable, expression)
    return operator
