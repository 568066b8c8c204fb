"""Values that nobody asks for."""

from __future__ import annotations

from headrace.algebra.operators import Extend, Group, Operator, Service
from headrace.algebra.scope import Variables, possible
from headrace.algebra.walk import inputs, with_inputs
from headrace.rewrite.conditions import is_fixed
from headrace.rewrite.knowledge import Known
from headrace.rewrite.needed import needed_below


def prune_binds(operator: Operator, _known: Known) -> Operator:
    """What nobody asks for is not computed.

    P BIND_v C  ->  P    if nothing above reads v
    """
    return _pruned(operator, possible(operator))


def _pruned(operator: Operator, needed: Variables) -> Operator:
    if isinstance(operator, Service) or not is_fixed(operator):
        return operator
    match operator:
        case Extend(source, variable) if variable not in needed:
            return _pruned(source, needed)
        case Group(source, keys, aggregates) if keys:
            kept = tuple(each for each in aggregates if each[0] in needed)
            operator = operator if kept == aggregates else Group(source, keys, kept)
    below = needed_below(operator, needed)
    sources = zip(inputs(operator), below, strict=True)
    return with_inputs(operator, tuple(_pruned(source, wanted) for source, wanted in sources))
