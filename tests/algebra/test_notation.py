from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from headrace.algebra.notation import NotationError, read, show
from headrace.algebra.query import Query
from headrace.dialects import parse
from tests.algebra.values import queries
from tests.dialects.test_w3c_syntax import EVALUATED, POSITIVE, SUITES, found
from tests.shared import needs_data

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]


@settings(max_examples=250, deadline=None, suppress_health_check=SLOW)
@given(queries)
def test_what_is_shown_reads_back(query: Query) -> None:
    assert read(show(query)) == query


@settings(max_examples=30, deadline=None, suppress_health_check=SLOW)
@given(queries)
def test_the_layout_does_not_matter(query: Query) -> None:
    assert read(show(query, width=20)) == read(show(query, width=10**6))


@needs_data("w3c-rdf-tests")
@pytest.mark.parametrize("suite", SUITES)
def test_every_query_of_the_standard_reads_back(suite: str) -> None:
    for case in found(suite, *POSITIVE, *EVALUATED):
        query = parse(case.action.read_text("utf-8"), "sparql").query
        assert read(show(query)) == query, case.id


def test_parts_with_their_default_are_left_out() -> None:
    query = parse("SELECT ?s { ?s <x:p> ?v FILTER (?v > 10) }").query
    assert show(query.pattern, width=200) == (
        '(project (filter (> ?v "10"^^<http://www.w3.org/2001/XMLSchema#integer>)'
        " (bgp [(triple ?s <x:p> ?v)])) [?s])"
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("(joinn)", "unknown form 'joinn'"),
        ("(join (bgp)", "needs more parts|expected"),
        ("(bgp [] [])", "'bgp' has 1 parts, found 2"),
        ("(bgp) (bgp)", "expected the end"),
        (")", "expected a value"),
        ("(join (bgp))", "'join' needs more parts than 1"),
    ],
)
def test_a_wrong_text_is_refused(text: str, problem: str) -> None:
    with pytest.raises(NotationError, match=problem):
        read(text)
