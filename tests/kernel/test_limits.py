"""Static statements are found by their numbers: the same as if each were tested."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.dialects import parse
from headrace.kernel import data
from headrace.kernel.answer import answer
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.surroundings import Surroundings
from headrace.rdf.terms import Iri, Literal, Quad
from headrace.rdf.vocabulary import XSD, XSD_DECIMAL, XSD_DOUBLE, XSD_FLOAT, XSD_INTEGER
from headrace.results.table import Table

P, Q = Iri("x:p"), Iri("x:q")
numbers = st.one_of(st.integers(-5, 5).map(str), st.sampled_from(["0.1", "0.5", "NaN", "x", "-0"]))
plain = st.sampled_from([XSD_INTEGER, XSD_DECIMAL, XSD_DOUBLE])
odd = st.sampled_from([XSD_FLOAT, f"{XSD}byte", f"{XSD}string"])
objects = st.one_of(
    st.lists(st.builds(Literal, st.integers(-5, 5).map(str), plain)),
    st.lists(st.builds(Literal, numbers, st.one_of(plain, odd))),
)
constants = st.sampled_from(["0", "2", "-3.0", "0.1", "0.5e0", "1e0"])
symbols = st.sampled_from(["<", "<=", ">", ">=", "=", "!="])


@given(objects, st.lists(st.tuples(symbols, constants), min_size=1, max_size=2))
@settings(max_examples=150)
def test_numbers_within_limits_are_found(
    found: list[Literal], limits: list[tuple[str, str]]
) -> None:
    condition = " && ".join(f"?v {symbol} {constant}" for symbol, constant in limits)
    quads = [Quad(Iri(f"x:s{n}"), P, each) for n, each in enumerate(found)]
    quads += [Quad(Iri(f"x:s{n}"), Q, Iri("x:o")) for n in range(len(found))]
    text = f"SELECT ?s ?v {{ ?s <x:q> <x:o> ; <x:p> ?v FILTER ({condition}) }}"
    with pytest.MonkeyPatch.context() as patch:
        tested = rows(text, quads)
        patch.setattr(data, "_WORTH_AN_INDEX", 0)
        assert rows(text, quads) == tested


def rows(text: str, quads: list[Quad]) -> list[str]:
    dictionary = Dictionary()
    encoded = dictionary.encode_quads(quads)
    found = answer(parse(text).query, encoded, Surroundings(dictionary))
    assert isinstance(found, Table)
    return sorted(map(str, found.rows))


def test_a_range_is_exact() -> None:
    quads = [Quad(Iri(f"x:s{n}"), P, Literal(str(Decimal(n) / 10), XSD_DECIMAL)) for n in range(9)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data, "_WORTH_AN_INDEX", 0)
        found = rows("SELECT ?s { ?s <x:p> ?v FILTER (?v > 0.3 && 0.5 >= ?v) }", quads)
    assert found == sorted(str((Iri(f"x:s{n}"),)) for n in (4, 5))
