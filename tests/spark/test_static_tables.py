"""Static tables that Spark's tasks compute: the same answers as in the driver."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from headrace.dialects import parse
from headrace.launching import RunnerKind
from headrace.pipeline.keeper import Cache
from headrace.pipeline.static_parts import Tasks, read_parts
from headrace.running import Job, Voice, run_job
from headrace.spark.run import Runner
from tests.continuous.kept import QUERIES, STREAM, text_of, written

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


def _tasks(parts: int, runner: Runner) -> Tasks:
    return Tasks(parts, runner.solve)


def answers(folder: Path, name: str, runner: RunnerKind, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(
        Job, "cache", lambda _self, own: Cache(own, least=1, large=0 if name != "inline" else 1)
    )
    out = folder / f"{name}.ndjson"
    job = Job(
        [parse(text_of(each), name=f"q{number}") for number, each in enumerate(QUERIES)],
        {STREAM: [str(folder / "stream.tnq")]},
        [(each.graph, each.path) for each in written(folder)],
        outs=[str(out)],
        checkpoint=folder / name,
        runner=runner,
    )
    outcome = run_job(job, Voice(lambda _: None, lambda _: None))
    assert not outcome.stopped
    lines = map(json.loads, out.read_text().splitlines())
    return Counter(json.dumps(each, sort_keys=True) for each in lines)


def test_the_same_in_one_and_two_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stream.tnq").write_text(
        "".join(
            f"{1000 * number}\t<http://x/{who}> <http://x/at> <http://x/r{number % 2}> .\n"
            for number, who in enumerate("abcdeabc")
        )
    )
    expected = answers(tmp_path, "inline", RunnerKind.INLINE, monkeypatch)
    assert expected
    solved: list[int] = []

    def counted(requests: Any) -> Any:
        solved.append(len(requests))
        return read_parts(requests)

    monkeypatch.setattr("headrace.pipeline.keeper.read_parts", counted)
    for parts in (1, 2):
        monkeypatch.setattr(Runner, "tasks", property(partial(_tasks, parts)))
        found = answers(tmp_path, f"spark-{parts}", RunnerKind.SPARK, monkeypatch)
        assert found == expected
        assert set(solved) == {parts}
        solved.clear()
