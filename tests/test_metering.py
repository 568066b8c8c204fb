"""Evaluations are stopped at their limits, wherever the work is done."""

from __future__ import annotations

import pickle
from itertools import count
from threading import Thread

import pytest

from headrace import Engine, Store
from headrace.errors import LimitError, TooLargeError
from headrace.kernel import largest
from headrace.metering import MEMORY, EvaluationLimits, MemoryGauge, Meter, current, metered
from headrace.rdf.terms import Iri, Quad
from headrace.results.formats import ResultFormat
from headrace.results.table import Table
from headrace.results.writing import result_text

MB = 1_000_000


def test_a_thread_without_an_evaluation_has_no_limits() -> None:
    current().make_text(1 << 50)
    current().check("nothing")


def test_the_meter_is_that_of_its_thread() -> None:
    found = []
    with metered(Meter(EvaluationLimits(seconds=1))) as meter:
        other = Thread(target=lambda: found.append(current()))
        other.start()
        other.join()
        assert current() is meter
    assert found[0] is not meter
    assert current() is found[0]


def test_steps_of_a_loop_are_counted() -> None:
    ticks = count()
    meter = Meter(EvaluationLimits(seconds=10), lambda: float(next(ticks)))
    with pytest.raises(LimitError, match="took longer than 10 s") as raised:
        for _ in meter.steps(range(1_000_000)):
            pass
    assert raised.value.limit == "seconds"


def test_several_instants_may_use_a_part_of_the_time_that_is_left() -> None:
    now = [0.0]
    meter = Meter(EvaluationLimits(seconds=8), lambda: now[0])
    now[0] = 4.0
    several = meter.for_several()
    now[0] = 5.5
    with pytest.raises(LimitError):
        several.check("all of them")
    meter.check("one of them")
    meter.restart()
    now[0] = 13.0
    meter.check("the next one")


def test_texts_of_what_was_tried_before_are_not_counted() -> None:
    """Each instant is within the limit, and all of them at once are not."""
    engine = Engine(max_bytes=1_000_000)
    stream = engine.stream("x:s")
    query = engine.register(
        "SELECT (CONCAT(STR(?s), REPLACE('%s', 'a', 'bb')) AS ?z) "
        "FROM STREAM <x:s> [RANGE 1s STEP 1s] { ?s ?p ?o }" % ("a" * 50_000)
    )
    for second in range(40):
        stream.push(f"<x:{second}> <x:p> <x:o> .", at=1_000 * second + 500)
    engine.finish()
    assert query.error is None
    assert [len(each.rows) for each in query.results()][-40:] == [1] * 40


def test_text_is_counted_until_the_next_evaluation() -> None:
    meter = Meter(EvaluationLimits(bytes=10 * MB))
    meter.make_text(6 * MB)
    with pytest.raises(LimitError, match="made 12 MB of text, and a query may make 10 MB"):
        meter.make_text(6 * MB)
    meter.restart()
    meter.make_text(6 * MB)


def test_an_evaluation_that_uses_up_the_memory_is_stopped_and_another_is_not() -> None:
    used, ticks = [100 * MB], count()
    gauge = MemoryGauge()
    gauge.start(1_000 * MB, lambda: used[0])
    large = Meter(EvaluationLimits(), lambda: float(next(ticks)), gauge)
    large.check("a join")
    used[0] = 1_100 * MB
    with pytest.raises(LimitError, match="would use 1,100 MB") as raised:
        large.check("a join")
    assert raised.value.limit == "memory"
    Meter(EvaluationLimits(), lambda: float(next(ticks)), gauge).check("a join")


def test_the_error_is_the_same_in_another_process() -> None:
    error = pickle.loads(pickle.dumps(LimitError("rows", "too many")))
    assert (error.limit, str(error)) == ("rows", "too many (limit 'rows')")


CIRCLE = [Quad(Iri(f"x:{n}"), Iri("x:p"), Iri(f"x:{(n + 1) % 120}")) for n in range(120)]


@pytest.mark.parametrize("path", ["(<x:p>*)*", "((<x:p>+)?)+", "(<x:p>|^<x:p>)*", "(<x:p>/<x:p>)*"])
def test_nested_repetitions_of_a_circle_end(path: str) -> None:
    store = Store(max_rows=20_000)
    store.add(CIRCLE)
    found = store.query(f"SELECT (COUNT(*) AS ?n) {{ ?s {path} ?o }}")
    assert [row[0].lexical for row in found.rows] == ["7200" if "/" in path else "14400"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("SELECT ?z { ?a ?b ?c BIND(REPLACE(STR(?c), '.', '%s') AS ?z) }", "bytes"),
        ("SELECT (GROUP_CONCAT(CONCAT(?x, STR(?a))) AS ?y) { BIND('%s' AS ?x) ?a ?b ?c }", "bytes"),
        ("SELECT * { ?a ?b ?c BIND('%s' AS ?x) ?d ?e ?f }", "bytes"),
        ("SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }", "rows"),
        ("CONSTRUCT { ?a <x:y> ?x } { ?a ?b ?c BIND(CONCAT(STR(?a), '%s') AS ?x) }", "bytes"),
        ("SELECT * { ?s (<x:p>|<x:q>)* ?o . ?t (<x:p>|<x:q>)* ?u }", "rows"),
    ],
)  # fmt: skip
def test_what_is_too_large_is_refused(text: str, limit: str) -> None:
    store = Store(max_rows=100_000, max_bytes=1_000_000)
    store.add(CIRCLE)
    with pytest.raises(LimitError) as raised:
        store.query(text.replace("%s", "a" * 10_000))
    assert raised.value.limit == limit
    assert len(store.query("SELECT * { ?s ?p ?o }").rows) == 120  # type: ignore[union-attr]


FILTERS = " ".join(f"FILTER(?a != {number})" for number in range(5_000))


def test_a_query_that_nests_too_deeply_is_refused() -> None:
    with pytest.raises(TooLargeError, match="join conditions by &&"):
        Store().query(f"SELECT * {{ ?a ?b ?c {FILTERS} }}")
    engine = Engine()
    engine.stream("x:s")
    text = f"SELECT * FROM STREAM <x:s> [RANGE 1s STEP 1s] {{ ?a ?b ?c {FILTERS} }}"
    with pytest.raises(TooLargeError, match="nests too deeply"):
        engine.register(text)


def test_the_query_with_the_largest_windows_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine()
    stream, other = engine.stream("x:s"), engine.stream("x:other")
    query = "SELECT (COUNT(*) AS ?n) FROM STREAM <%s> [RANGE %s STEP 1s] { ?s ?p ?o }"
    large = engine.register(query % ("x:s", "1h"), name="large")
    small = engine.register(query % ("x:other", "2s"), name="small")
    statements = "".join(f"<x:{number}> <x:p> <x:o> .\n" for number in range(1_200))
    stream.push(statements, at=500)
    other.push("<x:a> <x:p> <x:o> .", at=500)
    used = [100 * MB]
    monkeypatch.setattr(largest, "_LARGE", 1_000)
    monkeypatch.setattr(MEMORY, "limit", 1_000 * MB)
    monkeypatch.setattr(MEMORY, "_measure", lambda: used[0])
    for at in (1_500, 2_500, 3_500):
        if at == 2_500:
            used[0] = 1_100 * MB
        stream.push("<x:a> <x:p> <x:o> .", at=at)
        other.push("<x:a> <x:p> <x:o> .", at=at)
        engine.step()
        if large.error is not None:
            used[0] = 100 * MB
    engine.finish()
    assert large.error is not None
    assert "1,20" in large.error
    assert "(limit 'memory')" in large.error
    assert small.error is None
    assert [each.rows[0][0].lexical for each in small.results()][-3:] == ["1", "1", "1"]  # type: ignore[union-attr]


@pytest.mark.parametrize("form", [ResultFormat.TABLE, ResultFormat.JSON, ResultFormat.CSV])
def test_the_writing_of_an_answer_takes_its_time(form: ResultFormat) -> None:
    rows = tuple((Iri(f"x:{number}"),) for number in range(10_000))
    ticks = count()
    meter = Meter(EvaluationLimits(seconds=100), lambda: float(next(ticks)))
    with metered(meter), pytest.raises(LimitError, match="took longer than 100 s"):
        result_text(Table(("x",), rows), form)
