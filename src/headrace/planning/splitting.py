"""A pattern cut in two: what parts evaluate, and what is made of all that they found.

A cut goes through a chain of operators that each read one other. Groups that reach over several
parts are added up in each of them first, where that is exact: counts, extremes and samples are.
Sums are not, because those of floating-point numbers depend on how they are put together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from headrace.algebra.expressions import Aggregate, Timestamp, Variable
from headrace.algebra.operators import (
    Annotate,
    Distinct,
    Extend,
    Filter,
    Group,
    Operator,
    OrderBy,
    Project,
    Reduced,
    Slice,
    Values,
)
from headrace.algebra.scope import possible_in_order
from headrace.algebra.walk import expressions, inputs, parts, with_inputs
from headrace.rewrite.conditions import is_movable

_MERGED: Final = {"COUNT": "SUM", "MIN": "MIN", "MAX": "MAX", "SAMPLE": "SAMPLE"}
"""Which aggregate puts the aggregates of parts together."""

_PASSED: Final = (Project, Distinct, Reduced, Group, Annotate, Extend, Filter, OrderBy, Slice)
"""What may be evaluated of what parts found, where it asks for no times."""


@dataclass(frozen=True, slots=True)
class Split:
    """A pattern cut in two.

    Attributes:
        core: the operator that is cut off.
        below: what parts evaluate: that, or its groups.
        above: what is made of it, with the hole in its place; the hole itself if that is all.
        hole: stands for what the parts found. It is known by its identity.
    """

    core: Operator
    below: Operator
    above: Operator
    hole: Values

    @property
    def is_all(self) -> bool:
        """Whether nothing is left to be done with what parts found."""
        return self.above is self.hole


def splits(pattern: Operator) -> Iterator[Split]:
    """The ways to cut a pattern, with less and less of it in the parts."""
    spine: list[Operator] = []
    while True:
        yield _cut(tuple(spine), pattern)
        if not _is_passed(pattern) or any(map(_asks_times, spine[-1:])):
            return
        spine.append(pattern)
        (pattern,) = inputs(pattern)


def _is_passed(operator: Operator) -> bool:
    """Whether an operator can be evaluated of what parts found of its input.

    They do not tell the times of solutions: only what each part adds up by itself may ask for them.
    """
    if _asks_times(operator):
        return isinstance(operator, Group) and _is_mergeable(operator)
    return isinstance(operator, _PASSED) and all(map(is_movable, expressions(operator)))


def is_kept_by_times(core: Operator, obstacle: Operator) -> bool:
    """Whether only what asks for times keeps a pattern from being cut below an operator of it.

    Args:
        core: what the last cut leaves to the parts.
        obstacle: the operator in it that no part finds its share of.
    """
    asks, operator = False, core
    while operator is not obstacle and isinstance(operator, _PASSED):
        asks = asks or _asks_times(operator)
        (operator,) = inputs(operator)
    return operator is obstacle and (asks or _asks_times(operator))


def _asks_times(operator: Operator) -> bool:
    return any(isinstance(p, Timestamp) for each in expressions(operator) for p in parts(each))


def _cut(spine: tuple[Operator, ...], core: Operator) -> Split:
    if spine and isinstance(spine[-1], Group) and _is_mergeable(spine[-1]):
        groups = spine[-1]
        hole = _hole(groups)
        merged = tuple((name, _merging(name, call)) for name, call in groups.aggregates)
        top: Operator = Group(hole, groups.keys, merged)
        return Split(core, groups, _built(spine[:-1], top), hole)
    hole = _hole(core)
    return Split(core, core, _built(spine, hole), hole)


def _hole(operator: Operator) -> Values:
    return Values(possible_in_order(operator), ())


def _built(spine: tuple[Operator, ...], bottom: Operator) -> Operator:
    for operator in reversed(spine):
        bottom = with_inputs(operator, (bottom,))
    return bottom


def _is_mergeable(group: Group) -> bool:
    """Whether groups of parts can be put together exactly.

    Without a key, a part without solutions has a group too: only its count says nothing wrong.
    """
    calls = [call for _, call in group.aggregates]
    known = all(call.function in _MERGED and not call.distinct for call in calls)
    return known and (bool(group.keys) or all(call.function == "COUNT" for call in calls))


def _merging(name: Variable, call: Aggregate) -> Aggregate:
    return Aggregate(_MERGED[call.function], name)
