"""Answers of incremental evaluation that a review found wrong once, and must not be again."""

from __future__ import annotations

import pytest

from headrace import Engine
from headrace.functions.table import Functions
from headrace.kernel import found, step, stock
from headrace.rdf.terms import Term
from headrace.testing import play

S = "x:s"
NAMED = f"FROM NAMED WINDOW <x:w> ON <{S}> [RANGE 10ms STEP 10ms]"


def same(
    query: str,
    stream: str,
    *,
    static: dict[str | None, str] | None = None,
    dialect: str = "rspql",
    batches: int | None = 1,
    **settings: str,
) -> list[tuple[int, list[tuple[Term | None, ...]]]]:
    """What both strategies find, on close and on arrival; that on close."""
    found = []
    for report in ("on-close", "on-arrival"):
        one, other = (
            play(
                [query],
                {S: stream},
                static=static,
                dialect=dialect,
                batches=batches,
                settings={"report": report, "strategy": strategy, **settings},
            )
            for strategy in ("snapshot", "incremental")
        )
        assert other.evaluations == one.evaluations
        assert other.errors == one.errors
        found.append(one)
    return [(each.at // 1000, list(each.rows)) for each in found[0].evaluations]


def test_a_core_inside_a_larger_join_is_kept_whole() -> None:
    stream = "1\t<x:a> <x:p> <x:b> .\n2\t<x:a> <x:q> <x:c> .\n3\t<x:a> <x:r> <x:d> .\n"
    query = f"""SELECT ?x ?y ?z {NAMED} FROM NAMED WINDOW <x:v> ON <{S}> [RANGE 10ms STEP 10ms]
        WHERE {{ WINDOW <x:w> {{ ?x <x:p> ?y }} WINDOW <x:v> {{ ?x <x:q> ?z }}
                 {{ SELECT DISTINCT ?x {{ WINDOW <x:w> {{ ?x <x:r> ?k }} }} }} }}"""
    [(_, rows)] = same(query, stream)
    assert len(rows) == 1


def test_what_stands_above_a_core_is_not_taken_for_static() -> None:
    stream = "1\t<x:a> <x:p> <x:o> .\n7\t<x:b> <x:p> <x:o> .\n12\t<x:c> <x:p> <x:o> .\n"
    query = f"SELECT DISTINCT ?x FROM STREAM <{S}> [RANGE 5ms STEP 5ms] WHERE {{ ?x <x:p> ?y }}"
    seen = same(query, stream, static={None: "<x:z> <x:unused> <x:z> ."}, dialect="csparql")
    assert [at for at, rows in seen if rows] == [5, 10, 15]
    assert len({repr(rows) for _, rows in seen}) == 3


def test_a_subquery_in_each_graph_keeps_the_graph() -> None:
    inner = "GRAPH ?g { { SELECT ?x { ?x <x:p> ?y } } }"
    query = f"SELECT ?x ?g {NAMED} WHERE {{ WINDOW <x:w> {{ {inner} }} }}"
    stream = "1\t<x:a> <x:p> <x:o> <x:g> .\n2\t<x:a> <x:p> <x:o> <x:h> .\n"
    settings = {"report": "on-arrival"}
    one, other = (
        play([query], {S: stream}, dialect="rspql", settings={**settings, "strategy": how})
        for how in ("snapshot", "auto")
    )
    assert one.evaluations == other.evaluations


@pytest.mark.parametrize("emit", ["rstream", "istream", "dstream"])
def test_memories_are_put_in_order_when_no_turn_is_on(
    emit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (stock, found):
        monkeypatch.setattr(module, "_SMALL", 0)
        monkeypatch.setattr(module, "_GROWN", 1.1)
    stream = "".join(f"{time}\t<x:{time * 7 % 3}> <x:p> <x:o> .\n" for time in range(1, 40))
    query = f"SELECT ?x {NAMED} WHERE {{ WINDOW <x:w> {{ ?x <x:p> ?o }} }}"
    same(query, stream, batches=7, emit=emit)


@pytest.mark.parametrize("emit", ["istream", "dstream"])
def test_computed_columns_of_what_changes(emit: str) -> None:
    stream = "".join(f"{time + 1}\t<x:{time}> <x:p> <x:b> .\n" for time in range(15))
    query = f"SELECT (STR(?x) AS ?y) {NAMED} WHERE {{ WINDOW <x:w> {{ ?x <x:p> ?o }} }}"
    same(query, stream, emit=emit)


@pytest.mark.parametrize("emit", ["istream", "dstream"])
@pytest.mark.parametrize("form", ["CONSTRUCT { <x:it> <x:is> true }", "SELECT *"])
def test_answers_without_columns_change_too(form: str, emit: str) -> None:
    stream = "1\t<x:a> <x:p> <x:b> .\n12\t<x:b> <x:p> <x:b> .\n33\t<x:c> <x:p> <x:b> .\n"
    window = f"FROM NAMED WINDOW <x:w> ON <{S}> [RANGE 20ms STEP 10ms]"
    query = f"{form} {window} WHERE {{ WINDOW <x:w> {{ <x:b> <x:p> <x:b> }} }}"
    for batches in (None, 1):
        same(query, stream, batches=batches, emit=emit)


def test_terms_that_only_a_query_makes_stay_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step, "_FORGET_FROM", 1)
    stream = "".join(f"{time}\t<x:{time}> <x:q> <x:o{time}> .\n" for time in range(1, 60, 3))
    query = f"""SELECT ?x ?n {NAMED}
        WHERE {{ WINDOW <x:w> {{ ?x <x:q> ?o }} VALUES ?n {{ "foo" }} }}"""
    seen = same(query, stream)
    assert all(rows for _, rows in seen)


@pytest.mark.parametrize("emit", ["istream", "dstream"])
def test_an_answer_that_grows_beyond_the_budget_stops_its_query_alone(
    emit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step, "_FORGET_FROM", 1)
    query = f"""SELECT ?x FROM NAMED WINDOW <x:w> ON <{S}> [RANGE 50ms STEP]
        WHERE {{ WINDOW <x:w> {{ ?x <x:p> ?o }} }}"""
    stopped = []
    for strategy in ("snapshot", "incremental"):
        settings = {"strategy": strategy, "report": "on-arrival", "emit": emit}
        engine = Engine(settings=settings, clock=None, max_rows=5)
        stream, registered = engine.stream(S), engine.register(query)
        other = engine.register(query.replace("?x <x:p> ?o", "?x <x:q> ?o"))
        for time in range(1, 20):
            stream.feed_timed(f"{time}\t<x:{time}> <x:p> <x:b> .\n")
            engine.step()
            if registered.error is not None:
                stopped.append(time)
                break
        assert other.error is None
    assert stopped == [6, 6]  # the element is evaluated when it is read


@pytest.mark.unexpected
def test_a_function_that_fails_stops_its_query_alone() -> None:
    def boom(_value: Term) -> Term:
        raise ValueError("boom")

    errors = []
    functions = Functions().with_function("x:boom", boom)
    for strategy in ("snapshot", "incremental"):
        engine = Engine(settings={"strategy": strategy}, clock=None, functions=functions)
        stream = engine.stream(S)
        query = engine.register(
            f"SELECT ?x {NAMED} WHERE {{ WINDOW <x:w> {{ ?x <x:p> ?o FILTER(<x:boom>(?o)) }} }}"
        )
        stream.feed_timed("1\t<x:a> <x:p> <x:b> .\n22\t<x:a> <x:p> <x:b> .\n")
        engine.step()
        errors.append(query.error)
    assert errors == ["ValueError: boom", "ValueError: boom"]


@pytest.mark.parametrize("window", ["NOW", "RANGE 1ms STEP"])
def test_what_waits_is_looked_at_when_all_that_came_after_it_has_gone(window: str) -> None:
    stream = "20\t<x:a> <x:p> <x:o> .\n10\t<x:b> <x:p> <x:o> .\n25\n40\n"
    query = f"""SELECT ?x FROM NAMED WINDOW <x:w> ON <{S}> [{window}]
        WHERE {{ WINDOW <x:w> {{ ?x <x:p> ?y }} }}"""
    seen = play([query], {S: stream}, batches=1, settings={"report": "on-arrival", "delay": "10ms"})
    assert [each.at // 1000 for each in seen.evaluations if each.rows] == [10, 20]


@pytest.mark.parametrize("batches", [1, 2, 3, None])
@pytest.mark.parametrize("emit", ["rstream", "istream"])
def test_elements_of_one_time_are_told_one_after_the_other(emit: str, batches: int | None) -> None:
    stream = "".join(f"{time}\t<x:{n}> <x:p> <x:o> .\n" for n, time in enumerate((1, 2, 2, 2, 3)))
    query = f"SELECT ?x {NAMED} WHERE {{ WINDOW <x:w> {{ ?x <x:p> ?y }} }}"
    settings = {"report": "on-arrival", "emit": emit, "strategy": "incremental"}
    seen = play([query], {S: stream}, batches=batches, settings=settings)
    told = [(each.at // 1000, each.seq, len(each.rows)) for each in seen.evaluations]
    times = [(1, 0), (2, 0), (2, 1), (2, 2), (3, 0)]
    rows = [1, 2, 3, 4, 5] if emit == "rstream" else [1] * 5
    assert told == [(*each, number) for each, number in zip(times, rows, strict=True)]
