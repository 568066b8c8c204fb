"""What is dropped where statements are read: never what a filter would have let pass."""

from __future__ import annotations

import polars as pl
from hypothesis import example, given
from hypothesis import strategies as st

from headrace.algebra.expressions import Operation, Variable
from headrace.functions.errors import ExpressionError
from headrace.functions.evaluate import EvaluationContext, evaluate
from headrace.functions.logic import truth
from headrace.functions.times import date_time
from headrace.kernel.columns import ID, OBJECT, PREDICATE, SUBJECT, TERMS, TEXT
from headrace.pipeline.choosing import wanted
from headrace.planning.limits import limits
from headrace.planning.wanted import Shape
from headrace.rdf.ids import term_id
from headrace.rdf.terms import Iri, Literal, Term, canonical
from headrace.rdf.vocabulary import XSD, XSD_DECIMAL, XSD_DOUBLE, XSD_FLOAT, XSD_INTEGER

V = Variable("v")
P = Iri("x:p")

numbers = st.one_of(
    st.integers(-20, 20).map(str),
    st.decimals(-20, 20, places=2, allow_nan=False).map(lambda number: f"{number:f}"),
    st.sampled_from(["0.1", "16777217", "NaN", "INF", "1e3", "+5", "5.", "abc", ""]),
)
datatypes = st.sampled_from([XSD_INTEGER, XSD_DECIMAL, XSD_DOUBLE, XSD_FLOAT, f"{XSD}byte"])
literals = st.builds(Literal, numbers, datatypes)
objects = st.one_of(literals, st.just(Iri("x:o")), numbers.map(Literal))
symbols = st.sampled_from(["<", "<=", ">", ">=", "="])


def chosen(terms: list[Term], condition: Operation) -> list[bool]:
    ids = [term_id(term) for term in terms]
    fixed = [term_id(Iri("x:s")), term_id(P)]
    statements = pl.DataFrame(
        [(*fixed, each) for each in ids],
        schema=dict.fromkeys((SUBJECT, PREDICATE, OBJECT), pl.Int64),
        orient="row",
    )
    known = pl.DataFrame({ID: ids, TEXT: list(map(canonical, terms))}, schema=TERMS).unique()
    shape = Shape(predicate=P, limits=tuple(limits([condition], V)))
    found: list[bool] = wanted(statements, known, [shape], 0).tolist()
    return found


def holds(condition: Operation, term: Term) -> bool:
    try:
        return truth(evaluate(condition, {V: term}, EvaluationContext(date_time(0))))
    except ExpressionError:
        return False


@given(st.lists(objects, min_size=1, max_size=8), symbols, literals, st.booleans())
@example([Literal("0.1", XSD_FLOAT)], "<=", Literal("0.1", XSD_DECIMAL), False)
@example([Literal("16777217", XSD_FLOAT)], "=", Literal("16777217", XSD_INTEGER), False)
def test_nothing_is_dropped_that_a_filter_lets_pass(
    terms: list[Term], symbol: str, constant: Literal, mirrored: bool
) -> None:
    condition = Operation(symbol, (constant, V) if mirrored else (V, constant))
    for term, kept in zip(terms, chosen(terms, condition), strict=True):
        assert kept or not holds(condition, term), term


def test_numbers_beyond_a_limit_are_dropped() -> None:
    terms: list[Term] = [Literal(str(number), XSD_INTEGER) for number in (9, 10, 11)]
    condition = Operation(">=", (V, Literal("10", XSD_INTEGER)))
    assert chosen(terms, condition) == [False, True, True]


def test_what_is_no_plain_number_is_left_to_the_filter() -> None:
    terms: list[Term] = [Iri("x:o"), Literal("a"), Literal("9", f"{XSD}byte")]
    condition = Operation(">=", (V, Literal("10", XSD_INTEGER)))
    assert chosen(terms, condition) == [True, True, True]
