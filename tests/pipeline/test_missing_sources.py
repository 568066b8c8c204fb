"""Sources that are not there yet: a live run says so, seldom, until they come."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from unittest.mock import Mock

import pytest

from headrace import Engine
from headrace.acceptance import Acceptance
from headrace.diagnosis import Code, Note, Severity
from headrace.engine_runs import RunFollower
from headrace.kernel.alerts import Alerts
from headrace.pipeline import missing_sources
from headrace.pipeline.missing_sources import (
    MissingSources,
    is_absence,
    is_absent,
    report_missing_sources,
)
from headrace.pipeline.streams import declared


def test_a_source_is_reported_after_a_while_and_then_more_seldom(tmp_path: Path) -> None:
    (tmp_path / "there.tnq").write_text("1\n")
    (tmp_path / "folder").mkdir()
    names = ("there.tnq", "file.tnq", "folder", "*.nt")
    sources = {"s": [declared(str(tmp_path / name)) for name in names], "t": [declared("rate:5")]}
    waiting = MissingSources.of(sources, 0.0)
    times: dict[str, list[int]] = {}
    for second in range(200):
        if second == 100:
            (tmp_path / "file.tnq").write_text("1\n")
        for text in waiting.report_due(float(second)):
            times.setdefault(text.replace(f"{tmp_path}/", ""), []).append(second)
    assert times == {
        "waiting for 'file.tnq' of stream <s>: there is no such file or folder yet": [
            5,
            15,
            35,
            75,
        ],
        "waiting for 'folder' of stream <s>: there is no file with RDF in the folder yet": [
            *(5, 15, 35, 75, 155),
        ],
        "waiting for '*.nt' of stream <s>: no file has such a name yet": [5, 15, 35, 75, 155],
    }


def test_what_is_waited_for_is_not_reported_as_a_silent_stream_too(tmp_path: Path) -> None:
    (tmp_path / "there.tnq").write_text("")
    sources = {name: [declared(str(tmp_path / f"{name}.tnq"))] for name in ("there", "missing")} | {
        "rate": [declared("rate:5")]
    }
    assert [name for name, of in sources.items() if is_absent(of[0])] == ["missing"]
    notes = [
        Note(code, Severity.INFO, "", stream=name)
        for code in (Code.NO_ELEMENTS, Code.UNREAD_STREAM)
        for name in sources
    ]
    left = [(each.code, each.stream) for each in notes if not is_absence(each, sources)]
    assert left == [
        ("no-elements", "there"),
        ("no-elements", "rate"),
        *(("unread-stream", name) for name in sources),
    ]


def test_nothing_is_reported_when_all_is_there(tmp_path: Path) -> None:
    (tmp_path / "a.tnq").write_text("1\n")
    said: list[str] = []
    with report_missing_sources({"s": [declared(str(tmp_path))]}, said.append, lambda: 1e6):
        pass
    assert said == []


def test_a_live_run_waits_and_then_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(missing_sources, "FIRST", 0.1)
    monkeypatch.setattr(missing_sources, "_LOOK", 0.02)
    path = tmp_path / "later.tnq"
    engine = Engine(live=True, clock=lambda: 60_000_000)
    engine.stream("x:s", source=path)
    query = engine.register("SELECT ?a FROM STREAM <x:s> [RANGE 5s STEP 5s] { ?a ?b ?c }")
    thread = threading.Thread(target=lambda: engine.run(once=False, runner="inline"))
    thread.start()
    deadline = time.monotonic() + 60
    while not caplog.messages and time.monotonic() < deadline:
        time.sleep(0.02)
    path.write_text("1000\t<x:a> <x:b> <x:c> .\n9000\n")
    found = 0
    while not found and time.monotonic() < deadline:
        found += len(list(query.results()))
        time.sleep(0.02)
    engine.stop()
    thread.join(60)
    assert found == 1
    lack = f"waiting for '{path}' of stream <x:s>: there is no such file or folder yet"
    assert lack in caplog.messages


def test_a_run_that_is_stopped_while_its_runner_starts_ends() -> None:
    follower = RunFollower({}, (), Alerts(print), Acceptance({}), print)
    runner = Mock()
    follower.stop()
    follower.begin(runner)
    runner.stop.assert_called_once()
