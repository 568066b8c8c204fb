"""CSRBench: what its queries report, window by window."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

import pytest

from headrace.engine import Engine
from headrace.kernel.stream_counters import Counters
from headrace.results.evaluations import Evaluation
from tests.field.csrbench import (
    FOLDER,
    SECONDS,
    STREAM,
    Answer,
    Report,
    changes,
    closes,
    differences,
    elements,
    number,
    row,
    tasks,
    texts,
)
from tests.shared import needs_data

pytestmark = needs_data("csrbench")

EXPECTED = ("Q1", "Q2", "Q3", "Q4")
ALL = (*EXPECTED, "Q5", "Q6", "Q7")
EMITS = ("rstream", "istream", "dstream")
NON_EMPTY = {"bounds": "[)", "non_empty": "content"}


def run(
    names: Sequence[str], settings: dict[str, str], *, dialect: str = "csparql", steps: bool = False
) -> dict[str, list[Evaluation]]:
    """What each query reports; with steps, evaluated after every element."""
    engine = Engine(settings=settings)
    stream = engine.stream(STREAM)
    queries = {name: engine.register(_text(name, dialect), name=name) for name in names}
    for time, quads in elements():
        stream.push(quads, at=time)
        if steps:
            engine.step()
    engine.step()
    engine.finish()
    assert engine.counters[STREAM] == Counters(elements=SECONDS, messages=SECONDS)
    assert not any(query.error for query in queries.values())
    return {name: list(query.results()) for name, query in queries.items()}


def _text(name: str, dialect: str) -> str:
    task = tasks()[name]
    return task.rspql if dialect == "rspql" else task.csparql


def reported(evaluation: Evaluation) -> Report:
    """An evaluation as it is compared, in milliseconds."""
    assert evaluation.error is None
    [(opens, _)] = evaluation.windows.values()
    assert opens is not None
    at, opens_at = _milliseconds(evaluation.at), _milliseconds(opens)
    return Report(at, opens_at, Counter(row(each) for each in evaluation.rows))


def _milliseconds(microseconds: int) -> int:
    whole, rest = divmod(microseconds, 1000)
    assert not rest
    return whole


def published(name: str, policy: str, emit: str) -> list[Report]:
    """The expected windows of a query; each instant is its close."""
    content = json.loads((FOLDER / "expected" / f"{name.lower()}-{policy}.json").read_text())
    [windows] = (run["windows"] for run in content["runs"] if run["t0"] == 0)
    return [
        Report(window["close"], window["open"], Counter(map(_published_row, window[emit])))
        for window in windows
    ]


def _published_row(bindings: dict[str, dict[str, str]]) -> tuple[str, ...]:
    return tuple(
        number(float(term["value"])) if term["type"] == "number" else term["value"]
        for term in bindings.values()
    )


@pytest.mark.parametrize("name", EXPECTED)
def test_the_expected_files_are_of_these_queries(name: str) -> None:
    for policy in ("window-close", "content-change"):
        content = json.loads((FOLDER / "expected" / f"{name.lower()}-{policy}.json").read_text())
        task = tasks()[name]
        assert (content["range_ms"], content["slide_ms"]) == (task.width, task.slide)
        assert "".join(content["sparql"].split()) == "".join(task.sparql.split())


@pytest.mark.parametrize("emit", EMITS)
@pytest.mark.parametrize("name", EXPECTED)
def test_the_answers_of_the_tests_are_the_published_ones(name: str, emit: str) -> None:
    # What the other tests compare with is thereby right itself.
    assert list(differences(closes(tasks()[name], 0), emit)) == published(
        name, "window-close", emit
    )


@pytest.mark.parametrize("dialect", ["csparql", "rspql"])
@pytest.mark.parametrize("emit", EMITS)
def test_every_window_is_the_published_one_when_windows_close(emit: str, dialect: str) -> None:
    settings = {**NON_EMPTY, "report": "on-close", "emit": emit}
    for name, found in run(EXPECTED, settings, dialect=dialect).items():
        assert list(map(reported, found)) == published(name, "window-close", emit), name
        for evaluation in found:
            [(_, closes_at)] = evaluation.windows.values()
            assert (evaluation.at, evaluation.seq) == (closes_at, 0), name


@pytest.mark.parametrize("dialect", ["csparql", "rspql"])
@pytest.mark.parametrize("emit", EMITS)
def test_every_window_is_the_published_one_when_contents_change(emit: str, dialect: str) -> None:
    settings = {**NON_EMPTY, "report": "on-change", "emit": emit}
    for name, found in run(EXPECTED, settings, dialect=dialect).items():
        first, *others = map(reported, found)
        # The published files say nothing of the first event. The stream's elements are a second
        # apart, and the published window closes just before the next.
        assert (first.at, first.opens) == (0, 0), name
        assert first.answer == (_average_of_nothing(name) if emit != "dstream" else Counter())
        expected = [
            Report(window.at - 1000, window.opens, window.answer)
            for window in published(name, "content-change", emit)
        ]
        if emit == "istream":
            # So what was new at the first event is new to them only at the second.
            expected[0] = Report(
                expected[0].at, expected[0].opens, expected[0].answer - first.answer
            )
        assert others == expected, name
        for evaluation in found:
            [(_, closes_at)] = evaluation.windows.values()
            assert (evaluation.at, evaluation.seq) == (closes_at, 0), name


def _average_of_nothing(name: str) -> Answer:
    return Counter([(number(0),)] if name == "Q4" else [])


@pytest.mark.parametrize("emit", EMITS)
@pytest.mark.parametrize("t0", [0, 1000, 2000, 3000, 4000, 5000, 500, -1000, -2500, -1_000_000_007])
def test_every_window_is_that_of_pyoxigraph_when_windows_close(t0: int, emit: str) -> None:
    settings = {**NON_EMPTY, "report": "on-close", "emit": emit, "t0": str(t0)}
    for name, found in run(ALL, settings).items():
        expected = list(differences(closes(tasks()[name], t0), emit))
        assert list(map(reported, found)) == expected, name


@pytest.mark.parametrize("emit", EMITS)
@pytest.mark.parametrize("t0", [0, 1000, 3000, 500, -2500])
def test_every_window_is_that_of_pyoxigraph_when_contents_change(t0: int, emit: str) -> None:
    settings = {**NON_EMPTY, "report": "on-change", "emit": emit, "t0": str(t0)}
    for name, found in run(ALL, settings).items():
        expected = list(differences(changes(tasks()[name], t0), emit))
        assert list(map(reported, found)) == expected, name


@pytest.mark.parametrize("report", ["on-close", "on-change"])
def test_when_the_input_is_cut_makes_no_difference(report: str) -> None:
    settings = {**NON_EMPTY, "report": report, "emit": "istream"}
    assert run(ALL, settings, steps=True) == run(ALL, settings)


def test_the_first_event_as_origin_is_zero_here() -> None:
    settings = {**NON_EMPTY, "report": "on-close", "emit": "rstream"}
    assert run(ALL, {**settings, "t0": "first"}, steps=True) == run(ALL, {**settings, "t0": "0"})


def test_turtle_is_pushed_as_it_stands() -> None:
    engine = Engine(settings={**NON_EMPTY, "report": "on-close"})
    stream = engine.stream(STREAM)
    query = engine.register(tasks()["Q1"].csparql, name="Q1")
    for second, text in enumerate(texts()):
        stream.push(text, at=1000 * second, syntax="text/turtle")
    engine.finish()
    assert list(map(reported, query.results())) == published("Q1", "window-close", "rstream")
