"""BIND inside joins."""

from __future__ import annotations

from headrace.algebra.expressions import Variable
from headrace.algebra.operators import Extend, Join, Operator, Project
from headrace.algebra.scope import mentioned, possible, possible_in_order
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
        case Join(Project(Extend() as bind, kept), other) if _can_wait_hidden(bind, kept, other):
            return _widened(operator, bind, Join(_with_inputs_of(bind, kept), other))
        case Join(other, Project(Extend() as bind, kept)) if _can_wait_hidden(bind, kept, other):
            return _widened(operator, bind, Join(other, _with_inputs_of(bind, kept)))
        case _:
            return operator


def _can_wait_hidden(bind: Extend, kept: tuple[Variable, ...], other: Operator) -> bool:
    """Whether a value can wait though what it is made of had been dropped."""
    return bind.variable in kept and _can_wait(bind, other)


def _with_inputs_of(bind: Extend, kept: tuple[Variable, ...]) -> Project:
    """What a value is made of, with what was kept beside it."""
    others = tuple(each for each in kept if each != bind.variable)
    read = mentioned(bind.expression) - frozenset(others)
    return Project(
        bind.input, (*others, *(each for each in possible_in_order(bind.input) if each in read))
    )


def _widened(before: Operator, bind: Extend, join: Join) -> Operator:
    return Project(_waiting(bind, join), possible_in_order(before))


def _can_wait(bind: Extend, other: Operator) -> bool:
    return bind.variable not in possible(other) and is_about(bind.expression, bind.input, other)


def _waiting(bind: Extend, join: Join) -> Operator:
    return Extend(pull_bind_out_of_join(join), bind.variable, bind.expression)
