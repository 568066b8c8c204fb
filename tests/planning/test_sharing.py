"""Which constants of a query are lifted, and which queries are of one shape."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headrace.dialects import parse
from headrace.planning.plan import Plan, make_plan
from headrace.planning.sharing import MEMBER, lifted, parameters_of, together
from headrace.planning.templates import Templates
from headrace.rdf.terms import Iri

HEAD = "PREFIX : <http://x/> SELECT * FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 1s] WHERE"


def plan(body: str, name: str = "q", head: str = HEAD, **settings: str) -> Plan:
    parsed = parse(f"{head} {body}", "rspql", settings=settings)
    return make_plan(parsed.query, name)


def constants(body: str) -> list[str]:
    found = lifted(plan(body))
    assert found is not None
    return [str(each) for each in found.constants]


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("{ WINDOW :w { ?x :p ?y } }", []),
        ("{ WINDOW :w { :a :p ?y } }", ["<http://x/a>"]),
        ("{ WINDOW :w { ?x :p 'b' FILTER(?x != :c) } }", ['"b"', "<http://x/c>"]),
        ("{ WINDOW :w { ?x :p ?y } ?y :name 'n' }", ['"n"']),
        ("{ WINDOW :w { ?x :p ?y } { SELECT ?y { ?y :name 'n' } LIMIT 1 } }", []),
        ("{ WINDOW :w { ?x :p :a OPTIONAL { ?x :q :b } } }", ["<http://x/a>", "<http://x/b>"]),
        ("{ WINDOW :w { ?x :p :a } OPTIONAL { ?x :name 'n' } }", ["<http://x/a>"]),
        ("{ WINDOW :w { GRAPH :g { ?x :p :a FILTER(?x != :c) } } }", ["<http://x/a>"]),
        ("{ WINDOW :w { ?x :p ?y } BIND(1 AS ?z) }", []),
    ],
)
def test_constants_of_what_only_gains_matches_are_lifted(body: str, wanted: list[str]) -> None:
    assert sorted(constants(body)) == sorted(wanted)


def test_equal_but_for_constants_is_one_shape() -> None:
    one, other, third = (
        lifted(plan(f"{{ WINDOW :w {{ ?x :{p} :{c} }} }}", name))
        for name, p, c in (("q1", "p", "a"), ("q2", "p", "b"), ("q3", "q", "a"))
    )
    assert one is not None
    assert other is not None
    assert third is not None
    assert one.shape == other.shape
    assert one.shape != third.shape


def test_what_differs_elsewhere_is_another_shape() -> None:
    body = "{ WINDOW :w { ?x :p :a } }"
    one = lifted(plan(body))
    assert one is not None
    others = [
        plan(body, emit="istream"),
        plan(body, head=HEAD.replace("10s", "20s")),
        plan(body, head=HEAD.replace("SELECT *", "SELECT DISTINCT ?x")),
        replace(plan(body), delays=(("http://x/s", 5),)),
    ]
    found = [lifted(each) for each in others]
    assert all(each is not None and each.shape != one.shape for each in found)


@pytest.mark.parametrize(
    "body",
    [
        "{ WINDOW :w { ?x :p :a FILTER NOT EXISTS { ?x :q ?y } } }",
        "{ WINDOW ?w { ?x :p :a } }",
        "{ WINDOW :w { ?x :p/:q :a } }",
    ],
)
def test_what_is_looked_at_as_a_whole_is_not_shared(body: str) -> None:
    assert lifted(plan(body)) is None


def test_a_switch_keeps_a_query_alone() -> None:
    body = "{ WINDOW :w { ?x :p :a } }"
    assert lifted(plan(body, **{"rules.share_shapes": "off"})) is None


def test_what_others_read_as_a_stream_is_not_shared() -> None:
    text = HEAD.replace("SELECT *", "REGISTER RSTREAM <http://x/made> AS SELECT *")
    prefix, _, rest = text.partition(" REGISTER")
    found = plan("{ WINDOW :w { ?x :p :a } }", head=f"{prefix} REGISTER{rest}")
    assert found.stream is not None
    assert lifted(found) is None


def together_of(*bodies: str) -> Plan:
    members = [lifted(plan(body, f"q{number}")) for number, body in enumerate(bodies)]
    found = together([each for each in members if each is not None])
    assert found is not None
    return found


def test_only_what_members_differ_in_is_a_parameter() -> None:
    body = "{{ WINDOW :w {{ :a :p {} . ?x :q {} }} }}"
    shared = together_of(body.format(1, ":b"), body.format(1, ":c"))
    found = parameters_of(shared)
    assert found is not None
    assert shared.members == ("q0", "q1")
    assert found.variables[0] == MEMBER
    assert found.columns == ((Iri("http://x/b"), Iri("http://x/c")),)


def test_what_is_always_the_same_in_two_places_is_one_parameter() -> None:
    body = "{{ WINDOW :w {{ {0} :p ?x . ?x :q {0} }} }}"
    found = parameters_of(together_of(body.format(":a"), body.format(":b")))
    assert found is not None
    assert len(found.columns) == 1


def test_no_table_of_parameters_is_equal_to_another() -> None:
    body = "{{ WINDOW :w {{ :{} :p ?x }} }}"
    one, other = (
        together_of(body.format(first), body.format(second)) for first, second in ("ab", "cd")
    )
    assert one.pattern != other.pattern


def test_equal_queries_have_no_parameters() -> None:
    body = "{ WINDOW :w { :a :p ?x } }"
    shared = together_of(body, body)
    assert shared.members == ("q0", "q1")
    assert parameters_of(shared) is None


def in_a_template(*bodies: str) -> list[tuple[Plan, Plan]]:
    """Plans of queries that are planned together, and as if each were the first."""
    templates = Templates()
    parsed = [parse(f"{HEAD} {body}", "rspql").query for body in bodies]
    return [(make_plan(query, rewriting=templates), make_plan(query)) for query in parsed]


@pytest.mark.parametrize(
    "body",
    [
        "{{ WINDOW :w {{ :{0} :p ?x FILTER(?x > {1}) }} ?x :q :{0} }}",
        "{{ WINDOW :w {{ :{0} :p ?x }} OPTIONAL {{ ?x :q :{0} }} }}",
        "{{ {{ WINDOW :w {{ ?x :p {1} }} }} UNION {{ :{0} :p ?x }} }}",
        "{{ WINDOW :w {{ ?x :p {1} }} {{ SELECT ?x {{ ?x :q :{0} }} LIMIT 1 }} }}",
        "{{ WINDOW :w {{ :a :p ?x }} ?x :q :{0} FILTER(?x != :b) }}",
    ],
)
def test_queries_of_a_template_are_lifted_as_if_they_were_alone(body: str) -> None:
    filled = [body.format(c, n) for c, n in (("a", 1), ("b", 1), ("c", 2), ("d", 1), ("a", 2))]
    for known, alone in in_a_template(*filled):
        assert known.pattern == alone.pattern
        one, other = lifted(known), lifted(alone)
        assert one is not None
        assert other is not None
        assert (one.shape, one.constants) == (other.shape, other.constants)
