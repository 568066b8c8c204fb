"""Sums of independent numbers: in a family, by convolution, or roughly in a family."""

from __future__ import annotations

import math
import random
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.functions.aggregates import aggregate
from headrace.functions.errors import ExpressionError
from headrace.functions.uncertainty.families import (
    Distribution,
    Histogram,
    Normal,
    Point,
    Uniform,
)
from headrace.functions.uncertainty.literals import parsed
from headrace.functions.uncertainty.sums import added, approximated, subtracted
from headrace.functions.values import literal_of
from headrace.rdf.terms import Literal
from headrace.rdf.vocabulary import RSPU_DISTRIBUTION
from tests.functions.uncertainty.families import FAMILIES, drawn

PAIRS = list(product(FAMILIES, FAMILIES))
_SIZE = 20_000


@pytest.mark.parametrize(
    ("one", "other"), PAIRS, ids=[f"{a.__name__}-{b.__name__}" for a, b in PAIRS]
)
def test_a_sum_is_that_of_samples(one: type, other: type) -> None:
    closed = Point in (one, other) or (one, other) in {(Normal, Normal), (Uniform, Uniform)}

    @settings(max_examples=3, deadline=None, derandomize=True, database=None)
    @given(FAMILIES[one], FAMILIES[other])
    def check(x: Distribution, y: Distribution) -> None:
        found = added(x, y)
        assert closed or isinstance(found, Histogram)
        _compare(found, drawn(x, 1, _SIZE) + drawn(y, 2, _SIZE))

    check()


def _compare(found: Distribution, sample: np.typing.NDArray[np.float64]) -> None:
    if isinstance(found, Point):
        assert np.allclose(sample, found.value)
        return
    for share in (0.1, 0.5, 0.9):
        at = float(found.quantile(share, 1 - share))
        error = math.sqrt(share * (1 - share) / len(sample))
        assert abs(float(np.mean(sample < at)) - share) < 5 * error


@pytest.mark.parametrize(
    ("one", "other", "difference"),
    [
        ("N(1,2)", "N(3,4)", "N(-2,6)"),
        ("U(1,3)", "P(1)", "U(0,2)"),
        ("P(10)", "U(1,3)", "U(7,9)"),
        ("U(0,1)", "U(0,1)", "T(-1,0,0,1)"),
        ("U(0,1)", "U(0,3)", "T(-3,-2,0,1)"),
        ("P(1)", "B(2,3)", "B(3,2)"),
        ("P(0)", "H(0,1,1,3,3)", "H(-3,3,-1,1,0)"),
        ("P(0)", "T(0,1,2,4)", "T(-4,-2,-1,0)"),
        ("LN(0,1)", "P(2)", "LN(0,1,-2)"),
        ("E(1,5)", "P(5)", "E(1)"),
        ("P(3)", "P(4)", "P(-1)"),
    ],
)
def test_differences_in_a_family(one: str, other: str, difference: str) -> None:
    assert subtracted(parsed(one), parsed(other)) == parsed(difference)


@pytest.mark.parametrize(
    ("one", "other"), [("P(1)", "E(1)"), ("P(1)", "LN(0,1)"), ("N(0,1)", "E(1)")]
)
def test_differences_without_a_family_are_histograms(one: str, other: str) -> None:
    x, y = parsed(one), parsed(other)
    found = subtracted(x, y)
    assert isinstance(found, Histogram)
    assert found.mean == pytest.approx(x.mean - y.mean, abs=1e-8)
    _compare(found, drawn(x, 1, _SIZE) - drawn(y, 2, _SIZE))


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("one", "other"),
    [("U(0,1)", "N(0,1)"), ("E(2)", "E(1)"), ("LN(0,0.2)", "U(0,1)"), ("T(0,1,1,2)", "U(0,1)")],
)
def test_approximations_are_asked_for(one: str, other: str, sign: int) -> None:
    x, y = parsed(one), parsed(other)
    normal = approximated(x, y, sign, "normal")
    assert normal.mean == pytest.approx(x.mean + sign * y.mean)
    assert normal.variance == pytest.approx(x.variance + y.variance)
    histogram = approximated(x, y, sign, "histogram")
    assert isinstance(histogram, Histogram)
    assert histogram.mean == pytest.approx(float(normal.mean), abs=0.05)
    sample = drawn(x, 1, _SIZE) + sign * drawn(y, 2, _SIZE)
    for at in histogram.edges[8:-8:8]:
        assert float(histogram.below(at)) == pytest.approx(np.mean(sample < at), abs=0.01)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("H(0,1,1,2,2,1,3)", "N(0,1)"),
        ("H(0,1,1,2,2,1,3)", "H(0,1,1,2,2)"),
        ("U(1.5,1.7)", "H(0,1,1,2,2,1,3)"),
        ("N(0,1)", "T(0,1,1,3)"),
        ("LN(0,0.25)", "T(0,1,2,3)"),
        ("E(1)", "T(0,1,2,3)"),
        ("T(0,1,2,3)", "B(2,3)"),
        ("P(3)", "E(1)"),
    ],
)
def test_histograms_of_densities_with_corners(one: str, other: str) -> None:
    for (x, y), sign in product(((one, other), (other, one)), (1, -1)):
        ours, theirs = parsed(x), parsed(y)
        found = approximated(ours, theirs, sign, "histogram")
        sample = drawn(ours, 1, _SIZE) + sign * drawn(theirs, 2, _SIZE)
        for share in (0.1, 0.3, 0.5, 0.7, 0.9):
            at = float(np.quantile(sample, share))
            assert not isinstance(found, Point)
            assert float(found.below(at)) == pytest.approx(share, abs=0.02)


def test_an_approximation_is_exact_where_there_is_a_family() -> None:
    assert approximated(Normal(0.0, 1.0), Normal(1.0, 1.0), 1, "histogram") == Normal(1.0, 2.0)
    with pytest.raises(ExpressionError, match="an approximation is 'normal' or 'histogram'"):
        approximated(Normal(0.0, 1.0), Uniform(0.0, 1.0), 1, "rough")


def test_sums_too_large_for_a_double_are_errors() -> None:
    with pytest.raises(ExpressionError, match="double"):
        added(Normal(1e308, 1.0), Normal(1e308, 1.0))
    with pytest.raises(ExpressionError, match="less than the second"):
        added(Uniform(0.0, 1.0), Point(1e300))


def _terms(*texts: str) -> list[Literal]:
    return [
        Literal(text, RSPU_DISTRIBUTION) if "(" in text else literal_of(float(text))
        for text in texts
    ]


@pytest.mark.parametrize(
    ("function", "values", "expected"),
    [
        ("SUM", ["N(1,2)", "N(3,4)", "5"], "N(9.0, 6.0)"),
        ("AVG", ["N(1,2)", "N(3,4)"], "N(2.0, 1.5)"),
        ("AVG", ["N(1,2)", "3"], "N(2.0, 0.5)"),
        ("SUM", ["U(0,1)", "P(2)", "U(0,1)"], "T(2.0, 3.0, 3.0, 4.0)"),
        ("AVG", ["U(0,1)", "U(0,1)"], "T(0.0, 0.5, 0.5, 1.0)"),
        ("AVG", ["E(1)", "1"], "E(2.0, 0.5)"),
        ("SUM", ["P(1)", "2"], "P(3.0)"),
    ],
)
def test_aggregates_of_independent_values(function: str, values: list[str], expected: str) -> None:
    assert aggregate(function, _terms(*values)) == Literal(expected, RSPU_DISTRIBUTION)


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6)), min_size=1, max_size=30))
def test_the_order_of_values_never_matters(pairs: list[tuple[float, float]]) -> None:
    terms = _terms(*(f"N({mean!r},{variance!r})" for mean, variance in pairs))
    again = terms.copy()
    random.Random(1).shuffle(again)
    assert aggregate("SUM", terms) == aggregate("SUM", again)
    assert aggregate("AVG", terms) == aggregate("AVG", again)


@pytest.mark.parametrize(
    ("values", "mean", "variance"),
    [
        (["U(0,1)", "N(0,1)"], 0.5, 1 + 1 / 12),
        (["U(0,1)", "U(0,1)", "U(0,1)", "3"], 4.5, 3 / 12),
        (["E(1)", "E(1)", "LN(0,0.25)", "P(-1)"], 1 + math.exp(0.125), None),
    ],
)
def test_aggregates_without_a_family_have_the_right_mean_and_variance(
    values: list[str], mean: float, variance: float | None
) -> None:
    for function, parts in (("SUM", 1), ("AVG", len(values))):
        term = aggregate(function, _terms(*values))
        assert isinstance(term, Literal)
        found = parsed(term.lexical)
        assert isinstance(found, Histogram)
        assert found.mean == pytest.approx(mean / parts, rel=1e-8)
        if variance is not None:
            assert found.variance == pytest.approx(variance / parts**2, rel=1e-8)


def test_the_order_of_values_without_a_family_never_matters() -> None:
    terms = _terms("U(0,1)", "E(2)", "N(1,2)", "LN(0,0.3)", "5", "U(0,1)", "B(2,3)")
    again = terms.copy()
    random.Random(1).shuffle(again)
    assert aggregate("SUM", terms) == aggregate("SUM", again)


def test_aggregates_with_errors_have_no_result() -> None:
    for values in (["N(0,1)", "N(0)"], ["B(1e-31,1)", "U(0,1)"]):
        with pytest.raises(ExpressionError):
            aggregate("SUM", _terms(*values))
    with pytest.raises(ExpressionError):
        aggregate("SUM", [*_terms("N(0,1)"), None])
