"""The whole path on real Spark, against counts made by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import pytest

from headrace.demo import QUERY, STREAM, generate, write_stream
from headrace.dialects import parse
from headrace.errors import DataError, SettingError
from headrace.launching import RunnerKind
from headrace.running import Job, Outcome, Voice, run_job

from .ports import listening_addresses

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


def run(folder: Path, directory: Path, **options: Any) -> tuple[Outcome, list[dict[str, Any]]]:
    out = directory.with_suffix(".ndjson")
    job = Job(
        [parse(QUERY)],
        {STREAM: [str(folder)]},
        outs=[str(out)],
        checkpoint=directory,
        runner=RunnerKind.SPARK,
        **options,
    )
    outcome = run_job(job, Voice(lambda _: None, lambda _: None))
    return outcome, [json.loads(line) for line in out.read_text().splitlines()]


def test_answers_do_not_depend_on_files_or_batches(tmp_path: Path) -> None:
    passages = generate(300)
    found = []
    for files, pieces in ((1, 1), (5, 2), (5, 0)):
        source = tmp_path / f"stream-{files}-{pieces}"
        write_stream(passages, source, files)
        outcome, lines = run(source, tmp_path / f"run-{files}-{pieces}", pieces=pieces)
        counters = outcome.counters[STREAM]
        assert (counters.elements, counters.late, counters.rejected) == (300, 0, 0)
        assert outcome.evaluations == 21
        found.append(lines)
    assert found[0] == found[1] == found[2]


def test_a_run_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    source, directory = tmp_path / "stream", tmp_path / "run"
    write_stream(generate(120), source, files=3)
    _, lines = run(source, directory, pieces=1)
    manifests = directory / "manifest"
    # As if killed between its own commit and Spark's, before the end of the input.
    (manifests / "2.final.json").unlink()
    (directory / "spark" / "commits" / "2").unlink()
    assert run(source, directory, pieces=1)[1] == lines
    # As if killed before its own commit.
    (manifests / "2.final.json").unlink()
    (manifests / "2.json").unlink()
    (directory / "spark" / "commits" / "2").unlink()
    assert run(source, directory, pieces=1)[1] == lines


def test_input_after_the_end_is_refused(tmp_path: Path) -> None:
    source, directory = tmp_path / "stream", tmp_path / "run"
    write_stream(generate(20), source, files=1)
    _, lines = run(source, directory)
    assert run(source, directory)[1] == lines
    (source / "passages-more.tnq").write_text("1\n")
    with pytest.raises(SettingError, match="has reported the end of its input"):
        run(source, directory)


def test_a_file_that_lost_bytes_is_named(tmp_path: Path) -> None:
    source, directory = tmp_path / "stream", tmp_path / "run"
    write_stream(generate(20), source, files=2)
    run(source, directory, pieces=1)
    max(source.iterdir()).write_text("")
    with pytest.raises(DataError, match="is shorter than before"):
        run(source, directory)


def test_no_input_no_answers(tmp_path: Path) -> None:
    source, directory = tmp_path / "stream", tmp_path / "run"
    source.mkdir()
    outcome, lines = run(source, directory)
    assert (outcome.evaluations, lines) == (0, [])
    (source / "late.tnq").write_text(generate(1)[0].line)
    assert len(run(source, directory)[1]) == 10


def stopped_when(condition: Callable[[], bool], spark: SparkSession) -> Thread:
    """A thread that stops the streams of a session when it may."""

    def wait() -> None:
        pause = Event()
        while not condition():
            pause.wait(0.1)
        for query in spark.streams.active:
            query.stop()

    thread = Thread(target=wait)
    thread.start()
    return thread


def test_a_live_run_reports_up_to_the_watermark_and_ends_when_stopped(
    spark: SparkSession, tmp_path: Path
) -> None:
    source, out = tmp_path / "stream", tmp_path / "run.ndjson"
    passages = generate(60)
    write_stream(passages, source, files=2)
    minute = 60_000
    first = -(-passages[0].time // minute) * minute
    passed = len(range(first, passages[-1].time, minute))

    def complete() -> bool:
        lines = out.read_text().splitlines() if out.exists() else []
        return len({json.loads(line)["at"] for line in lines}) >= passed

    stopper = stopped_when(complete, spark)
    outcome, lines = run(source, tmp_path / "run", once=False, interval=0.1)
    stopper.join()
    assert outcome.evaluations == passed
    assert len({line["at"] for line in lines}) == passed


def test_nothing_listens_to_the_network(spark: SparkSession) -> None:
    assert spark.range(1).count() == 1
    addresses = listening_addresses()
    assert addresses
    assert {str(address) for address in addresses} <= {"127.0.0.1", "::1"}
