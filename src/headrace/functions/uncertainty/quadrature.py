"""Integrals over probabilities, to a tolerance that is stated, by points that are always the same.

Between two probabilities a number is looked for by its quantile, so that every integrand is
bounded and every distribution is as wide as any other. Points crowd at both ends of an interval
(tanh-sinh), where integrands may have endless slopes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

import numpy as np

from headrace.functions.errors import ExpressionError
from headrace.functions.uncertainty.families import Beta, Continuous, Distribution, LogNormal
from headrace.functions.uncertainty.pieces import Column

TOLERANCE: Final = 1e-10
"""How far what is integrated may be from the truth."""

_LEAST_SHAPE: Final = 1e-30
_LARGEST_SHAPE: Final = 1e15
_WIDEST_LOGARITHM: Final = 1e4
_CHANGE: Final = TOLERANCE / 10
_FIRST: Final = 3
_LAST: Final = 9
_REACH: Final = 3.4
_LEVELS: Final = (1e-12, 1e-9, 1e-6, 1e-4, 0.01, 0.1, 0.3)
_SPLIT: Final = np.array([*_LEVELS, 0.5, *(1 - level for level in reversed(_LEVELS))])


def check_range(*distributions: Distribution) -> None:
    """Refuse parameters whose quantiles and probabilities doubles cannot tell apart.

    Raises:
        ExpressionError: a beta or a log-normal distribution is of no use with them.
    """
    for each in distributions:
        match each:
            case Beta(alpha, beta):
                wild = min(alpha, beta) < _LEAST_SHAPE or max(alpha, beta) > _LARGEST_SHAPE
            case LogNormal(log_variance=variance):
                wild = variance > _WIDEST_LOGARITHM
            case _:
                wild = False
        if wild:
            raise ExpressionError("a probability cannot be computed for parameters so extreme")


@cache
def _points(level: int) -> tuple[Column, Column, Column]:
    """Places between 0 and 1, their distances from 1, and weights."""
    steps = int(_REACH * 2**level)
    t = np.arange(-steps, steps + 1) / 2**level
    place = 1 / (1 + np.exp(-np.pi * np.sinh(t)))
    rest = 1 / (1 + np.exp(np.pi * np.sinh(t)))
    return place, rest, np.pi * np.cosh(t) * place * rest / 2**level


def expected(
    over: Continuous, function: Callable[[Column], Column], knots: Sequence[float]
) -> float:
    """The expected value of a bounded function of a random number.

    Args:
        over: the distribution of the number.
        function: what is asked for, smooth between knots.
        knots: where it is not smooth, or changes much.

    Raises:
        ExpressionError: it cannot be had to the tolerance.
    """
    inside = np.unique(np.asarray([knot for knot in knots if np.isfinite(knot)], float))
    below = np.concatenate([[0.0], over.below(inside), [1.0]])
    above = np.concatenate([[1.0], over.above(inside), [0.0]])
    widths = np.where(below[:-1] < 0.5, np.diff(below), -np.diff(above))  # noqa: PLR2004
    kept = widths > 0
    starts, ends, widths = below[:-1][kept], above[1:][kept], widths[kept]
    found = None
    for level in range(_FIRST, _LAST + 1):
        place, rest, weight = _points(level)
        u = starts[:, None] + widths[:, None] * place
        v = ends[:, None] + widths[:, None] * rest
        with np.errstate(all="ignore"):
            values = function(over.quantile(u, v))
        total = float(np.sum(widths * (values @ weight)))
        if not np.isfinite(total):
            break
        if found is not None and abs(total - found) < _CHANGE:
            return total
        found = total
    raise ExpressionError(f"a probability cannot be computed to {TOLERANCE:g} for these parameters")


def landmarks(distribution: Continuous) -> list[float]:
    """Numbers between which a distribution does not change abruptly."""
    low, high = distribution.support
    return [low, *distribution.quantile(_SPLIT, 1 - _SPLIT).tolist(), high]
