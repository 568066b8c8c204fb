"""What aggregates give for the values of a group."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.functions.aggregates import aggregate
from headrace.functions.errors import ExpressionError
from headrace.functions.strings import MAX_LENGTH
from headrace.functions.values import literal_of
from headrace.rdf.terms import BlankNode, Literal, Term
from tests.functions.language import value

CASES = [
    ("COUNT", "", "0"),
    ("COUNT", "1 1 ?unbound", "2"),
    ("COUNT DISTINCT", '1 1 1.0 "a" ?unbound', "3"),
    ("SUM", "", "0"),
    ("SUM", "1 2 3", "6"),
    ("SUM", "1 2.5", "3.5"),
    ("SUM", "0.1 0.1 0.1", "0.3"),
    ("SUM DISTINCT", "0.1 0.1 0.10", "0.2"),
    ("SUM", "1 2e0", '"3.0E0"^^xsd:double'),
    ("SUM", '1 "2"^^xsd:float', '"3.0E0"^^xsd:float'),
    ("SUM", '0.1e0 "2"^^xsd:float', '"2.1E0"^^xsd:double'),
    ("SUM", "1e100 1 -1e100", '"1.0E0"^^xsd:double'),
    ("SUM", "1e308 1e308", '"INF"^^xsd:double'),
    ("SUM", "-1e308 -1e308 -1", '"-INF"^^xsd:double'),
    ("SUM", "1e308 1e308 -1e308", '"1.0E308"^^xsd:double'),
    ("SUM", '"INF"^^xsd:double 1', '"INF"^^xsd:double'),
    ("SUM", '"INF"^^xsd:double "-INF"^^xsd:double', '"NaN"^^xsd:double'),
    ("SUM", '"NaN"^^xsd:double 1', '"NaN"^^xsd:double'),
    ("SUM", '1 "2"', "error"),
    ("SUM", "1 ?unbound", "error"),
    ("SUM", "99999999999999999999999999999999 1", "100000000000000000000000000000000"),
    ("AVG", "", "0"),
    ("AVG", "1 2", "1.5"),
    ("AVG", "1 1", '"1"^^xsd:decimal'),
    ("AVG DISTINCT", "1 1 2", "1.5"),
    ("AVG", "1 1 2", "1.333333333333333333"),
    ("AVG", "1e0 2", '"1.5E0"^^xsd:double'),
    ("AVG", "1 :a", "error"),
    ("AVG", "1 ?unbound", "error"),
    ("MIN", "", "error"),
    ("MIN", "3 1.5 2e0", "1.5"),
    ("MIN", '"b" 1 :x', ":x"),
    ("MIN", "1.0 1", "1"),
    ("MIN", "1 ?unbound", "error"),
    ("MAX", "3 1.5 2e0", "3"),
    ("MAX", '"b" 1 :x', '"b"'),
    ("MAX", "1 ?unbound", "error"),
    ("MAX", "", "error"),
    ("SAMPLE", "", "error"),
    ("SAMPLE", "3 ?unbound 1", "1"),
    ("SAMPLE", "?unbound", "error"),
    ("GROUP_CONCAT", "", '""'),
    ("GROUP_CONCAT", '"b" "a" "c"', '"a b c"'),
    ("GROUP_CONCAT", '10 9 "a"@en :x', '"http://example.org/x 9 10 a"'),
    ("GROUP_CONCAT DISTINCT", '"a" "b" "a"', '"a b"'),
    ("GROUP_CONCAT", '"a" ?unbound', "error"),
]


@pytest.mark.parametrize(("function", "texts", "expected"), CASES)
def test_value(function: str, texts: str, expected: str) -> None:
    name, _, distinct = function.partition(" ")
    values = [value(text) for text in texts.split()]
    if expected == "error":
        with pytest.raises(ExpressionError):
            aggregate(name, values, distinct=bool(distinct))
    else:
        assert aggregate(name, values, distinct=bool(distinct)) == value(expected)


def test_a_separator_stands_between_values() -> None:
    values = [Literal("b"), Literal("a")]
    assert aggregate("GROUP_CONCAT", values, separator=", ") == Literal("a, b")
    assert aggregate("GROUP_CONCAT", values, separator="") == Literal("ab")


def test_a_blank_node_cannot_be_joined() -> None:
    with pytest.raises(ExpressionError):
        aggregate("GROUP_CONCAT", [BlankNode("b")])


def test_a_joined_text_has_a_longest_length() -> None:
    with pytest.raises(ExpressionError, match="longer"):
        aggregate("GROUP_CONCAT", [Literal("a" * (MAX_LENGTH // 4))] * 5)


floats = st.floats(width=32).map(literal_of)
numbers = st.one_of(
    st.integers().map(literal_of), floats, st.decimals(-9, 9, places=2).map(literal_of)
)


@given(
    st.sampled_from(["COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT"]),
    st.lists(numbers, min_size=1),
    st.randoms(use_true_random=False),
)
def test_the_order_of_the_values_does_not_matter(
    function: str, values: list[Term], random: Random
) -> None:
    shuffled = random.sample(values, len(values))
    assert aggregate(function, shuffled) == aggregate(function, values)
