"""What reviews found wrong once, and must not be again."""

from __future__ import annotations

from decimal import Decimal

import pytest

from headrace.algebra.expressions import Aggregate, Variable
from headrace.algebra.operators import Group, Window
from headrace.algebra.reporting import NonEmpty
from headrace.algebra.walk import expressions as expressions_of
from headrace.algebra.walk import parts, within
from headrace.algebra.windows import TimeWindow
from headrace.dialects import Parsed, parse
from headrace.dialects.durations import LONGEST
from headrace.errors import QueryError, SettingError, TooLargeError
from headrace.planning.explain import semantics_rows
from headrace.rdf.iri import resolve
from headrace.rdf.terms import Iri
from headrace.rdf.times import microseconds


def notes(text: str) -> list[str]:
    return [note.text for note in parse(text).notes]


def test_each_stream_block_keeps_its_own_window() -> None:
    text = "SELECT ?x { STREAM ?st [NOW] { ?x <p> ?o } STREAM ?st [RANGE 3s] { ?x <q> ?o } }"
    windows = [each for each in within(parse(text).query.pattern) if isinstance(each, Window)]
    assert len({each.name for each in windows}) == 2
    assert {each.stream for each in windows} == {Variable("st")}


def test_a_stream_name_is_not_the_name_of_a_variable() -> None:
    parse("SELECT ?s { STREAM <s> [RANGE 5s] { ?s ?p ?o } }")
    query = parse("SELECT ?x { STREAM <s> [RANGE 5s] {?x ?p ?o} GRAPH ?s {?x ?q ?r} }").query
    assert len([each for each in within(query.pattern) if isinstance(each, Window)]) == 1


def test_generated_window_names_do_not_meet_given_ones() -> None:
    blocks = ("STREAM <s#2> [NOW]", "STREAM <s> [NOW]", "STREAM <s> [RANGE 3s]")
    text = f"SELECT * {{ {' '.join(block + ' {?a ?b ?c}' for block in blocks)} }}"
    names = [window.name for window in parse(text).query.windows]
    assert len(set(names)) == 3


def test_having_by_a_column_that_uses_another_column() -> None:
    text = "SELECT ?g (COUNT(?x) AS ?n) (?n*2 AS ?m) { ?g <p> ?x } GROUP BY ?g HAVING (?m > 3)"
    pattern = parse(text).query.pattern
    (group,) = [each for each in within(pattern) if isinstance(each, Group)]
    assert [call for _, call in group.aggregates] == [Aggregate("COUNT", Variable("x"))]
    assert not _aggregates_outside_groups(parse(text))


def test_an_aggregate_in_having_is_over_the_pattern() -> None:
    text = "SELECT ?g (COUNT(?x) AS ?c) { ?g <p> ?x } GROUP BY ?g HAVING (SUM(?x) > 3)"
    (group,) = [each for each in within(parse(text).query.pattern) if isinstance(each, Group)]
    assert Aggregate("SUM", Variable("x")) in [call for _, call in group.aggregates]


def test_an_aggregate_inside_timestamp_is_found() -> None:
    text = (
        "SELECT ?s ?p (timestamp(?s,?p,MAX(?o)) AS ?n) FROM STREAM <t> [RANGE 1s STEP 1s]"
        " {?s ?p ?o} GROUP BY ?s ?p"
    )
    assert not _aggregates_outside_groups(parse(text))


def _aggregates_outside_groups(parsed: Parsed) -> bool:
    return any(
        isinstance(part, Aggregate)
        for operator in within(parsed.query.pattern)
        if not isinstance(operator, Group)
        for expression in expressions_of(operator)
        for part in parts(expression)
    )


def test_star_shows_the_variables_of_a_values_after_the_pattern() -> None:
    query = parse("SELECT * { ?s <p> ?o } VALUES ?z { 1 2 }").query
    assert query.form.variables == (Variable("s"), Variable("o"), Variable("z"))  # type: ignore[union-attr]  # a SELECT


@pytest.mark.parametrize("frame", ["[NOW +10 S SLIDE 1 S]", "[NOW -0 S SLIDE 1 S]"])
def test_a_window_back_from_now_has_a_length(frame: str) -> None:
    with pytest.raises(QueryError):
        parse(f"SELECT * FROM NAMED STREAM <s> {frame} {{ ?s ?p ?o }}")


def test_a_window_back_from_now_without_slide_follows_the_profile() -> None:
    rspql = "SELECT * FROM NAMED WINDOW <w> ON <s> [NOW - 10 S] { WINDOW <w> { ?s ?p ?o } }"
    assert parse(rspql).query.windows[0].frame == TimeWindow(10_000_000, 10_000_000)
    with pytest.raises(QueryError, match="STEP or TUMBLING"):
        parse("SELECT * FROM STREAM <s> [NOW - 10 S] { ?s ?p ?o }", "csparql")


def test_now_minus_is_of_sparqlstream_whatever_else_stands_there() -> None:
    text = "SELECT * FROM NAMED STREAM <s> [NOW - 10 S] { ?s ?p ?o GRAPH <g> { ?s ?q ?r } }"
    assert parse(text).dialect == "sparqlstream"


def test_an_escaped_bracket_counts_for_the_depth() -> None:
    with pytest.raises(TooLargeError, match="128"):
        parse("SELECT * { FILTER" + "\\u0028" * 200 + "1" + "\\u0029" * 200 + "}")


def test_positions_are_those_of_the_text_as_written() -> None:
    with pytest.raises(QueryError) as raised:
        parse('SELECT * {\n ?s ?p "\\u0041\\u0042\\u0043" ?x }')
    assert (raised.value.line, raised.value.column) == (2, 29)
    assert '"\\u0041\\u0042\\u0043" ?x' in str(raised.value)


@pytest.mark.parametrize("value", ["nan", "inf", "1e999999", "1e9999", "yesterday", "0.0001"])
def test_a_wrong_origin_is_refused(value: str) -> None:
    with pytest.raises(SettingError):
        parse("ASK {}", settings={"t0": value})


@pytest.mark.parametrize("value", ["P", "PT", "1e400", "-5s", "5 parsecs"])
def test_a_wrong_delay_is_refused(value: str) -> None:
    with pytest.raises(SettingError):
        parse("ASK {}", settings={"delay": value})


def test_the_origin_is_shown_exactly() -> None:
    text = "SELECT * FROM STREAM <s> [RANGE 1s STEP 1s] { ?s ?p ?o }"
    query = parse(text, settings={"t0": "1700000000123"}).query
    assert dict(semantics_rows(query.semantics))["t0"] == "1700000000123"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?k (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY (STR(?o) AS ?k)",
        "SELECT ?z { ?s ?p ?o } VALUES ?z { 1 }",
        "SELECT (1 AS ?y) ?y { ?s ?p ?o }",
        "CONSTRUCT { ?s <n> ?k } { ?s ?p ?o } GROUP BY ?s (STR(?o) AS ?k)",
        "CONSTRUCT { ?s <n> ?z } { ?s ?p ?o } VALUES ?z { 1 }",
        "SELECT * FROM NAMED STREAM <t> [RANGE 1s STEP 1s]"
        " { ?s ?p ?o FILTER EXISTS { GRAPH <t> { ?s ?q ?r } } }",
    ],
)
def test_nothing_is_noted_where_nothing_is_amiss(text: str) -> None:
    assert notes(text) == []


def test_a_short_time_without_a_unit_is_noted() -> None:
    text = "SELECT * FROM STREAM <t> [RANGE %s STEP 5s] { ?s ?p ?o }"
    assert notes(text % "10") == ["'10' has no unit, so it is 10 ms; for seconds: 10s"]
    assert notes(text % "10ms") == notes(text % "10000") == notes(text % "PT10S") == []


def test_a_graph_of_the_name_of_a_window_does_not_read_it() -> None:
    text = "PREFIX : <x:> SELECT * FROM NAMED WINDOW :w ON :s [RANGE 1s] { GRAPH :w { ?s ?p ?o } }"
    assert notes(text) == ["no pattern reads window <x:w>"]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?g (COUNT(?x) AS ?n) { ?g <p> ?x } GROUP BY ?g ORDER BY ?x",
        "DESCRIBE * { ?g <p> ?x } GROUP BY ?g",
        "SELECT ISTREAM ?x { STREAM <s> [NOW] { { SELECT ISTREAM ?x { ?x ?y ?z } } } }",
    ],
)
def test_what_has_no_meaning_is_refused(text: str) -> None:
    with pytest.raises(QueryError):
        parse(text)


def test_half_a_character_is_refused() -> None:
    with pytest.raises(QueryError, match="half of a character"):
        parse("SELECT * { ?s ?p '\udcff' }")


def test_many_mistakes_are_not_all_noted() -> None:
    heads = " ".join(f"?abcdefgh{number}x" for number in range(1000))
    body = " ".join(f"?abcdefgh{number} <p> 1 ." for number in range(1000))
    assert len(notes(f"SELECT {heads} {{ {body} }}")) == 20


def test_units_may_follow_each_other_without_a_space() -> None:
    query = parse("SELECT * { STREAM <s> [RANGE 1h30m] { ?s ?p ?o } }").query
    assert query.windows[0].frame == TimeWindow(5_400_000_000)


def test_an_arrival_without_an_answer_is_not_reported() -> None:
    query = parse("SELECT * { STREAM <s> [RANGE 1h] { ?s ?p ?o } }").query
    assert query.semantics.non_empty is NonEmpty.ANSWER


def test_zeros_after_the_microseconds_are_exact() -> None:
    assert microseconds("1500.0000") == 1_500_000
    assert microseconds("1970-01-01T00:00:01.0000000Z") == 1_000_000
    with pytest.raises(ValueError, match="microsecond"):
        microseconds("1500.0001")


def test_relative_iris_of_a_base_without_a_root() -> None:
    assert resolve("../g", "http://a/b/c/d") == "http://a/b/g"
    assert resolve("../../../g", "http://a/b/c/d") == "http://a/g"
    assert Decimal(10**17) == LONGEST
    assert Iri(resolve("", "http://a/b?q")).value == "http://a/b?q"
