"""Which statements of a stream a query can ask for."""

from __future__ import annotations

import pytest

from headrace.dialects import parse
from headrace.planning.limits import Limit
from headrace.planning.plan import make_plan
from headrace.planning.wanted import Shape, wanted_shapes
from headrace.rdf.terms import Iri, Literal

STREAM = "FROM STREAM <x:s> [RANGE 10s STEP 5s]"
P, Q, A = Iri("x:p"), Iri("x:q"), Iri("x:a")


def shapes(*texts: str) -> set[Shape] | None:
    plans = [make_plan(parse(text, "csparql").query, str(n)) for n, text in enumerate(texts)]
    found = wanted_shapes(plans, Iri("x:s"))
    return None if found is None else set(found)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("{ ?x <x:p> ?y }", {Shape(None, P, None)}),
        ("{ ?x <x:p> <x:a> . <x:a> <x:q> 'b' }", {Shape(None, P, A), Shape(A, Q, Literal("b"))}),
        ("{ ?x ?p ?y }", None),
        ("{ ?x ?p <x:a> }", {Shape(None, None, A)}),
        ("{ ?x <x:p> ?y FILTER NOT EXISTS { ?x <x:q> ?z } }", {Shape(None, P), Shape(None, Q)}),
        ("{ ?x <x:p>/^<x:q> ?y }", {Shape(None, P), Shape(None, Q)}),
        ("{ ?x <x:p>+ ?y }", {Shape(None, P)}),
        ("{ ?x <x:p>* ?y }", None),
        ("{ ?x !<x:p> ?y }", None),
        ("{ GRAPH ?g { ?x <x:p> ?y } }", {Shape(None, P)}),
        ("{ GRAPH ?g { } }", None),
        ("{ GRAPH ?g { OPTIONAL { ?x <x:p> ?y } } }", None),
        ("{ GRAPH ?g { SELECT (COUNT(*) AS ?n) { ?x <x:p> ?y } } }", None),
        (
            "{ ?x <x:p> ?y FILTER (timestamp(?x, <x:q>, ?y) > 1) }",
            {Shape(None, P), Shape(None, Q)},
        ),
        (
            "{ ?x <x:p> ?y . ?x <x:q> ?z FILTER (?y > 5 && 7.5 >= ?z && ?y != ?z) }",
            {Shape(None, P, None, (Limit(">", 5),)), Shape(None, Q, None, (Limit("<=", 7.5),))},
        ),
        (
            "{ ?x <x:p> ?y OPTIONAL { ?x <x:q> ?z } FILTER (?z > 5) }",
            {Shape(None, P), Shape(None, Q)},
        ),
        ("{ ?x <x:p> ?y FILTER (?y > 5 || ?y < 2) }", {Shape(None, P)}),
        ("{ ?x <x:p> ?y FILTER (?y > 12345678901234567) }", {Shape(None, P)}),
    ],
)
def test_what_a_pattern_can_ask_for(pattern: str, expected: set[Shape] | None) -> None:
    assert shapes(f"SELECT * {STREAM} WHERE {pattern}") == expected


def test_describe_can_ask_for_anything() -> None:
    assert shapes(f"DESCRIBE ?x {STREAM} WHERE {{ ?x <x:p> ?y }}") is None


def test_limits_can_be_left_to_the_evaluation() -> None:
    query = parse(
        f"SELECT * {STREAM} WHERE {{ ?x <x:p> ?y FILTER (?y > 5) }}",
        settings={"rules.filter_while_decoding": "off"},
    ).query
    assert wanted_shapes([make_plan(query)], Iri("x:s")) == (Shape(None, P),)


def test_several_queries_ask_for_all_of_theirs() -> None:
    one, other = (f"SELECT * {STREAM} WHERE {{ ?x <x:{name}> ?y }}" for name in "pq")
    assert shapes(one, other) == {Shape(None, P), Shape(None, Q)}
    assert shapes(one, f"SELECT * {STREAM} WHERE {{ ?x ?y ?z }}") is None


def test_another_stream_is_not_asked() -> None:
    plan = make_plan(parse(f"SELECT * {STREAM} WHERE {{ ?x <x:p> ?y }}").query)
    assert wanted_shapes([plan], Iri("x:other")) == ()
