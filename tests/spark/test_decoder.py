"""Panes that are made ahead: the same ones, in the same order, whoever asks when."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.errors import DataError
from headrace.pipeline.decode import Decoding
from headrace.pipeline.following import LogFollower
from headrace.pipeline.pieces import Piece, SourceLog
from headrace.spark.decoder import Decoder, in_tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAM = "http://example.org/s"
FILES = 7


@pytest.fixture
def log(tmp_path: Path) -> SourceLog:
    for number in range(FILES):
        (tmp_path / f"{number}.tnq").write_text(f"{number}000\t<x:{number}> <x:p> <x:o> .\n")
    log = SourceLog(tmp_path / "source.log")
    log.look({STREAM: sorted(tmp_path.glob("*.tnq"))}, complete=True)
    (tmp_path / "panes").mkdir()
    return log


@pytest.fixture
def decoder(spark: SparkSession, log: SourceLog, tmp_path: Path) -> Iterator[Decoder]:
    decodings = {STREAM: Decoding(STREAM, 0, tmp_path / "panes")}
    found = Decoder(spark, LogFollower(log.path), decodings, 2, is_live=False)
    yield found
    found.close()


def asked(decoder: Decoder, first: int, stop: int) -> list[int | None]:
    return [pane.first_time for pane in decoder.panes(first, stop)]


@pytest.mark.spark
@pytest.mark.parametrize("ends", [[7], [2, 4, 6, 7], [1, 2, 3, 4, 5, 6, 7], [3, 5, 7]])
def test_batches_need_not_be_what_jobs_are(decoder: Decoder, ends: list[int]) -> None:
    decoder.look_ahead(0, FILES)
    found = [
        time
        for first, stop in zip([0, *ends], ends, strict=False)
        for time in asked(decoder, first, stop)
    ]
    assert found == [number * 1_000_000 for number in range(FILES)]


@pytest.mark.spark
def test_so_much_is_made_ahead_and_no_more(decoder: Decoder, tmp_path: Path) -> None:
    decoder.look_ahead(1, FILES)
    decoder.close()
    made = sorted(int(file.name.split("-")[0]) for file in (tmp_path / "panes").iterdir())
    assert made in ([1, 2], [1, 2, 3, 4])  # the second job may not have begun


@pytest.mark.spark
def test_what_a_task_could_not_read_is_told_when_it_is_asked_for(
    decoder: Decoder, tmp_path: Path
) -> None:
    (tmp_path / "3.tnq").unlink()
    decoder.look_ahead(0, FILES)
    assert asked(decoder, 0, 2) == [0, 1_000_000]
    with pytest.raises(DataError, match=r"3\.tnq: cannot be read: No such file"):
        decoder.panes(2, 4)


def test_small_pieces_share_a_task() -> None:
    def piece(ordinal: int, size: int) -> Piece:
        return Piece(ordinal, STREAM, "/x.tnq", 0, size)

    pieces = [piece(number, size) for number, size in enumerate([1 << 20] * 5 + [16 << 20, 1])]
    assert [[each.ordinal for each in task] for task in in_tasks(pieces)] == [
        [0, 1, 2, 3],
        [4],
        [5],
        [6],
    ]
    many = [piece(number, 10) for number in range(130)]
    assert [len(task) for task in in_tasks(many)] == [64, 64, 2]
