"""The families of distributions: what each says of a number that is not known exactly.

The parameters of normal, uniform and point distributions may be columns of numbers too: then every
method gives a column. All numbers are finite; what is not is refused where a distribution is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import exp, expm1, fsum, inf, log, sqrt
from typing import Final, Protocol, TypeAlias

import numpy as np
from scipy.special import (
    betainc,
    betaincc,
    betainccinv,
    betaincinv,
    betaln,
    ndtr,
    ndtri,
    xlog1py,
    xlogy,
)

from headrace.functions.errors import ExpressionError
from headrace.functions.uncertainty.pieces import Column, Numbers, Pieces, Straight

_HALF: Final = 0.5
_LOG_ROOT_TAU: Final = 0.9189385332046727
"""The logarithm of the square root of two pi."""


class Continuous(Protocol):
    """A distribution without a point that has a probability of its own."""

    @property
    def support(self) -> tuple[float, float]:
        """Between which numbers all of it lies."""

    @property
    def mean(self) -> Numbers:
        """The expected value."""

    @property
    def variance(self) -> Numbers:
        """The expected square of the distance from the mean."""

    def below(self, x: Numbers) -> Column:
        """The probability of less than x."""

    def above(self, x: Numbers) -> Column:
        """The probability of more than x, exact also where it is tiny."""

    def density(self, x: Numbers) -> Column:
        """The density at x."""

    def quantile(self, below: Numbers, above: Numbers) -> Column:
        """The number with these probabilities on both sides; they are given both to be exact."""


@dataclass(frozen=True)
class Normal:
    """N(mean, variance)."""

    mean: Numbers
    variance: Numbers

    @property
    def deviation(self) -> Numbers:
        """The standard deviation."""
        return np.sqrt(self.variance)

    @property
    def support(self) -> tuple[float, float]:
        """Every number."""
        return -inf, inf

    def below(self, x: Numbers) -> Column:
        """The probability of less than x."""
        return np.asarray(ndtr((x - self.mean) / self.deviation))

    def above(self, x: Numbers) -> Column:
        """The probability of more than x."""
        return np.asarray(ndtr((self.mean - x) / self.deviation))

    def density(self, x: Numbers) -> Column:
        """The density at x."""
        z = (x - self.mean) / self.deviation
        return np.asarray(np.exp(-_HALF * z * z - _LOG_ROOT_TAU) / self.deviation)

    def quantile(self, below: Numbers, above: Numbers) -> Column:
        """The number with these probabilities on both sides."""
        z = np.where(np.less(below, _HALF), ndtri(below), -ndtri(above))
        return np.asarray(self.mean + self.deviation * z)


def _limited(share: Numbers) -> Column:
    """A share of something, between none and all."""
    limited: Column = np.minimum(np.maximum(np.asarray(share), 0.0), 1.0)
    return limited


@dataclass(frozen=True)
class Uniform:
    """U(low, high): all numbers between two are alike."""

    low: Numbers
    high: Numbers

    @property
    def mean(self) -> Numbers:
        """The middle."""
        return self.low + (self.high - self.low) / 2

    @property
    def variance(self) -> Numbers:
        """The variance."""
        return (self.high - self.low) ** 2 / 12

    @property
    def support(self) -> tuple[float, float]:
        """Between the two."""
        return float(self.low), float(self.high)

    def below(self, x: Numbers) -> Column:
        """The probability of less than x."""
        return _limited((x - self.low) / (self.high - self.low))

    def above(self, x: Numbers) -> Column:
        """The probability of more than x."""
        return _limited((self.high - x) / (self.high - self.low))

    def density(self, x: Numbers) -> Column:
        """The density at x."""
        inside = (np.asarray(x) >= self.low) & (np.asarray(x) <= self.high)
        return np.where(inside, 1 / (self.high - self.low), 0.0)

    def quantile(self, below: Numbers, above: Numbers) -> Column:
        """The number with these probabilities on both sides."""
        width = self.high - self.low
        left, right = self.low + width * below, self.high - width * above
        return np.where(np.less(below, _HALF), left, right)


@dataclass(frozen=True)
class Point:
    """P(value): a number that is known exactly."""

    value: Numbers

    @property
    def mean(self) -> Numbers:
        """The number."""
        return self.value

    @property
    def variance(self) -> Numbers:
        """None."""
        return 0.0 * self.value


@dataclass(frozen=True)
class Trapezoid(Straight):
    """T(low, rises, falls, high): rises to a level, stays there, and falls."""

    low: float
    rises: float
    falls: float
    high: float

    @cached_property
    def pieces(self) -> Pieces:
        """The density: at most three pieces."""
        level = 2 / ((self.high - self.low) + (self.falls - self.rises))
        ends = ((self.low, 0.0), (self.rises, level), (self.falls, level), (self.high, 0.0))
        runs = [(one, other) for one, other in pairwise(ends) if one[0] < other[0]]
        knots = [runs[0][0][0], *(other[0] for _, other in runs)]
        return Pieces(
            np.array(knots),
            np.array([one[1] for one, _ in runs]),
            np.array([other[1] for _, other in runs]),
        )


@dataclass(frozen=True)
class Histogram(Straight):
    """H(edge, weight, edge, weight, ..., edge): what share lies between two edges."""

    edges: tuple[float, ...]
    weights: tuple[float, ...]

    @cached_property
    def pieces(self) -> Pieces:
        """The density: one level piece between two edges."""
        knots, weights = np.array(self.edges), np.array(self.weights)
        levels = weights / fsum(self.weights) / np.diff(knots)
        return Pieces(knots, levels, levels)


@dataclass(frozen=True)
class LogNormal:
    """LN(mean, variance, shift): the logarithm of what is above the shift is normal."""

    log_mean: float
    log_variance: float
    shift: float = 0.0

    @property
    def logarithm(self) -> Normal:
        """The distribution of the logarithm of what is above the shift."""
        return Normal(self.log_mean, self.log_variance)

    @property
    def support(self) -> tuple[float, float]:
        """What is above the shift."""
        return self.shift, inf

    @property
    def mean(self) -> float:
        """The expected value."""
        return self.shift + _grown(self.log_mean + self.log_variance / 2)

    @property
    def variance(self) -> float:
        """The variance."""
        if self.log_variance > _LARGEST_LOGARITHM:
            raise _too_large("the variance of a log-normal distribution")
        return expm1(self.log_variance) * _grown(2 * self.log_mean + self.log_variance)

    def _log(self, x: Numbers) -> Column:
        above = np.asarray(x, float) - self.shift
        return np.log(
            np.where(above > 0, above, 1.0), out=np.full(above.shape, -inf), where=above > 0
        )

    def below(self, x: Numbers) -> Column:
        """The probability of less than x."""
        return self.logarithm.below(self._log(x))

    def above(self, x: Numbers) -> Column:
        """The probability of more than x."""
        return self.logarithm.above(self._log(x))

    def density(self, x: Numbers) -> Column:
        """The density at x."""
        above = np.asarray(x, float) - self.shift
        inside = above > 0
        safe = np.where(inside, above, 1.0)
        return np.where(inside, self.logarithm.density(np.log(safe)) / safe, 0.0)

    def quantile(self, below: Numbers, above: Numbers) -> Column:
        """The number with these probabilities on both sides."""
        with np.errstate(over="ignore"):
            return np.asarray(self.shift + np.exp(self.logarithm.quantile(below, above)))


@dataclass(frozen=True)
class Exponential:
    """E(rate, shift): how long, from the shift on, until something comes that always may."""

    rate: float
    shift: float = 0.0

    @property
    def support(self) -> tuple[float, float]:
        """What is above the shift."""
        return self.shift, inf

    @property
    def mean(self) -> float:
        """The expected value."""
        return self.shift + 1 / self.rate

    @property
    def variance(self) -> float:
        """The variance."""
        return 1 / self.rate / self.rate

    def _scaled(self, x: Numbers) -> Column:
        return self.rate * np.maximum(np.asarray(x, float) - self.shift, 0.0)

    def below(self, x: Numbers) -> Column:
        """The probability of less than x."""
        return np.asarray(-np.expm1(-self._scaled(x)))

    def above(self, x: Numbers) -> Column:
        """The probability of more than x."""
        return np.asarray(np.exp(-self._scaled(x)))

    def density(self, x: Numbers) -> Column:
        """The density at x."""
        inside = np.asarray(x) >= self.shift
        return np.where(inside, self.rate * np.exp(-self._scaled(x)), 0.0)

    def quantile(self, below: Numbers, above: Numbers) -> Column:
        """The number with these probabilities on both sides."""
        with np.errstate(divide="ignore"):
            waited = np.where(np.less(below, _HALF), -np.log1p(-np.asarray(below)), -np.log(above))
        return np.asarray(self.shift + waited / self.rate)


@dataclass(frozen=True)
class Beta:
    """B(alpha, beta, low, high): a share between two numbers."""

    alpha: float
    beta: float
    low: float = 0.0
    high: float = 1.0

    @property
    def support(self) -> tuple[float, float]:
        """Between the two numbers."""
        return self.low, self.high

    @property
    def mean(self) -> float:
        """The expected value."""
        return self.low + (self.high - self.low) * self.alpha / (self.alpha + self.beta)

    @property
    def variance(self) -> float:
        """The variance."""
        total = self.alpha + self.beta
        share = (self.alpha / total) * (self.beta / total) / (total + 1)
        return float((self.high - self.low) ** 2 * share)

    def _share(self, x: Numbers) -> Column:
        return np.clip((np.asarray(x, float) - self.low) / (self.high - self.low), 0.0, 1.0)

    def below(self, x: Numbers) -> Column:
        """The probability of less than x."""
        return np.asarray(betainc(self.alpha, self.beta, self._share(x)))

    def above(self, x: Numbers) -> Column:
        """The probability of more than x."""
        return np.asarray(betaincc(self.alpha, self.beta, self._share(x)))

    def density(self, x: Numbers) -> Column:
        """The density at x."""
        share = self._share(x)
        with np.errstate(divide="ignore"):
            logarithm = xlogy(self.alpha - 1, share) + xlog1py(self.beta - 1, -share)
        found = np.exp(logarithm - betaln(self.alpha, self.beta)) / (self.high - self.low)
        outside = (np.asarray(x) < self.low) | (np.asarray(x) > self.high)
        return np.where(outside, 0.0, found)

    def quantile(self, below: Numbers, above: Numbers) -> Column:
        """The number with these probabilities on both sides."""
        left = betaincinv(self.alpha, self.beta, below)
        right = betainccinv(self.alpha, self.beta, above)
        share = np.where(np.less(below, _HALF), left, right)
        return np.asarray(self.low + (self.high - self.low) * share)


Distribution: TypeAlias = (
    Normal | Uniform | Point | Trapezoid | Histogram | LogNormal | Exponential | Beta
)

_LARGEST_LOGARITHM: Final = log(1.7e308)


def _grown(logarithm: float) -> float:
    if logarithm > _LARGEST_LOGARITHM:
        raise _too_large("the mean or the variance of a log-normal distribution")
    return exp(logarithm)


def _too_large(what: str) -> ExpressionError:
    return ExpressionError(f"{what} is too large for a double")


BEYOND_DOUBLES: Final = (ArithmeticError, ValueError)
"""What Python raises where numbers grow too large: in powers, divisions, sums of infinities."""


def straight(distribution: Distribution | Continuous) -> Pieces | None:
    """The density of a distribution, if it is one of straight pieces."""
    match distribution:
        case Uniform(low, high):
            level = np.array([1 / (high - low)], dtype=float)
            return Pieces(np.array([low, high], dtype=float), level, level)
        case Trapezoid() | Histogram():
            return distribution.pieces
        case _:
            return None


def knots_of(distribution: Distribution | Continuous) -> list[float]:
    """Where the density of a distribution has corners, if it is one of straight pieces."""
    pieces = straight(distribution)
    return [] if pieces is None else pieces.knots.tolist()


def deviation(distribution: Distribution) -> float:
    """The standard deviation."""
    return sqrt(float(distribution.variance))
