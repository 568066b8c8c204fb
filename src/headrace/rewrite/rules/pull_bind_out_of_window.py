"""BIND inside WINDOW."""

from __future__ import annotations

from headrace.algebra.operators import Extend, Operator, Window
from headrace.algebra.scope import mentioned
from headrace.rewrite.conditions import is_movable


def pull_bind_out_of_window(operator: Operator) -> Operator:
    """BWPush: what needs no data is computed outside, where patterns can meet.

    WINDOW n (P BIND_v C)  ->  (WINDOW n P) BIND_v C    if n is neither v nor in C
    """
    match operator:
        case Window(name, Extend(source, variable, expression), stream):
            if is_movable(expression) and not {name, stream} & {variable, *mentioned(expression)}:
                return Extend(
                    pull_bind_out_of_window(Window(name, source, stream)), variable, expression
                )
    return operator
