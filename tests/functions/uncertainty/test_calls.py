"""The uncertainty functions in expressions: on terms, and on columns of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.algebra.uncertainty import ARITIES, COLUMNAR
from headrace.functions.errors import ExpressionError
from headrace.functions.uncertainty.calls import FUNCTIONS
from headrace.functions.uncertainty.columns import VECTORISED
from headrace.functions.uncertainty.literals import literal
from headrace.functions.values import is_distribution, literal_of, number_of
from headrace.rdf.terms import Iri, Literal, Quad, Term
from headrace.rdf.vocabulary import RSPU, RSPU_DISTRIBUTION, XSD_DECIMAL, XSD_DOUBLE
from headrace.results.table import Table
from headrace.store import Store
from tests.functions.uncertainty.families import FAMILIES
from tests.shared import DATA, needs_data


def term(value: str | float) -> Literal:
    return Literal(value, RSPU_DISTRIBUTION) if isinstance(value, str) else literal_of(value)


def call(name: str, *values: str | float | Term) -> Term:
    return FUNCTIONS[RSPU + name](
        *(term(each) if isinstance(each, str | int | float) else each for each in values)
    )


def answered(store: Store, query: str) -> tuple[tuple[Term | None, ...], ...]:
    found = store.query(query)
    assert isinstance(found, Table)
    return tuple(found.rows)


def cases() -> list[dict[str, Any]]:
    file = DATA / "rspu-tvs" / "function_cases.json"
    return json.loads(file.read_text())["cases"] if file.exists() else []


@needs_data("rspu-tvs")
@pytest.mark.parametrize("case", cases(), ids=lambda each: f"{each['fn']}{each['args']}")
def test_the_cases_of_the_scenario(case: dict[str, Any]) -> None:
    found, expected = call(case["fn"], *case["args"]), case["expected"]
    if isinstance(expected, str):
        assert found == Literal(expected, RSPU_DISTRIBUTION)
    else:
        assert number_of(found).value == pytest.approx(expected, abs=1e-9)
    with Store() as store:
        written = ", ".join(_written(each) for each in case["args"])
        # The same on columns, as a value and beside another.
        near = f"<{RSPU}{case['fn']}>({written})"
        [(again,)] = answered(store, f"SELECT ({near} AS ?x) {{}}")
        assert again is not None
        if is_distribution(found):
            assert again == found
        else:
            assert number_of(again).value == pytest.approx(number_of(found).value, abs=1e-15)


def _written(value: str | float | Literal) -> str:
    if isinstance(value, Literal):
        return f'"{value.lexical}"^^<{value.datatype}>'
    return f'"{value}"^^<{RSPU_DISTRIBUTION}>' if isinstance(value, str) else repr(value)


def test_every_function_has_an_arity_and_columns_where_they_are_said_to_be() -> None:
    assert set(FUNCTIONS) == set(ARITIES)
    assert set(VECTORISED) == set(COLUMNAR.items())


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("mean", ["U(0,10)"], 5.0),
        ("mean", [3], 3.0),
        ("variance", ["N(1,4)"], 4.0),
        ("variance", ["P(1)"], 0.0),
        ("quantile", ["N(0,1)", 0.5], 0.0),
        ("quantile", ["U(0,10)", 0.25], 2.5),
        ("quantile", ["P(7)", 0.25], 7.0),
        ("pdf", ["U(0,10)", 3], 0.1),
        ("pdf", ["U(0,10)", 11], 0.0),
        ("cdf", ["U(0,10)", 3], 0.3),
        ("cdf", ["P(3)", 3], 1.0),
        ("lessThan", ["P(3)", 3], 0.0),
        ("lessThanOrEqual", ["P(3)", 3], 1.0),
        ("greaterThan", ["P(3)", 3], 0.0),
        ("greaterThanOrEqual", ["P(3)", 3], 1.0),
        ("greaterThanOrEqual", ["U(0,10)", 3], 0.7),
        ("lessThan", [3, "U(0,10)"], 0.7),
        ("lessThan", [3, 4], 1.0),
        ("add", [3, 4], 7.0),
        ("subtract", [3, 4], -1.0),
    ],
)
def test_functions_that_give_numbers(name: str, values: list[str | float], expected: float) -> None:
    assert number_of(call(name, *values)).value == pytest.approx(expected, abs=1e-15)


def test_an_approximation_is_a_third_argument() -> None:
    assert call("add", "U(0,1)", "N(0,1)", Literal("normal")) == term("N(0.5, 1.0833333333333333)")
    with pytest.raises(ExpressionError, match="not the name of an approximation"):
        call("add", "U(0,1)", "N(0,1)", literal_of(1))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("lessThan", ["N(0)", 1]),
        ("lessThan", [Iri("x:y"), 1]),
        ("quantile", ["N(0,1)", 2]),
        ("quantile", ["N(0,1)", "N(0,1)"]),
        ("pdf", ["P(0)", 0]),
        ("pdf", ["B(0.5, 0.5)", 0]),
        ("mean", ["LN(800,1)"]),
        ("mean", ["H(1e308,1,1.2e308,1,1.7e308)"]),
        ("mean", ["T(-7.49e+307,-5.26e+20,4.94e+20,2.49e+300)"]),
        ("variance", ["B(1,1,0,1e200)"]),
        ("variance", ["T(-1e200,0,0,1e200)"]),
        ("variance", ["H(-1e200,1,1e200)"]),
        ("variance", ["U(-1e200,1e200)"]),
        ("variance", ["E(1e-200)"]),
        ("variance", ["LN(0,700)"]),
        ("lessThan", ["E(1e308)", "N(0,1e308)"]),
        ("lessThan", ["LN(288.8,6.39e200,-8.19)", "LN(188.3,7.81e307,-0.00886)"]),
        ("lessThan", ["B(8.35e20,6.67e-300,0,1)", "B(0.739,8.43e200,0,1)"]),
        ("add", ["U(0,1)", 1e20, Literal("histogram")]),
        ("add", [1, 2, Literal("rough")]),
    ],
)
def test_what_has_no_result_is_an_error(name: str, values: list[Any]) -> None:
    with pytest.raises(ExpressionError):
        call(name, *values)
    terms = [term(each) if isinstance(each, str | int | float) else each for each in values]
    with Store() as store:  # and so it is on columns
        names = [f"?v{place}" for place in range(len(terms))]
        for place, each in enumerate(terms):
            store.add([Quad(Iri("x:s"), Iri(f"x:p{place}"), each)])
        given = " . ".join(f"?s <x:p{place}> {each}" for place, each in enumerate(names))
        call_ = f"<{RSPU}{name}>({', '.join(names)})"
        assert answered(store, f"SELECT ({call_} AS ?x) {{ {given} }}") == ((None,),)


any_term: st.SearchStrategy[Term] = st.one_of(
    *(family.map(literal) for family in FAMILIES.values()),
    st.integers(-5, 5).map(literal_of),
    st.floats(-5, 5).map(literal_of),
    st.just(Literal("1." + "1" * 30, XSD_DECIMAL)),  # more digits than columns hold
    st.just(Literal("N(0,0)", RSPU_DISTRIBUTION)),
    st.just(Literal("text")),
    st.just(Iri("http://example.org/iri")),
)


@settings(deadline=None, max_examples=25, derandomize=True, database=None)
@given(
    st.sampled_from(sorted(COLUMNAR)),
    st.lists(st.tuples(any_term, any_term, any_term), min_size=1, max_size=12),
)
def test_columns_give_what_terms_give(iri: str, rows: list[tuple[Term, Term, Term]]) -> None:
    count = COLUMNAR[iri]
    pattern = " . ".join(f"?row <x:p{place}> ?v{place}" for place in range(count))
    names = " ".join(f"?v{place}" for place in range(count))
    query = (
        f"SELECT (<{iri}>({', '.join(names.split())}) AS ?x)"
        f" (COALESCE(<{iri}>({', '.join(names.split())})) AS ?y)"
        f" {{ {pattern} }}"
    )
    with Store() as store:
        for number, row in enumerate(rows):
            cells = enumerate(row[:count])
            subject = Iri(f"x:row{number}")
            store.add(Quad(subject, Iri(f"x:p{place}"), cell) for place, cell in cells)
        for found, scalar in answered(store, query):
            if found is None or scalar is None or is_distribution(found):
                assert found == scalar
            else:
                assert number_of(found).value == pytest.approx(number_of(scalar).value, abs=1e-14)


def test_conditions_compare_what_columns_give() -> None:
    distributions = ["N(0,1)", "U(0,1)", "T(0,1,1,2)", "N(0)", "P(0.7)"]
    with Store() as store:
        store.add(Quad(Iri("x:s"), Iri("x:d"), term(each)) for each in distributions)
        for test, kept in (
            ("rspu:lessThan(?d, 0.5) >= 0.5", {"N(0,1)", "U(0,1)"}),
            ("0.5 <= rspu:lessThan(?d, 0.5)", {"N(0,1)", "U(0,1)"}),
            ("rspu:lessThan(?d, 0.5) != 0.5", {"N(0,1)", "T(0,1,1,2)", "P(0.7)"}),
            ("rspu:lessThan(?d, 0.5) = 'text'", set()),
            ("rspu:lessThan(?d, 0.5) != <x:y>", {"N(0,1)", "U(0,1)", "T(0,1,1,2)", "P(0.7)"}),
            ("rspu:lessThan(?d, 0.5) < rspu:mean(?d)", {"T(0,1,1,2)", "P(0.7)"}),
            ("rspu:add(?d, 0) = ?d", {"P(0.7)"}),  # the others are written otherwise
            ("rspu:between(?d, 0, 1) > 0.4 || ?d = 1", {"U(0,1)", "T(0,1,1,2)", "P(0.7)"}),
            ("!(rspu:lessThan(?d, 0.5) >= 0.5)", {"T(0,1,1,2)", "P(0.7)"}),
            ("rspu:lessThan(?d, 0.5)", {"N(0,1)", "U(0,1)", "T(0,1,1,2)"}),
        ):
            query = f"PREFIX rspu: <{RSPU}> SELECT ?d {{ ?s <x:d> ?d FILTER({test}) }}"
            found = {row[0] for row in answered(store, query)}
            assert found == {term(each) for each in kept}, test


INFINITE = Literal("INF", XSD_DOUBLE)
MINUS = Literal("-INF", XSD_DOUBLE)
LIMITED = [
    "N(1,4)",
    "U(0,2)",
    "T(0,1,2,3)",
    "LN(0,1)",
    "E(1)",
    "B(2,3)",
    "H(0,1,1,2,2)",
    "P(1)",
    1.5,
]


@pytest.mark.parametrize("value", LIMITED, ids=str)
def test_limits_may_be_infinite(value: str | float) -> None:
    """Each call on terms, and on columns, where values are read from data."""
    up_to = float(number_of(call("lessThan", value, 0.7)).value)
    expected: dict[tuple[str, tuple[str | float | Literal, ...]], float] = {
        ("lessThan", (value, INFINITE)): 1.0,
        ("lessThan", (value, MINUS)): 0.0,
        ("greaterThan", (value, MINUS)): 1.0,
        ("greaterThanOrEqual", (INFINITE, value)): 1.0,
        ("lessThanOrEqual", (INFINITE, INFINITE)): 1.0,
        ("lessThan", (INFINITE, INFINITE)): 0.0,
        ("between", (value, MINUS, INFINITE)): 1.0,
        ("between", (value, MINUS, 0.7)): up_to,
        ("between", (value, 0.7, INFINITE)): 1.0 - up_to,
        ("between", (value, INFINITE, MINUS)): 0.0,
        ("between", (value, MINUS, "N(60,1)")): 1.0,
        ("cdf", (value, INFINITE)): 1.0,
        ("cdf", (value, MINUS)): 0.0,
    }
    if value not in {"P(1)", 1.5}:
        expected |= {("pdf", (value, INFINITE)): 0.0, ("pdf", (value, MINUS)): 0.0}
    with Store() as store:
        for (name, arguments), number in expected.items():
            found = number_of(call(name, *arguments)).value
            assert found == pytest.approx(number, abs=1e-4 if "N(60,1)" in arguments else 1e-12)
            names = [f"?v{place}" for place in range(len(arguments))]
            values = " ".join(map(_written, arguments))
            query = f"SELECT (<{RSPU}{name}>({', '.join(names)}) AS ?x) "
            [(again,)] = answered(
                store, f"{query} {{ VALUES ({' '.join(names)}) {{ ({values}) }} }}"
            )
            assert again is not None
            assert number_of(again).value == pytest.approx(found, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("add", ("N(0,1)", INFINITE)),
        ("subtract", (MINUS, "E(1)")),
        ("add", (INFINITE, MINUS)),
        ("mean", (INFINITE,)),
        ("variance", (INFINITE,)),
        ("quantile", (INFINITE, 0.5)),
        ("lessThan", ("N(0,1)", Literal("NaN", XSD_DOUBLE))),
    ],
)
def test_an_infinite_number_is_no_value(
    name: str, arguments: tuple[str | float | Literal, ...]
) -> None:
    with pytest.raises(ExpressionError):
        call(name, *arguments)
    names = [f"?v{place}" for place in range(len(arguments))]
    values = " ".join(map(_written, arguments))
    query = f"SELECT (<{RSPU}{name}>({', '.join(names)}) AS ?x) "
    with Store() as store:
        [(found,)] = answered(store, f"{query} {{ VALUES ({' '.join(names)}) {{ ({values}) }} }}")
    assert found is None


def test_the_quantiles_at_the_ends_are_those_of_the_support() -> None:
    assert call("quantile", "N(0,1)", 0.0) == MINUS
    assert call("quantile", "E(1)", 1.0) == INFINITE
    assert call("quantile", "U(2,3)", 0.0) == literal_of(2.0)
