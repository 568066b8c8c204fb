"""Sums that no family has: never farther from the truth than the tolerance that is stated.

What is compared with is closed forms where there are any, otherwise integrals that are right to
1e-10. So no tolerance beside the stated one is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import comb, exp, factorial, sqrt

import numpy as np
import pytest
from scipy import special, stats

from headrace.functions.errors import ExpressionError
from headrace.functions.uncertainty.convolution import TOLERANCE, convolve
from headrace.functions.uncertainty.families import Distribution, Histogram, Point
from headrace.functions.uncertainty.literals import parsed
from headrace.functions.uncertainty.pieces import Column
from headrace.functions.uncertainty.quadrature import expected, landmarks

Cdf = Callable[[Column], Column]


def irwin_hall(number: int) -> Cdf:
    """The distribution function of a sum of numbers between 0 and 1."""

    def up_to(x: Column) -> Column:
        x = np.clip(x, 0, number)
        terms = [(-1) ** k * comb(number, k) * np.maximum(x - k, 0) ** number for k in range(9)]
        return np.asarray(np.sum(terms[: number + 1], axis=0) / factorial(number))

    return up_to


def normal_and_uniform(x: Column) -> Column:
    """The distribution function of N(0,1) + U(0,2): the mean of that of N(0,1)."""

    def integral(z: Column) -> Column:
        return np.asarray(z * special.ndtr(z) + np.exp(-z * z / 2) / sqrt(2 * np.pi))

    return (integral(x) - integral(x - 2)) / 2


CLOSED: list[tuple[str, list[str], Cdf]] = [
    ("two exponential", ["E(1)", "E(1)"], stats.gamma(2).cdf),
    ("five exponential", ["E(2)"] * 5, stats.gamma(5, scale=0.5).cdf),
    ("ten thousand exponential", ["E(1)"] * 10_000, stats.gamma(10_000).cdf),
    ("normal and exponential", ["N(1,4)", "E(0.5)"], stats.exponnorm(1, loc=1, scale=2).cdf),
    ("exact and normals beside it", ["N(0,1)", "4", "N(1,3)", "E(0.5)"],
     stats.exponnorm(1, loc=5, scale=2).cdf),
    ("three uniform", ["U(0,1)"] * 3, irwin_hall(3)),
    ("seven uniform", ["U(0,1)"] * 7, irwin_hall(7)),
    ("trapezoid and uniform", ["T(0,1,1,2)", "U(0,1)"], irwin_hall(3)),
    ("normal and uniform", ["N(0,1)", "U(0,2)"], normal_and_uniform),
    ("a narrow and a wide one", ["N(0,1)", "U(0,1e-9)"], stats.norm.cdf),
    ("a very narrow normal one", ["N(0,1e-12)", "E(1)"], stats.expon.cdf),
]  # fmt: skip


def summed(*texts: str) -> Histogram:
    return convolve([(number_or(text), 1) for text in texts])


def number_or(text: str) -> Distribution:
    return parsed(text) if "(" in text else Point(float(text))


def everywhere(found: Histogram) -> Column:
    """The edges, and places between and beyond them."""
    edges = np.array(found.edges)
    inside = [edges[:-1] * (1 - share) + edges[1:] * share for share in (0.2, 0.5, 0.7)]
    width = edges[-1] - edges[0]
    return np.concatenate([[edges[0] - width], edges, *inside, [edges[-1] + width]])


@pytest.mark.parametrize(
    ("texts", "up_to"), [pytest.param(*rest, id=name) for name, *rest in CLOSED]
)
def test_a_sum_is_as_close_as_stated_to_its_closed_form(texts: list[str], up_to: Cdf) -> None:
    found = summed(*texts)
    x = everywhere(found)
    assert float(np.max(np.abs(found.below(x) - up_to(x)))) <= TOLERANCE
    numbers = [number_or(text) for text in texts]
    variance = sum(float(each.variance) for each in numbers)
    assert found.mean == pytest.approx(sum(float(each.mean) for each in numbers), abs=1e-8 * 50)
    assert found.variance == pytest.approx(variance, rel=1e-8)


PAIRS = [
    ("LN(0,1)", "LN(0,1)"),
    ("LN(0,4)", "U(0,1)"),
    ("LN(0,9)", "LN(0,9)"),
    ("B(0.01,0.01)", "U(0,1)"),
    ("B(0.5,0.5)", "B(0.5,0.5)"),
    ("H(0,1,0.0001,1,5)", "U(0,0.001)"),
    ("E(1)", "E(1000)"),
    ("T(0,1,1,3)", "N(0,1e-4)"),
]


@pytest.mark.parametrize(("pair", "sign"), list(product(PAIRS, (1, -1))))
def test_sums_and_differences_are_as_close_as_stated_to_integrals(
    pair: tuple[str, str], sign: int
) -> None:
    one, other = map(parsed, pair)
    found = convolve([(one, 1), (other, sign)])
    assert not isinstance(one, Point)
    assert not isinstance(other, Point)
    errors = []
    for x in everywhere(found)[::5].tolist():
        corners = [sign * (x - corner) for corner in landmarks(one)]
        try:
            exact = expected(
                other,
                lambda value, x=x: one.below(x - sign * value),  # type: ignore[misc]
                [*corners, *landmarks(other)],
            )
        except ExpressionError:  # a beta distribution beside a corner
            continue
        errors.append(abs(float(found.below(x)) - exact))
    assert len(errors) > 10
    assert max(errors) <= TOLERANCE


def test_a_number_from_which_is_subtracted() -> None:
    found = convolve([(Point(5.0), 1), (parsed("E(1)"), -1)])
    x = everywhere(found)
    assert float(np.max(np.abs(found.below(x) - np.exp(-np.maximum(5 - x, 0))))) <= TOLERANCE
    assert float(found.above(5.0)) == 0
    assert found.mean == pytest.approx(4)


def test_a_sum_stays_between_the_ends_of_its_support() -> None:
    found = summed("U(0,1)", "U(0,2)", "B(2,3)")
    assert 0 <= found.edges[0] < 0.05
    assert 3.95 < found.edges[-1] <= 4


def test_a_sum_of_sums_adds_their_tolerances() -> None:
    steps = summed("E(1)", "E(1)")
    for _ in range(3):
        steps = convolve([(steps, 1), (parsed("E(1)"), 1)])
    x = everywhere(steps)
    assert float(np.max(np.abs(steps.below(x) - stats.gamma(5).cdf(x)))) <= 4 * TOLERANCE


def test_many_skewed_values_are_those_of_samples() -> None:
    found = summed(*["LN(0,1)"] * 30)
    random = np.random.default_rng(5)
    sample = np.exp(random.standard_normal((200_000, 30))).sum(axis=1)
    for share in (0.01, 0.1, 0.5, 0.9, 0.99):
        at = float(np.quantile(sample, share))
        noise = 5 * sqrt(share * (1 - share) / len(sample))  # five deviations of the sample
        assert abs(float(found.below(at)) - share) < noise + TOLERANCE
    assert found.mean == pytest.approx(30 * exp(0.5), rel=1e-8)


def test_a_sum_that_cannot_be_computed_says_so() -> None:
    with pytest.raises(ExpressionError, match="sum of 3 numbers cannot be computed"):
        summed(*["LN(0,100)"] * 3)
