"""A plain SERVICE joined by a nested loop: requests without VALUES, and the same answers."""

from __future__ import annotations

import pytest

from headrace import Engine
from headrace.background.config import ServiceConfig

from .endpoint_server import Endpoint, serving

STREAM = "http://example.org/s"
DATA = """
@prefix : <http://example.org/> .
:a :p 1, 2 ; :q :x . :b :p 2 ; :q :y . :c :q :x . :x :r :a . :y :r :b .
GRAPH :g { :a :p 7 . :d :p 8 }
"""
PATTERNS = {
    "triples": "?u :p ?n",
    "two triples": "?u :p ?n ; :q ?o",
    "no variable left": "?u :q :x",
    "union, one branch without the key": "{ ?u :p ?n } UNION { ?o :r ?v }",
    "optional": "?u :q ?o OPTIONAL { ?u :p ?n }",
    "optional that alone binds the key": "?o :r ?v OPTIONAL { ?o :r ?u . ?u :p ?n }",
    "filter": "?u :p ?n FILTER(?n > 1 && ?u != :b)",
    "filter that sees no key": "{ FILTER(!BOUND(?u)) } UNION { ?u :p ?n }",
    "minus": "?u :p ?n MINUS { ?u :q :y }",
    "subquery": "{ SELECT ?u (COUNT(*) AS ?n) { ?u :p ?m } GROUP BY ?u }",
    "path": "?u (:q/:r)* ?o",
    "bind": "?u :p ?m BIND(?m + 1 AS ?n)",
    "graph": "GRAPH ?g { ?u :p ?n }",
    "exists": "?u :q ?o FILTER EXISTS { ?u :p 2 }",
    "not exists": "?u :q ?o FILTER NOT EXISTS { ?u :p ?any }",
}
PUSHED = [
    "<http://example.org/a>",
    "<http://example.org/b>",
    "<http://example.org/d>",
    '"a literal"',
]


def answers(
    endpoint: Endpoint, pattern: str, join: str, pushed: list[str] = PUSHED
) -> list[list[str]]:
    config = ServiceConfig(allow=(endpoint.iri,), private=("127.0.0.1",), join=join)
    engine = Engine(services=config)
    query = engine.register(
        f"PREFIX : <http://example.org/> SELECT ?u ?n ?o ?v ?g "
        f"FROM STREAM <{STREAM}> [RANGE 1s STEP 1s] "
        f"{{ ?post :about ?u SERVICE <{endpoint.iri}> {{ {pattern} }} }}"
    )
    stream = engine.stream(STREAM)
    for number, term in enumerate(pushed):
        stream.push(f"<x:{number}> <http://example.org/about> {term} .", at=100)
    engine.finish()
    [found] = query.results()
    engine.static.close()
    assert found.error is None
    return sorted([str(term) for term in row] for row in found.rows)


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_a_nested_loop_sends_no_values_and_finds_the_same(pattern: str) -> None:
    with serving(DATA) as endpoint:
        nested = answers(endpoint, pattern, "nested")
        asked = [each.query for each in endpoint.seen]
        assert asked
        assert not any("VALUES" in text for text in asked)
        assert nested == answers(endpoint, pattern, "hash")
        assert nested == answers(endpoint, pattern, "blocks")
        assert any("VALUES" in each.query for each in endpoint.seen)


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_the_same_with_a_blank_node_among_the_bindings(pattern: str) -> None:
    pushed = [*PUSHED, "_:blank"]
    with serving(DATA) as endpoint:
        nested = answers(endpoint, pattern, "nested", pushed)
        assert not any("VALUES" in each.query for each in endpoint.seen)
        assert nested == answers(endpoint, pattern, "hash", pushed)


def test_each_request_has_one_binding_in_the_place_of_its_variable() -> None:
    with serving(DATA) as endpoint:
        found = answers(endpoint, "?u :p ?n", "nested", [*PUSHED, "_:blank"])
        asked = [each.query for each in endpoint.seen]
    assert len(found) == 3
    # A literal and a blank node cannot be the subject of a triple of another server.
    assert sorted(asked) == [
        f"SELECT ?n WHERE {{ <http://example.org/{name}> <http://example.org/p> ?n }}"
        for name in "abd"
    ]
