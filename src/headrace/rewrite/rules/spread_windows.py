"""Windows whose names are variables, below aggregates."""

from __future__ import annotations

from headrace.algebra.expressions import Variable
from headrace.algebra.operators import (
    Annotate,
    Extend,
    Filter,
    Group,
    Operator,
    Project,
    Union,
    Window,
)
from headrace.algebra.scope import possible
from headrace.algebra.walk import inputs, with_inputs
from headrace.rewrite.knowledge import Known


def spread_windows(operator: Operator, known: Known) -> Operator:
    """Below an aggregate, each window that a variable can name is a branch of its own.

    GROUP (WINDOW ?w P)  ->  GROUP ((WINDOW w1 P) BIND_?w w1 UNION (WINDOW w2 P) BIND_?w w2 ...)
    """
    match operator:
        case Group(source) | Annotate(source) if known.windows:
            return with_inputs(operator, (_spread(source, known),))
        case _:
            return operator


def _spread(operator: Operator, known: Known) -> Operator:
    match operator:
        case Union() | Filter() | Project():
            below = tuple(_spread(source, known) for source in inputs(operator))
            return with_inputs(operator, below)
        case Window(Variable() as name, source, None) if name not in possible(source):
            names = dict.fromkeys(window.name for window in known.windows)
            branches = tuple(Extend(Window(each, source), name, each) for each in names)
            return branches[0] if len(branches) == 1 else Union(branches)
        case _:
            return operator
