"""An engine whose run is kept in a checkpoint, in this process and on Spark."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from headrace import Engine, Query, SettingError

STREAM = "http://example.org/s"
QUERY = f"SELECT (COUNT(*) AS ?n) FROM STREAM <{STREAM}> [RANGE 10s STEP 10s] {{ ?s ?p ?o }}"
ANSWERS = [(10, "10"), (20, "10"), (30, "9")]


def lines(first: int, stop: int) -> str:
    return "".join(
        f"{second * 1000}\t<x:{second}> <x:p> <x:o> .\n" for second in range(first, stop)
    )


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.tnq").write_text(lines(1, 30))
    return folder


def asking(
    source: Path, *, live: bool = False, checkpoint: Path | None = None
) -> tuple[Engine, Query]:
    engine = Engine(live=live, checkpoint=checkpoint, clock=lambda: 60_000_000)
    engine.stream(STREAM, source=str(source))
    return engine, engine.register(QUERY, name="count")


def answers(query: Query) -> list[tuple[int, str]]:
    return [(each.at // 1_000_000, each.rows[0][0].lexical) for each in query.results()]  # type: ignore[union-attr]


@pytest.mark.parametrize("runner", [None, "inline"])
def test_runners_give_the_same_answers(source: Path, runner: str | None) -> None:
    engine, query = asking(source)
    engine.run(once=True, runner=runner)
    assert answers(query) == ANSWERS
    assert engine.counters[STREAM].elements == 29


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_spark_gives_the_same_answers(source: Path) -> None:
    engine, query = asking(source)
    said: list[str] = []
    engine.run(once=True, runner="spark", partitions=2, progress=said.append)
    assert answers(query) == ANSWERS
    assert "29 elements" in said


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_what_a_callback_raises_on_spark_reaches_the_caller(source: Path) -> None:
    engine, query = asking(source)

    def fail(_evaluation: object) -> None:
        raise LookupError("mine")

    query.on_result(fail)
    with pytest.raises(LookupError, match="mine"):
        engine.run(once=True, runner="spark")


@pytest.mark.parametrize("partitions", [1, 2])
def test_windows_over_many_small_files_are_whole(tmp_path: Path, partitions: int) -> None:
    """Beyond some panes, what windows hold is kept in one file."""
    for number in range(60):
        text = (
            f"{number * 10}\t<x:s{number}> <x:p> <x:o> .\n{number * 10 + 1}\t<x:o> <x:q> <x:o> .\n"
        )
        (tmp_path / f"{number:02}.tnq").write_text(text)
    engine = Engine()
    engine.stream(STREAM, source=str(tmp_path))
    text = f"SELECT ?s FROM STREAM <{STREAM}> [RANGE 1s STEP 400ms] {{ ?s <x:p> ?o }}"
    query = engine.register(text)
    engine.run(once=True, runner="inline", partitions=partitions)
    found = [(each.at // 1000, len(each.rows)) for each in query.results()]
    assert found == [(0, 1), (400, 41), (800, 60), (1200, 39)]


def test_a_checkpoint_reports_nothing_twice(source: Path, tmp_path: Path) -> None:
    for expected in (ANSWERS, []):
        engine, query = asking(source, checkpoint=tmp_path / "checkpoint")
        engine.run(once=True)
        assert answers(query) == expected
        assert engine.counters[STREAM].elements == 29


def test_a_run_goes_on_until_it_is_stopped(source: Path) -> None:
    engine, query = asking(source, live=True)
    thread = threading.Thread(target=lambda: engine.run(once=False, runner="inline"))
    thread.start()
    found: list[tuple[int, str]] = []
    deadline = time.monotonic() + 60
    while len(found) < 2 and time.monotonic() < deadline:
        found += answers(query)
        time.sleep(0.02)
    (source / "b.tnq").write_text(lines(30, 42))
    while len(found) < 4 and time.monotonic() < deadline:
        found += answers(query)
        time.sleep(0.02)
    engine.stop()
    thread.join(60)
    assert not thread.is_alive()
    assert found == [(10, "10"), (20, "10"), (30, "10"), (40, "10")]


def test_what_cannot_be_run_so(source: Path) -> None:
    engine, _ = asking(source)
    with pytest.raises(SettingError, match="no runner 'spak'; there are spark and inline"):
        engine.run(once=True, runner="spak")
    with pytest.raises(SettingError, match="needs a runner"):
        engine.run(once=False)
    with pytest.raises(SettingError, match="live=True"):
        engine.run(once=False, runner="inline")
    engine.stream(STREAM).push("<x:a> <x:b> <x:c> .", at=1)
    with pytest.raises(SettingError, match="elements were pushed"):
        engine.run(once=True, runner="inline")
