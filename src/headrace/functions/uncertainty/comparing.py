"""How probable it is that one independent number is less than another, or between two.

In closed form wherever there is one; else by quadrature, to the tolerance that is stated there.
"""

from __future__ import annotations

from math import exp, inf
from typing import Final

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy.special import ndtr, wofz

from headrace.functions.errors import ExpressionError
from headrace.functions.uncertainty.families import (
    Beta,
    Distribution,
    Exponential,
    LogNormal,
    Normal,
    Point,
    Uniform,
    knots_of,
    straight,
)
from headrace.functions.uncertainty.pieces import Column, Numbers, Pieces
from headrace.functions.uncertainty.quadrature import check_range, expected, landmarks

_NARROW: Final = 1.0
"""So many deviations wide a piece is integrated by points: to subtract would lose digits."""
_FAR: Final = 9.0
"""So many deviations away a normal distribution has nothing left that a double can tell."""
_ROOT_TAU: Final = 2.5066282746310002
_ROOT_2: Final = 1.4142135623730951
_FEW, _FEW_WEIGHTS = leggauss(3)
_MANY, _MANY_WEIGHTS = leggauss(20)


def less(one: Distribution, other: Distribution, *, or_equal: bool = False) -> float:
    """The probability that a number is less than another.

    Where neither is exact they are equal with probability 0.

    >>> less(Normal(0.0, 1.0), Normal(1.0, 1.0))
    0.7602499389065233
    """
    match one, other:
        case Point(value), Point(limit):
            found = float(value <= limit if or_equal else value < limit)
        case Point(value), _:
            found = float(other.above(float(value)))  # type: ignore[union-attr]  # not a point
        case _, Point(limit):
            found = float(one.below(float(limit)))
        case Normal(), Normal():
            found = float(less_normal(one, other))
        case Uniform(), Uniform():
            found = float(less_uniform(one, other))
        case Exponential(), Exponential():
            found = _less_exponential(one, other)
        case LogNormal(shift=shift), LogNormal(shift=same) if shift == same:
            found = float(less_normal(one.logarithm, other.logarithm))
        case Normal(), Exponential():
            found = 1 - _exponential_less(other, one)
        case Exponential(), Normal():
            found = _exponential_less(one, other)
        case _:
            found = _less(one, other)
    return min(max(found, 0.0), 1.0)


def _less(one: Distribution, other: Distribution) -> float:
    """The same where it depends on whether densities consist of straight pieces."""
    ours, theirs = straight(one), straight(other)
    if ours is not None and theirs is not None:
        return _less_straight(ours, theirs)
    if isinstance(one, Normal) and theirs is not None:
        return _normal_less(one, theirs)
    if isinstance(other, Normal) and ours is not None:
        return 1 - _normal_less(other, ours)
    assert not isinstance(one, Point), "that is done"
    assert not isinstance(other, Point), "that is done"
    check_range(one, other)
    corners = knots_of(one) + knots_of(other)
    ways = [
        lambda: expected(other, one.below, landmarks(one) + corners),
        lambda: expected(one, other.above, landmarks(other) + corners),
    ]
    if _reluctance(one) < _reluctance(other):
        ways.reverse()
    try:
        return ways[0]()
    except ExpressionError:  # quantiles of some parameters are not known to so many digits
        return ways[1]()


def _reluctance(distribution: Distribution) -> int:
    """Who is integrated over rather than looked at: the lesser.

    A beta distribution that crowds at its ends changes there within less than doubles can tell, and
    only its quantiles do not. Those of others are dear, and those of straight pieces have corners.
    """
    if isinstance(distribution, Beta):
        return 0 if min(distribution.alpha, distribution.beta) < 1 else 3
    return 2 if straight(distribution) is not None else 1


# -- columns -----------------------------------------------------------------------------------


def less_normal(one: Normal, other: Normal) -> Column:
    """Both normal, which may be columns: so is their difference."""
    variance = one.variance + other.variance
    # The sum may be beyond doubles where its root is not.
    halved = 2 * np.sqrt(one.variance / 4 + other.variance / 4)
    deviation = np.where(np.isfinite(variance), np.sqrt(variance), halved)
    return np.asarray(ndtr((other.mean - one.mean) / deviation))


def less_uniform(one: Uniform, other: Uniform) -> Column:
    """Both uniform, which may be columns: areas that are added, so that no digit is lost."""
    low, high = np.maximum(one.low, other.low), np.minimum(one.high, other.high)
    width = other.high - other.low
    beyond = np.maximum(other.high - np.maximum(one.high, other.low), 0.0) / width
    shared = np.maximum(high - low, 0.0) / width
    middle = ((low - one.low) + (high - low) / 2) / (one.high - one.low)
    return np.asarray(beyond + np.where(shared > 0, shared * middle, 0.0))


def normal_less_uniform(one: Normal, other: Uniform) -> Column:
    """A normal number less than a uniform one, which both may be columns.

    The mean of the normal distribution function between two numbers: by its integral, or for narrow
    intervals by points.
    """
    mean, deviation = np.asarray(one.mean, float), np.asarray(one.deviation, float)
    low, high = np.asarray(other.low, float), np.asarray(other.high, float)
    width = high - low
    rise = np.maximum(high - mean, 0.0) - np.maximum(low - mean, 0.0)
    bulge = _bulge((high - mean) / deviation) - _bulge((low - mean) / deviation)
    exact = rise / width + deviation / width * bulge
    # Point by point and not as a product of matrices, whose last digits depend on their sizes.
    narrow = np.zeros_like(exact)
    for point, weight in zip(_MANY.tolist(), _MANY_WEIGHTS.tolist(), strict=True):
        x = low + width / 2 * (1 + point)
        narrow = narrow + weight / 2 * ndtr((x - mean) / deviation)
    return np.asarray(np.where(width < _NARROW * deviation, narrow, exact))


def _bulge(z: Numbers) -> Column:
    """What the integral of the normal distribution function has over that of a step."""
    size = np.abs(z)
    return np.asarray(np.exp(-size * size / 2) / _ROOT_TAU - size * ndtr(-size))


# -- pieces ------------------------------------------------------------------------------------


def _less_straight(one: Pieces, other: Pieces) -> float:
    """Cubic polynomials between all knots, which three points integrate exactly."""
    x, weights = _between_knots(other, one)
    return float(np.sum(weights * other.density(x) * one.below(x)))


def _between_knots(over: Pieces, *others: Pieces) -> tuple[Column, Column]:
    """Points of Gauss between all knots, where a density is not 0, and their weights."""
    low, high = over.knots[0], over.knots[-1]
    knots = np.unique(np.clip(np.concatenate([each.knots for each in (over, *others)]), low, high))
    half = np.diff(knots)[:, None] / 2
    return (knots[:-1, None] + half) + half * _FEW, half * _FEW_WEIGHTS


def _normal_less(one: Normal, other: Pieces) -> float:
    """A normal number less than one whose density has straight pieces."""
    mean, deviation = float(one.mean), float(one.deviation)
    found = float(other.above(mean + _FAR * deviation))
    for place in range(other.widths.size):
        low = max(float(other.knots[place]), mean - _FAR * deviation)
        high = min(float(other.knots[place + 1]), mean + _FAR * deviation)
        if low < high and other.masses[place] > 0:
            found += _in_piece(one, other, place, low, high)
    return found


def _in_piece(one: Normal, pieces: Pieces, place: int, low: float, high: float) -> float:
    """The integral of a straight density and the normal distribution function."""
    mean, deviation = float(one.mean), float(one.deviation)
    slope = float((pieces.right - pieces.left)[place] / pieces.widths[place])
    if high - low < _NARROW * deviation:
        half = (high - low) / 2
        x = low + half + half * _MANY
        density = pieces.left[place] + slope * (x - pieces.knots[place])
        return half * float(np.sum(_MANY_WEIGHTS * density * one.below(x)))
    level = float(pieces.left[place]) + slope * (mean - float(pieces.knots[place]))
    z = np.array([low - mean, high - mean]) / deviation
    density, below = np.exp(-z * z / 2) / _ROOT_TAU, ndtr(z)
    flat = np.diff(z * below + density)[0]
    steep = np.diff((z * z - 1) * below + z * density)[0] / 2
    return float(deviation * (level * flat + slope * deviation * steep))


# -- exponential -------------------------------------------------------------------------------


def _less_exponential(one: Exponential, other: Exponential) -> float:
    """Whichever begins later must still be waited for."""
    share = 1 / (1 + other.rate / one.rate)  # rates may add up beyond doubles
    gap = one.shift - other.shift
    if gap >= 0:
        return exp(-other.rate * gap) * share
    return 1 - exp(one.rate * gap) * (1 - share)


def _exponential_less(one: Exponential, other: Normal) -> float:
    """An exponential number less than a normal one, by the scaled error function."""
    mean, deviation = float(other.mean), float(other.deviation)
    z = (one.shift - mean) / deviation
    rate = one.rate * deviation
    above = float(ndtr(-z))
    w = (z + rate) / _ROOT_2
    if w > 0:
        # exp(w^2) erfc(w) by the Faddeeva function, which neither overflows nor cancels.
        waits = exp(-z * z / 2) * float(wofz(1j * w).real) / 2
    else:
        waits = exp(rate * z + rate * rate / 2) * float(ndtr(-(z + rate)))
    return above - waits


# -- between -----------------------------------------------------------------------------------


def between(value: Distribution, low: Distribution, high: Distribution) -> float:
    """The probability that a number is greater than one and less than another, both strictly.

    >>> between(Uniform(0.0, 10.0), Point(2.0), Point(5.0))
    0.3
    """
    match value, low, high:
        case Point(), _, _:
            found = less(low, value) * less(value, high)
        case _, Point(lowest), Point(highest):
            found = _within(value, float(lowest), float(highest))
        case _:
            found = _between(value, low, high)
    return min(max(found, 0.0), 1.0)


def _within(value: Distribution, low: float, high: float) -> float:
    """Between two numbers, by the smaller tail, so that few digits are lost."""
    assert not isinstance(value, Point), "that is done"
    if low >= high:
        return 0.0
    left, right = float(value.below(low)), float(value.above(high))
    if left > right:
        return float(value.above(low)) - right
    return float(value.below(high)) - left


def _between(value: Distribution, low: Distribution, high: Distribution) -> float:
    assert not isinstance(value, Point), "that is done"
    own, limits = straight(value), (_limit(low), _limit(high))
    parts = [straight(each) for each in (low, high) if not isinstance(each, Point)]
    start, stop = limits[0][0], limits[1][1]
    if own is not None and None not in parts:
        # Where a limit is a number, the density ends there.
        kept = [each for each in parts if each is not None]
        ends = Pieces(np.array([max(start, value.support[0]), min(stop, value.support[1])]), *_NONE)
        if ends.knots[0] >= ends.knots[1]:
            return 0.0
        x, weights = _between_knots(ends, own, *kept)
        return float(np.sum(weights * own.density(x) * _both(x, low, high)))
    check_range(value, low, high)
    knots = [start, stop, *_landmarks(low), *_landmarks(high)]
    for each in (value, low, high):
        knots += knots_of(each)
    return expected(value, lambda x: _both(x, low, high), knots)


_NONE: Final = (np.zeros(1), np.zeros(1))


def _limit(distribution: Distribution) -> tuple[float, float]:
    """From where to where a limit may be reached, as far as that is sharp."""
    if isinstance(distribution, Point):
        return float(distribution.value), float(distribution.value)
    return -inf, inf


def _landmarks(distribution: Distribution) -> list[float]:
    if isinstance(distribution, Point):
        return [float(distribution.value)]
    return landmarks(distribution)


def _both(x: Column, low: Distribution, high: Distribution) -> Column:
    """The probability that each number is between two others."""
    over = (x > low.value) if isinstance(low, Point) else low.below(x)
    under = (x < high.value) if isinstance(high, Point) else high.above(x)
    return np.asarray(over * under, float)
