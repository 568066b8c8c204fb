"""Probabilities of every combination of families: closed forms, integration, large samples."""

from __future__ import annotations

import math
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from headrace.functions.errors import ExpressionError
from headrace.functions.uncertainty.comparing import between, less
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
    straight,
)
from tests.functions.uncertainty.families import CONTINUOUS, FAMILIES, drawn, reference

PAIRS = list(product(FAMILIES, FAMILIES))
NAMES = [f"{one.__name__}-{other.__name__}" for one, other in PAIRS]
_SIZE = 50_000
_SHARES = (0, 1e-9, 1e-6, 1e-4, 0.01, 0.1, 0.5, 0.9, 0.99, 1 - 1e-4, 1 - 1e-6, 1 - 1e-9, 1)


def corners(*distributions: Distribution) -> list[float]:
    """Where densities are not smooth, and where there is much of them."""
    found: list[float] = []
    for each in distributions:
        if isinstance(each, Point):
            found.append(float(each.value))
            continue
        exact = reference(each)
        found += exact.ppf(_SHARES).tolist()
        pieces = straight(each)
        if pieces is not None:
            found += pieces.knots.tolist()
    return sorted({each for each in found if math.isfinite(each)})


def integrated(function: Any, over: Distribution, *others: Distribution) -> float:
    """The expected value of a function, by scipy's integration piece by piece."""
    exact, total = reference(over), 0.0
    low, high = exact.support()
    knots = [knot for knot in corners(over, *others) if low <= knot <= high]
    if isinstance(over, Histogram):  # where a part is empty, quantiles leap
        for start, end in pairwise(knots):
            level = exact.pdf((start + end) / 2)
            total += level * integrate.fixed_quad(function, start, end, n=80)[0]
        return total

    def by_probability(share: Any) -> Any:
        return function(exact.ppf(share))

    # There densities without bounds do no harm.
    for start, end in pairwise(exact.cdf(knots)):
        total += integrate.fixed_quad(by_probability, start, end, n=80)[0]
    return total


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=NAMES)
def test_less_is_what_integration_says(one: type, other: type) -> None:
    @settings(max_examples=4, deadline=None, derandomize=True, database=None)
    @given(FAMILIES[one], FAMILIES[other])
    def check(x: Distribution, y: Distribution) -> None:
        if isinstance(x, Point) and isinstance(y, Point):
            assert less(x, y) == float(x.value < y.value)
            assert less(x, y, or_equal=True) == float(x.value <= y.value)
            return
        if isinstance(y, Point):
            expected = float(reference(x).cdf(y.value))
        elif isinstance(x, Point):
            expected = float(reference(y).sf(x.value))
        else:
            expected = integrated(reference(x).cdf, y, x)
        assert less(x, y) == pytest.approx(expected, abs=2e-7)
        assert less(y, x) == pytest.approx(1 - less(x, y), abs=2e-10)

    check()


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=NAMES)
def test_less_is_what_large_samples_say(one: type, other: type) -> None:
    @settings(max_examples=2, deadline=None, derandomize=True, database=None)
    @given(FAMILIES[one], FAMILIES[other])
    def check(x: Distribution, y: Distribution) -> None:
        share = float(np.mean(drawn(x, 1, _SIZE) < drawn(y, 2, _SIZE)))
        found = less(x, y)
        error = math.sqrt(max(found * (1 - found), 1e-6) / _SIZE)
        assert abs(share - found) < 5 * error

    check()


@pytest.mark.parametrize("family", CONTINUOUS, ids=lambda each: each.__name__)
def test_between_is_what_large_samples_say(family: type) -> None:
    any_family = st.one_of(*FAMILIES.values())

    @settings(max_examples=10, deadline=None, derandomize=True, database=None)
    @given(FAMILIES[family], any_family, any_family)
    def check(x: Distribution, low: Distribution, high: Distribution) -> None:
        value = drawn(x, 1, _SIZE)
        share = float(np.mean((drawn(low, 2, _SIZE) < value) & (value < drawn(high, 3, _SIZE))))
        found = between(x, low, high)
        error = math.sqrt(max(found * (1 - found), 1e-6) / _SIZE)
        assert abs(share - found) < 5 * error

    check()


@pytest.mark.parametrize("family", CONTINUOUS, ids=lambda each: each.__name__)
def test_between_is_what_integration_says(family: type) -> None:
    limits = st.one_of(*(FAMILIES[each] for each in CONTINUOUS))

    @settings(max_examples=5, deadline=None, derandomize=True, database=None)
    @given(FAMILIES[family], limits, limits)
    def check(x: Distribution, low: Distribution, high: Distribution) -> None:
        above, below = reference(low).cdf, reference(high).sf
        expected = integrated(lambda at: above(at) * below(at), x, low, high)
        assert between(x, low, high) == pytest.approx(expected, abs=2e-7)

    check()


def test_between_is_strict_on_both_sides() -> None:
    for low, high, found in ((1.0, 3.0, 1.0), (2.0, 3.0, 0.0), (1.0, 2.0, 0.0), (3.0, 1.0, 0.0)):
        assert between(Point(2.0), Point(low), Point(high)) == found
    assert between(Normal(0.0, 1.0), Point(1.0), Point(-1.0)) == 0
    assert between(Uniform(0.0, 1.0), Point(0.5), Uniform(-2.0, -1.0)) == 0


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        # Far apart, and of very different widths: closed forms must not lose digits there.
        (Normal(1e6, 1.0), Uniform(1e6 - 0.5, 1e6 + 0.5), 0.5),
        (Normal(0.0, 1.0), Uniform(-1e-9, 1e-9), 0.5),
        (Normal(0.0, 1e-18), Uniform(-1.0, 3.0), 0.75),
        (Uniform(0.0, 1e-9), Uniform(0.0, 1.0), 1 - 0.5e-9),
        (Uniform(0.0, 1.0), Uniform(0.25, 0.25 + 1e-12), 0.25),
        (Trapezoid(-1e-7, 0.0, 0.0, 1e-7), Normal(0.0, 1.0), 0.5),
        (Trapezoid(-1e7, 0.0, 0.0, 1e7), Normal(0.0, 1.0), 0.5),
        (Histogram((0.0, 1.0, 2.0), (1.0, 0.0)), Uniform(1.0, 2.0), 1.0),
        (Exponential(1.0), Exponential(3.0), 0.25),
        (Exponential(1e-9), Normal(0.0, 1.0), 3.989422804e-10),
        (Exponential(1e9), Normal(0.0, 1.0), 0.5),
        (Exponential(1.0, 50.0), Normal(0.0, 1.0), 0.0),
        (Exponential(1.0, -50.0), Normal(0.0, 1.0), 1.0),
        (LogNormal(0.0, 1.0), LogNormal(0.0, 3.0), 0.5),
        (LogNormal(0.0, 1.0), LogNormal(0.0, 1.0, 100.0), 1 - 4e-6),
        (Beta(2.0, 2.0), Normal(0.5, 1e-14), 0.5),
        (Beta(0.05, 0.05), Normal(0.5, 1e-14), 0.5),
        # Of these the quantiles are not known to enough digits.
        (Uniform(-1.519, 2.381), Beta(0.501, 1.034, 0.0, 1.862), 0.5453147916),
        (Trapezoid(0.798, 0.898, 3.018, 3.098), Beta(1.039, 0.3, -1.4, 1.369), 0.1115398946),
        (Uniform(0.0, 2.0), Beta(10.0, 1e-15), 0.5),
    ],
)
def test_extremes_keep_their_digits(
    one: Distribution, other: Distribution, expected: float
) -> None:
    tolerance = 1e-9 if expected != 1 - 4e-6 else 5e-6
    assert less(one, other) == pytest.approx(expected, abs=tolerance)
    assert less(other, one) == pytest.approx(1 - expected, abs=tolerance)


def test_what_cannot_be_computed_to_the_tolerance_is_an_error() -> None:
    with pytest.raises(ExpressionError, match="cannot be computed to 1e-10"):
        less(Beta(0.05, 0.06), Beta(0.05, 0.06))


def test_parameters_whose_sum_is_beyond_doubles() -> None:
    gap = less(Normal(0, 1e308), Normal(1e155, 1e308))
    assert gap == pytest.approx(1 - 7.687e-13, abs=1e-15)
    assert less(Normal(0, 1.5e308), Normal(0, 1.5e308)) == 0.5
    assert less(Exponential(1e308), Exponential(1e308)) == 0.5
