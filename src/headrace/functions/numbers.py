"""Functions of one number; the result has the numeric type of the argument."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from headrace.functions.numerals import EXACT, Kind, Number, exactly
from headrace.functions.values import literal_of, number_of
from headrace.rdf.terms import Literal, Term

_HALF = Decimal("0.5")
# From here on a double has no fraction, and adding a half to one might round it.
_WHOLE_FROM = 2.0**52


def absolute(term: Term) -> Literal:
    """ABS."""
    number = number_of(term)
    value = number.value
    positive = value.copy_abs() if isinstance(value, Decimal) else abs(value)
    return literal_of(Number(number.kind, positive))


def ceiling(term: Term) -> Literal:
    """CEIL: the least whole number that is not less."""
    return _whole(term, lambda value: value.to_integral_value(ROUND_CEILING, EXACT), math.ceil)


def floor(term: Term) -> Literal:
    """FLOOR: the greatest whole number that is not greater."""
    return _whole(term, lambda value: value.to_integral_value(ROUND_FLOOR, EXACT), math.floor)


def rounded(term: Term) -> Literal:
    """ROUND: the nearest whole number, of two the greater.

    >>> from headrace.rdf.vocabulary import XSD_DECIMAL
    >>> rounded(Literal("-2.5", XSD_DECIMAL)).lexical
    '-2'
    """
    return _whole(term, _round_decimal, _round_float)


def _whole(
    term: Term, exact: Callable[[Decimal], Decimal], inexact: Callable[[float], float]
) -> Literal:
    number = number_of(term)
    value = number.value
    if number.kind is Kind.INTEGER:
        return literal_of(number)
    if isinstance(value, Decimal):
        return literal_of(exactly(lambda: exact(value)))
    if not math.isfinite(value) or abs(value) >= _WHOLE_FROM:
        return literal_of(number)
    # A negative number that rounds to zero stays negative.
    return literal_of(Number(number.kind, math.copysign(float(inexact(float(value))), value)))


def _round_decimal(value: Decimal) -> Decimal:
    return EXACT.add(value, _HALF).to_integral_value(ROUND_FLOOR, EXACT)


def _round_float(value: float) -> float:
    below = math.floor(value)
    return below + 1 if value - below >= float(_HALF) else below
