"""Conditions that wait for joins: nothing but them sees what they read, and few calls are made."""

from __future__ import annotations

from collections import Counter

import pytest

from headrace.algebra.expressions import Variable
from headrace.functions.costs import Costs
from headrace.functions.table import Functions
from headrace.rdf.terms import Iri, Term
from headrace.testing import play
from tests.kernel.test_dear_calls import HEAD, SWITCHES, played, rows

W = "WINDOW <x:w>"
V = "WINDOW <x:v>"
DEAR = "FILTER(rspu:lessThan(?d, 2) >= 0.4)"
PART = f"{W} {{ ?x <x:at> ?place ; <x:is> ?d {DEAR} }}"
SELECTED = f"{{ SELECT ?x ?place {{ {PART} }} }}"
SHAPES = {
    "what a subselect hides has the name of something else": (
        f"{SELECTED} {V} {{ ?y <x:at> ?place }} {W} {{ ?z <x:is> ?d }} FILTER(?z = ?x)"
    ),
    "what is hidden is not bound outside": (
        f"{SELECTED} {V} {{ ?y <x:at> ?place }} FILTER(!BOUND(?d))"
    ),
    "what is hidden is no value outside": (
        f"{SELECTED} {V} {{ ?y <x:at> ?place }} BIND(COALESCE(?d, <x:none>) AS ?e)"
    ),
    "two hide the same name": (
        f"{SELECTED} {{ SELECT ?place {{ {W} {{ ?u <x:at> ?place ; <x:is> ?d "
        f"FILTER(rspu:mean(?d) < 5) }} {V} {{ ?y <x:at> ?place }} }} }}"
    ),
    "a selection of a selection": (
        f"{{ SELECT ?x ?d {{ {SELECTED} {V} {{ ?y <x:at> ?place }} }} }} {W} {{ ?x <x:at> ?place }}"
    ),
    "a variable that may be unbound on the other side": (
        f"{PART} {{ {V} {{ ?y <x:at> ?place }} OPTIONAL {{ {W} {{ ?y <x:is> ?d }} }} }}"
    ),
    "a branch of UNION": (
        f"{{ {{ {PART} }} UNION {{ {W} {{ ?x <x:is> ?d }} }} }} {V} {{ ?y <x:at> ?place }}"
    ),
    "OPTIONAL, either side": (
        f"{PART} OPTIONAL {{ {V} {{ ?y <x:at> ?place }} {W} {{ ?z <x:is> ?d "
        f"FILTER(rspu:mean(?d) < 5) }} }}"
    ),
    "MINUS and EXISTS": (
        f"{PART} {V} {{ ?y <x:at> ?place }} MINUS {{ {W} {{ ?x <x:is> ?d "
        f"FILTER(rspu:mean(?d) > 0) }} }} FILTER EXISTS {{ {W} {{ ?x <x:is> ?d {DEAR} }} }}"
    ),
    "a condition about two windows": (
        f"{W} {{ ?x <x:at> ?place ; <x:is> ?d }} {V} {{ ?y <x:at> ?place }} "
        f"FILTER(rspu:lessThan(?d, 2) >= 0.4 && STRLEN(STR(?y)) + rspu:mean(?d) < 6)"
    ),
    "what one row says": (
        f'VALUES ?e {{ "U(0,1)"^^rspu:distribution }} {W} {{ ?x <x:at> ?place ; <x:is> ?d }} '
        f"{V} {{ ?y <x:at> ?place }} FILTER(rspu:lessThan(?d, ?e) >= 0.1)"
    ),
    "nothing in common": f"{PART} {V} {{ ?y <x:at> ?other }}",
    "an error": (
        f"{W} {{ ?x <x:at> ?place ; <x:is> ?d FILTER(rspu:lessThan(?x, 2) >= 0 || "
        f"rspu:lessThan(?d, 2) >= 0.4) }} {V} {{ ?y <x:at> ?place }}"
    ),
    "a name of a window": f"WINDOW ?w {{ ?x <x:is> ?d {DEAR} }} {V} {{ ?y <x:at> ?place }}",
    "every graph": f"{W} {{ GRAPH ?g {{ ?x <x:is> ?d {DEAR} }} }} {V} {{ ?y <x:at> ?place }}",
}


STATIC = """<x:a0> <x:error> "U(-1,1)"^^<http://w3id.org/rsp/rspu#distribution> .
<x:a1> <x:error> "U(1,2)"^^<http://w3id.org/rsp/rspu#distribution> ."""


def test_static_data_with_a_dear_condition_of_their_own_are_joined_beforehand() -> None:
    head = HEAD.replace("SELECT *", "SELECT ?x")
    text = f"""{head} {{ {PART} ?x <x:error> ?error . ?x <x:error> ?error
      FILTER(rspu:lessThan(?error, 0.5) >= 0.4) }}"""
    stream = "".join(
        f"1000\t<x:a{number}> <x:at> <x:place> .\n"
        f'1000\t<x:a{number}> <x:is> "N(1,1)"^^<http://w3id.org/rsp/rspu#distribution> .\n'
        for number in range(2)
    )
    for switches in SWITCHES:
        streams = {"x:s": stream, "x:t": "1000\t<x:y> <x:at> <x:place> .\n"}
        found = play([text], streams, static={None: STATIC}, settings=switches, dialect="rspql")
        assert not found.errors
        assert [[row["x"] for row in each.bindings()] for each in found.evaluations] == [
            [Iri("x:a0")]
        ], switches


@pytest.mark.parametrize("name", SHAPES)
def test_no_switch_changes_answers(name: str) -> None:
    text = f"{HEAD} {{ {SHAPES[name]} }}"
    first, *others = SWITCHES
    expected = rows(text, first)
    assert any(expected) or name == "every graph"  # nothing is in a graph
    for switches in others:
        assert rows(text, switches) == expected, switches


def test_what_is_dear_is_tested_for_what_has_partners_and_each_input_once() -> None:
    called: Counter[Term] = Counter()

    def cost(term: Term) -> Term:
        called[term] += 1
        sum(range(300_000))
        return term

    functions = Functions().with_function("http://example.org/dear", cost, arity=1)
    text = f"""{HEAD} {{
      {W} {{ ?x <x:at> ?place ; <x:is> ?d FILTER(BOUND(?d) && <http://example.org/dear>(?d) = ?d) }}
      {V} {{ ?y <x:at> ?place }} }}"""
    for _ in range(3):  # what it costs is found out meanwhile
        called.clear()
        found, _ = played(text, {}, functions)
    assert sum(len(each.rows) for each in found) == 6
    assert len(called) == called.total() == 2


def test_either_order_of_windows_makes_the_same_calls() -> None:
    windows = [PART, f"{V} {{ ?y <x:at> ?place }}"]
    tallies = [
        played(f"{HEAD} {{ {' '.join(order)} }}", {})[1] for order in (windows, windows[::-1])
    ]
    assert tallies[0] == tallies[1]


CONDITION = Variable("c")


def test_costs_are_what_was_seen_and_rise_slowly() -> None:
    costs = Costs()
    costs.saw(CONDITION, 1000, 1.0, 0.25)
    first = costs.of(CONDITION)
    assert first.seconds == pytest.approx(1e-3, rel=0.01)
    assert first.passes == 0.25
    costs.saw(CONDITION, 1000, 10.0, 0.25)  # the machine was busy
    assert costs.of(CONDITION).seconds < 2e-3
    costs.saw(CONDITION, 1000, 0.1, 0.75)
    assert costs.of(CONDITION).seconds == pytest.approx(1e-4, rel=0.05)
    assert 0.25 < costs.of(CONDITION).passes < 0.75
    costs.saw(CONDITION, 0, 1.0, 1.0)
    assert costs.of(CONDITION).passes < 0.75


def test_what_others_leave_nothing_of_is_tried_again_by_and_by() -> None:
    costs = Costs()
    costs.saw(CONDITION, 1000, 1.0, 0.25)  # a first test may have been slow for other reasons
    for _ in range(7):
        costs.not_tested(CONDITION)
    assert costs.of(CONDITION).trust < 0.5
    costs.saw(CONDITION, 1000, 0.1, 0.25)
    assert costs.of(CONDITION).trust == 1
    for _ in range(7):
        costs.saw(CONDITION, 10, 0.1, 0.25)  # which are too few to tell
    assert 0.8 < costs.of(CONDITION).trust < 0.9


def test_whether_solutions_have_partners_is_looked_at_again_by_and_by() -> None:
    costs = Costs()
    costs.met(CONDITION, 1.0)
    for _ in range(5):
        costs.not_looked(CONDITION)
    assert costs.of(CONDITION).met == pytest.approx(0.9)
    costs.grew(CONDITION, 3.0)
    assert costs.of(CONDITION).fan == 3


def test_distinct_inputs_are_counted_seldom() -> None:
    costs, counted = Costs(), list[int]()

    def count() -> int:
        counted.append(1)
        return 200

    assert {costs.inputs(CONDITION, 1000, count) for _ in range(10)} == {200}
    assert costs.inputs(CONDITION, 1100, count) == 220
    assert len(counted) == 1
    assert costs.inputs(CONDITION, 2000, count) == 200  # that many more may be other ones
    assert len(counted) == 2
    for _ in range(40):
        costs.inputs(CONDITION, 2000, count)
    assert 3 <= len(counted) <= 6
