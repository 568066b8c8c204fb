"""Distributions of every family, and what scipy.stats says of them."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from scipy import stats

from headrace.functions.uncertainty.families import (
    Beta,
    Distribution,
    Exponential,
    Histogram,
    LogNormal,
    Normal,
    Point,
    Trapezoid,
    Uniform,
)

Column: TypeAlias = npt.NDArray[np.float64]

places = st.floats(-5, 5).map(lambda x: round(x, 3))
sizes = st.floats(0.01, 5).map(lambda x: round(x, 3))
shapes = st.floats(0.5, 6).map(lambda x: round(x, 3))


@st.composite
def trapezoids(draw: st.DrawFn) -> Trapezoid:
    low = draw(places)
    one, two, three = draw(sizes), draw(sizes), draw(sizes)
    flat = draw(st.booleans())
    return Trapezoid(low, low + one, low + one + two * flat, low + one + two * flat + three)


@st.composite
def histograms(draw: st.DrawFn) -> Histogram:
    weights = draw(st.lists(st.floats(0, 3).map(lambda x: round(x, 2)), min_size=1, max_size=4))
    weights[0] += 0.5
    edges = [draw(places)]
    for _ in weights:
        edges.append(edges[-1] + draw(sizes))
    return Histogram(tuple(edges), tuple(weights))


FAMILIES: dict[type, st.SearchStrategy[Any]] = {
    Normal: st.builds(Normal, places, sizes),
    Uniform: st.builds(lambda low, width: Uniform(low, low + width), places, sizes),
    Point: st.builds(Point, places),
    Trapezoid: trapezoids(),
    Histogram: histograms(),
    LogNormal: st.builds(LogNormal, st.floats(-2, 1), st.floats(0.05, 1.5), places),
    Exponential: st.builds(Exponential, sizes, places),
    Beta: st.builds(
        lambda a, b, low, width: Beta(a, b, low, low + width), shapes, shapes, places, sizes
    ),
}
CONTINUOUS = [family for family in FAMILIES if family is not Point]


def reference(distribution: Distribution) -> Any:
    """The same distribution by scipy.stats."""
    match distribution:
        case Normal(mean, variance):
            return stats.norm(mean, np.sqrt(variance))
        case Uniform(low, high):
            return stats.uniform(low, high - low)
        case Trapezoid(low, rises, falls, high):
            width = high - low
            return stats.trapezoid((rises - low) / width, (falls - low) / width, low, width)
        case Histogram(edges, weights):
            return stats.rv_histogram(
                (np.array(weights) / sum(weights), np.array(edges)), density=False
            )
        case LogNormal(mean, variance, shift):
            return stats.lognorm(np.sqrt(variance), shift, np.exp(mean))
        case Exponential(rate, shift):
            return stats.expon(shift, 1 / rate)
        case Beta(alpha, beta, low, high):
            return stats.beta(alpha, beta, low, high - low)
        case _:
            raise AssertionError(distribution)


def drawn(distribution: Distribution, seed: int, size: int) -> Column:
    """Random numbers of a distribution, by scipy and always the same."""
    if isinstance(distribution, Point):
        return np.full(size, float(distribution.value))
    random = np.random.default_rng(seed)
    return np.asarray(reference(distribution).rvs(size=size, random_state=random))
