from __future__ import annotations

import pickle
import re
from dataclasses import replace

import pytest

from headrace.algebra.expressions import Variable
from headrace.algebra.operators import Budget
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
from headrace.freshness.policies import Policy, Proposer, Ranker, Sliding
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


HEAD = "SELECT * FROM STREAM <s> [RANGE 4s STEP 1s]\n"


def test_a_service_with_a_budget_is_a_contract() -> None:
    said = "[ACCURACY 0.8 WITHIN 2s POLICY LRU BUDGET 5]"
    text = HEAD + f"{{ ?a ?b ?c SERVICE <x:e> {said} {{ ?a ?d ?e OPTIONAL {{ ?a ?f ?c }} }} }}"
    [contract] = make_plan(parse(text).query).contracts
    assert [key.name for key in contract.keys] == ["a"], "?c may be unbound at the endpoint"
    assert contract.window == Sliding(4_000_000, 1_000_000)
    assert contract.policy == Policy(Proposer.WSJ, Ranker.LRU)
    assert contract.limits == Budget(0.8, 2_000_000, "LRU", 5)
    assert make_plan(parse(HEAD + "{ ?a ?b ?c SERVICE <x:e> { ?a ?d ?e } }").query).contracts == ()


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("{ ?a ?b ?c SERVICE ?a [BUDGET 5] { ?a ?d ?e } }", "needs its endpoint as an IRI"),
        ("{ ?a ?b ?c SERVICE <x:e> [BUDGET 5] { ?x ?d ?e } }", "needs a variable that it shares"),
        ("{ SERVICE <x:e> [BUDGET 5] { ?a ?d ?e } }", "needs a variable that it shares"),
        ("{ ?a ?b ?c SERVICE <x:e> [POLICY WBM*] { ?a ?d ?e } }", "is a bound for experiments"),
        ("{ ?a ?b ?c SERVICE <x:e> [POLICY BST] { ?a ?d ?e } }", "is a bound for experiments"),
        (
            "{ ?a ?b ?c FILTER EXISTS"
            " { ?a ?b ?d SERVICE <x:e> [BUDGET 1] { ?a ?d ?e } OPTIONAL { ?d ?e ?f } } }",
            "inside EXISTS",
        ),
        (
            "{ { ?a ?b ?c SERVICE <x:e> [BUDGET 1] { ?a ?d ?e } } UNION"
            " { ?a ?d ?c SERVICE <x:e> [BUDGET 1] { ?a ?d ?e } } }",
            "stands twice",
        ),
    ],
)
def test_a_contract_that_cannot_be_kept_is_refused_where_it_stands(
    pattern: str, problem: str
) -> None:
    parsed = parse(HEAD + pattern)
    with pytest.raises(UnsupportedError, match=problem) as raised:
        make_plan(parsed.query, source=parsed.source)
    assert raised.value.line == 2


@pytest.mark.parametrize(
    ("pattern", "wrong"),
    [
        ("{ ?a ?b ?c SERVICE <x:e> [BUDGET 3 POLICY BST] { ?a ?d ?e } }", "BST"),
        (
            "{ ?a ?b ?c FILTER EXISTS { ?a ?b ?d FILTER(timestamp(?d) > 1) } }",
            "timestamp(?d)",
        ),
        (
            "{ ?a ?b ?c FILTER EXISTS { ?a ?b ?d FILTER(timestamp(?a, ?b, ?d) > 1) } }",
            "timestamp(?a, ?b, ?d)",
        ),
        ("{ ?a ?b ?c FILTER EXISTS { ?a ?b ?d FILTER(STARTTIME() > 1) } }", "STARTTIME()"),
        ("{ ?a ?b ?c SERVICE <x:e> { ?a ?d ?e FILTER(ENDTIME() > 1) } }", "ENDTIME()"),
    ],
)
def test_what_is_refused_is_marked_where_it_stands(pattern: str, wrong: str) -> None:
    parsed = parse(HEAD + pattern)
    with pytest.raises(UnsupportedError) as raised:
        make_plan(parsed.query, source=parsed.source)
    assert raised.value.span is not None
    marked = (HEAD + pattern)[raised.value.span.start : raised.value.span.end]
    assert marked.startswith(wrong.partition("(")[0])
    assert (HEAD + pattern).index(wrong) == raised.value.span.start


def test_settings_give_every_service_a_budget() -> None:
    text = HEAD + "{ ?a ?b ?c SERVICE <x:e> { ?a ?d ?e } SERVICE <x:f> [BUDGET 1] { ?a ?d ?f } }"
    settings = {
        "service.accuracy": "0.5",
        "service.within": "2s",
        "service.policy": "rnd",
        "service.budget": "7",
    }
    first, second = make_plan(parse(text, settings=settings).query).contracts
    assert first.limits == Budget(0.5, 2_000_000, "RND", 7)
    assert second.limits == Budget(requests=1)


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("service.accuracy", "2", "is a number from 0 to 1, not '2'"),
        ("service.accuracy", "x", "is a number from 0 to 1, not 'x'"),
        ("service.budget", "-1", "is a whole number, not '-1'"),
        ("service.policy", "FIFO", "not 'FIFO'"),
        ("service.within", "soon", "expected a duration"),
        ("service.budgets", "1", "did you mean 'service.budget'"),
    ],
)
def test_wrong_settings_of_services(key: str, value: str, problem: str) -> None:
    with pytest.raises(SettingError, match=re.escape(problem)):
        parse(HEAD + "{ ?a ?b ?c }", settings={key: value})


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
