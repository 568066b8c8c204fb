"""How distributions are written and read."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.functions.errors import ExpressionError
from headrace.functions.uncertainty.families import Distribution, Point
from headrace.functions.uncertainty.literals import canonical, distribution_of, literal, parsed
from headrace.functions.values import literal_of
from headrace.rdf.terms import Iri, Literal
from headrace.rdf.vocabulary import RSPU_DISTRIBUTION, XSD_DOUBLE
from tests.functions.uncertainty.families import FAMILIES


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("N(19.7,1)", "N(19.7, 1.0)"),
        ("N( -0 , +1e-3 )", "N(0.0, 0.001)"),
        ("U(18.7, 20.7)", "U(18.7, 20.7)"),
        ("T(0,1,1,2)", "T(0.0, 1.0, 1.0, 2.0)"),
        ("LN(0, 0.25)", "LN(0.0, 0.25)"),
        ("LN(0, 0.25, 0)", "LN(0.0, 0.25)"),
        ("LN(0, 0.25, 3)", "LN(0.0, 0.25, 3.0)"),
        ("E(2)", "E(2.0)"),
        ("E(2, -1)", "E(2.0, -1.0)"),
        ("B(2, 3)", "B(2.0, 3.0)"),
        ("B(2, 3, 0, 1)", "B(2.0, 3.0)"),
        ("B(2, 3, 0, 10)", "B(2.0, 3.0, 0.0, 10.0)"),
        ("H(0, 1, 10, 3, 20)", "H(0.0, 1.0, 10.0, 3.0, 20.0)"),
        ("P(.5)", "P(0.5)"),
    ],
)
def test_a_canonical_form_stays_what_it_is(text: str, form: str) -> None:
    assert canonical(parsed(text)) == form
    assert canonical(parsed(form)) == form


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("Normal(10,2)", "N(10.0, 2.0)"),
        ("NORMAL(10, 2)", "N(10.0, 2.0)"),
        ("Gaussian(10,2)", "N(10.0, 2.0)"),
        ("n(10,2)", "N(10.0, 2.0)"),
        ("Uniform(0,1)", "U(0.0, 1.0)"),
        ("u(0,1)", "U(0.0, 1.0)"),
        ("lognormal(0,1)", "LN(0.0, 1.0)"),
        ("Exponential(2)", "E(2.0)"),
        ("Histogram(0,1,1,2,2)", "H(0.0, 1.0, 1.0, 2.0, 2.0)"),
        ("Point(3)", "P(3.0)"),
    ],
)
def test_the_names_of_families_are_read_in_any_case(text: str, form: str) -> None:
    assert canonical(parsed(text)) == form


def test_the_second_number_of_normal_is_the_variance() -> None:
    assert parsed("Normal(10,2)").variance == 2


@given(st.one_of(*FAMILIES.values()))
def test_what_is_written_is_read_again(distribution: Distribution) -> None:
    assert distribution_of(literal(distribution)) == distribution


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "such as N"),
        ("N", "such as N"),
        (" N(0,1)", "such as N"),
        ("N(0,1) ", "such as N"),
        ("N(0,1))", "such as N"),
        ("Normal(10)", r"expected N\(mean, variance\)"),
        ("Normol(10,2)", "did you mean 'Normal'"),
        ("M(0,1)", "there is no distribution 'M'"),
        ("N(0)", r"expected N\(mean, variance\)"),
        ("N(0,1,2)", r"expected N\(mean, variance\)"),
        ("N(0,)", "'' is not a number"),
        ("N(0;1)", "'0;1' is not a number"),
        ("N(NaN,1)", "'NaN' is not a number"),
        ("N(INF,1)", "its numbers must be finite"),
        ("U(-INF,5)", "an infinite limit is a number"),
        ("U(0, +infinity)", "its numbers must be finite"),
        ("N(1e999,1)", "numbers that a double can hold"),
        ("N(0,0)", "variance must be greater than 0"),
        ("N(0,-1)", "variance must be greater than 0"),
        ("U(1,1)", "less than the second"),
        ("U(2,1)", "less than the second"),
        ("T(0,2,1,3)", "must not fall"),
        ("T(1,1,1,1)", "must not fall"),
        ("LN(0,0)", "variance of the logarithm"),
        ("E(0)", "rate must be greater than 0"),
        ("B(0,1)", "alpha and beta"),
        ("B(1,1,2,2)", "less than the last"),
        ("H(0,1)", r"expected H\(edge"),
        ("H(0,1,0)", "each edge must be greater"),
        ("H(0,0,1)", "not all 0"),
        ("H(0,-1,1,2,2)", "must not be negative"),
        ("P()", "'' is not a number"),
    ],
)
def test_what_is_no_distribution_says_why(text: str, problem: str) -> None:
    with pytest.raises(ExpressionError, match=problem):
        distribution_of(Literal(text, RSPU_DISTRIBUTION))


def test_numbers_are_promoted() -> None:
    assert distribution_of(literal_of(3)) == Point(3.0)
    assert distribution_of(Literal("-INF", XSD_DOUBLE)) == Point(-math.inf)
    with pytest.raises(ExpressionError, match="NaN is no number"):
        distribution_of(Literal("NaN", XSD_DOUBLE))
    with pytest.raises(ExpressionError, match="too large for a double"):
        distribution_of(literal_of(10**400))
    with pytest.raises(ExpressionError, match="neither a distribution nor a number"):
        distribution_of(Iri("http://example.org/x"))
    with pytest.raises(ExpressionError, match="neither a distribution nor a number"):
        distribution_of(Literal("N(0, 1)"))
