"""What hostile arguments must not do, and what errors must say."""

from __future__ import annotations

import pytest

from headrace.functions.arithmetic import add, divide, multiply
from headrace.functions.errors import ExpressionError
from headrace.functions.hashes import HASHES
from headrace.functions.numerals import MAX_DIGITS
from headrace.functions.patterns import matches, replaced
from headrace.functions.strings import MAX_LENGTH, concatenated, encoded_for_uri
from headrace.functions.terms import is_numeric
from headrace.functions.values import FALSE, TRUE, literal_of
from headrace.rdf.terms import Literal
from headrace.rdf.vocabulary import XSD_DATE_TIME, XSD_DECIMAL, XSD_DOUBLE, XSD_INTEGER

HUGE = Literal("9" * MAX_DIGITS, XSD_INTEGER)


@pytest.mark.parametrize("datatype", [XSD_INTEGER, XSD_DECIMAL, XSD_DOUBLE, XSD_DATE_TIME])
def test_a_number_with_too_many_digits_is_none(datatype: str) -> None:
    assert is_numeric(Literal("1" * (MAX_DIGITS + 1), datatype)) == FALSE


def test_results_have_no_more_digits_than_can_be_read_again() -> None:
    assert is_numeric(add(HUGE, literal_of(0))) == TRUE
    with pytest.raises(ExpressionError, match="digits"):
        add(HUGE, literal_of(1))
    with pytest.raises(ExpressionError, match="digits"):
        multiply(HUGE, HUGE)
    with pytest.raises(ExpressionError, match="digits"):
        multiply(HUGE, Literal("1.5", XSD_DECIMAL))
    with pytest.raises(ExpressionError, match="digits"):
        divide(literal_of(1), HUGE)
    tiny = Literal("0." + "0" * (MAX_DIGITS - 4) + "1", XSD_DECIMAL)
    with pytest.raises(ExpressionError, match="digits"):
        add(HUGE, tiny)
    with pytest.raises(ExpressionError, match="digits"):
        multiply(tiny, tiny)


def test_huge_numbers_become_infinite_where_they_are_promoted() -> None:
    assert add(HUGE, Literal("1", XSD_DOUBLE)) == Literal("INF", XSD_DOUBLE)


def test_text_has_a_longest_length() -> None:
    half = Literal("a" * (MAX_LENGTH // 2 + 1))
    with pytest.raises(ExpressionError, match="longer"):
        concatenated(half, half)
    with pytest.raises(ExpressionError, match="longer"):
        replaced(Literal("a" * 1000), Literal("a"), Literal("b" * (MAX_LENGTH // 500)))
    with pytest.raises(ExpressionError, match="longer"):
        replaced(half, Literal("a$"), half)


def test_a_lone_surrogate_is_an_error() -> None:
    text = Literal("\ud800")
    for function in (encoded_for_uri, HASHES["MD5"], lambda term: matches(term, Literal("a"))):
        with pytest.raises(ExpressionError, match="character"):
            function(text)
    with pytest.raises(ExpressionError, match="character"):
        matches(Literal("a"), text)


@pytest.mark.parametrize("pattern", [r"(a)\1", "a(?=b)", "(?<=a)b", "[a-z-[b]]", "a{5000}"])
def test_what_re2_has_not_is_an_error_that_names_it(pattern: str) -> None:
    with pytest.raises(ExpressionError, match="RE2"):
        matches(Literal("aa"), Literal(pattern))


def test_a_pattern_that_would_explode_elsewhere_does_not() -> None:
    assert matches(Literal("a" * 50_000), Literal("(a|a)*(a|aa)+b")) == FALSE


def test_a_pattern_has_a_longest_length() -> None:
    with pytest.raises(ExpressionError, match="longer"):
        matches(Literal("a"), Literal("a" * 20_000))


def test_an_unknown_flag_is_named() -> None:
    with pytest.raises(ExpressionError, match="'z' is not a flag"):
        matches(Literal("a"), Literal("a"), Literal("iz"))


def test_errors_name_the_term() -> None:
    with pytest.raises(ExpressionError, match='"a" is not a number'):
        add(literal_of(1), Literal("a"))
