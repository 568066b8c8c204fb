"""BIND inside joins."""

from __future__ import annotations

from headrace.algebra.operators import Extend, Join, Operator
from headrace.algebra.scope import possible
from headrace.rewrite.conditions import is_about


def pull_bind_out_of_join(operator: Operator) -> Operator:
    """BJPush, from right to left: a value is computed only for what has been joined.

    (P1 BIND_v C) AND P2  ->  (P1 AND P2) BIND_v C
        if P2 never binds v nor a variable of C, and P1 always binds those
    """
    match operator:
        case Join(Extend() as bind, other) if _can_wait(bind, other):
            return _waiting(bind, Join(bind.input, other))
        case Join(other, Extend() as bind) if _can_wait(bind, other):
            return _waiting(bind, Join(other, bind.input))
        case _:
            return operator


def _can_wait(bind: Extend, other: Operator) -> bool:
    return bind.variable not in possible(other) and is_about(bind.expression, bind.input, other)


def _waiting(bind: Extend, join: Join) -> Operator:
    return Extend(pull_bind_out_of_join(join), bind.variable, bind.expression)
