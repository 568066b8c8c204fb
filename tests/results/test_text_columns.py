"""Columns made of canonical texts are those that are made of terms."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from headrace import Engine
from headrace.rdf.terms import BlankNode, Iri, Literal, QuotedTriple, Term
from headrace.rdf.vocabulary import XSD
from headrace.results.evaluations import Evaluation
from headrace.results.frames import to_polars
from headrace.results.table import Table
from headrace.results.text_columns import text_frame, typed_frame
from tests.fuzzing import repeat

TEXTS = st.text(
    st.sampled_from('ab01 .-+eE"\\\n\t\r@^<>_:\u00e9\U0001f600') | st.characters(codec="utf-8"),
    max_size=6,
)
NUMBERS = st.sampled_from(
    ["1", "-7", "+3", "007", "1.50", "1e3", "INF", "NaN", "true", "0", "", str(2**70)]
)
DATATYPES = st.sampled_from(
    [f"{XSD}{name}" for name in ("integer", "decimal", "double", "float", "boolean", "string")]
    + ["x:odd type"]
)
PLAIN = (
    st.builds(Iri, TEXTS)
    | st.builds(BlankNode, st.sampled_from(["b0", "b-1"]))
    | st.builds(Literal, TEXTS)
    | st.builds(Literal, TEXTS, language=st.sampled_from(["en", "EN-gb"]))
    | st.builds(Literal, NUMBERS, DATATYPES)
)
QUOTED = st.builds(QuotedTriple, PLAIN, st.builds(Iri, TEXTS), PLAIN)


@st.composite
def columns(draw: st.DrawFn) -> tuple[Term | None, ...]:
    """A column of terms of one kind, or of several."""
    kind = DATATYPES.map(lambda datatype: st.builds(Literal, NUMBERS, st.just(datatype)))
    terms = draw(st.sampled_from([PLAIN | QUOTED, PLAIN, draw(kind)]))
    return tuple(draw(st.lists(st.none() | terms, min_size=3, max_size=3)))


@repeat(300)
@given(st.lists(columns(), min_size=1, max_size=3))
def test_columns_of_texts_have_the_values_of_terms(found: list[tuple[Term | None, ...]]) -> None:
    names = [f"v{number}" for number in range(len(found))]
    table = Table(tuple(names), tuple(zip(*found, strict=True)))
    assert_frame_equal(typed_frame(text_frame(table.columns())), to_polars(table))


@pytest.mark.parametrize("rows", [0, 2])
def test_columns_without_values_are_texts(rows: int) -> None:
    nothing = pl.DataFrame({"a": pl.Series([None] * rows, dtype=pl.String)})
    assert_frame_equal(typed_frame(nothing), nothing)


ELEMENTS = (
    (1000, "a", "p", f'"1"^^<{XSD}integer>'),
    (1500, "b", "p", f'"2"^^<{XSD}integer>'),
    (1600, "c", "q", '"c"'),
    (9000, "a", "p", f'"3"^^<{XSD}integer>'),
)


def evaluations(query: str) -> list[Evaluation]:
    engine = Engine()
    found: list[Evaluation] = []
    stream = engine.stream("x:s")
    engine.register(query).on_result(found.append)
    for time, subject, predicate, value in ELEMENTS:
        stream.feed_timed(f"{time}\t<x:{subject}> <x:{predicate}> {value} .\n")
    engine.step()
    return found


SOURCE = "FROM STREAM <x:s> [RANGE 2s STEP 2s] WHERE"


def test_an_evaluation_has_columns_and_makes_no_terms_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    [first, *_] = evaluations(f"SELECT ?s ?v {SOURCE} {{ ?s <x:p> ?v }} ORDER BY ?s")
    made = Evaluation(first.query, first.at, variables=first.variables, rows=tuple(first.rows))
    [again, *_] = evaluations(f"SELECT ?s ?v {SOURCE} {{ ?s <x:p> ?v }} ORDER BY ?s")
    monkeypatch.setattr("headrace.kernel.evaluations.read_term", None)
    assert again.texts.rows() == [
        ("<x:a>", f'"1"^^<{XSD}integer>'),
        ("<x:b>", f'"2"^^<{XSD}integer>'),
    ]
    assert again.to_polars().rows() == [("x:a", 1), ("x:b", 2)]
    assert again.to_arrow().to_pydict() == {"s": ["x:a", "x:b"], "v": [1, 2]}
    assert again.to_pandas()["v"].sum() == 3
    assert isinstance(again.to_numpy()["v"], np.ndarray)
    assert again.to_numpy()["v"].tolist() == [1, 2]
    assert_frame_equal(made.to_polars(), again.to_polars())
    assert_frame_equal(made.texts, again.texts)


def test_statements_and_truth_values_have_columns() -> None:
    [made, *_] = evaluations(f"CONSTRUCT {{ ?s <x:is> ?v }} {SOURCE} {{ ?s <x:q> ?v }}")
    assert made.to_polars().rows(named=True) == [
        {"subject": "x:c", "predicate": "x:is", "object": "c", "graph": None}
    ]
    [asked, *_] = evaluations(f"ASK {SOURCE} {{ ?s <x:q> ?v }}")
    assert asked.to_polars().rows() == [(True,)]
    assert asked.texts.rows() == [(f'"true"^^<{XSD}boolean>',)]
