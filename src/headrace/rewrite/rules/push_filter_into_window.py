"""Filters above windows."""

from __future__ import annotations

from headrace.algebra.operators import Filter, Operator, Window
from headrace.rewrite.conditions import is_about


def push_filter_into_window(operator: Operator) -> Operator:
    """FWPush: a window is filtered where it is read.

    (WINDOW n P) FILTER R  ->  WINDOW n (P FILTER R)    if P always binds the variables of R
    """
    match operator:
        case Filter(condition, Window(name, source, stream)) if is_about(condition, source):
            return Window(name, push_filter_into_window(Filter(condition, source)), stream)
        case _:
            return operator
