"""Operators over no solution at all."""

from __future__ import annotations

from headrace.algebra.operators import (
    Bgp,
    Extend,
    Filter,
    Graph,
    Join,
    LeftJoin,
    Minus,
    Operator,
    Union,
    Values,
    Window,
)
from headrace.algebra.scope import possible, possible_in_order


def drop_nothing(operator: Operator) -> Operator:
    """What has no solution by itself makes what needs one have none.

    P AND nothing  ->  nothing        P UNION nothing  ->  P        P OPT nothing  ->  P
    """
    match operator:
        case Join(left, right) if _is_nothing(left) or _is_nothing(right):
            return _nothing(operator)
        case LeftJoin(left, _) | Minus(left, _) if _is_nothing(left):
            return _nothing(operator)
        case Minus(left, right) if _is_nothing(right):
            return left
        case LeftJoin(left, right) if _is_nothing(right) and possible(right) <= possible(left):
            return left
        case Filter(_, source) | Extend(source) | Graph(_, source) | Window(_, source):
            return _nothing(operator) if _is_nothing(source) else operator
        case Union(branches) if any(map(_is_nothing, branches)):
            left_over = tuple(each for each in branches if not _is_nothing(each))
            if not left_over:
                return _nothing(operator)
            kept = left_over[0] if len(left_over) == 1 else Union(left_over)
            return kept if possible(kept) == possible(operator) else operator
        case Join(Bgp(()), other) | Join(other, Bgp(())):
            return other
        case _:
            return operator


def _is_nothing(operator: Operator) -> bool:
    return isinstance(operator, Values) and not operator.rows


def _nothing(operator: Operator) -> Operator:
    return Values(possible_in_order(operator), ())
