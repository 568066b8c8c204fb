"""What a rule is, and how one is applied to all of a pattern."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headrace.algebra.operators import Filter, Operator, Service
from headrace.algebra.walk import inputs, with_inputs
from headrace.metering import current
from headrace.rewrite.conditions import is_fixed
from headrace.rewrite.knowledge import Known
from headrace.rewrite.late import can_wait

Rewrite = Callable[[Operator, Known], Operator]


@dataclass(frozen=True, slots=True)
class Rule:
    """An equivalence, in the direction that pays.

    Attributes:
        name: what `--set rules.<name>=off` calls it.
        equation: what it says.
        rewrite: makes an equivalent pattern, or returns the same one if it does not apply.
        on: whether it is applied unless it is switched off, or only where it is switched on.
        pushes: whether it puts filters below what reads data, where dear ones may not go.
    """

    name: str
    equation: str
    rewrite: Rewrite
    on: bool = True
    pushes: bool = False


def local(
    function: Callable[[Operator], Operator], *, on: bool = True, pushes: bool = False
) -> Rule:
    """A rule that looks at one operator and what is below it."""
    return placed(lambda operator, _known: function(operator), of=function, on=on, pushes=pushes)


def placed(
    function: Rewrite,
    *,
    of: Callable[..., Operator] | None = None,
    on: bool = True,
    pushes: bool = False,
) -> Rule:
    """A rule that also looks at where an operator stands."""

    def apply(operator: Operator, known: Known) -> Operator:
        return _transformed(operator, unless_waiting if pushes else function, known)

    def unless_waiting(operator: Operator, known: Known) -> Operator:
        if known.late and isinstance(operator, Filter) and can_wait(operator.condition):
            return operator
        return function(operator, known)

    named = of or function
    return Rule(named.__name__, named.__doc__ or "", apply, on, pushes)


def whole(function: Rewrite, *, on: bool = True) -> Rule:
    """A rule that looks at all of a pattern at once."""
    return Rule(function.__name__, function.__doc__ or "", function, on)


def _transformed(operator: Operator, function: Rewrite, known: Known) -> Operator:
    """A pattern in which a rule was applied to every operator, inputs first."""
    current().step("the plan of the query")
    if isinstance(operator, Service):
        return operator
    inside = known.inside(operator)
    below = tuple(_transformed(each, function, inside) for each in inputs(operator))
    standing = with_inputs(operator, below)
    made = function(standing, known)
    return made if made is standing or is_fixed(standing) else standing
