"""Sums and differences of independent numbers that are not known exactly."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, isfinite, log
from typing import Final, assert_never

import numpy as np

from headrace.functions.errors import ExpressionError
from headrace.functions.uncertainty.convolution import convolve
from headrace.functions.uncertainty.families import (
    Beta,
    Continuous,
    Distribution,
    Exponential,
    Histogram,
    LogNormal,
    Normal,
    Point,
    Trapezoid,
    Uniform,
    deviation,
    knots_of,
)
from headrace.functions.uncertainty.literals import checked
from headrace.functions.uncertainty.quadrature import check_range, expected, landmarks

NORMAL: Final = "normal"
"""The approximation by the normal distribution with the right mean and variance."""
HISTOGRAM: Final = "histogram"
"""The approximation by a histogram with the right probability of each part."""
APPROXIMATIONS: Final = (NORMAL, HISTOGRAM)

_PARTS: Final = 64
_REACH: Final = 8.0
"""So many deviations from the mean a histogram reaches, unless there is nothing that far."""


def shifted(distribution: Distribution, by: float) -> Distribution:
    """A distribution and a number.

    >>> shifted(Uniform(-2.0, 2.0), 26)
    Uniform(low=24.0, high=28.0)
    """
    match distribution:
        case Normal(mean, variance):
            return Normal(mean + by, variance)
        case Uniform(low, high):
            return Uniform(low + by, high + by)
        case Point(value):
            return Point(value + by)
        case Trapezoid(low, rises, falls, high):
            return Trapezoid(low + by, rises + by, falls + by, high + by)
        case Histogram(edges, weights):
            return Histogram(tuple(edge + by for edge in edges), weights)
        case LogNormal(mean, variance, shift):
            return LogNormal(mean, variance, shift + by)
        case Exponential(rate, shift):
            return Exponential(rate, shift + by)
        case Beta(alpha, beta, low, high):
            return Beta(alpha, beta, low + by, high + by)
        case _:
            assert_never(distribution)


def negated(distribution: Distribution) -> Distribution | None:
    """Change the sign of a distribution; None if no family has the result."""
    match distribution:
        case Normal(mean, variance):
            return Normal(-mean, variance)
        case Uniform(low, high):
            return Uniform(-high, -low)
        case Point(value):
            return Point(-value)
        case Trapezoid(low, rises, falls, high):
            return Trapezoid(-high, -falls, -rises, -low)
        case Histogram(edges, weights):
            return Histogram(tuple(-edge for edge in reversed(edges)), weights[::-1])
        case Beta(alpha, beta, low, high):
            return Beta(beta, alpha, -high, -low)
        case LogNormal() | Exponential():
            return None
        case _:
            assert_never(distribution)


def divided(distribution: Distribution, by: int) -> Distribution:
    """A part of a distribution, as an average needs it."""
    match distribution:
        case Normal(mean, variance):
            return Normal(mean / by, variance / by / by)
        case Uniform(low, high):
            return Uniform(low / by, high / by)
        case Point(value):
            return Point(value / by)
        case Trapezoid(low, rises, falls, high):
            return Trapezoid(low / by, rises / by, falls / by, high / by)
        case Histogram(edges, weights):
            return Histogram(tuple(edge / by for edge in edges), weights)
        case LogNormal(mean, variance, shift):
            return LogNormal(mean - log(by), variance, shift / by)
        case Exponential(rate, shift):
            return Exponential(rate * by, shift / by)
        case Beta(alpha, beta, low, high):
            return Beta(alpha, beta, low / by, high / by)
        case _:
            assert_never(distribution)


def total(distributions: Sequence[Distribution]) -> Distribution:
    """Add independent numbers; their order does not matter.

    In closed form where a family has the sum, otherwise a histogram by numerical convolution.

    Raises:
        ExpressionError: its numbers are too large, or its tails too heavy.

    >>> total([Uniform(0.0, 1.0), Uniform(0.0, 2.0)])
    Trapezoid(low=0.0, rises=1.0, falls=2.0, high=3.0)
    """
    return _total([(each, 1) for each in distributions])


def _total(signed: Sequence[tuple[Distribution, int]]) -> Distribution:
    closed = _add_in_closed_form(signed)
    return checked(convolve(signed) if closed is None else closed)


def _add_in_closed_form(signed: Sequence[tuple[Distribution, int]]) -> Distribution | None:
    """Add in closed form; None if no family has the sum."""
    if any(isinstance(each, Point) and not isfinite(each.value) for each, _ in signed):
        raise ExpressionError("a sum with an infinite number is no distribution")
    distributions = []
    for distribution, sign in signed:
        positive = distribution if sign > 0 else negated(distribution)
        if positive is None:
            return None
        distributions.append(positive)
    try:
        return _in_family(distributions)
    except OverflowError:
        raise ExpressionError("a sum is too large for a double") from None


def _in_family(distributions: Sequence[Distribution]) -> Distribution | None:
    exact = fsum(float(each.value) for each in distributions if isinstance(each, Point))
    normal = [each for each in distributions if isinstance(each, Normal)]
    others = [each for each in distributions if not isinstance(each, Point | Normal)]
    match others:
        case [] if normal:
            means = [exact, *(float(each.mean) for each in normal)]
            return Normal(fsum(means), fsum(float(each.variance) for each in normal))
        case []:
            return Point(exact)
        case [one] if not normal:
            return shifted(one, exact)
        case [Uniform() as one, Uniform() as other] if not normal:
            return shifted(_trapezoid(one, other), exact)
        case _:
            return None


def _trapezoid(one: Uniform, other: Uniform) -> Trapezoid:
    rises, falls = sorted((float(one.low + other.high), float(one.high + other.low)))
    return Trapezoid(float(one.low + other.low), rises, falls, float(one.high + other.high))


def added(one: Distribution, other: Distribution) -> Distribution:
    """Add two independent numbers.

    Raises:
        ExpressionError: its numbers are too large, or its tails too heavy.
    """
    return _total(((one, 1), (other, 1)))


def subtracted(one: Distribution, other: Distribution) -> Distribution:
    """Subtract two independent numbers.

    Raises:
        ExpressionError: its numbers are too large, or its tails too heavy.
    """
    return _total(((one, 1), (other, -1)))


def check_approximation(name: str) -> None:
    """Refuse the name of an approximation that there is not.

    Raises:
        ExpressionError: saying which there are.
    """
    if name not in APPROXIMATIONS:
        listed = " or ".join(f"'{each}'" for each in APPROXIMATIONS)
        raise ExpressionError(f"an approximation is {listed}, not '{name}'")


def approximated(
    one: Distribution, other: Distribution, sign: int, approximation: str
) -> Distribution:
    """Add or subtract in a family that has the result only roughly; exactly where possible.

    Raises:
        ExpressionError: there is no such approximation, or its numbers are too large.
    """
    check_approximation(approximation)
    try:
        closed = _add_in_closed_form(((one, 1), (other, sign)))
        if closed is not None:
            return checked(closed)
    except ExpressionError:  # it has a family, but doubles cannot hold it
        if approximation == HISTOGRAM:
            raise
    mean = float(one.mean + sign * other.mean)
    variance = float(one.variance + other.variance)
    normal = Normal(mean, variance)
    if approximation == NORMAL:
        return checked(normal)
    return checked(_histogram(one, other, sign, normal))


def _histogram(one: Distribution, other: Distribution, sign: int, like: Normal) -> Histogram:
    assert not isinstance(other, Point), "that has a family"
    check_range(one, other)
    reach = _REACH * deviation(like)
    start, stop = (one.value, one.value) if isinstance(one, Point) else one.support
    low, high = other.support if sign > 0 else tuple(-end for end in reversed(other.support))
    edges = np.linspace(
        max(float(like.mean) - reach, start + low),
        min(float(like.mean) + reach, stop + high),
        _PARTS + 1,
    )
    if isinstance(one, Point):
        below = other.above(float(one.value) - edges)
    else:
        below = np.array([_up_to(edge, one, other, sign) for edge in edges.tolist()])
    return Histogram(tuple(edges.tolist()), tuple(np.maximum(np.diff(below), 0.0).tolist()))


def _up_to(edge: float, one: Continuous, other: Continuous, sign: int) -> float:
    """The probability that a sum or difference is not above a number."""
    corners = [sign * (edge - knot) for knot in landmarks(one) + knots_of(one)]
    return expected(other, lambda x: one.below(edge - sign * x), corners + knots_of(other))
