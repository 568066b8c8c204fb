"""Queries that are evaluated as one: who fails, who comes, who goes, and what is remembered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace import Engine
from headrace.errors import SettingError
from headrace.functions.table import Functions
from headrace.functions.values import TRUE
from headrace.kernel.remembered import tables_in
from headrace.kernel.standing import Standing
from headrace.pipeline import setup
from headrace.planning.sharing import parameters_of
from headrace.rdf.terms import Literal, Term
from headrace.results.evaluations import Evaluation

STREAM = "http://x/s"
AT = f"SELECT ?where FROM NAMED WINDOW <w> ON <{STREAM}> [RANGE 10s STEP 5s]"
ON_ARRIVAL = {"report": "on-arrival", "emit": "istream", "non_empty": "answer"}


def who(name: str, more: str = "") -> str:
    return f"{AT} WHERE {{ WINDOW <w> {{ <x:{name}> <x:at> ?where {more} }} }}"


def moved(time: int, name: str, where: str) -> str:
    return f"{time}\t<x:{name}> <x:at> <x:{where}> .\n"


@pytest.fixture
def engine() -> Engine:
    found = Engine(settings=ON_ARRIVAL)
    found.stream(STREAM)
    return found


def standing(engine: Engine) -> list[Standing]:
    return engine.runner.kernel.queries


def push(engine: Engine, *lines: str) -> None:
    engine.stream(STREAM).feed_timed("".join(lines))
    engine.step()


Shown = list[tuple[int, list[str]]]


def shown(found: Iterator[Evaluation]) -> Shown:
    return [(each.at // 1000, [str(row[0]) for row in each.rows]) for each in found]


def test_each_query_has_its_own_answers(engine: Engine) -> None:
    a, b, c = (engine.register(who(name), name=name) for name in "abc")
    push(engine, moved(1, "a", "here"), moved(2, "b", "there"), moved(3, "a", "there"))
    engine.finish()
    assert engine.shared == [("a", "b", "c")]
    assert shown(a.results()) == [(1, ["<x:here>"]), (3, ["<x:there>"])]
    assert shown(b.results()) == [(2, ["<x:there>"])]
    assert shown(c.results()) == []


def test_on_close_every_query_reports_every_instant() -> None:
    engine = Engine()
    engine.stream(STREAM)
    a, b = (engine.register(who(name), name=name) for name in "ab")
    push(engine, moved(1_000, "a", "here"), moved(12_000, "c", "there"))
    engine.finish()
    times = [5_000, 10_000, 15_000, 20_000]
    assert shown(a.results()) == [(t, ["<x:here>"] if t <= 10_000 else []) for t in times]
    assert shown(b.results()) == [(t, []) for t in times]


def test_what_stands_between_a_window_and_its_matches_is_looked_at(engine: Engine) -> None:
    body = "WHERE {{ WINDOW <w> {{ <x:{}> <x:at> ?where OPTIONAL {{ ?where <x:in> ?city }} }} }}"
    head = AT.replace("?where", "?where ?city", 1)
    a, _ = (engine.register(f"{head} {body.format(name)}", name=name) for name in "ab")
    push(engine, moved(1, "a", "here"), "2\t<x:here> <x:in> <x:rome> .\n", moved(3, "c", "here"))
    assert [[str(term) for term in each.rows[0]] for each in a.results()] == [
        ["<x:here>", "None"],
        ["<x:here>", "<x:rome>"],
    ]


def test_reports_are_in_the_order_of_registration(engine: Engine) -> None:
    found: list[str] = []
    texts = {
        "1": who("a"),
        "other": f"SELECT * FROM NAMED WINDOW <w> ON <{STREAM}> [RANGE 9s] "
        "{ WINDOW <w> { ?x ?y ?z } }",
        "2": who("a"),
    }
    for name, text in texts.items():
        engine.register(text, name=name).on_result(lambda each: found.append(each.query))
    push(engine, moved(1, "a", "here"))
    engine.finish()
    assert found == ["1", "other", "2"]


def refusing(refused: str) -> Functions:
    def function(term: Term, other: Term) -> Term:
        if isinstance(other, Literal) and other.lexical == refused and "bad" in str(term):
            raise RuntimeError("a bug in a function")
        return TRUE

    return Functions().with_function("http://x/f", function, arity=2)


@pytest.mark.unexpected
def test_only_who_fails_alone_stops() -> None:
    engine = Engine(settings=ON_ARRIVAL, functions=refusing("3"))
    engine.stream(STREAM)
    body = "WHERE {{ WINDOW <w> {{ ?x <x:at> ?where FILTER(<http://x/f>(?where, '{}')) }} }}"
    queries = [engine.register(f"{AT} {body.format(n)}", name=f"q{n}") for n in range(6)]
    push(engine, moved(1, "a", "here"))
    push(engine, moved(2, "a", "good"), moved(3, "b", "bad"), moved(4, "c", "there"))
    push(engine, moved(5, "a", "yonder"))
    engine.finish()
    assert [query.error is None for query in queries] == [n != 3 for n in range(6)]
    assert "a bug in a function" in str(queries[3].error)
    for query in queries:
        times = [each.at // 1000 for each in query.results()]
        assert times == ([1, 2, 3] if query.name == "q3" else [1, 2, 3, 4, 5])


def test_those_that_are_too_much_together_are_evaluated_apart() -> None:
    engine = Engine(settings=ON_ARRIVAL, max_rows=30)
    engine.stream(STREAM)
    body = "WHERE {{ WINDOW <w> {{ ?x <x:at> ?where . ?y <x:at> ?where FILTER(?x != <x:{}>) }} }}"
    queries = [engine.register(f"{AT} {body.format(n)}", name=f"q{n}") for n in range(4)]
    for time in range(10):
        push(engine, moved(time, f"z{time}", f"room{time // 5}"))
    engine.finish()
    alone = Engine(settings={**ON_ARRIVAL, "rules.share_shapes": "off"}, max_rows=30)
    alone.stream(STREAM)
    others = [alone.register(f"{AT} {body.format(n)}", name=f"q{n}") for n in range(4)]
    for time in range(10):
        push(alone, moved(time, f"z{time}", f"room{time // 5}"))
    alone.finish()
    for one, other in zip(queries, others, strict=True):
        assert one.error is None or other.error is not None  # together they may use more
        if other.error is None:
            assert list(one.results()) == list(other.results())


def test_who_comes_later_joins_the_others(engine: Engine) -> None:
    first = [engine.register(who(name), name=name) for name in "ab"]
    push(engine, moved(1_000, "c", "here"))
    late = [engine.register(who(name), name=name) for name in "cd"]
    push(engine, moved(2_000, "d", "here"))
    assert len(standing(engine)) == 2
    for time in range(3_000, 30_000, 1_000):
        push(engine, moved(time, "c", f"room{time}"))
    assert [len(each.plan.members) for each in standing(engine)] == [4]
    assert shown(late[0].results())[0] == (3_000, ["<x:room3000>"])
    assert shown(late[1].results()) == [(2_000, ["<x:here>"])]
    assert all(not list(each.results()) for each in first)


def test_of_one_shape_there_are_never_many_groups(engine: Engine) -> None:
    for number in range(40):
        engine.register(who(f"m{number}"), name=f"m{number}")
        push(engine, moved(number * 11_000, f"m{number}", "here"))
    assert sum(max(1, len(each.plan.members)) for each in standing(engine)) == 40
    assert len(standing(engine)) <= 6


def test_a_query_that_is_removed_reports_no_more(engine: Engine) -> None:
    queries = {name: engine.register(who(name), name=name) for name in "abc"}
    push(engine, moved(1, "a", "here"), moved(1, "b", "here"), moved(2, "c", "here"))
    queries["a"].remove()
    engine.remove("c")
    push(engine, moved(3, "a", "there"), moved(3, "b", "there"))
    engine.finish()
    assert list(engine.queries) == ["b"]
    assert shown(queries["a"].results()) == [(1, ["<x:here>"])]
    assert shown(queries["b"].results()) == [(1, ["<x:here>"]), (3, ["<x:there>"])]
    with pytest.raises(SettingError, match="there is no query 'a'"):
        engine.remove("a")


def test_what_waits_for_an_origin_is_not_lost_when_others_go() -> None:
    engine = Engine(settings={"t0": "first", "delay": "5s"})
    engine.stream(STREAM)
    queries = [engine.register(who(name), name=name) for name in "abc"]
    push(engine, moved(1_000, "a", "here"))
    engine.remove("b")
    engine.remove("c")
    push(engine, moved(20_000, "d", "there"))
    engine.finish()
    assert shown(queries[0].results())[0] == (1_000, ["<x:here>"])


def test_a_name_can_be_used_again(engine: Engine) -> None:
    for name in "abc":
        engine.register(who(name), name=name)
    push(engine, moved(1, "a", "here"))
    engine.remove("a")
    again = engine.register(who("b"), name="a")
    push(engine, moved(2, "a", "there"), moved(2, "b", "there"))
    engine.finish()
    assert shown(again.results()) == [(2, ["<x:there>"])]


def test_what_others_read_cannot_be_removed(engine: Engine) -> None:
    engine.register(
        f"REGISTER RSTREAM <http://x/made> AS CONSTRUCT {{ ?x <x:at> ?y }} "
        f"FROM NAMED WINDOW <w> ON <{STREAM}> [RANGE 9s] {{ WINDOW <w> {{ ?x <x:at> ?y }} }}",
        name="maker",
    )
    engine.register(who("a").replace(STREAM, "http://x/made"), name="reader")
    with pytest.raises(SettingError, match="'reader' reads what 'maker' makes"):
        engine.remove("maker")
    engine.remove("reader")
    engine.remove("maker")
    engine.stream("http://x/made")


def run_on(folder: Path, file: Path, settings: dict[str, str], names: str) -> dict[str, Shown]:
    """Go on with a checkpoint until all that is there has been read."""
    engine = Engine(settings=settings, checkpoint=folder, live=True)
    engine.stream(STREAM, source=str(file.parent))
    queries = [engine.register(who(name), name=name) for name in names]
    engine.run(once=False, runner="inline", progress=lambda _text: engine.stop())
    return {query.name: shown(query.results()) for query in queries}


@pytest.mark.parametrize("emit", ["rstream", "istream", "dstream"])
def test_a_checkpoint_knows_each_query_by_its_name(tmp_path: Path, emit: str) -> None:
    """What a second run with other queries tells does not depend on who was one before."""
    lines = [moved(time * 1_000, "abcd"[time % 4], f"room{time % 3}") for time in range(45)]
    found = {}
    for switch in ("on", "off"):
        file = tmp_path / switch / "in" / "1.tnq"
        file.parent.mkdir(parents=True)
        settings, kept = {"emit": emit, "rules.share_shapes": switch}, tmp_path / switch / "kept"
        file.write_text("".join(lines[:20]))
        first = run_on(kept, file, settings, "abc")
        file.write_text("".join(lines))
        found[switch] = [first, run_on(kept, file, settings, "bcd")]
    assert found["on"] == found["off"]
    assert all(any(each.values()) for each in found["off"])


def deployed(file: Path, runner: str, partitions: int, switch: str) -> dict[str, Shown]:
    """What is told of families of queries, of which one can be evaluated in parts."""
    engine = Engine(settings={"rules.share_shapes": switch})
    engine.stream(STREAM, source=str(file))
    by_all = "SELECT (COUNT(*) AS ?where) FROM NAMED WINDOW <w> ON <http://x/s> [RANGE 10s STEP 5s]"
    pairs = "WHERE {{ WINDOW <w> {{ <x:{}> <x:at> ?a . ?b <x:at> ?a . ?b <x:at> ?c }} }}"
    texts = {f"one {name}": who(name) for name in "abc"}
    texts |= {f"two {name}": f"{by_all} {pairs.format(name)}" for name in "abc"}
    queries = [engine.register(text, name=name) for name, text in texts.items()]
    engine.run(once=True, runner=runner, partitions=partitions)
    return {query.name: shown(query.results()) for query in queries}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "in.tnq"
    found.write_text("".join(moved(t * 700, "abcd"[t % 4], f"room{t % 5}") for t in range(60)))
    return found


@pytest.mark.parametrize("partitions", [1, 2])
def test_runs_from_sources_share(file: Path, partitions: int) -> None:
    alone = deployed(file, "inline", 1, "off")
    assert deployed(file, "inline", partitions, "on") == alone
    assert all(any(rows for _, rows in each) for each in alone.values())


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("partitions", [1, 2])
def test_runs_on_spark_share(file: Path, partitions: int) -> None:
    assert deployed(file, "spark", partitions, "on") == deployed(file, "inline", 1, "off")


def test_many_of_one_shape_are_not_evaluated_in_parts(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = deployed(file, "inline", 1, "off")
    monkeypatch.setattr(setup, "_MANY", 2)
    assert deployed(file, "inline", 2, "on") == alone


def test_what_was_found_for_groups_that_are_no_more_is_forgotten(engine: Engine) -> None:
    engine.static.load_text("<x:a> <x:name> 'a' . <x:b> <x:name> 'b' .")
    body = "WHERE {{ WINDOW <w> {{ ?x <x:at> ?where }} ?x <x:name> '{}' }}"
    for number in range(6):
        engine.register(f"{AT} {body.format(number)}", name=f"q{number}")
    for number in range(5):
        push(engine, moved(number, "a", "here"))
        engine.remove(f"q{number}")
    push(engine, moved(5, "a", "here"))
    needed = [parameters_of(each.plan) for each in standing(engine)]
    kept = engine.runner.kernel.around.static.remembered
    assert kept
    assert all(table in needed for key in kept for table in tables_in(key))
