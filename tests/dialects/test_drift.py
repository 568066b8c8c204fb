"""The spellings that engines have drifted into: what each means here, and what is refused."""

from __future__ import annotations

import pytest

from headrace.algebra.expressions import Timestamp, Variable
from headrace.algebra.operators import Extend, Filter, Graph, Union, Window
from headrace.algebra.query import Ask, Construct, Describe, Query, Registered, Registration
from headrace.algebra.reporting import Emit, Every, OnArrival, OnClose, Report
from headrace.algebra.walk import within
from headrace.algebra.windows import (
    AllWindow,
    Counted,
    CountWindow,
    NowWindow,
    TimeWindow,
    WindowFrame,
)
from headrace.dialects import parse
from headrace.errors import QueryError, UnsupportedError
from headrace.rdf.terms import Iri

MILLISECOND = 1_000
SECOND = 1_000 * MILLISECOND
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

NAMED_WINDOW = (
    "PREFIX : <http://e/> SELECT * FROM NAMED WINDOW :w {} WHERE {{ WINDOW :w {{ ?a ?b ?c }} }}"
)
FROM_STREAM = "REGISTER QUERY q AS SELECT * FROM STREAM <http://e/s> {} WHERE {{ ?a ?b ?c }}"
STREAM_BLOCK = "SELECT * WHERE {{ STREAM <http://e/s> {} {{ ?a ?b ?c }} }}"
BARE = "SELECT * FROM NAMED STREAM <http://e/s> {} WHERE {{ ?a ?b ?c }}"


def only_frame(query: Query) -> WindowFrame:
    (window,) = query.windows
    assert window.stream == Iri("http://e/s")
    return window.frame


# -- RSP-QL -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clause", "frame"),
    [
        ("ON :s [RANGE PT10S STEP PT5S]", TimeWindow(10 * SECOND, 5 * SECOND)),
        ("ON :s [RANGE PT10S]", TimeWindow(10 * SECOND, 10 * SECOND)),
        ("ON :s [RANGE P1DT1H STEP PT0.5S]", TimeWindow(DAY + HOUR, SECOND // 2)),
        ("ON :s [RANGE P2D STEP P1D]", TimeWindow(2 * DAY, DAY)),
        ("ON STREAM :s [RANGE 10 STEP 2]", TimeWindow(10 * MILLISECOND, 2 * MILLISECOND)),
        ("[RANGE 5s, SLIDE 5s] ON STREAM :s", TimeWindow(5 * SECOND, 5 * SECOND)),
        ("[RANGE 5s, SLIDE 1s] ON :s", TimeWindow(5 * SECOND, SECOND)),
        ("ON :s [TUMBLING PT10S]", TimeWindow(10 * SECOND, 10 * SECOND)),
        ("ON :s [SLIDING PT10S STEP PT5S]", TimeWindow(10 * SECOND, 5 * SECOND)),
        ("ON :s [NOW - 10 S SLIDE 1 S]", TimeWindow(10 * SECOND, SECOND)),
        ("ON :s [NOW-10s SLIDE 1s]", TimeWindow(10 * SECOND, SECOND)),
        ("ON :s [ELEMENTS 5]", CountWindow(5, 1, Counted.ELEMENTS)),
        ("ON :s [ELEMENTS 5 STEP 2]", CountWindow(5, 2, Counted.ELEMENTS)),
        ("ON :s [RANGE TRIPLES 10]", CountWindow(10, 1, Counted.TRIPLES)),
    ],
)
def test_an_rsp_ql_window(clause: str, frame: WindowFrame) -> None:
    found = parse(NAMED_WINDOW.format(clause))
    assert found.dialect == "rspql"
    assert only_frame(found.query) == frame
    assert found.query.semantics.report == OnClose()
    assert found.query.semantics.emit is Emit.RSTREAM


@pytest.mark.parametrize(
    ("head", "emit", "kind"),
    [
        ("REGISTER RSTREAM :o AS SELECT *", Emit.RSTREAM, Registered.STREAM),
        ("REGISTER ISTREAM :o AS SELECT *", Emit.ISTREAM, Registered.STREAM),
        ("REGISTER DSTREAM :o AS SELECT *", Emit.DSTREAM, Registered.STREAM),
        ("REGISTER STREAM :o AS SELECT *", Emit.RSTREAM, Registered.STREAM),
        ("REGISTER QUERY :o AS SELECT *", Emit.RSTREAM, Registered.QUERY),
        ("REGISTER STREAM :o AS SELECT ISTREAM *", Emit.ISTREAM, Registered.STREAM),
        ("REGISTER STREAM :o AS CONSTRUCT DSTREAM { ?a ?b ?c }", Emit.DSTREAM, Registered.STREAM),
    ],
)
def test_what_a_registered_query_emits(head: str, emit: Emit, kind: Registered) -> None:
    text = (
        f"PREFIX : <http://e/> {head}"
        " FROM NAMED WINDOW :w ON :s [RANGE PT1S] { WINDOW :w { ?a ?b ?c } }"
    )
    query = parse(text).query
    assert query.semantics.emit is emit
    assert query.registration == Registration("http://e/o", kind)


def test_computed_every_goes_before_the_closes_of_windows() -> None:
    text = (
        "PREFIX : <http://e/> REGISTER STREAM :o COMPUTED EVERY PT2S AS SELECT *"
        " FROM NAMED WINDOW :w ON :s [RANGE PT10S STEP PT1S] { WINDOW :w { ?a ?b ?c } }"
    )
    assert parse(text).query.semantics.report == Every(2 * SECOND)


def test_a_window_variable_binds_the_window() -> None:
    text = NAMED_WINDOW.replace("WINDOW :w {{", "WINDOW ?w {{").format("ON :s [RANGE PT1S]")
    (window,) = (each for each in within(parse(text).query.pattern) if isinstance(each, Window))
    assert window.name == Variable("w")


def test_graphs_of_a_window_stay_graphs() -> None:
    text = (
        "PREFIX : <http://e/> SELECT * FROM NAMED WINDOW :w ON :s [RANGE PT1S]"
        " WHERE { WINDOW :w { GRAPH ?g { ?a ?b ?c } } }"
    )
    (window,) = (each for each in within(parse(text).query.pattern) if isinstance(each, Window))
    assert isinstance(window.input, Graph)


# -- C-SPARQL ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("window", "frame"),
    [
        ("[RANGE 10m STEP 1m]", TimeWindow(10 * MINUTE, MINUTE)),
        ("[RANGE 10m TUMBLING]", TimeWindow(10 * MINUTE, 10 * MINUTE)),
        ("[RANGE 10ms STEP 5ms]", TimeWindow(10 * MILLISECOND, 5 * MILLISECOND)),
        ("[RANGE 1h STEP 1d]", TimeWindow(HOUR, DAY)),
        ("[RANGE 24 hours TUMBLING]", TimeWindow(DAY, DAY)),
        ("[RANGE 10S STEP 5S]", TimeWindow(10 * SECOND, 5 * SECOND)),
        ("[RANGE 10 STEP 5]", TimeWindow(10 * MILLISECOND, 5 * MILLISECOND)),
        ("[RANGE PT10S STEP PT5S]", TimeWindow(10 * SECOND, 5 * SECOND)),
        ("[RANGE TRIPLES 10]", CountWindow(10, 1, Counted.TRIPLES)),
    ],
)
def test_a_c_sparql_window(window: str, frame: WindowFrame) -> None:
    found = parse(FROM_STREAM.format(window))
    assert found.dialect == "csparql"
    assert only_frame(found.query) == frame
    assert found.query.windows[0].in_default_graph
    assert found.query.semantics.report == OnClose()
    assert found.query.semantics.emit is Emit.RSTREAM


def test_a_named_stream_is_read_by_graph_only() -> None:
    text = BARE.format("[RANGE 1m STEP 1s]").replace("?a ?b ?c", "GRAPH <http://e/s> { ?a ?b ?c }")
    query = parse(text).query
    assert not query.windows[0].in_default_graph
    assert any(isinstance(each, Window) for each in within(query.pattern))


def test_a_graph_variable_ranges_over_graphs_and_streams() -> None:
    text = "SELECT * FROM STREAM <http://e/s> [RANGE 1m STEP 1s] { GRAPH ?g { ?a ?b ?c } }"
    (union,) = (each for each in within(parse(text).query.pattern) if isinstance(each, Union))
    others, window = union.branches
    assert isinstance(window, Window)
    # A static graph with the name of a stream is not what the name stands for.
    assert isinstance(others, Filter)
    assert isinstance(others.input, Graph)


@pytest.mark.parametrize("before", [True, False])
def test_prefixes_stand_before_or_after_register(before: bool) -> None:
    prefix, register = "PREFIX : <http://e/>", "REGISTER QUERY q COMPUTED EVERY 5m AS"
    start = f"{prefix} {register}" if before else f"{register} {prefix}"
    query = parse(f"{start} SELECT * FROM STREAM :s [RANGE 10m STEP 1m] {{ ?a :p ?c }}").query
    assert query.registration == Registration("q", Registered.QUERY)
    assert query.semantics.report == Every(5 * MINUTE)


@pytest.mark.parametrize(
    ("form", "kind", "registered"),
    [
        ("CONSTRUCT { ?a ?b ?c }", Construct, "STREAM"),
        ("DESCRIBE ?a", Describe, "STREAM"),
        ("ASK", Ask, "QUERY"),
    ],
)
def test_every_form_can_be_registered(form: str, kind: type, registered: str) -> None:
    head = f"REGISTER {registered} q AS {form}"
    text = f"{head} FROM STREAM <http://e/s> [RANGE 1m STEP 1s] {{ ?a ?b ?c }}"
    assert isinstance(parse(text).query.form, kind)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("timestamp(?a)", Timestamp((Variable("a"),))),
        ("timestamp(?a, <http://e/s>)", Timestamp((Variable("a"),), Iri("http://e/s"))),
        (
            "<http://larkc.eu/csparql/sparql/jena/ext#timestamp>(?a, ?b, ?c)",
            Timestamp((Variable("a"), Variable("b"), Variable("c"))),
        ),
    ],
)
def test_timestamp_has_three_spellings(call: str, expected: Timestamp) -> None:
    text = FROM_STREAM.format("[RANGE 1m STEP 1s]").replace("*", f"({call} AS ?t)")
    (extend,) = (each for each in within(parse(text).query.pattern) if isinstance(each, Extend))
    assert extend.expression == expected


# -- SPARQLStream -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("window", "frame", "report"),
    [
        ("[NOW - 10 S SLIDE 1 S]", TimeWindow(10 * SECOND, SECOND), OnClose()),
        ("[NOW - 1 HOURS SLIDE 1 HOURS]", TimeWindow(HOUR, HOUR), OnClose()),
        ("[NOW - 15 s ]", TimeWindow(15 * SECOND), OnArrival()),
        ("[NOW -15 s]", TimeWindow(15 * SECOND), OnArrival()),
    ],
)
def test_a_sparqlstream_window_is_read_by_bare_patterns(
    window: str, frame: WindowFrame, report: Report
) -> None:
    found = parse(BARE.format(window))
    assert found.dialect == "sparqlstream"
    assert only_frame(found.query) == frame
    assert found.query.windows[0].in_default_graph
    assert found.query.semantics.report == report


# -- CQELS-QL ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("window", "frame", "report"),
    [
        ("[NOW]", NowWindow(), OnArrival()),
        ("[ALL]", AllWindow(), OnArrival()),
        ("[RANGE 3s]", TimeWindow(3 * SECOND), OnArrival()),
        ("[RANGE 1h 30m]", TimeWindow(90 * MINUTE), OnArrival()),
        ("[RANGE 100ms]", TimeWindow(100 * MILLISECOND), OnArrival()),
        ("[RANGE 5000ns]", TimeWindow(5), OnArrival()),
        ("[RANGE 3s SLIDE 1s]", TimeWindow(3 * SECOND, SECOND), OnClose()),
        ("[RANGE 3s STEP 1s]", TimeWindow(3 * SECOND, SECOND), OnClose()),
        ("[RANGE 3s TUMBLING]", TimeWindow(3 * SECOND, 3 * SECOND), OnClose()),
        ("[TRIPLES 5]", CountWindow(5, 1, Counted.TRIPLES), OnArrival()),
    ],
)
def test_a_cqels_window(window: str, frame: WindowFrame, report: Report) -> None:
    found = parse(STREAM_BLOCK.format(window))
    assert found.dialect == "cqels"
    assert only_frame(found.query) == frame
    assert found.query.semantics.report == report
    assert found.query.semantics.emit is Emit.ISTREAM


def test_the_named_window_of_the_cqels_report() -> None:
    text = "SELECT * FROM NAMED <http://e/s> [RANGE 30 seconds] as ?w { GRAPH ?w { ?a ?b ?c } }"
    found = parse(text)
    assert found.dialect == "cqels"
    assert only_frame(found.query) == TimeWindow(30 * SECOND)
    assert [each.name for each in found.query.windows] == [Iri("w")]


def test_equal_windows_of_a_stream_are_one() -> None:
    block = "STREAM <http://e/s> [NOW] { ?a ?b ?c }"
    assert len(parse(f"SELECT * {{ {block} {block} }}").query.windows) == 1


def test_different_windows_of_a_stream_are_two() -> None:
    blocks = "".join(f"STREAM <http://e/s> {w} {{ ?a ?b ?c }} " for w in ("[NOW]", "[RANGE 3s]"))
    names = [each.name for each in parse(f"SELECT * {{ {blocks} }}").query.windows]
    assert len(set(names)) == 2


def test_a_stream_variable_ranges_over_the_streams() -> None:
    (window,) = parse("SELECT * { STREAM ?s [NOW] { ?a ?b ?c } }").query.windows
    assert window.stream == Variable("s")


@pytest.mark.parametrize(
    "head",
    [
        "?a max(?c) count(?c)",
        "?a max(?c) (count(?c) AS ?n)",
        "?a sum(count(?c))",
    ],
)
def test_heads_that_have_no_meaning_beside_each_other_are_refused(head: str) -> None:
    text = STREAM_BLOCK.format("[RANGE 3s]").replace("*", head) + " GROUP BY ?a"
    with pytest.raises(QueryError):
        parse(text)


# -- Sparkwave --------------------------------------------------------------------------------


def test_sparkwave_needs_no_step() -> None:
    query = parse(FROM_STREAM.format("[RANGE 5m]"), "sparkwave").query
    assert only_frame(query) == TimeWindow(5 * MINUTE)
    assert query.semantics.report == OnArrival()
    assert query.semantics.emit is Emit.ISTREAM


# -- Foreign forms ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clause", "column", "word"),
    [
        ("ON LOG :l [START 1 END 5]", 55, "log"),
        ("ON LOG :l [OFFSET 1 RANGE 5 STEP 1]", 55, "log"),
        ("ON :s [RANGE BGP 3]", 65, "matches"),
        ("ON :s [FROM NOW-PT2H TO NOW-PT1H STEP PT1H]", 59, "past"),
        ("ON :s [RANGE 10s] WITH POLICY steal", 70, "policies"),
        ("ON :s [RANGE 10s] WITH POLICY (timeout=5s, fallback=steal)", 70, "policies"),
    ],
)
def test_a_foreign_form_is_understood_and_refused(clause: str, column: int, word: str) -> None:
    with pytest.raises(UnsupportedError, match=word) as raised:
        parse(NAMED_WINDOW.format(clause))
    assert (raised.value.line, raised.value.column) == (1, column)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (NAMED_WINDOW.format("ON :s [RANGE 10s REPORT R]"), "REPORT"),
        (NAMED_WINDOW.format("ON :s [RANGE 10s] USING BASELINE"), "USING"),
        ("RETRIEVE SOME ACTIVE STREAM ?s FROM <http://e/c> WITH { ?s ?p ?o }", "RETRIEVE"),
        (STREAM_BLOCK.format("[RANGE 3s FUTURE 2s]"), "FUTURE"),
        (STREAM_BLOCK.format("[PAST 3s]"), "PAST"),
        (STREAM_BLOCK.format("[RANGE 3s] EMIT ON_CLOSE"), "EMIT"),
        ("SELECT * { GRAPH <http://e/g> [REFRESH 5s] { ?a ?b ?c } }", "["),
    ],
)
def test_a_form_of_no_dialect_here_is_refused_where_it_begins(text: str, found: str) -> None:
    with pytest.raises(UnsupportedError, match="not supported") as raised:
        parse(text)
    assert raised.value.column == text.index(found) + 1


def test_an_emitter_may_stand_before_the_query() -> None:
    query = parse("DSTREAM SELECT * { STREAM <http://e/s> [NOW] { ?a ?b ?c } }").query
    assert query.semantics.emit is Emit.DSTREAM


def test_a_subquery_emits_nothing() -> None:
    with pytest.raises(QueryError, match="only the outermost"):
        parse("SELECT * { STREAM <http://e/s> [NOW] { { SELECT ISTREAM ?a { ?a ?b ?c } } } }")


def test_c_sparql_needs_to_know_how_a_window_moves() -> None:
    with pytest.raises(QueryError, match="needs STEP or TUMBLING"):
        parse(FROM_STREAM.format("[RANGE 5m]"))
