"""Which queries can be evaluated in parts, and by which variable."""

from __future__ import annotations

import pytest

from headrace.dialects import parse
from headrace.planning.partitioning import partitioning
from headrace.planning.plan import sketch_of

STREAM = "FROM STREAM <s> [RANGE 10s STEP 5s]"
WINDOW = "FROM NAMED WINDOW <w> ON <s> [RANGE 10s STEP 5s]"


def key(text: str, dialect: str | None = None) -> str | None:
    found = partitioning(sketch_of(parse(text, dialect).query))
    assert found.is_whole == bool(found.reason)
    return None if found.key is None else found.key.name


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("SELECT ?x {stream} {{ ?x <p> ?y }}", "x"),
        ("SELECT ?y {stream} {{ ?x <p> ?y . ?y <q> ?z }}", "y"),
        ("SELECT ?y {stream} {{ ?x <p> ?y . ?y <q> ?z . ?x <r> ?z }}", None),
        ("SELECT ?x {stream} {{ ?x <p> ?y OPTIONAL {{ ?x <q> ?z }} }}", "x"),
        ("SELECT ?x {stream} {{ ?x <p> ?y OPTIONAL {{ ?y <q> ?z }} }}", "y"),
        ("SELECT ?x {stream} {{ ?x <p> ?y OPTIONAL {{ ?z <q> 1 }} }}", None),
        ("SELECT ?x {stream} {{ {{ ?x <p> ?y }} UNION {{ ?x <q> ?y }} }}", "x"),
        ("SELECT ?x {stream} {{ ?x <p> ?y MINUS {{ ?x <q> 1 }} }}", "x"),
        ("SELECT ?x {stream} {{ ?x <p> ?y FILTER NOT EXISTS {{ ?x <q> ?z }} }}", "x"),
        ("SELECT ?x {stream} {{ ?x <p> ?y FILTER NOT EXISTS {{ ?z <q> 1 }} }}", None),
        ("SELECT ?x (COUNT(*) AS ?n) {stream} {{ ?x <p> ?y }} GROUP BY ?x", "x"),
        ("SELECT ?y (COUNT(*) AS ?n) {stream} {{ ?x <p> ?y }} GROUP BY ?y", "y"),
        ("SELECT (COUNT(*) AS ?n) {stream} {{ ?x <p> ?y }}", "x"),
        ("SELECT DISTINCT ?y {stream} {{ ?x <p> ?y }}", "y"),
        ("SELECT DISTINCT ?a {stream} {{ ?x <p> ?y BIND (1 AS ?a) }}", "x"),
        ("SELECT ?x {stream} {{ ?x <p> ?y }} ORDER BY ?x", "x"),
        ("SELECT ?x {stream} {{ ?x <p> ?y }} LIMIT 3", "x"),
        ("SELECT ?x {stream} {{ ?x <p>+ ?y }}", None),
        ("SELECT ?x ?r {stream} {{ ?x <p> ?y BIND (RAND() AS ?r) }}", None),
        ("ASK {stream} {{ ?x <p> ?y }}", None),
        ("DESCRIBE ?x {stream} {{ ?x <p> ?y }}", None),
        ("CONSTRUCT {{ ?x <r> _:b }} {stream} {{ ?x <p> ?y }}", "x"),
        ("SELECT ?x {stream} {{ ?x <p> ?y {{ SELECT ?x {{ ?x <q> ?z }} }} }}", "x"),
        # The inner ?x is another variable.
        ("SELECT ?x {stream} {{ ?x <p> ?y {{ SELECT ?y {{ ?x <q> ?y }} }} }}", "y"),
        ("SELECT ?x {stream} {{ ?x <p> ?y {{ SELECT (MAX(?y) AS ?m) {{ ?x <p> ?y }} }} }}", None),
        ("SELECT ?x {stream} {{ ?x <p> ?y }} AGGREGATE {{ (?n, COUNT, {{?x}}) }}", "x"),
        ("SELECT ?x {stream} {{ ?x <p> ?y }} AGGREGATE {{ (?n, COUNT, {{?y}}) }}", "y"),
    ],
)
def test_the_key_of_a_query(pattern: str, name: str | None) -> None:
    text = pattern.format(stream=STREAM).replace("<p>", "<x:p>").replace("<q>", "<x:q>")
    assert key(text.replace("<r>", "<x:r>"), "csparql") == name


def test_static_data_are_the_same_in_every_part() -> None:
    text = f"SELECT ?x {WINDOW} {{ WINDOW <w> {{ ?x <x:p> ?y }} ?y <x:q> ?z . ?z <x:r> ?a }}"
    assert key(text) == "x"
    # But what no stream says must not be said by every part.
    assert (
        key(f"SELECT ?y {WINDOW} {{ ?y <x:q> ?z OPTIONAL {{ WINDOW <w> {{ ?y <x:p> 1 }} }} }}")
        is None
    )


def test_a_static_variable_of_the_same_name_is_no_key() -> None:
    inner = "{ SELECT (COUNT(*) AS ?n) { ?x <x:q> ?z } }"
    assert key(f"SELECT ?y {WINDOW} {{ WINDOW <w> {{ ?x <x:p> ?y }} {inner} }}") == "y"


@pytest.mark.parametrize(
    ("window", "name"),
    [("[RANGE 10s SLIDE 5s]", "x"), ("[RANGE 10s]", None), ("[TRIPLES 3]", None), ("[NOW]", None)],
)
def test_only_windows_that_slide_over_time(window: str, name: str | None) -> None:
    assert key(f"SELECT ?x WHERE {{ STREAM <s> {window} {{ ?x <x:p> ?y }} }}", "cqels") == name


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("SELECT ?y {stream} {{ ?x <x:p> ?y . ?y <x:q> ?z . ?x <x:r> ?z }}", "are not all joined"),
        ("SELECT ?x {stream} {{ ?x <x:p>+ ?y }}", "a property path over windows"),
        (
            "SELECT ?x {stream} {{ ?x <x:p> ?y {{ SELECT (MAX(?y) AS ?m) {{ ?x <x:p> ?y }} }} }}",
            "joined on ?x, but ?x is no key of an aggregation in it",
        ),
        (
            "SELECT ?x {stream} {{ ?x <x:p> ?y {{ SELECT ?z {{ ?x <x:q> ?z }} }} }}",
            "joined on ?x, but a subquery does not select ?x",
        ),
        (
            "SELECT ?x {stream} {{ ?x <x:p> ?y {{ SELECT * {{ ?x <x:q> ?z }} LIMIT 1 }} }}",
            "joined on ?x, but a subquery has ORDER BY or LIMIT",
        ),
        (
            "SELECT ?x {stream} {{ {{ VALUES ?x {{ <x:a> }} }} UNION {{ ?x <x:p> ?y }} }}",
            "joined on ?x, but not every branch of a UNION reads a stream",
        ),
        (
            "SELECT ?x {stream} {{ VALUES ?x {{ <x:a> }} OPTIONAL {{ ?x <x:p> ?y }} }}",
            "joined on ?x, but what an optional pattern is added to reads no stream",
        ),
        (
            "SELECT ?x {stream} {{ VALUES ?x {{ <x:a> }} MINUS {{ ?x <x:p> ?y }} }}",
            "joined on ?x, but what MINUS takes away from reads no stream",
        ),
        (
            "SELECT ?x {stream} {{ VALUES ?x {{ <x:a> }} FILTER EXISTS {{ ?x <x:p> ?y }} }}",
            "joined on ?x, but an EXISTS reads streams",
        ),
        ("SELECT ?x {stream} {{ VALUES ?x {{ <x:a> }} }}", "no pattern of it reads a stream"),
        (
            "SELECT ?x {stream} {{ ?x <x:p> ?y }} ORDER BY timestamp(?y)",
            "use timestamps of solutions",
        ),
        (
            "SELECT ?y (SUM(?z) AS ?n) {stream} {{ ?x <x:p> ?y ; <x:q> ?z }} GROUP BY ?y "
            "HAVING (MAX(timestamp(?z)) > 3)",
            "use timestamps of solutions",
        ),
        (
            "SELECT ?x {stream} {{ ?x <x:p> ?y {{ SELECT ?z {{ ?x <x:q> ?z }} }} }} "
            "ORDER BY timestamp(?y)",
            "joined on ?x, but a subquery does not select ?x",
        ),
    ],
)
def test_the_reason_why_a_query_is_evaluated_whole(pattern: str, reason: str) -> None:
    found = partitioning(sketch_of(parse(pattern.format(stream=STREAM), "csparql").query))
    assert found.is_whole
    assert reason in found.reason
