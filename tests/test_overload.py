"""Runs that cannot keep up: by a clock of the test's own, and in files that go from run to run.

A batch takes longer than a few microseconds of event time on any machine. With a patience of none,
each batch but the first of a process makes the next one skip more, so that what is skipped is the
same in every run that is not interrupted.
"""

from __future__ import annotations

import json
import logging
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headrace import Engine, SettingError
from headrace.cli import app
from headrace.dialects import parse
from headrace.errors import HeadraceError
from headrace.launching import RunnerKind
from headrace.pipeline.faults import VARIABLE
from headrace.pipeline.metrics import Figures, exposition, measures
from headrace.results.evaluations import Evaluation
from headrace.running import Job, Outcome, Voice, conclusion, run_job

SECOND = 1_000_000
COUNT = "SELECT (COUNT(*) AS ?n) FROM STREAM <s> [RANGE 4s STEP 1s] { ?a ?b ?c }"

# -- in this process, by a clock ---------------------------------------------------------------


class Clock:
    """A clock that stands still unless somebody works, for so many seconds."""

    def __init__(self) -> None:
        self.now = 1_000 * SECOND
        self.work = 0

    def __call__(self) -> int:
        return self.now


def pushed(steps: Sequence[tuple[int, int]], **settings: str) -> list[list[Evaluation]]:
    """What comes out of each step: so many seconds of elements, and seconds that it takes."""
    clock = Clock()
    engine = Engine(live=True, clock=clock, settings=settings)
    stream, query = engine.stream("s"), engine.register(COUNT, name="q")
    found: list[list[Evaluation]] = []
    second = 0

    def take(each: Evaluation) -> None:
        clock.now += 0 if found[-1] else clock.work * SECOND
        found[-1].append(each)

    query.on_result(take)
    for seconds, clock.work in steps:
        found.append([])
        for _ in range(seconds):
            stream.push(f"<x:{second}> <x:p> <x:o> .", at=1_000 * second)
            second += 1
        engine.step()
    return found


def skipped(found: Sequence[Sequence[Evaluation]]) -> list[int]:
    return [sum(each.skipped for each in step) for step in found]


def test_an_engine_that_cannot_keep_up_skips_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    works = [0, 11, 11, 11, 9, 2, 2, 2, 2]  # seconds that count with the step after
    steps = [(3, 0), *((10, work) for work in works)]
    with caplog.at_level(logging.WARNING, "headrace"):
        found = pushed(steps, overload="skip")
    assert skipped(found) == [0, 0, 0, 0, 5, 7, 8, 8, 7, 5]
    assert [len(step) for step in found] == [2, *[10] * 9]
    assert not any(step[-1].skipped for step in found)
    said = [record.getMessage().partition(": ") for record in caplog.records]
    assert [(problem, rest.partition(" due")[0]) for problem, _, rest in said] == [
        *[("query 'q' cannot keep up with its streams", f"one of {k}") for k in (2, 4, 8)],
        *[("query 'q' can keep up with more", f"one of {k}") for k in (4, 2)],
        ("query 'q' keeps up again", "every instant is evaluated"),
    ]


def test_an_engine_skips_nothing_unless_it_is_told_to(caplog: pytest.LogCaptureFixture) -> None:
    steps = [(3, 0), (10, 11), (10, 11), (10, 11), (10, 2), (10, 2)]
    with caplog.at_level(logging.WARNING, "headrace"):
        assert skipped(pushed(steps)) == [0] * 6
        assert skipped(pushed(steps, overload="skip", report="every:1s")) == [0] * 6
    said = [record.getMessage() for record in caplog.records]
    assert [each.partition(": ")[0] for each in said] == [
        "query 'q' cannot keep up with its streams",
        "query 'q' keeps up again",
    ] * 2
    assert "overload=skip skips some instead" in said[0]
    assert "it says when they are due" in said[2]


def test_a_run_that_is_behind_but_fast_enough_skips_nothing() -> None:
    steps = [(3, 0), (100, 60), (100, 99), (100, 60)]
    assert skipped(pushed(steps, overload="skip")) == [0] * 4


def test_nothing_is_skipped_where_there_is_no_clock(tmp_path: Path) -> None:
    for engine in (Engine(), Engine(live=True, clock=None)):
        engine.stream("s")
        with pytest.raises(SettingError, match="'q' has overload=skip, which needs the clock"):
            engine.register(COUNT, name="q", settings={"overload": "skip"})
        engine.register(COUNT, name="q", settings={"overload": "keep"})
    (tmp_path / "s.tnq").write_text("1000\\t<x:a> <x:b> <x:c> .\n")
    arguments = ["run", COUNT, "--stream", f"s={tmp_path / 's.tnq'}", "--runner", "inline"]
    result = CliRunner().invoke(app, [*arguments, "--once", "--set", "overload=skip"])
    assert result.exit_code == 2
    assert "leave out --once" in result.output


def test_explain_shows_the_setting() -> None:
    result = CliRunner().invoke(app, ["explain", COUNT, "--set", "overload=skip:2s"])
    assert result.exit_code == 0, result.output
    assert "skip:2s" in result.output


# -- from files --------------------------------------------------------------------------------

FILES = 14
PER_FILE = 10
QUERIES = (
    "REGISTER QUERY rows AS SELECT ?a ?c FROM STREAM <s> [RANGE 4us STEP 1us] { ?a <x:p> ?c }",
    "REGISTER QUERY new AS SELECT ISTREAM ?a FROM STREAM <s> [RANGE 4us STEP 1us] { ?a <x:p> ?c }",
    "REGISTER STREAM <d> AS CONSTRUCT { ?a <x:q> ?c } FROM STREAM <s> [RANGE 2us STEP 1us]"
    " { ?a <x:p> ?c }",
    "REGISTER QUERY derived AS SELECT (COUNT(*) AS ?n) FROM STREAM <d> [RANGE 8us STEP 2us]"
    " { ?a <x:q> ?c }",
    "REGISTER QUERY declared COMPUTED EVERY 2us AS SELECT ?a FROM STREAM <s> [RANGE 4us STEP 1us]"
    " { ?a <x:p> ?c }",
)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stream with an element each microsecond, in files that are a batch each."""
    folder = tmp_path_factory.mktemp("input") / "s"
    folder.mkdir()
    for number in range(FILES):
        lines = [
            f"{at / 1000:.3f}\t<x:{at % 5}> <x:p> <x:{at}> .\n"
            for at in range(PER_FILE * number, PER_FILE * (number + 1))
        ]
        (folder / f"{number:03}.tnq").write_text("".join(lines))
    return folder


def run(  # noqa: PLR0913 - each is of interest to one test only
    source: Path,
    folder: Path,
    *,
    overload: str = "skip:0s",
    until: int = FILES * PER_FILE,
    partitions: int = 1,
    runner: RunnerKind = RunnerKind.INLINE,
    notes: list[str] | None = None,
    figures: list[Figures] | None = None,
) -> tuple[Outcome, Job]:
    """A live run that is stopped when so many elements have come."""
    heard = [] if figures is None else figures

    def watch(found: Figures) -> None:
        heard.append(found)
        if found.elements >= until:
            os.kill(os.getpid(), signal.SIGINT)

    settings = {"overload": overload}
    job = Job(
        [parse(each, "csparql", settings=settings) for each in QUERIES],
        {"s": [str(source)]},
        settings=settings,
        outs=[str(folder / "out.ndjson"), str(folder / "out.parquet")],
        checkpoint=folder / "run",
        once=False,
        runner=runner,
        pieces=1,
        partitions=partitions,
        interval=0.05,
    )
    said = [] if notes is None else notes
    return run_job(job, Voice(said.append, lambda _text: None, watch=watch)), job


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "out.ndjson").read_text().splitlines()]


@pytest.fixture(scope="module")
def calm(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calm")
    run(source, folder)
    return folder


@pytest.fixture(scope="module")
def kept(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    run(source, folder, overload="keep")
    return folder


def by_instant(folder: Path, query: str) -> dict[tuple[float, int], list[str]]:
    found: dict[tuple[float, int], list[str]] = {}
    for each in lines(folder):
        if each["query"] == query:
            said = {name: each[name] for name in ("row", "triple", "skipped") if name in each}
            found.setdefault((each["at"], each["seq"]), []).append(json.dumps(said))
    return found


SAID = json.dumps({"skipped": True})


def test_a_run_that_cannot_keep_up_skips_and_tells(source: Path, tmp_path: Path) -> None:
    notes: list[str] = []
    figures: list[Figures] = []
    outcome, job = run(source, tmp_path, notes=notes, figures=figures)
    found = by_instant(tmp_path, "rows")
    missing = [at for at, said in found.items() if said == [SAID]]
    states = figures[-1].manifest.queries
    assert len(missing) == states["rows"].skipped > 5 * PER_FILE
    assert states["rows"].evaluations == len(found) - len(missing)
    assert states["rows"].pace.stride == 64
    assert (states["declared"].skipped, states["declared"].pace.stride) == (0, 1)
    assert states["declared"].pace.overloaded
    assert figures[-1].skipped == outcome.skipped == sum(each.skipped for each in states.values())
    text = exposition(measures(figures[-1], now=1.0))
    assert f'headrace_skipped_total{{query="rows"}} {len(missing)}\n' in text
    assert 'headrace_stride{query="rows"} 64\n' in text
    assert 'headrace_overloaded{query="declared"} 1\n' in text
    of_rows = [each for each in notes if each.startswith("query 'rows'")]
    assert [each.partition("one of ")[2].split()[0] for each in of_rows] == [
        *("2", "4", "8", "16", "32", "64")
    ]
    assert sum(each.startswith("query 'declared' cannot keep up") for each in notes) == 1
    assert any(f", {outcome.skipped} instants skipped" in each for each in conclusion(outcome, job))


@pytest.mark.parametrize("query", ["rows", "declared"])
def test_what_is_not_skipped_is_as_if_nothing_were(query: str, calm: Path, kept: Path) -> None:
    found, expected = by_instant(calm, query), by_instant(kept, query)
    assert list(found) == list(expected)
    evaluated = {at: said for at, said in found.items() if said != [SAID]}
    assert evaluated == {at: expected[at] for at in evaluated}
    assert (len(evaluated) < len(found)) == (query == "rows")


def test_partitions_do_not_matter(source: Path, calm: Path, tmp_path: Path) -> None:
    run(source, tmp_path, partitions=3)
    for query in ("rows", "new", "d", "derived", "declared"):
        assert by_instant(tmp_path, query) == by_instant(calm, query)


@pytest.mark.spark
@pytest.mark.slow
def test_spark_gives_the_same(source: Path, calm: Path, tmp_path: Path) -> None:
    run(source, tmp_path, partitions=2, runner=RunnerKind.SPARK)
    for query in ("rows", "new", "d", "derived", "declared"):
        assert by_instant(tmp_path, query) == by_instant(calm, query)


@pytest.mark.parametrize(
    "point",
    [
        *("decoded", "stepped", "results-written", "memory-written", "manifest"),
        *("manifest-drafted", "manifest-committed", "publish", "sink-written", "published"),
    ],
)
def test_what_was_committed_stays_whatever_fails(
    point: str, source: Path, calm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, f"{point} raise 11")  # the stride is as great as it can be
    with pytest.raises(HeadraceError, match="a fault at"):
        run(source, tmp_path)
    monkeypatch.delenv(VARIABLE)
    notes: list[str] = []
    run(source, tmp_path, notes=notes)
    assert (tmp_path / "out.ndjson").read_bytes() == (calm / "out.ndjson").read_bytes()
    assert sum("one of 64 due instants" in each for each in notes) == 4  # at the start


@pytest.mark.parametrize("point", ["stepped", "memory-written", "publish", "sink-written"])
def test_a_batch_that_is_done_again_skips_the_same(
    point: str, source: Path, calm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, f"{point} raise 5")  # while the stride still grows
    with pytest.raises(HeadraceError, match="a fault at"):
        run(source, tmp_path)
    before = (tmp_path / "out.ndjson").read_bytes()
    monkeypatch.delenv(VARIABLE)
    run(source, tmp_path)
    assert (tmp_path / "out.ndjson").read_bytes().startswith(before)
    last = (5 * PER_FILE - 2) / 1000  # of the batch that was interrupted
    for query in ("rows", "new", "d"):
        found, expected = by_instant(tmp_path, query), by_instant(calm, query)
        assert list(found) == list(expected)
        assert all(said == expected[key] for key, said in found.items() if key[0] <= last)


def test_a_run_may_be_told_to_skip_no_more(source: Path, tmp_path: Path) -> None:
    run(source, tmp_path, until=9 * PER_FILE)
    notes: list[str] = []
    figures: list[Figures] = []
    run(source, tmp_path, overload="keep", notes=notes, figures=figures)
    assert not any("begins anew" in each for each in notes)
    assert "query 'rows' keeps up again: every instant is evaluated" in notes
    assert figures[0].skipped == figures[-1].skipped > 0
    assert figures[-1].manifest.queries["rows"].pace.stride == 1
