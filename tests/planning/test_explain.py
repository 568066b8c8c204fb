"""What explain shows: aggregates by readable names, and conditions in the order they are tested."""

from __future__ import annotations

import json

import pytest

from headrace.dialects import parse
from headrace.explaining import explained
from headrace.planning.explain import as_json
from headrace.planning.pieces import pieces

HEAD = "FROM STREAM <x:s> [RANGE 10s STEP 5s]"
GROUPED = (
    f"SELECT ?s (COUNT(*) AS ?count) (SUM(?o) / COUNT(?o) AS ?mean) {HEAD} "
    "{ ?s <x:p> ?o . ?s <x:q> [ <x:r> 5 ] } GROUP BY ?s HAVING (MAX(?o) < 5) ORDER BY MIN(?o)"
)


@pytest.mark.parametrize(
    ("form", "graph"),
    [
        ("text", None),
        ("json", None),
        *(
            (form, graph)
            for form in ("text", "mermaid", "svg")
            for graph in ("operators", "rewritten", "denotational")
        ),
    ],
)
def test_no_name_of_an_aggregate_is_shown_that_no_query_can_have(
    form: str, graph: str | None
) -> None:
    shown = explained(parse(GROUPED), form, graph)
    assert "agg0" not in shown
    assert "_:." not in shown
    assert "?max" in shown or form == "svg"


def test_the_names_of_aggregates_are_of_no_other_variable() -> None:
    shown = as_json(parse(GROUPED).query, "csparql", "csparql")
    [group] = [each["operator"] for each in shown["operators"] if "group by" in each["operator"]]
    assert group == (
        "group by ?s: ?count_2 = COUNT(*), ?sum = SUM(?o), ?count_3 = COUNT(?o), "
        "?max = MAX(?o), ?min = MIN(?o)"
    )
    json.dumps(shown)


def test_aggregates_of_subqueries_are_named_by_what_they_hold() -> None:
    text = (
        f"SELECT ?x (SUM(?m) AS ?t) {HEAD} {{ {{ SELECT ?x (MAX(?o) AS ?m) {{ ?x <x:p> ?o }} "
        "GROUP BY ?x HAVING (MIN(?o) > 1) } { SELECT ?x { ?x <x:q> ?y } GROUP BY ?x "
        "HAVING (COUNT(DISTINCT ?y) > 2) } } GROUP BY ?x HAVING (AVG(?m) > 3)"
    )
    shown = as_json(parse(text).query, "csparql", "csparql")
    groups = [each["operator"] for each in shown["operators"] if "group by" in each["operator"]]
    assert groups == [
        "group by ?x: ?sum = SUM(?m), ?avg = AVG(?m)",
        "group by ?x: ?max = MAX(?o), ?min = MIN(?o)",
        "group by ?x: ?count = COUNT(DISTINCT ?y)",
    ]
    denoted = explained(parse(text), "text", "denotational")
    before, _, after = denoted.partition("of what was aggregated\n")
    assert "aggregations" in before
    assert "> 3" not in before
    assert "?avg: ?avg > 3" in after


def test_the_filter_of_an_aggregate_stands_after_the_aggregation() -> None:
    text = (
        f"SELECT ?s {HEAD} {{ ?s <x:p> ?o FILTER(?o > 1) }} "
        "AGGREGATE { (?n, COUNT, {?s}) FILTER(?n > 5) }"
    )
    found = list(pieces(parse(text).query))
    assert [name for name, _ in found] == [
        "streaming view",
        "comprehensive",
        "aggregation",
        "filter",
    ]
    said = dict(found)
    assert "?o" in said["comprehensive"]
    assert "?n" not in said["comprehensive"]
    assert "(> ?n " in said["filter"]


def test_having_stands_after_the_aggregation() -> None:
    text = f"SELECT ?s (COUNT(*) AS ?n) {HEAD} {{ ?s <x:p> ?o }} GROUP BY ?s HAVING (COUNT(*) > 5)"
    found = list(pieces(parse(text).query))
    assert [name for name, _ in found] == ["streaming view", "aggregation", "filter"]
    assert "(> ?n " in dict(found)["filter"]
