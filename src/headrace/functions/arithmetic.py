"""The four operations and the signs, with promotion integer -> decimal -> float -> double.

Integers and decimals are exact. Only a quotient is rounded, half to even: it keeps 18
fractional digits, and if it is smaller than one at least 18 that are significant.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Final, TypeAlias

from headrace.functions.errors import ExpressionError
from headrace.functions.numerals import EXACT, Kind, Number, as_float, exactly, single
from headrace.functions.values import literal_of, number_of
from headrace.rdf.terms import Literal, Term

FRACTION_DIGITS: Final = 18

_Exact: TypeAlias = Callable[[Decimal, Decimal], Decimal]
_Float: TypeAlias = Callable[[float, float], float]


def add(left: Term, right: Term) -> Literal:
    """`+`."""
    return literal_of(sum_of(number_of(left), number_of(right)))


def subtract(left: Term, right: Term) -> Literal:
    """`-`."""
    return literal_of(difference_of(number_of(left), number_of(right)))


def multiply(left: Term, right: Term) -> Literal:
    """`*`."""
    return literal_of(product_of(number_of(left), number_of(right)))


def divide(left: Term, right: Term) -> Literal:
    """`/`; of two integers it is a decimal, and by an exact zero it is an error."""
    return literal_of(quotient_of(number_of(left), number_of(right)))


def negate(term: Term) -> Literal:
    """`-` before a number."""
    number = number_of(term)
    value = number.value
    # A minus sign would round a decimal to the digits of the current context.
    negative = value.copy_negate() if isinstance(value, Decimal) else -value
    return literal_of(Number(number.kind, negative))


def plus(term: Term) -> Literal:
    """`+` before a number."""
    return literal_of(number_of(term))


def sum_of(left: Number, right: Number) -> Number:
    """Add two numbers."""
    if left.kind is Kind.INTEGER and right.kind is Kind.INTEGER:
        return Number(Kind.INTEGER, left.value + right.value)  # type: ignore[operator]  # integers
    return _promoted(left, right, EXACT.add, lambda one, other: one + other)


def difference_of(left: Number, right: Number) -> Number:
    """Subtract two numbers."""
    if left.kind is Kind.INTEGER and right.kind is Kind.INTEGER:
        return Number(Kind.INTEGER, left.value - right.value)  # type: ignore[operator]  # integers
    return _promoted(left, right, EXACT.subtract, lambda one, other: one - other)


def product_of(left: Number, right: Number) -> Number:
    """Multiply two numbers."""
    if left.kind is Kind.INTEGER and right.kind is Kind.INTEGER:
        return Number(Kind.INTEGER, left.value * right.value)  # type: ignore[operator]  # integers
    return _promoted(left, right, EXACT.multiply, lambda one, other: one * other)


def quotient_of(left: Number, right: Number) -> Number:
    """Divide two numbers."""
    return _promoted(left, right, _exact_quotient, _float_quotient)


def _promoted(left: Number, right: Number, exact: _Exact, inexact: _Float) -> Number:
    kind = max(left.kind, right.kind)
    if kind >= Kind.FLOAT:
        one, other = as_float(left.value), as_float(right.value)
        if kind is Kind.FLOAT:
            return Number(kind, single(inexact(single(one), single(other))))
        return Number(kind, inexact(one, other))
    decimals = Decimal(left.value), Decimal(right.value)
    return Number(Kind.DECIMAL, exactly(lambda: exact(*decimals)))


def _exact_quotient(left: Decimal, right: Decimal) -> Decimal:
    if not right:
        raise ExpressionError("division by zero")
    zeros = max(right.adjusted() - left.adjusted(), 0) if left else 0
    places = FRACTION_DIGITS + zeros
    (above, below), (other_above, other_below) = (each.as_integer_ratio() for each in (left, right))
    scaled = _rounded(above * other_below * 10**places, below * other_above)
    return EXACT.scaleb(Decimal(scaled), -places)


def _rounded(dividend: int, divisor: int) -> int:
    """Divide integers; of two nearest integers the even one is the result, as with `round`."""
    if divisor < 0:
        dividend, divisor = -dividend, -divisor
    found, rest = divmod(dividend, divisor)
    return found + (2 * rest > divisor or (2 * rest == divisor and found % 2 == 1))


def _float_quotient(left: float, right: float) -> float:
    try:
        return left / right
    except ZeroDivisionError:
        if left == 0 or math.isnan(left):
            return math.nan
        return math.copysign(math.inf, left) * math.copysign(1, right)
