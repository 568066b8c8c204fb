"""Where temporal operators can stand, by what they are evaluated, and how they are shown."""

from __future__ import annotations

import pytest

from headrace.algebra.expressions import BuiltIn, Moment, Timestamp, Variable
from headrace.algebra.notation import read, show
from headrace.algebra.operators import Filter, Operator, Project, Relation, Temporal
from headrace.algebra.scope import certain, possible
from headrace.algebra.walk import within
from headrace.dialects import parse
from headrace.errors import SettingError, UnsupportedError
from headrace.graphs.denotational_graph import denotational_graph
from headrace.graphs.operator_graph import operator_graph
from headrace.planning.matching import matching_of
from headrace.planning.partitioning import partitioning
from headrace.planning.plan import make_plan, sketch_of
from headrace.planning.tree import tree
from headrace.store import Store

STREAM = "FROM STREAM <x:s> [RANGE 10s STEP 5s]"
A, B, C = "{ ?x <x:p> ?y }", "{ ?y <x:q> ?z }", "{ ?x <x:r> ?z }"
WORDS = [*(each.upper() for each in Relation), "SEQ"]


def query(body: str, shown: str = "*") -> str:
    return f"SELECT {shown} {STREAM} WHERE {{ {body} }}"


def temporals(text: str, dialect: str | None = None) -> list[Temporal]:
    found = parse(text, dialect).query
    assert read(show(found)) == found
    return [each for each in within(found.pattern) if isinstance(each, Temporal)]


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("csparql", f"SELECT * {STREAM} WHERE {{ {A} $ {B} }}"),
        ("sparkwave", f"SELECT * {STREAM} WHERE {{ {A} $ {B} }}"),
        ("cqels", f"SELECT * WHERE {{ STREAM <x:s> [RANGE 5s] {A} $ STREAM <x:t> [NOW] {B} }}"),
        ("cqels", f"SELECT * WHERE {{ {{ STREAM <x:s> [RANGE 5s] {A} }} $ {B} . ?x ?p ?o }}"),
        (
            "rspql",
            "SELECT * FROM NAMED WINDOW <x:w> ON <x:s> [RANGE 5s]"
            f" WHERE {{ WINDOW <x:w> {A} $ WINDOW ?w {B} FILTER CONTAINS(STR(?x), 'x') }}",
        ),
        (
            "csparql",
            f"SELECT * FROM NAMED STREAM <x:s> [RANGE 10s STEP 5s] {{ GRAPH <x:s> {A} $ {B} }}",
        ),
    ],
)
def test_every_dialect_has_every_relation(dialect: str, text: str, word: str) -> None:
    for spelt in (word, word.lower()):
        [found] = temporals(text.replace("$", spelt), dialect)
        assert found.relation.upper() == {"SEQ": "BEFORE"}.get(word, word)
        assert found.span is not None
        assert (found.within, found.optional) == (None, False)


@pytest.mark.parametrize(
    ("words", "relation", "distance", "optional"),
    [
        ("BEFORE WITHIN 5s", Relation.BEFORE, 5_000_000, False),
        ("AFTER WITHIN PT1M OPTIONAL", Relation.AFTER, 60_000_000, True),
        ("SEQ WITHIN 250", Relation.BEFORE, 250_000, False),
        ("DURING OPTIONAL", Relation.DURING, None, True),
        ("OPTIONALSEQ", Relation.BEFORE, None, True),
        ("OPTIONALSEQ WITHIN 1h 30m", Relation.BEFORE, 5_400_000_000, True),
        ("EQUALSOPTIONAL", Relation.EQUALS, None, True),
    ],
)
def test_distances_and_what_is_optional(
    words: str, relation: Relation, distance: int | None, optional: bool
) -> None:
    [found] = temporals(query(f"{A} {words} {B}"))
    assert (found.relation, found.within, found.optional) == (relation, distance, optional)
    assert possible(found) == {Variable("x"), Variable("y"), Variable("z")}
    assert (Variable("z") in certain(found)) is not optional


def test_a_chain_is_read_from_the_left() -> None:
    outer, inner = temporals(query(f"{A} BEFORE {B} MEETS {C}"))
    assert outer.left is inner
    assert (outer.relation, inner.relation) == (Relation.MEETS, Relation.BEFORE)


def test_contains_is_a_function_before_a_bracket() -> None:
    [found] = temporals(query(f"{A} CONTAINS {{ ?y <x:q> ?z FILTER CONTAINS (?z, 'a') }}"))
    assert found.relation is Relation.CONTAINS
    assert isinstance(found.right, Filter)
    ordered = parse(f"{query('?x <x:p> ?y')} ORDER BY EXISTS {A} CONTAINS(?y, 'a')").query
    assert "(key (CONTAINS ?y" in show(ordered)


@pytest.mark.parametrize(
    ("call", "moment"),
    [
        ("STARTTIME()", Moment.START),
        ("getSTARTTIME()", Moment.START),
        ("EndTime()", Moment.END),
        ("getENDTIME()", Moment.END),
        ("DURATION()", Moment.DURATION),
    ],
)
def test_functions_of_intervals(call: str, moment: Moment) -> None:
    found = parse(query("?x <x:p> ?y", f"({call} AS ?t)")).query
    assert Timestamp((), moment=moment) in _expressions(found.pattern)
    assert read(show(found)) == found


def _expressions(pattern: Operator) -> list[object]:
    return [getattr(each, "expression", None) for each in within(pattern)]


@pytest.mark.parametrize(
    ("body", "problem", "at"),
    [
        (f"{A} BEFORE {{ SELECT ?y {{ ?y <x:q> ?z }} }}", "the right of BEFORE has no time", "BEF"),
        (f"{A} DURING {{ ?x <x:p>+ ?y }}", "the right of DURING has no time", "DURING"),
        (f"{{ VALUES ?x {{ 1 }} }} MEETS {B}", "the left of MEETS has no time", "MEETS"),
        (f"{A} EQUALS {{ {B} BEFORE {{ BIND(1 AS ?k) }} }}", "right of BEFORE has no time", "BEF"),
        (
            f"?x <x:p> ?y SERVICE <x:e> {{ {A} BEFORE {B} }}",
            "BEFORE is about streams, which no remote endpoint sees",
            "BEFORE",
        ),
    ],
)
def test_what_can_never_hold_is_refused_where_it_stands(body: str, problem: str, at: str) -> None:
    parsed = parse(query(body))
    with pytest.raises(UnsupportedError, match=problem) as raised:
        make_plan(parsed.query, source=parsed.source)
    assert raised.value.span is not None
    assert parsed.source.text[raised.value.span.start :].startswith(at)


@pytest.mark.parametrize(
    "body",
    [
        f"{A} BEFORE {{ {B} UNION {{ SELECT ?x {{ ?x <x:q> ?y }} }} }}",
        f"{A} BEFORE {{ VALUES ?y {{ 1 }} OPTIONAL {B} }}",
        f"{A} BEFORE {{ ?y <x:q> ?z MINUS {C} FILTER(?z > 1) BIND(1 AS ?k) }}",
        f"{A} BEFORE {{ ?x <x:p>+ ?y . ?y <x:q> ?z }}",
        f"?x <x:p> ?y FILTER EXISTS {{ {A} BEFORE {B} }}",
    ],
)
def test_what_may_hold_is_accepted(body: str) -> None:
    make_plan(parse(query(body)).query)


def test_a_pattern_outside_windows_has_no_time_where_these_stand_apart() -> None:
    text = "SELECT * FROM NAMED STREAM <x:s> [RANGE 5s STEP 5s] {{ GRAPH <x:s> {} BEFORE {} }}"
    with pytest.raises(UnsupportedError, match="on the right of BEFORE"):
        make_plan(parse(text.format(A, B), "csparql").query)


@pytest.mark.parametrize("call", ["STARTTIME()", "DURATION()"])
def test_no_interval_is_asked_for_inside_exists(call: str) -> None:
    body = f"?x <x:p> ?y FILTER EXISTS {{ ?x <x:q> ?z FILTER({call} != 0) }}"
    with pytest.raises(UnsupportedError, match=f"{call[:-2]}.* inside EXISTS is not supported"):
        make_plan(parse(query(body)).query)


@pytest.mark.parametrize("body", [f"{A} BEFORE {B}", "?x <x:p> ?y FILTER(DURATION() < 3)"])
def test_matches_are_not_kept_where_times_matter(body: str) -> None:
    plan = sketch_of(parse(query(body)).query)
    assert "when a triple comes again" in str(
        matching_of(plan.query, plan.pattern, plan.windows).obstacle
    )
    asked = parse(query(body), settings={"strategy": "incremental"}).query
    with pytest.raises(SettingError, match="strategy=incremental cannot be had"):
        make_plan(asked)


@pytest.mark.parametrize(
    ("body", "shown", "key"),
    [
        (f"{A} BEFORE {C}", "*", "x"),
        (f"{A} BEFORE {B}", "*", "y"),
        (f"{A} BEFORE {B} BEFORE {C}", "*", None),
        (f"{A} BEFORE OPTIONAL {C}", "*", "x"),
        (f"{A} BEFORE OPTIONAL {{ ?u <x:q> ?v }}", "*", None),
        (f"{A} BEFORE {C}", "?x (SUM(DURATION()) AS ?m)", "x"),
        (f"{A} BEFORE {C}", "(SUM(DURATION()) AS ?m)", None),
    ],
)
def test_the_key_of_related_blocks(body: str, shown: str, key: str | None) -> None:
    grouped = " GROUP BY ?x" if shown.startswith("?x (") else ""
    found = partitioning(sketch_of(parse(query(body, shown) + grouped).query))
    assert (None if found.key is None else found.key.name) == key


def test_what_is_ordered_by_times_is_not_cut_off() -> None:
    for call in ("timestamp(?x)", "STARTTIME()"):
        text = f"{query('?x <x:p> ?y')} ORDER BY {call} LIMIT 2"
        assert partitioning(sketch_of(parse(text).query)).is_whole
        groups = query("?x <x:p> ?y . ?x <x:q> ?k", f"?k (MAX({call}) AS ?m)") + " GROUP BY ?k"
        found = partitioning(sketch_of(parse(groups).query))
        assert found.key == Variable("x")
        assert found.split is not None


def test_a_relation_is_shown() -> None:
    found = parse(query(f"{A} BEFORE WITHIN 5s OPTIONAL {B} FILTER(DURATION() > 1)")).query
    assert "before within 5 s, optional" in [line.label for line in tree(found.pattern)]
    drawn = operator_graph(found)
    [node] = [each for each in drawn.nodes if each.title == "Temporal join"]
    assert node.details == ("before within 5 s, optional", "ON ?y")
    assert any("DURATION() > 1" in each.details for each in drawn.nodes)
    notes = [each.note for each in denotational_graph(found).patterns]
    assert notes == ["", "before within 5 s, optional, to the right"]


def test_a_store_has_no_streams() -> None:
    for call in ("STARTTIME()", "timestamp(?s)"):
        with pytest.raises(UnsupportedError, match=r"\(.*\) is about streams, and here are none"):
            Store().query(f"SELECT ({call} AS ?t) {{ ?s ?p ?o }}")
    assert isinstance(parse("SELECT (STARTTIME() AS ?t) { ?s ?p ?o }").query.pattern, Project)


def test_functions_of_others_are_still_theirs() -> None:
    found = parse(query("?x <x:p> ?y", "(CONTAINS(?y, 'a') AS ?c)")).query
    assert any(isinstance(each, BuiltIn) for each in _expressions(found.pattern))
