"""What a chain of joins puts together: with the conditions on the way, whatever is projected."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from headrace.algebra.expressions import Expression, Variable
from headrace.algebra.operators import Filter, Join, Operator, Project, Service
from headrace.algebra.scope import certain, mentioned, possible
from headrace.algebra.walk import conjuncts
from headrace.functions.dependence import is_local
from headrace.rewrite.conditions import is_movable


@dataclass(frozen=True, slots=True)
class Chain:
    """Operators that are joined.

    Attributes:
        operands: they, in whatever order.
        conditions: what has to hold of the whole.
        hidden: the variables that projections had dropped: nobody else has them.
    """

    operands: tuple[Operator, ...]
    conditions: tuple[Expression, ...] = ()
    hidden: frozenset[Variable] = frozenset()


def chain_of(
    operator: Join, whole: Collection[int], closed: Callable[[Operator], bool] | None
) -> Chain:
    """The chain that begins with a join.

    Args:
        operator: the join; it is taken apart, whatever is said of it.
        whole: operators that are looked at as they are, by identity.
        closed: which others are; if there are any, conditions and projections do not end a chain.
    """
    if closed is None:
        return Chain(tuple(_operands(operator, whole)))
    # What is known beforehand is found by this very chain.
    return _flat(operator, lambda each: each is not operator and closed(each))


def _operands(operator: Operator, whole: Collection[int]) -> list[Operator]:
    """What joins put together; an endpoint is asked for what fits its neighbour."""
    match operator:
        case Join(Service(), _) | Join(_, Service()):
            return [operator]
        case Join(left, right) if id(operator) not in whole:
            return [*_operands(left, whole), *_operands(right, whole)]
        case _:
            return [operator]


def _flat(operator: Operator, closed: Callable[[Operator], bool]) -> Chain:
    alone = Chain((operator,))
    match operator:
        case Join(Service(), _) | Join(_, Service()):
            return alone
        case Join(left, right) if not closed(operator):
            one, other = _flat(left, closed), _flat(right, closed)
            if one.hidden & (possible(right) | other.hidden):
                one = Chain((left,))
            if other.hidden & possible(left):
                other = Chain((right,))
            return Chain(
                (*one.operands, *other.operands),
                (*one.conditions, *other.conditions),
                one.hidden | other.hidden,
            )
        case Filter(condition, source) if not closed(operator):
            chain, bound = _flat(source, closed), certain(source)
            if len(chain.operands) > 1 and _can_move(condition, bound):
                return replace(chain, conditions=(*chain.conditions, *conjuncts(condition)))
        case Project(source, variables) if not closed(operator):
            chain = _flat(source, closed)
            if len(chain.operands) > 1 and chain.hidden.isdisjoint(variables):
                dropped = possible(source) - frozenset(variables)
                return replace(chain, hidden=chain.hidden | dropped)
    return alone


def _can_move(condition: Expression, bound: frozenset[Variable]) -> bool:
    """Whether a condition says the same of a solution when more has been joined with it."""
    return is_movable(condition) and is_local(condition) and mentioned(condition) <= bound
