"""Variables that nobody asks for."""

from __future__ import annotations

from headrace.algebra.expressions import Variable
from headrace.algebra.operators import (
    Annotate,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    Operator,
    Project,
    Service,
)
from headrace.algebra.scope import Variables, possible, possible_in_order
from headrace.algebra.walk import inputs, with_inputs
from headrace.rewrite.conditions import asks_times, is_fixed
from headrace.rewrite.knowledge import Known
from headrace.rewrite.needed import needed_below


def push_projections(operator: Operator, _known: Known) -> Operator:
    """Variables are dropped above their last use, before solutions are joined or put together.

    P1 AND P2  ->  (PROJECT S P1) AND P2    if nothing above reads the other variables of P1
    """
    # The times of solutions do not survive a projection.
    return operator if asks_times(operator) else _narrowed(operator, possible(operator))


def _narrowed(operator: Operator, needed: Variables) -> Operator:
    if isinstance(operator, Service) or not is_fixed(operator):
        return operator
    below = needed_below(operator, needed)
    cuts = isinstance(operator, Join | LeftJoin | Minus | Group | Annotate)
    sources = [
        _cut(_narrowed(source, wanted), wanted) if cuts else _narrowed(source, wanted)
        for source, wanted in zip(inputs(operator), below, strict=True)
        # Within GRAPH ?g each solution also says which graph it is of.
    ]
    inside_each = isinstance(operator, Graph) and isinstance(operator.name, Variable)
    return operator if inside_each else with_inputs(operator, tuple(sources))


def _cut(source: Operator, wanted: Variables) -> Operator:
    """An input without the variables that nobody asks for."""
    have = possible_in_order(source)
    kept = tuple(variable for variable in have if variable in wanted)
    if len(kept) == len(have):
        return source
    return Project(source.input if isinstance(source, Project) else source, kept)
