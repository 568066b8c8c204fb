"""Filters put to the triple pattern that they are about."""

from __future__ import annotations

from headrace.algebra.expressions import Expression
from headrace.algebra.operators import Bgp, Filter, Join, Operator
from headrace.algebra.scope import mentioned, possible
from headrace.rewrite.conditions import is_movable, timed_variables
from headrace.rewrite.knowledge import Known
from headrace.rewrite.sources import Origin


def tested_early(operator: Operator, known: Known, origin: Origin) -> Operator:
    """A filter of joined triple patterns put to the first of them that has all its variables.

    Only where the statements of that pattern are expected from one origin. A variable has the same
    value in all triple patterns, so that it does not matter which of them is tested.
    """
    match operator:
        case Filter(condition, source) if not _is_alone(source) and _is_plain(condition):
            made = _put(condition, source, known, origin)
            return operator if made is None else made
        case _:
            return operator


def _is_plain(condition: Expression) -> bool:
    return is_movable(condition) and bool(mentioned(condition)) and not timed_variables(condition)


def _is_alone(operator: Operator) -> bool:
    """Whether an operator is a triple pattern, filtered or not."""
    while isinstance(operator, Filter):
        operator = operator.input
    return isinstance(operator, Bgp) and len(operator.patterns) <= 1


def _put(
    condition: Expression, operator: Operator, known: Known, origin: Origin
) -> Operator | None:
    """An operator with a condition put to one of its triple patterns, if one has the variables."""
    match operator:
        case Bgp(patterns):
            for place, pattern in enumerate(patterns):
                alone = Bgp((pattern,))
                about = mentioned(condition) <= possible(alone)
                if about and known.expected(pattern) is origin:
                    rest = (*patterns[:place], *patterns[place + 1 :])
                    filtered = Filter(condition, alone)
                    return Join(Bgp(rest), filtered) if rest else filtered
        case Filter(other, source):
            made = _put(condition, source, known, origin)
            return None if made is None else Filter(other, made)
        case Join(left, right):
            made = _put(condition, left, known, origin)
            if made is not None:
                return Join(made, right)
            made = _put(condition, right, known, origin)
            return None if made is None else Join(left, made)
    return None
