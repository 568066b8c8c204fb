"""What a rule is, and how one is applied to all of a pattern."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headrace.algebra.operators import Operator, Service
from headrace.algebra.walk import inputs, with_inputs
from headrace.rewrite.conditions import is_fixed
from headrace.rewrite.knowledge import Known

Rewrite = Callable[[Operator, Known], Operator]


@dataclass(frozen=True, slots=True)
class Rule:
    """An equivalence, in the direction that pays.

    Attributes:
        name: what `--set rules.<name>=off` calls it.
        equation: what it says.
        rewrite: makes an equivalent pattern, or returns the same one if it does not apply.
        on: whether it is applied unless it is switched off, or only where it is switched on.
    """

    name: str
    equation: str
    rewrite: Rewrite
    on: bool = True


def local(function: Callable[[Operator], Operator], *, on: bool = True) -> Rule:
    """A rule that looks at one operator and what is below it."""
    return _everywhere(function, lambda operator, _known: function(operator), on=on)


def placed(
    function: Rewrite, *, of: Callable[..., Operator] | None = None, on: bool = True
) -> Rule:
    """A rule that also looks at where an operator stands."""

    def apply(operator: Operator, known: Known) -> Operator:
        return _transformed(operator, function, known)

    return _named(of or function, apply, on=on)


def whole(function: Rewrite, *, on: bool = True) -> Rule:
    """A rule that looks at all of a pattern at once."""
    return _named(function, function, on=on)


def _everywhere(function: Callable[..., Operator], rewrite: Rewrite, *, on: bool) -> Rule:
    def apply(operator: Operator, known: Known) -> Operator:
        return _transformed(operator, rewrite, known)

    return _named(function, apply, on=on)


def _named(function: Callable[..., Operator], rewrite: Rewrite, *, on: bool) -> Rule:
    return Rule(function.__name__, function.__doc__ or "", rewrite, on)


def _transformed(operator: Operator, function: Rewrite, known: Known) -> Operator:
    """A pattern in which a rule was applied to every operator, inputs first."""
    if isinstance(operator, Service):
        return operator
    inside = known.inside(operator)
    below = tuple(_transformed(each, function, inside) for each in inputs(operator))
    standing = with_inputs(operator, below)
    made = function(standing, known)
    return made if made is standing or is_fixed(standing) else standing
