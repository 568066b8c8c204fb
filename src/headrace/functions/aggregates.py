"""What an aggregate gives for the values of a group; the order of the values never matters.

A value that is an error or unbound is None. COUNT and SAMPLE pass over it; all others have no
result then. MIN and MAX follow the order of ORDER BY, so they compare values of any type. SAMPLE
is the least value of that order. GROUP_CONCAT joins the string forms of the values in that order.
SUM and AVG are exact for integers and decimals; with floats among the values the sum is rounded
once; with distributions among them they are those of independent numbers. Of no values COUNT, SUM
and AVG are 0, GROUP_CONCAT is empty, and the others have no result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Final

from headrace.functions.arithmetic import quotient_of, sum_of
from headrace.functions.errors import ExpressionError
from headrace.functions.numerals import Kind, Number, single
from headrace.functions.ordering import order_key
from headrace.functions.strings import joined
from headrace.functions.terms import string_form
from headrace.functions.values import is_distribution, literal_of, number_of
from headrace.metering import current
from headrace.rdf.terms import Literal, Term

SEPARATOR: Final = " "
"""What GROUP_CONCAT puts between values if the query does not say."""

_ZERO: Final = Number(Kind.INTEGER, 0)


def aggregate(
    function: str,
    values: Iterable[Term | None],
    *,
    distinct: bool = False,
    separator: str | None = None,
) -> Term:
    """The result of an aggregate, by its upper-case name, over the values of a group.

    DISTINCT leaves one of those that are the same term. COUNT(*) is not of values but of
    solutions: whoever has the solutions counts them.

    Raises:
        ExpressionError: it has none.

    >>> aggregate("SUM", [literal_of(1), literal_of(0.5)]).lexical
    '1.5E0'
    """
    counted = current().steps(values)
    group = list(dict.fromkeys(counted) if distinct else counted)
    if function == "GROUP_CONCAT":
        return group_concat(group, SEPARATOR if separator is None else separator)
    return _AGGREGATES[function](group)


def count(values: Sequence[Term | None]) -> Literal:
    """COUNT: how many values are no errors."""
    return literal_of(sum(value is not None for value in values))


def total(values: Sequence[Term | None]) -> Literal:
    """SUM."""
    if any(map(is_distribution, values)):
        return _uncertain(values, 1)
    return literal_of(_sum(values))


def average(values: Sequence[Term | None]) -> Literal:
    """AVG."""
    if not values:
        return literal_of(_ZERO)
    if any(map(is_distribution, values)):
        return _uncertain(values, len(values))
    return literal_of(quotient_of(_sum(values), Number(Kind.INTEGER, len(values))))


def least(values: Sequence[Term | None]) -> Term:
    """MIN."""
    return min(current().steps(_some(_bound(values))), key=order_key)


def greatest(values: Sequence[Term | None]) -> Term:
    """MAX."""
    return max(current().steps(_some(_bound(values))), key=order_key)


def sample(values: Sequence[Term | None]) -> Term:
    """SAMPLE."""
    bound = _some([value for value in values if value is not None])
    return min(current().steps(bound), key=order_key)


def group_concat(values: Sequence[Term | None], separator: str = SEPARATOR) -> Literal:
    """GROUP_CONCAT."""
    ordered = sorted(current().steps(_bound(values)), key=current().count_calls(order_key))
    texts = (string_form(value).lexical for value in current().steps(ordered))
    return Literal(joined(texts, separator))


_AGGREGATES: Final[dict[str, Callable[[Sequence[Term | None]], Term]]] = {
    "COUNT": count,
    "SUM": total,
    "AVG": average,
    "MIN": least,
    "MAX": greatest,
    "SAMPLE": sample,
}


def _bound(values: Sequence[Term | None]) -> list[Term]:
    bound = [value for value in values if value is not None]
    if len(bound) < len(values):
        raise ExpressionError("a value of the group is an error or unbound")
    return bound


def _some(values: list[Term]) -> list[Term]:
    if not values:
        raise ExpressionError("the group has no value")
    return values


def _uncertain(values: Sequence[Term | None], parts: int) -> Literal:
    """The sum of distributions, or a part of it."""
    # What it needs takes as long to load as everything else together, and few queries ask for it.
    from headrace.functions.uncertainty import sums  # noqa: PLC0415
    from headrace.functions.uncertainty.literals import distribution_of, literal  # noqa: PLC0415

    found = sums.total([distribution_of(value) for value in _bound(values)])
    return literal(sums.divided(found, parts))


def _sum(values: Sequence[Term | None]) -> Number:
    numbers = [number_of(value) for value in current().steps(_bound(values))]
    exact = _ZERO
    for number in current().steps(numbers):
        if number.kind <= Kind.DECIMAL:
            exact = sum_of(exact, number)
    floats = [number.value for number in numbers if isinstance(number.value, float)]
    if not floats:
        return exact
    rounded = _float_sum(floats, Fraction(exact.value))
    if any(number.kind is Kind.DOUBLE for number in numbers):
        return Number(Kind.DOUBLE, rounded)
    return Number(Kind.FLOAT, single(rounded))


def _float_sum(floats: list[float], exact: Fraction) -> float:
    """The sum rounded once, which no order of the values changes."""
    special = [value for value in floats if not math.isfinite(value)]
    if special:
        return special[0] if len(set(map(str, special))) == 1 else math.nan
    try:
        return math.fsum(floats) if not exact else float(sum(map(Fraction, floats), exact))
    except OverflowError:
        return _beyond(sum(map(Fraction, floats), exact))


def _beyond(total: Fraction) -> float:
    """A sum whose parts are beyond the range of a double, though it may not be itself."""
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf
