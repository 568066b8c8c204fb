"""Filters that call functions which may be dear, put where least is left to be tested."""

from __future__ import annotations

from functools import lru_cache

from headrace.algebra.expressions import Expression
from headrace.algebra.operators import Filter, Graph, Join, LeftJoin, Operator, Project, Window
from headrace.algebra.scope import certain, mentioned, possible, possible_in_order
from headrace.functions.dependence import is_costly, is_local
from headrace.rewrite.conditions import is_movable


@lru_cache(1024)
def can_wait(condition: Expression) -> bool:
    """Whether a condition may be dear, and says the same of a solution wherever it is tested."""
    return is_costly(condition) and is_movable(condition) and is_local(condition)


def pulled(operator: Operator) -> Operator:
    """An operator with the filters of its inputs above it, where they may be dear and can wait."""
    match operator:
        case Join(left, right):
            return _pulled_from_join(left, right, operator)
        case LeftJoin(Filter(condition, left), right, test) if _may_leave(condition, left):
            return Filter(condition, LeftJoin(left, right, test))
        case Graph(name, Filter(condition, source)) if _may_leave(condition, source):
            return Filter(condition, Graph(name, source))
        case Window(name, Filter(condition, source), stream) if _may_leave(condition, source):
            return Filter(condition, Window(name, source, stream))
        case Filter(condition, Filter(other, source)) if can_wait(other) and not can_wait(
            condition
        ):
            return Filter(other, pulled(Filter(condition, source)))
        case _:
            return operator


def _may_leave(condition: Expression, source: Operator) -> bool:
    return can_wait(condition) and mentioned(condition) <= certain(source)


def _pulled_from_join(left: Operator, right: Operator, join: Join) -> Operator:
    for side, other, swapped in ((left, right, False), (right, left, True)):
        match side:
            case Filter(condition, source) if _may_leave(condition, source):
                return Filter(condition, pulled(_joined(source, other, swapped)))
            case Project(Filter(condition, source), variables) if _may_leave(condition, source):
                # The condition reads what nobody else does: that must not meet anything.
                hidden = mentioned(condition) - frozenset(variables)
                if hidden & possible(other):
                    continue
                ordered = tuple(each for each in possible_in_order(source) if each in hidden)
                seen = Project(source, (*variables, *ordered))
                waiting = Filter(condition, pulled(_joined(seen, other, swapped)))
                return Project(waiting, possible_in_order(join))
    return join


def _joined(source: Operator, other: Operator, swapped: bool) -> Join:
    return Join(other, source) if swapped else Join(source, other)
