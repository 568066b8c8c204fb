"""How often dear functions are called: lazily, not twice for the same terms, at the best place."""

from __future__ import annotations

from collections import Counter
from itertools import product
from time import perf_counter

import pytest

from headrace.engine import Engine
from headrace.errors import SettingError
from headrace.functions.arithmetic import add
from headrace.functions.table import Functions
from headrace.rdf.terms import Term
from headrace.results.evaluations import Evaluation

RSPU = "http://w3id.org/rsp/rspu#"
OFF = {f"rules.{name}": "off" for name in ("lazy_variables", "cache_calls", "choose_filters")}
SWITCHES = [
    {**OFF, **{f"rules.{name}": "on" for name in names}}
    for names in (
        (),
        ("lazy_variables",),
        ("cache_calls",),
        ("lazy_variables", "cache_calls"),
        ("choose_filters", "cache_calls"),
        ("pull_costly_filters",),
        ("pull_costly_filters", "cache_calls"),
        ("lazy_variables", "cache_calls", "choose_filters"),
    )
]
HEAD = f"""PREFIX rspu: <{RSPU}>
SELECT * FROM NAMED WINDOW <x:w> ON <x:s> [RANGE 10s STEP 10s]
FROM NAMED WINDOW <x:v> ON <x:t> [RANGE 10s STEP 10s] WHERE"""
FILTERED = f"""{HEAD} {{
  WINDOW <x:w> {{ ?x <x:at> ?place ; <x:is> ?d FILTER(rspu:lessThan(?d, 2) >= 0.4) }}
  WINDOW <x:v> {{ ?y <x:at> ?place }} }}"""
BOUND = f"""{HEAD} {{
  {{ WINDOW <x:w> {{ ?x <x:at> ?place ; <x:is> ?d }} BIND(rspu:lessThan(?d, 2) AS ?p) }}
  WINDOW <x:v> {{ ?y <x:at> ?place }} }}"""
OPTIONAL = f"""{HEAD} {{
  WINDOW <x:v> {{ ?y <x:at> ?place }}
  OPTIONAL {{
    WINDOW <x:w> {{ ?x <x:at> ?place ; <x:is> ?d }} BIND(rspu:lessThan(?d, 2) AS ?p)
  }} }}"""
UNREAD = f"""PREFIX rspu: <{RSPU}>
SELECT ?x FROM NAMED WINDOW <x:w> ON <x:s> [RANGE 10s STEP 10s] WHERE {{
  WINDOW <x:w> {{ ?x <x:is> ?d BIND(rspu:lessThan(?d, 2) AS ?p) }} }}"""
LATER = f"""PREFIX rspu: <{RSPU}>
SELECT ?x ?q FROM NAMED WINDOW <x:w> ON <x:s> [RANGE 10s STEP 10s] WHERE {{
  WINDOW <x:w> {{ ?x <x:is> ?d BIND(rspu:lessThan(?d, 2) AS ?p) }}
  BIND(rspu:lessThan(?d, 2) + 1 AS ?q) }}"""


def played(
    text: str, settings: dict[str, str], functions: Functions | None = None
) -> tuple[list[Evaluation], Counter[str]]:
    """Thirty things of ten kinds in thirty places, of which three are asked for, twice each."""
    tally: Counter[str] = Counter()
    engine = Engine(
        clock=None,
        settings={"strategy": "snapshot", **settings},
        functions=(functions or Functions()).counted(tally),
    )
    first, second = engine.stream("x:s"), engine.stream("x:t")
    query = engine.register(text, dialect="rspql")
    for number in range(30):
        first.push(
            f"<x:a{number}> <x:at> <x:place{number}> .\n"
            f'<x:a{number}> <x:is> "N({number % 10},1)"^^<{RSPU}distribution> .',
            at=1000 + number,
        )
    for number in (0, 10, 1):
        for copy in "bc":
            second.push(f"<x:{copy}{number}> <x:at> <x:place{number}> .", at=2000 + number)
    engine.step()
    engine.finish()
    assert query.error is None
    return list(query.results()), tally


def rows(text: str, settings: dict[str, str]) -> list[Counter[tuple[Term | None, ...]]]:
    return [Counter(each.rows) for each in played(text, settings)[0]]


@pytest.mark.parametrize("text", [FILTERED, BOUND, OPTIONAL, UNREAD, LATER])
def test_no_switch_changes_answers(text: str) -> None:
    expected = rows(text, {})
    assert sum(map(len, expected)) > 0
    for switches, strategy in product(SWITCHES, ("snapshot", "auto", "incremental")):
        assert rows(text, {**switches, "strategy": strategy}) == expected, switches


@pytest.mark.parametrize(
    ("text", "switches", "calls"),
    [
        # Every one of thirty things, or those of ten kinds.
        (FILTERED, SWITCHES[0], 30),
        (FILTERED, SWITCHES[2], 10),
        # After the join: six rows, of two kinds.
        (FILTERED, SWITCHES[5], 6),
        (FILTERED, SWITCHES[6], 2),
        (BOUND, SWITCHES[0], 30),
        (BOUND, SWITCHES[2], 10),
        (BOUND, SWITCHES[1], 6),
        (BOUND, SWITCHES[3], 2),
        # So it is in the group of OPTIONAL.
        (OPTIONAL, SWITCHES[0], 30),
        (OPTIONAL, SWITCHES[1], 6),
        (OPTIONAL, SWITCHES[3], 2),
        # What nobody reads is not computed; what two read is computed once.
        (UNREAD, SWITCHES[0], 30),
        (UNREAD, SWITCHES[1], 0),
        (LATER, SWITCHES[0], 60),
        (LATER, SWITCHES[2], 10),
        (LATER, SWITCHES[3], 10),
    ],
)
def test_calls_are_counted(text: str, switches: dict[str, str], calls: int) -> None:
    assert played(text, switches)[1].total() == calls


def test_lazy_calls_are_at_most_the_distinct_inputs_of_what_is_reported() -> None:
    found, tally = played(BOUND, {})
    kinds = {row["d"] for each in found for row in each.bindings()}
    assert tally.total() <= len(kinds)


def test_added_functions_are_dear_too() -> None:
    called: list[Term] = []

    def twice(term: Term) -> Term:
        called.append(term)
        return add(term, term)

    functions = Functions().with_function("http://example.org/mean2", twice, arity=1)
    text = BOUND.replace("rspu:lessThan(?d, 2)", "<http://example.org/mean2>(rspu:mean(?d))")
    _, tally = played(text, {}, functions)
    assert tally["http://example.org/mean2"] == len(called) == len(set(called)) == 2
    called.clear()
    _, tally = played(text, OFF, functions)
    assert tally["http://example.org/mean2"] == len(called) == 30


def test_a_filter_waits_where_few_find_a_partner_and_it_is_dear() -> None:
    def slow(term: Term) -> Term:
        end = perf_counter() + 2e-4
        while perf_counter() < end:
            pass
        return add(term, term)

    functions = Functions().with_function("http://example.org/slow", slow, arity=1)
    text = FILTERED.replace(
        "rspu:lessThan(?d, 2) >= 0.4", "<http://example.org/slow>(rspu:mean(?d)) < 100"
    )
    found, tally = played(text, {"rules.cache_calls": "off"}, functions)
    assert sum(len(each.rows) for each in found) == 6
    # It is not known at first what it costs.
    assert tally["http://example.org/slow"] in {6, 30}
    costs = functions.costs
    condition = next(iter(costs._seen))
    assert costs.of(condition).seconds > 1e-4
    found, tally = played(text, {"rules.cache_calls": "off"}, functions)
    # Three things have partners, two each: what has none is left out first.
    assert tally["http://example.org/slow"] == 3


def test_switches_have_names_that_are_checked() -> None:
    with pytest.raises(SettingError, match="did you mean 'lazy_variables'"):
        played(BOUND, {"rules.lazy_variable": "off"})
