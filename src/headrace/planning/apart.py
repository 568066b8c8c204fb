"""Graph patterns in joins that fall apart: what shares no variable is an operand of its own.

Together they would be a product of all with all, before the operand that brings them together has
its say.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from headrace.algebra.expressions import TriplePattern
from headrace.algebra.operators import Bgp, Join, Operator, Service
from headrace.algebra.paths import PathPattern
from headrace.algebra.query import Query
from headrace.algebra.scope import possible
from headrace.algebra.walk import inputs, with_inputs
from headrace.rewrite.optimise import optimised
from headrace.rewrite.rule import Rule
from headrace.rewrite.rules import RULES
from headrace.rewrite.sources import KnownPredicates

_Pattern = TriplePattern | PathPattern


def to_be_evaluated(
    query: Query, rules: Sequence[Rule] = RULES, known: KnownPredicates | None = None
) -> Operator:
    """Choose the cheaper of a pattern and its separation; the pattern itself where it counts.

    Args:
        query: what is asked.
        rules: what may be applied.
        known: which predicates occur in static data and in streams.
    """
    pattern = optimised(query, known, rules=rules)
    return pattern if query.semantics.consumes else taken_apart(pattern)


def taken_apart(operator: Operator) -> Operator:
    """The same with every graph pattern of a join in parts that share no variable.

    P AND BGP(A, B)  ->  (P AND BGP(A)) AND BGP(B)    if A and B share no variable
    """
    if isinstance(operator, Service):
        return operator  # it is sent as it is written
    below = inputs(operator)
    made = tuple(map(taken_apart, below))
    if any(new is not old for new, old in zip(made, below, strict=True)):
        operator = with_inputs(operator, made)
    match operator:
        case Join(Service(), _) | Join(_, Service()):
            return operator  # an endpoint is asked for what fits all of its neighbour
        case Join(left, right):
            operands = (*_components(left), *_components(right))
            return operator if len(operands) == len((left, right)) else reduce(Join, operands)
        case _:
            return operator


def _components(operator: Operator) -> tuple[Operator, ...]:
    """A graph pattern in parts; anything else is one."""
    if not isinstance(operator, Bgp) or len(operator.patterns) <= 1:
        return (operator,)
    groups: list[list[_Pattern]] = []
    for pattern in operator.patterns:
        names = possible(Bgp((pattern,)))
        near = [group for group in groups if possible(Bgp(tuple(group))) & names]
        groups = [group for group in groups if group not in near]
        groups.append([*(each for group in near for each in group), pattern])
    return (operator,) if len(groups) == 1 else tuple(Bgp(tuple(group)) for group in groups)
