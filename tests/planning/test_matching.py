"""What of a query can be matched element by element, and what keeps others from it."""

from __future__ import annotations

import pytest

from headrace.dialects import parse
from headrace.planning.matching import Matching
from headrace.planning.plan import sketch_of

PREFIX = "PREFIX : <http://x/> "
WINDOW = "FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 1s] "


def matching(body: str, head: str = "SELECT *", windows: str = WINDOW, **settings: str) -> Matching:
    """Of a query as it was written: rules have their own tests."""
    text = f"{PREFIX}{head} {windows}WHERE {{ {body} }}"
    return sketch_of(parse(text, "rspql", settings=settings).query).matching


def shapes(found: Matching) -> list[list[tuple[int, int, int]]]:
    """For each core and branch, how many patterns, static parts and conditions there are."""
    return [
        [(len(b.scanned), len(b.static), len(b.conditions)) for b in core.branches]
        for core in found.cores
    ]


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("WINDOW :w { ?x :p ?y }", [[(1, 0, 0)]]),
        ("WINDOW :w { ?x :p ?y . ?y :q ?z FILTER(?z > 1) }", [[(2, 0, 1)]]),
        ("WINDOW :w { ?x :p ?y } ?y :name ?n", [[(1, 1, 0)]]),
        ("WINDOW :w { ?x :p ?y } VALUES ?y { :a :b }", [[(1, 1, 0)]]),
        ("WINDOW :w { { ?x :p ?y } UNION { ?x :q ?y } }", [[(1, 0, 0), (1, 0, 0)]]),
        ("WINDOW :w { ?x :p ?y OPTIONAL { ?y :q ?z } }", [[(1, 0, 0)], [(1, 0, 0)]]),
        ("WINDOW :w { ?x :p ?y } OPTIONAL { ?y :name ?n }", [[(1, 0, 0)]]),
        ("WINDOW :w { GRAPH ?g { ?x :p ?y } }", [[(1, 0, 0)]]),
        ("WINDOW :w { ?x :p ?y } { SELECT ?y (COUNT(*) AS ?n) { ?y :name ?m } GROUP BY ?y }",
         [[(1, 1, 0)]]),
    ],
)  # fmt: skip
def test_what_only_gains_matches_is_a_core(
    body: str, wanted: list[list[tuple[int, int, int]]]
) -> None:
    found = matching(body)
    assert found.obstacle is None
    assert shapes(found) == wanted


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("WINDOW :w { ?x (:p|:q) ?y }", "path"),
        ("WINDOW :w { ?x :p+ ?y }", "path"),
        ("WINDOW ?w { ?x :p ?y }", "several windows"),
        ("WINDOW :w { ?x :p ?y FILTER NOT EXISTS { ?y :q ?z } }", "EXISTS"),
        ("WINDOW :w { GRAPH ?g { ?x :p ?y FILTER(?g != :h) } }", "several graphs"),
        ("WINDOW :w { ?x :p ?y } SERVICE <http://e/> { ?y :q ?z }", "SERVICE"),
    ],
)
def test_what_is_looked_at_as_a_whole_is_named(body: str, why: str) -> None:
    found = matching(body)
    assert found.cores == ()
    assert found.obstacle is not None
    assert why in found.obstacle


@pytest.mark.parametrize(
    ("windows", "settings", "why"),
    [
        ("FROM NAMED WINDOW :w ON :s [TRIPLES 10 STEP 1] ", {}, "count window"),
        (WINDOW, {"report": "on-change"}, "on-change"),
        (
            "FROM NAMED WINDOW :w ON :s [NOW] FROM NAMED WINDOW :v ON :t [RANGE 1s] ",
            {"report": "on-arrival"},
            "[NOW]",
        ),
    ],
)
def test_windows_that_cannot_be_followed_are_named(
    windows: str, settings: dict[str, str], why: str
) -> None:
    found = matching("WINDOW :w { ?x :p ?y }", windows=windows, **settings)
    assert found.obstacle is not None
    assert why in found.obstacle


def test_a_condition_on_what_is_not_bound_stays_where_it_is() -> None:
    found = matching("WINDOW :w { { ?x :p ?y FILTER(?z > 1) } { ?y :q ?z } }")
    assert [len(core.branches) for core in found.cores] == [1, 1]


def test_variables_of_a_subquery_are_its_own() -> None:
    found = matching("WINDOW :w { ?x :p ?y { SELECT ?y { ?y :q ?x } } }")
    [[branch]] = [core.branches for core in found.cores]
    inner = branch.scanned[1].pattern
    assert inner.subject in branch.scanned[0].variables
    assert inner.object not in branch.scanned[0].variables


@pytest.mark.parametrize(
    ("head", "body", "whole"),
    [
        ("SELECT ?x", "WINDOW :w { ?x :p ?y }", True),
        ("SELECT ?x (?y + 1 AS ?z)", "WINDOW :w { ?x :p ?y }", True),
        ("SELECT DISTINCT ?x", "WINDOW :w { ?x :p ?y }", False),
        ("SELECT ?x (NOW() AS ?z)", "WINDOW :w { ?x :p ?y }", False),
        ("SELECT ?x", "WINDOW :w { ?x :p ?y OPTIONAL { ?y :q ?z } }", False),
    ],
)
def test_solutions_that_are_made_of_one_match_last_as_long(
    head: str, body: str, whole: bool
) -> None:
    text = f"{PREFIX}{head} {WINDOW}WHERE {{ {body} }}"
    plan = sketch_of(parse(text, "rspql").query)
    assert plan.matching.is_whole(plan.pattern) is whole
