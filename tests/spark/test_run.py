"""The whole path on real Spark, against counts made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

import pytest

from headrace.demo import generate, write_stream
from headrace.errors import DataError, MachineError, SettingError
from headrace.planning.plan import make_plan
from headrace.spark.answers import Answer, read_answers
from headrace.spark.layout import open_deployment
from headrace.spark.manifest import Manifest, read_manifests
from headrace.spark.run import Pace, run

from ..kernel.streams import tollgate_query
from .ports import listening_addresses

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PLAN = make_plan(tollgate_query())


def committed(directory: Path) -> list[Answer]:
    deployment = open_deployment(directory, PLAN)
    manifests = read_manifests(deployment.layout)
    return [answer for each in manifests for answer in read_answers(deployment, each.report)]


def run_all(
    spark: SparkSession, source: Path, directory: Path, files_per_batch: int = 0
) -> tuple[Manifest, list[Answer]]:
    answers: list[Answer] = []
    last = run(spark, PLAN, source, directory, Pace(files_per_batch), answers.append)
    assert committed(directory) == answers
    return last, answers


def test_answers_do_not_depend_on_files_or_batches(spark: SparkSession, tmp_path: Path) -> None:
    passages = generate(300)
    found = {}
    for files, per_batch in ((1, 1), (5, 2), (5, 0)):
        source = tmp_path / f"stream-{files}-{per_batch}"
        write_stream(passages, source, files)
        last, answers = run_all(spark, source, tmp_path / f"run-{files}-{per_batch}", per_batch)
        assert (last.elements, last.late, last.rejected, last.final) == (300, 0, 0, True)
        found[files, per_batch] = answers
    assert found[1, 1] == found[5, 2] == found[5, 0]
    assert len(found[1, 1]) == 21


def test_late_and_bad_lines_are_counted_the_same_in_any_batches(
    spark: SparkSession, tmp_path: Path
) -> None:
    lines = [passage.line for passage in generate(60)]
    lines[10], lines[45] = lines[45], lines[10]
    lines.insert(20, "not a line\n")
    counters, found = [], []
    for files in (1, 4):
        source = tmp_path / f"stream-{files}"
        source.mkdir()
        for number in range(files):
            part = lines[number * len(lines) // files : (number + 1) * len(lines) // files]
            (source / f"{number}.tnq").write_text("".join(part))
        last, answers = run_all(spark, source, tmp_path / f"run-{files}", files_per_batch=1)
        counters.append((last.elements, last.late, last.rejected))
        found.append(answers)
    assert counters[0] == counters[1]
    assert counters[0][0] == 60
    assert counters[0][1] > 0
    assert counters[0][2] == 1
    assert found[0] == found[1]


def test_a_run_goes_on_where_it_was_interrupted(spark: SparkSession, tmp_path: Path) -> None:
    source, directory = tmp_path / "stream", tmp_path / "run"
    write_stream(generate(120), source, files=3)
    last, answers = run_all(spark, source, directory, files_per_batch=1)
    # As if killed between its own commit and Spark's, before the end of the input.
    (directory / "manifest" / f"{last.batch}.final.json").unlink()
    (directory / "spark" / "commits" / str(last.batch)).unlink()
    again: list[Answer] = []
    assert run(spark, PLAN, source, directory, Pace(1), again.append).final
    assert committed(directory) == answers
    assert again == answers[-len(again) :]
    # As if killed before its own commit.
    (directory / "manifest" / f"{last.batch}.final.json").unlink()
    (directory / "manifest" / f"{last.batch}.json").unlink()
    (directory / "spark" / "commits" / str(last.batch)).unlink()
    run(spark, PLAN, source, directory, Pace(1))
    assert committed(directory) == answers
    # And once more, but what it had read is gone.
    (directory / "spark" / "commits" / str(last.batch)).unlink()
    max(source.iterdir()).write_text("")
    with pytest.raises(DataError, match="is shorter than before"):
        run(spark, PLAN, source, directory, Pace(1))


def test_input_after_the_end_is_refused_and_damage_is_found(
    spark: SparkSession, tmp_path: Path
) -> None:
    source, directory = tmp_path / "stream", tmp_path / "run"
    write_stream(generate(20), source, files=1)
    last, answers = run_all(spark, source, directory)
    assert run(spark, PLAN, source, directory) == last
    (source / "passages-more.tnq").write_text("1\n")
    with pytest.raises(SettingError, match="has reported the end of its input"):
        run(spark, PLAN, source, directory)
    path = directory / "manifest" / "0.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"offsets": "other"}))
    for number in range(2):
        (directory / "spark" / "commits" / str(number)).unlink(missing_ok=True)
    (directory / "spark" / "offsets" / "1").unlink()
    with pytest.raises(MachineError, match="is damaged"):
        run(spark, PLAN, source, directory)
    assert committed(directory) == answers


def test_no_input_no_answers(spark: SparkSession, tmp_path: Path) -> None:
    source, directory = tmp_path / "stream", tmp_path / "run"
    source.mkdir()
    last, answers = run_all(spark, source, directory)
    assert (last.elements, last.final, answers) == (0, False, [])
    (source / "late.tnq").write_text(generate(1)[0].line)
    assert len(run_all(spark, source, directory)[1]) == 10
    with pytest.raises(SettingError, match="no file or folder"):
        run(spark, PLAN, tmp_path / "missing", tmp_path / "other")


def test_a_live_run_reports_up_to_the_watermark_and_ends_when_stopped(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = tmp_path / "stream"
    passages = generate(60)
    write_stream(passages, source, files=2)
    minute = 60_000
    first = -(-passages[0].time // minute) * minute
    passed = len(range(first, passages[-1].time, minute))
    answers: list[Answer] = []
    complete = Event()

    def publish(answer: Answer) -> None:
        answers.append(answer)
        if len(answers) == passed:
            complete.set()

    def stop_when_complete() -> None:
        complete.wait(timeout=60)
        for query in spark.streams.active:
            query.stop()

    stopper = Thread(target=stop_when_complete)
    stopper.start()
    last = run(spark, PLAN, source, tmp_path / "run", Pace(1, interval=0.1), publish)
    stopper.join()
    assert not last.final
    assert len(answers) == passed


def test_nothing_listens_to_the_network(spark: SparkSession) -> None:
    assert spark.range(1).count() == 1
    addresses = listening_addresses()
    assert addresses
    assert {str(address) for address in addresses} <= {"127.0.0.1", "::1"}
