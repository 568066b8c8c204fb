"""Answers that a review found wrong once, and must not be again."""

from __future__ import annotations

import pytest

from headrace.kernel.answer import Answer, Statements, Truth
from headrace.rdf.formats import Format
from headrace.rdf.reading import read
from headrace.rdf.terms import BlankNode, Iri, Literal
from headrace.rdf.vocabulary import XSD_INTEGER
from headrace.results.table import Table
from headrace.store import Store

PREFIXES = "PREFIX : <http://x/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "


def asked(data: str, query: str) -> Answer:
    store = Store()
    turtle = f"@prefix : <http://x/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> . {data}"
    store.add(read(turtle, Format.TURTLE))
    return store.query(PREFIXES + query)


def rows(data: str, query: str) -> list[tuple[str | None, ...]]:
    answer = asked(data, query)
    assert isinstance(answer, Table)
    return [tuple(None if term is None else _short(term) for term in row) for row in answer]


def _short(term: object) -> str:
    match term:
        case Iri(value):
            return value.removeprefix("http://x/")
        case Literal(lexical):
            return lexical
        case _:
            return str(term)


@pytest.mark.parametrize(
    "query",
    [
        "CONSTRUCT { _:a :p ?o } WHERE { _:a :q ?o }",
        "CONSTRUCT { [] :p ?o } WHERE { _:a :q ?o }",
        "CONSTRUCT WHERE { _:a :q ?o }",
    ],
)
def test_a_blank_node_of_a_template_is_new_for_each_solution(query: str) -> None:
    answer = asked(':a :q "l" . :b :q "l" .', query)
    assert isinstance(answer, Statements)
    assert len(answer.quads) == 2
    assert all(isinstance(quad.subject, BlankNode) for quad in answer.quads)


@pytest.mark.parametrize(
    "pattern",
    [
        "{ BIND(BNODE() AS ?b) } UNION { BIND(BNODE() AS ?b) }",
        "{ ?s :q ?o BIND(UUID() AS ?b) } UNION { ?s :q ?o BIND(UUID() AS ?b) }",
        "{ SELECT (UUID() AS ?b) {} } UNION { SELECT (UUID() AS ?b) {} }",
        "{ BIND(RAND() AS ?b) } UNION { BIND(RAND() AS ?b) }",
    ],
)
def test_no_two_places_give_the_same_new_value(pattern: str) -> None:
    query = f"SELECT (COUNT(DISTINCT ?b) AS ?n) {{ {pattern} }}"
    assert rows(":a :q 1 .", query) == [("2",)]


@pytest.mark.parametrize(
    ("data", "direction", "order"),
    [
        (":a :p 1 ; :k 2 . :b :p 1.0 ; :k 1 . :c :p 1e0 ; :k 0 .", "?v", "cba"),
        (':a :p 1 ; :k 2 . :b :p "01"^^xsd:integer ; :k 1 .', "DESC(?v)", "ba"),
        (
            ':a :p "2020-01-01T00:00:00Z"^^xsd:dateTime ; :k 2 .'
            ' :b :p "2020-01-01T01:00:00+01:00"^^xsd:dateTime ; :k 1 .',
            "?v",
            "ba",
        ),
    ],
)
def test_equal_values_leave_the_order_to_the_next_key(
    data: str, direction: str, order: str
) -> None:
    query = f"SELECT ?s {{ ?s :p ?v ; :k ?k }} ORDER BY {direction} ?k"
    assert [row[0] for row in rows(data, query)] == list(order)


def test_numbers_out_of_their_range_are_no_numbers() -> None:
    data = ':a :p "-5"^^xsd:nonNegativeInteger . :b :p "70000"^^xsd:short . :c :p 3 .'
    assert rows(data, "SELECT ?s { ?s :p ?v FILTER (?v < 100000) }") == [("c",)]
    assert rows(data, "SELECT (SUM(?v) AS ?t) { ?s :p ?v }") == [(None,)]


def test_a_template_makes_no_quoted_triple_that_cannot_be() -> None:
    answer = asked(
        ':a :q "l" . :b :q :c .', "CONSTRUCT { << :a ?l :b >> :p :o } WHERE { ?x :q ?l }"
    )
    assert isinstance(answer, Statements)
    assert len(answer.quads) == 1


def test_a_repeated_path_may_end_at_a_quoted_triple() -> None:
    data = "<< :a :p 1 >> :c 2 ."
    assert rows(data, "SELECT ?a ?y { << ?a :p 1 >> :c+ ?y }") == [("a", "2")]
    assert rows(data, "SELECT ?z { ?y :c* << :a :p ?z >> }") == [("1",)]


def test_a_path_that_may_be_empty_reaches_where_it_starts() -> None:
    assert rows(":a :p :b .", "SELECT ?y { :z (:p?)+ ?y }") == [("z",)]
    assert asked(":a :p :b .", "ASK { :z (:p?/:q?)+ :z }") == Truth(value=True)


def test_counting_different_solutions_passes_over_blank_nodes() -> None:
    data = ':a :q "l" . :b :q "l" .'
    found = asked(data, "SELECT (COUNT(DISTINCT *) AS ?n) { [] :q ?o }")
    assert isinstance(found, Table)
    assert found.rows == ((Literal("1", XSD_INTEGER),),)
