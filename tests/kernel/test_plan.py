from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from headrace.algebra.expressions import Variable
from headrace.algebra.query import Query
from headrace.algebra.reporting import (
    OnArrival,
    OnChange,
    Order,
    Scope,
    Semantics,
    Strategy,
)
from headrace.algebra.windows import NowWindow, TimeWindow
from headrace.dialects import parse
from headrace.errors import QueryError, SettingError, UnsupportedError
from headrace.planning.network import in_step_order
from headrace.planning.plan import Plan, make_plan
from headrace.rdf.terms import Iri

from .streams import STREAM, tollgate_query


def with_semantics(**choices: object) -> Query:
    return replace(tollgate_query(), semantics=replace(Semantics(), **choices))  # type: ignore[arg-type]  # the constructor checks fields


def test_the_plan_of_a_query_has_its_windows_and_delays() -> None:
    plan = make_plan(tollgate_query(delay=5))
    assert plan.streams == (STREAM,)
    assert plan.delay(STREAM) == 5
    assert [window.frame for window in plan.windows] == [TimeWindow(600_000_000, 60_000_000)]


def test_what_the_query_says_of_a_delay_goes_before_what_its_stream_declares() -> None:
    declared = {STREAM.value: 9}
    assert make_plan(tollgate_query(), delays=declared).delay(STREAM) == 9
    assert make_plan(tollgate_query(delay=5), delays=declared).delay(STREAM) == 5
    own = with_semantics(stream_delays=((STREAM.value, 7),))
    assert make_plan(own, delays=declared).delay(STREAM) == 7


def test_a_window_on_every_stream_is_one_on_each() -> None:
    [window] = tollgate_query().windows
    query = replace(tollgate_query(), windows=(replace(window, stream=Variable("s")),))
    plan = make_plan(query, streams=(Iri("x:b"), Iri("x:a")))
    assert plan.streams == (Iri("x:a"), Iri("x:b"))


def test_a_plan_can_be_pickled_and_known_again() -> None:
    plan = make_plan(tollgate_query())
    again = pickle.loads(pickle.dumps(plan))
    assert isinstance(again, Plan)
    assert again == plan
    assert again.digest == plan.digest
    assert make_plan(tollgate_query(width=1)).digest != plan.digest


@pytest.mark.parametrize(
    ("choices", "named"),
    [
        ({"scope": Scope.MATCH}, "scope=match"),
    ],
)
def test_choices_that_cannot_be_run_are_named(choices: dict[str, object], named: str) -> None:
    with pytest.raises(UnsupportedError, match=named):
        make_plan(with_semantics(**choices))


def test_a_strategy_that_cannot_be_had_is_a_wrong_setting() -> None:
    with pytest.raises(SettingError, match="strategy=incremental cannot be had"):
        make_plan(with_semantics(strategy=Strategy.INCREMENTAL, report=OnChange()))


def test_windows_that_have_no_meaning_together_are_refused() -> None:
    [window] = tollgate_query().windows
    query = with_semantics(report=OnArrival(), order=Order.ARRIVAL)
    now = replace(window, frame=NowWindow())
    other = replace(window, stream=Iri("x:other"))
    make_plan(replace(query, windows=(window, now)))
    with pytest.raises(UnsupportedError, match="NOW"):
        make_plan(replace(query, windows=(other, now)))
    query = with_semantics(report=OnArrival(), scope=Scope.MATCH)
    with pytest.raises(UnsupportedError, match="window of time"):
        make_plan(replace(query, windows=(now,)))
    with pytest.raises(UnsupportedError, match="reads no stream"):
        make_plan(replace(query, windows=()))


def test_a_service_with_a_budget_is_refused_where_it_stands() -> None:
    text = (
        "SELECT * FROM STREAM <s> [RANGE 1s STEP 1s]\n"
        "{ ?a ?b ?c SERVICE <x:e> [BUDGET 5] { ?a ?d ?e } }"
    )
    parsed = parse(text)
    with pytest.raises(UnsupportedError) as raised:
        make_plan(parsed.query, source=parsed.source)
    assert raised.value.line == 2


# -- queries that read each other ------------------------------------------------------------


def stage(name: str, reads: str) -> Plan:
    text = (
        f"REGISTER STREAM <{name}> AS CONSTRUCT {{ ?a ?b ?c }}"
        f" FROM STREAM <{reads}> [RANGE 1s STEP 1s] WHERE {{ ?a ?b ?c }}"
    )
    return make_plan(parse(text).query, name)


def test_a_query_is_stepped_after_those_it_reads() -> None:
    plans = [stage("c", "b"), stage("a", "s"), stage("b", "a")]
    assert [plans[place].name for place in in_step_order(plans)] == ["a", "b", "c"]


def test_queries_that_read_each_other_in_a_circle_are_shown() -> None:
    with pytest.raises(QueryError, match=r"b -> a -> c -> b|a -> c -> b -> a|c -> b -> a -> c"):
        in_step_order([stage("a", "b"), stage("b", "c"), stage("c", "a"), stage("d", "a")])
