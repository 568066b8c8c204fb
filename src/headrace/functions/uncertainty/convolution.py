"""Sums of independent numbers that are in no family, by numerical convolution.

The result is a histogram whose distribution function differs from that of the sum by at most
`TOLERANCE`. Each summand is put on a grid by the probability of each cell, and the grid becomes
finer until the sum no longer changes. The edges of the histogram lie close together where the
density changes quickly. Nothing is sampled: equal summands give equal results in any order.

Two summands with tails too heavy for a grid are integrated at each edge instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, floor, fsum, isfinite, log, sqrt
from typing import Final

import numpy as np
import numpy.typing as npt

from headrace.functions.errors import ExpressionError
from headrace.functions.uncertainty.families import (
    BEYOND_DOUBLES,
    Continuous,
    Distribution,
    Histogram,
    Point,
    knots_of,
)
from headrace.functions.uncertainty.pieces import Column
from headrace.functions.uncertainty.quadrature import check_range, expected, landmarks

TOLERANCE: Final = 1e-4
"""The largest error of the distribution function of a sum, at any number."""

_CACHED: Final = 1 << 12
_ENOUGH: Final = TOLERANCE / 10
"""A grid is fine enough if half its cells change no probability by more."""
_HOPELESS: Final = 30 * _ENOUGH
_BENT: Final = TOLERANCE / 2
"""The largest distance of the distribution function from a straight line inside a part."""
_CELLS: Final = tuple(1 << power for power in range(10, 21))
_PARTS: Final = tuple(round(32 * 1.25**step) for step in range(24))
_FOR_TAILS: Final = 0.2
"""The share of the parts that divide the tails, so that none of them is too wide."""
_MIDDLE: Final = 6.0
"""So many deviations from the mean, parts may be changed to give the right variance."""
_TAILS: Final = (1e-9, 1e-6)
"""Probabilities beyond the grid; the second only if tails are too heavy for the first."""
_OUTSIDE: Final = log(1e8)
"""The logarithm of one over the probability that a sum is outside the grid."""
_MOST_EDGES: Final = 2_000
_MOST_MASS: Final = 0.05
"""So much probability may lie between two places at which a sum is integrated."""
_NOTHING: Final = 1e-13
_DIGITS: Final = 9
_EDGE_DIGITS: Final = 12
_TRIED: Final = 4
"""So many times as many parts are tried, if these do not have the right variance."""


@dataclass(frozen=True, slots=True)
class Summand:
    """A number that is added or subtracted.

    Attributes:
        distribution: of the number, which is not exact.
        sign: 1 or -1.
    """

    distribution: Continuous
    sign: int = 1

    def range(self, tail: float) -> tuple[float, float]:
        """Compute an interval that holds all but a small probability of the signed number."""
        low = float(self.distribution.quantile(tail, 1 - tail))
        high = float(self.distribution.quantile(1 - tail, tail))
        return (low, high) if self.sign > 0 else (-high, -low)

    def up_to(self, x: Column) -> Column:
        """Compute the probabilities that the signed number is at most others."""
        return self.distribution.below(x) if self.sign > 0 else self.distribution.above(-x)


@dataclass(frozen=True, slots=True)
class _Curve:
    """A distribution function at places that are in order."""

    places: Column
    shares: Column

    def at(self, x: Column) -> Column:
        """Interpolate the function between its places."""
        return np.interp(x, self.places, self.shares, 0.0, 1.0)


def convolve(signed: Iterable[tuple[Distribution, int]]) -> Histogram:
    """Add independent numbers; the distribution function is right to `TOLERANCE`.

    Raises:
        ExpressionError: that cannot be had with the numbers of a double and a grid of a million
            cells.
    """
    exact: list[float] = []
    counted: Counter[Summand] = Counter()
    for distribution, sign in signed:
        if isinstance(distribution, Point):
            exact.append(sign * float(distribution.value))
        else:
            counted[Summand(distribution, sign)] += 1
    check_range(*(each.distribution for each in counted))  # type: ignore[arg-type]  # families
    ordered = sorted(counted.items(), key=repr)
    return _shift(_sum_of(tuple(ordered)), fsum(exact))


@lru_cache(_CACHED)
def _sum_of(counted: tuple[tuple[Summand, int], ...]) -> Histogram:
    try:
        with np.errstate(all="ignore"):
            summands = [each for each, count in counted for _ in range(count)]
            if len(summands) == 1:
                curve = _compute_single(summands[0])
            else:
                curve = _on_grid(counted) or _integrate(summands)
            return _histogram(curve, _support(counted), *_moments(counted))
    except BEYOND_DOUBLES:
        raise ExpressionError("a sum cannot be computed: its numbers are too large") from None


def _shift(histogram: Histogram, by: float) -> Histogram:
    return Histogram(tuple(edge + by for edge in histogram.edges), histogram.weights)


def _support(counted: tuple[tuple[Summand, int], ...]) -> tuple[float, float]:
    """Compute the bounds of the sum."""
    ends = [sorted(each.sign * end for end in each.distribution.support) for each, _ in counted]
    counts = [count for _, count in counted]
    low, high = (
        sum(count * end for count, end in zip(counts, side, strict=True))
        for side in zip(*ends, strict=True)
    )
    return low, high


def _moments(counted: tuple[tuple[Summand, int], ...]) -> tuple[float, float]:
    """Compute the mean and the variance of the sum; not finite if doubles cannot hold them."""
    try:
        mean = fsum(each.sign * count * float(each.distribution.mean) for each, count in counted)
        return mean, fsum(count * float(each.distribution.variance) for each, count in counted)
    except (ExpressionError, *BEYOND_DOUBLES):
        return np.inf, np.inf


# -- on a grid ---------------------------------------------------------------------------------


def _on_grid(counted: tuple[tuple[Summand, int], ...]) -> _Curve | None:
    """Compute the distribution function of a sum; None if the finest grid is too coarse."""
    for tail in _TAILS:
        low, high = _reach(counted, tail)
        if not isfinite(high - low):
            continue
        coarse = _on_cells(counted, low, high, tail, _CELLS[0])
        for cells in _CELLS[1:]:
            fine = _on_cells(counted, low, high, tail, cells)
            change = _change(fine, coarse)
            if change < _ENOUGH and _change(coarse, fine) < _BENT / 2:
                return fine
            if change * (cells / _CELLS[-1]) ** 2 > _HOPELESS:  # it falls no faster than that
                break
            coarse = fine
    return None


def _change(one: _Curve, other: _Curve) -> float:
    """Measure the distance between two distribution functions at the places of one."""
    return float(np.max(np.abs(one.at(other.places) - other.shares)))


def _reach(counted: tuple[tuple[Summand, int], ...], tail: float) -> tuple[float, float]:
    """Compute the interval of a sum, except for negligible probabilities.

    It is no wider than the inequality of Bernstein says for numbers that are cut off at the tails.
    """
    number = sum(count for _, count in counted)
    ranges = [(each.range(tail / number), count) for each, count in counted]
    low = fsum(count * start for (start, _), count in ranges)
    high = fsum(count * stop for (_, stop), count in ranges)
    mean, variance = _moments(counted)
    if not isfinite(mean + variance):
        return low, high
    widest = max(stop - start for (start, stop), _ in ranges)
    part = _OUTSIDE * widest / 3
    cut = number * sqrt(variance * tail / number)  # how far cutting tails may move the mean
    far = part + sqrt(part * part + 2 * _OUTSIDE * variance) + cut
    return max(low, mean - far), min(high, mean + far)


def _on_cells(
    counted: tuple[tuple[Summand, int], ...], low: float, high: float, tail: float, cells: int
) -> _Curve:
    """Compute the distribution function at the bounds of the cells of a grid."""
    number = sum(count for _, count in counted)
    width = (high - low) / (cells - 2)
    spectrum: npt.NDArray[np.complex128] = np.ones(cells // 2 + 1, np.complex128)
    first, moved = 0, 0.0
    for each, count in counted:
        start, stop = (end / width for end in each.range(tail / number))
        begin, end = floor(start), ceil(stop)
        bounds: Column = np.asarray((np.arange(begin, end) + 0.5) * width, float)
        masses = np.diff(each.up_to(bounds), prepend=0.0, append=1.0)
        placed = np.bincount(np.arange(masses.size) % cells, masses, cells)
        spectrum *= np.fft.rfft(placed) ** count
        first += count * begin
        moved += count * _rounding(each, masses, begin, width)
    masses = np.maximum(np.fft.irfft(spectrum, cells), 0.0)
    lowest = floor(low / width)
    masses = np.roll(masses, first - lowest)
    shares = np.concatenate([[0.0], np.cumsum(masses)])
    places: Column = np.asarray((lowest + np.arange(cells + 1) - 0.5) * width + moved, float)
    mean, variance = _moments(counted)
    if isfinite(mean + variance):  # to round a number to a cell adds to its variance
        added = (number - 1) * width * width / 12
        places = mean + (places - mean) * sqrt(variance / (variance + added))
    return _Curve(places, shares / shares[-1])


def _rounding(summand: Summand, masses: Column, begin: int, width: float) -> float:
    """Measure how far rounding to cells moved the mean; 0 if cut tails moved it."""
    try:
        mean = summand.sign * float(summand.distribution.mean)
    except (ExpressionError, *BEYOND_DOUBLES):
        return 0.0
    moved = mean - float(np.sum(masses * (begin + np.arange(masses.size)))) * width
    return moved if abs(moved) <= width * float(np.max(masses)) / 4 else 0.0


# -- by integrals ------------------------------------------------------------------------------


def _compute_single(one: Summand) -> _Curve:
    """Compute the distribution function of a single number, as in `5 - E(1)`."""
    low, high = one.range(_TAILS[0])
    shares = np.linspace(0.0, 1.0, _CELLS[2] + 1)[1:-1]
    tails = np.geomspace(_TAILS[0], shares[0], _CELLS[0])
    below, above = (
        np.concatenate([tails, shares, 1 - tails]),
        np.concatenate([1 - tails, 1 - shares, tails]),
    )
    inside = one.sign * one.distribution.quantile(below, above)
    places = np.unique(np.concatenate([np.linspace(low, high, _CELLS[2] + 1), inside]))
    shares = one.up_to(places)
    shares[0], shares[-1] = 0.0, 1.0
    return _Curve(places, shares)


def _integrate(summands: list[Summand]) -> _Curve:
    """Integrate the distribution function where it is not straight, by bisection."""
    if len(summands) > 2:  # noqa: PLR2004 - each integral is over one of two
        raise ExpressionError(
            f"the sum of {len(summands)} numbers cannot be computed to {TOLERANCE:g}: "
            "their tails are too heavy"
        )
    one, other = summands
    (start, stop), (begin, end) = one.range(_TAILS[-1]), other.range(_TAILS[-1])

    def up_to(x: float) -> float:
        corners = landmarks(one.distribution) + knots_of(one.distribution)
        knots = [other.sign * (x - one.sign * corner) for corner in corners]
        return expected(
            other.distribution,
            lambda value: one.up_to(x - other.sign * value),
            knots + knots_of(other.distribution),
        )

    return _bisect(start + begin, stop + end, up_to)


def _bisect(low: float, high: float, up_to: Callable[[float], float]) -> _Curve:
    """Sample a function at places between which it is nearly straight."""
    known = {low: up_to(low), high: up_to(high)}
    waiting = [(low, high)]
    while waiting:
        start, stop = waiting.pop()
        middle = start + (stop - start) / 2
        if not start < middle < stop:
            continue
        found = known[middle] = up_to(middle)
        bent = abs(found - (known[start] + known[stop]) / 2)
        if bent > _BENT / 2 or known[stop] - known[start] > _MOST_MASS:
            waiting += [(start, middle), (middle, stop)]
        if len(known) > _MOST_EDGES:
            raise ExpressionError(f"a sum cannot be computed to {TOLERANCE:g}")
    places = np.array(sorted(known))
    shares = np.maximum.accumulate([known[place] for place in places.tolist()])
    # What is beyond the tails is put into the outermost parts.
    shares[0], shares[-1] = 0.0, 1.0
    return _Curve(places, shares)


# -- as a histogram ----------------------------------------------------------------------------


def _histogram(
    curve: _Curve, support: tuple[float, float], mean: float, variance: float
) -> Histogram:
    """Build a histogram of few parts that is close to a distribution function.

    Its mean and variance are those of the sum, unless its tails are too heavy for that.
    """
    first = max(int(np.searchsorted(curve.shares, _NOTHING, "right")) - 1, 0)
    last = int(np.searchsorted(curve.shares, 1 - _NOTHING, "left"))
    curve = _Curve(curve.places[first : last + 1], curve.shares[first : last + 1])
    measure = _measure(curve)
    plain: Histogram | None = None
    most = _PARTS[-1]
    for parts in _PARTS:
        if parts > most:
            break
        edges = _edges(curve, measure, parts, support)
        shares = curve.at(edges)
        shares[0], shares[-1] = 0.0, 1.0
        weights = np.diff(shares)
        if _distance(curve, edges, weights) > _BENT:
            continue
        tilted = _with_moments(edges, weights, mean, variance)
        if tilted is not None and _distance(curve, edges, tilted) <= TOLERANCE - 2 * _ENOUGH:
            return _written(edges, tilted)
        if plain is None:
            plain, most = _written(edges, weights), min(most, _TRIED * parts)
    if plain is None:
        raise ExpressionError(f"a sum needs more than {most:,} parts to be right to {TOLERANCE:g}")
    return plain


def _written(edges: Column, weights: Column) -> Histogram:
    short = tuple(float(f"{weight:.{_DIGITS}g}") for weight in weights)
    return Histogram(tuple(edges.tolist()), short)


def _measure(curve: _Curve) -> Column:
    """Distribute parts by the curvature of a distribution function."""
    widths = np.diff(curve.places)
    slopes = np.diff(curve.shares) / widths
    bends = np.abs(np.diff(slopes)) * (widths[1:] + widths[:-1]) / 2
    bent = np.concatenate([[0.0], np.cumsum(np.sqrt(bends)), [0.0]])
    bent[-1] = bent[-2]
    tails = np.maximum(np.minimum(curve.shares, 1 - curve.shares), _TAILS[0])
    steep = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(np.log(tails))))])
    measure: Column = bent / max(bent[-1], _NOTHING) + _FOR_TAILS * steep / max(steep[-1], _NOTHING)
    return measure


def _edges(curve: _Curve, measure: Column, parts: int, support: tuple[float, float]) -> Column:
    """Compute the edges of a histogram with some parts, within the support."""
    wanted = np.linspace(0.0, measure[-1], parts + 1)
    inside = np.searchsorted(measure, wanted, "left")
    edges = curve.places[np.unique([0, *inside.tolist(), curve.places.size - 1])]
    edges[0], edges[-1] = max(edges[0], support[0]), min(edges[-1], support[1])
    return np.unique([float(f"{edge:.{_EDGE_DIGITS}g}") for edge in edges.tolist()])


def _distance(curve: _Curve, edges: Column, weights: Column) -> float:
    """Measure the distance of the distribution function of a histogram from another."""
    shares = np.concatenate([[0.0], np.cumsum(weights)])
    found = np.interp(curve.places, edges, shares, 0.0, 1.0)
    return float(np.max(np.abs(found - curve.shares)))


def _with_moments(edges: Column, weights: Column, mean: float, variance: float) -> Column | None:
    """Adjust weights slightly to the right mean and variance, if that is possible."""
    if not (isfinite(mean) and isfinite(variance) and variance > 0):
        return None
    deviation = sqrt(variance)
    place = ((edges[:-1] + edges[1:]) / 2 - mean) / deviation
    square = place * place + (np.diff(edges) / deviation) ** 2 / 12
    basis = np.stack([np.ones_like(place), place, square])
    middle = np.where(np.abs(place) < _MIDDLE, weights, 0.0)
    missing = np.array([1.0, 0.0, 1.0]) - basis @ weights
    try:
        factors = np.linalg.solve((basis * middle) @ basis.T, missing)
    except np.linalg.LinAlgError:
        return None
    tilted: Column = weights + middle * (factors @ basis)
    return tilted if bool(np.isfinite(tilted).all() and (tilted >= 0).all()) else None
