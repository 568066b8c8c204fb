"""The offsets that Spark is told: one that changes is a batch."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxFiles

from headrace.spark.run import _reads_all
from headrace.spark.source import PieceReader, _ticking


def test_in_a_run_that_ends_an_offset_is_a_number_of_pieces() -> None:
    reader = PieceReader(lambda: 5, 0)
    assert reader.latestOffset({"pieces": 0}, ReadAllAvailable()) == {"pieces": 5}


def test_a_live_run_that_finds_nothing_has_no_batch(tmp_path: Path) -> None:
    reader = PieceReader(lambda: 5, 8, _ticking({"tick": str(tmp_path / "tick")}))
    first = reader.latestOffset({"pieces": 0}, ReadMaxFiles(8))
    assert first == {"pieces": 5, "known": 5, "tick": 0}
    assert reader.latestOffset(first, ReadMaxFiles(8)) == first
    older = {"pieces": 5}  # of a version that did not tick
    assert reader.latestOffset(older, ReadMaxFiles(8)) == older


def test_a_batch_that_is_asked_for_is_had_once(tmp_path: Path) -> None:
    place = tmp_path / "tick"
    reader = PieceReader(lambda: 5, 8, _ticking({"tick": str(place)}))
    start = {"pieces": 5, "known": 5, "tick": 0}
    place.write_text("3")
    asked = reader.latestOffset(start, ReadMaxFiles(8))
    assert asked == {"pieces": 5, "known": 5, "tick": 3}
    assert reader.latestOffset(asked, ReadMaxFiles(8)) == asked
    place.unlink()
    assert reader.latestOffset(asked, ReadMaxFiles(8)) == asked, "time does not go back"


def test_nothing_passes_for_silence_while_there_is_something_to_read(tmp_path: Path) -> None:
    place = tmp_path / "tick"
    place.write_text("3")
    reader = PieceReader(lambda: 5, 2, _ticking({"tick": str(place)}))
    found = reader.latestOffset({"pieces": 0, "known": 0, "tick": 1}, ReadMaxFiles(2))
    assert found == {"pieces": 2, "known": 5, "tick": 1}
    assert not _reads_all(["v1", '{"pieces": 2, "known": 5, "tick": 1}'])
    assert _reads_all(["v1", '{"pieces": 5, "known": 5, "tick": 1}'])
    assert not _reads_all(["v1", '{"pieces": 5}'])
