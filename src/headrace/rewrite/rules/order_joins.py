"""In which order the operands of joins are joined."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from headrace.algebra.expressions import Variable
from headrace.algebra.operators import (
    Extend,
    Filter,
    Graph,
    Join,
    Operator,
    Project,
    Values,
    Window,
)
from headrace.algebra.scope import possible
from headrace.rdf.terms import Iri


def order_joins(operator: Operator) -> Operator:
    """JComm and H2: what is about one named graph before what is about each, the rest last.

    P2 AND P1  ->  P1 AND P2    if P1 is the more selective, and each still meets a neighbour
    """
    match operator:
        case Join():
            operands = joined(operator)
            ordered = tuple(_chained(operands))
            return operator if ordered == operands else reduce(Join, ordered)
        case _:
            return operator


def joined(operator: Operator) -> tuple[Operator, ...]:
    """The operands of a chain of joins, left to right."""
    match operator:
        case Join(left, right):
            return (*joined(left), *joined(right))
        case _:
            return (operator,)


def _chained(operands: tuple[Operator, ...]) -> Iterator[Operator]:
    """The most selective operand, then always the most selective that shares a variable."""
    left = list(operands)
    bound: frozenset[Variable] = frozenset()
    while left:
        near = [each for each in left if possible(each) & bound] or left
        chosen = min(near, key=_rank)  # the first of equals
        left.remove(chosen)
        bound |= possible(chosen)
        yield chosen


def _rank(operator: Operator) -> int:
    match operator:
        case Values():
            return 0
        case Graph(name, _) | Window(name, _):
            return 1 if isinstance(name, Iri) else 3
        case Filter(_, source) | Project(source) | Extend(source):
            return _rank(source)
        case _:
            return 2
