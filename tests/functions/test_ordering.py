"""The order of ORDER BY is total, agrees with `<`, and puts kinds of terms where SPARQL says."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.functions.comparison import compare
from headrace.functions.errors import ExpressionError
from headrace.functions.ordering import order_key
from headrace.rdf.terms import BlankNode, Iri, Literal, QuotedTriple, Term
from headrace.rdf.vocabulary import XSD
from tests.functions.language import value

names = st.text("ab", min_size=1, max_size=2)
numerals = st.one_of(
    st.integers(-3, 3).map(str), st.sampled_from(["0.1", "01", "1e0", "NaN", "INF", "-0", "x"])
)
moments = st.sampled_from(
    ["2000-01-01T00:00:00Z", "2000-01-01T01:00:00+01:00", "2000-01-01T00:00:00", "2000-01-01", "x"]
)
literals = st.one_of(
    st.builds(Literal, names),
    st.builds(lambda text, tag: Literal(text, language=tag), names, st.sampled_from(["en", "fr"])),
    st.builds(
        lambda text, name: Literal(text, XSD + name),
        numerals,
        st.sampled_from(["integer", "decimal", "float", "double", "byte"]),
    ),
    st.builds(lambda text: Literal(text, XSD + "boolean"), st.sampled_from(["true", "0", "x"])),
    st.builds(
        lambda text, name: Literal(text, XSD + name), moments, st.sampled_from(["dateTime", "date"])
    ),
    st.builds(lambda text, name: Literal(text, "http://example.org/" + name), names, names),
)
nodes = st.one_of(st.builds(BlankNode, names), st.builds(lambda name: Iri("x:" + name), names))
terms: st.SearchStrategy[Term] = st.recursive(
    st.one_of(nodes, literals),
    lambda inner: st.builds(
        lambda subject, name, object_: QuotedTriple(subject, Iri("x:" + name), object_),
        inner.filter(lambda term: not isinstance(term, Literal)),
        names,
        inner,
    ),
    max_leaves=4,
)


@given(st.lists(st.one_of(st.none(), terms)))
def test_sorting_does_not_depend_on_the_order_before(some: list[Term | None]) -> None:
    backwards = some[::-1]
    assert sorted(some, key=order_key) == sorted(backwards, key=order_key)


@given(terms, terms)
def test_different_terms_have_different_keys(left: Term, right: Term) -> None:
    assert (order_key(left) == order_key(right)) == (left == right)
    assert (left == right) + (order_key(left) < order_key(right)) + (
        order_key(right) < order_key(left)
    ) == 1


@given(terms, terms, terms)
def test_the_order_is_transitive(one: Term, two: Term, three: Term) -> None:
    first, second, third = sorted((one, two, three), key=order_key)
    assert order_key(first) <= order_key(second) <= order_key(third)
    assert order_key(first) <= order_key(third)


@given(literals, literals)
@settings(max_examples=500)
def test_the_order_agrees_with_less_than(left: Literal, right: Literal) -> None:
    try:
        order = compare(left, right)
    except ExpressionError:
        return
    if order:
        assert (order < 0) == (order_key(left) < order_key(right))


def test_kinds_of_terms_follow_each_other() -> None:
    texts = [
        ":a",
        ":b",
        '"NaN"^^xsd:double',
        '"-INF"^^xsd:double',
        "-1",
        "0.5",
        '"01"^^xsd:integer',
        '"1"^^xsd:byte',
        "1.0",
        "2e0",
        '"10"^^xsd:integer',
        '""',
        '"a"',
        '"b"',
        '"a"@en',
        '"a"@fr',
        "false",
        "true",
        '"1999-01-01T00:00:00"^^xsd:dateTime',
        '"2000-01-01T00:00:00Z"^^xsd:dateTime',
        '"1999-01-01"^^xsd:date',
        '"x"^^:t',
        '"abc"^^xsd:integer',
        "<< :a :b 2 >>",
        "<< :a :b 10 >>",
        "<< :a :c 1 >>",
        "<< << :a :b 1 >> :b 1 >>",
    ]
    expected = [None, BlankNode("z"), *(value(text) for text in texts)]
    for one, other in pairwise(expected):
        assert order_key(one) < order_key(other), (one, other)
