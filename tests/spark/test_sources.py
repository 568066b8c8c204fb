from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxFiles

from headrace.errors import DataError, SettingError
from headrace.spark.sources import FileReader, Piece, PiecePartition, SourceLog, find_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "stream"
    folder.mkdir()
    for name in ("b", "a", "c"):
        (folder / f"{name}.tnq").write_text(f"1\t{name}\n")
    (folder / "other.txt").write_text("not a stream")
    return folder


def pieces(reader: FileReader, start: int, end: int) -> list[Piece]:
    found = reader.partitions({"pieces": start}, {"pieces": end})
    return [each.piece for each in found if isinstance(each, PiecePartition)]


def test_files_are_read_in_the_order_of_their_names(folder: Path) -> None:
    assert [file.stem for file in find_files(folder)] == ["a", "b", "c"]
    assert find_files(folder / "b.tnq") == [folder / "b.tnq"]


def test_what_is_no_source_is_an_error(folder: Path) -> None:
    with pytest.raises(SettingError, match="no file or folder"):
        find_files(folder / "missing")
    with pytest.raises(SettingError, match=r"expected a \.tnq file"):
        find_files(folder / "other.txt")


def test_a_batch_takes_as_many_files_as_it_may(folder: Path, tmp_path: Path) -> None:
    reader = FileReader(folder, tmp_path / "log", files_per_batch=2)
    assert reader.getDefaultReadLimit() == ReadMaxFiles(2)
    assert reader.latestOffset(reader.initialOffset(), ReadMaxFiles(2)) == {"pieces": 2}
    assert reader.latestOffset({"pieces": 2}, ReadMaxFiles(2)) == {"pieces": 3}
    assert reader.latestOffset({"pieces": 0}, ReadAllAvailable()) == {"pieces": 3}


def test_what_comes_later_is_not_part_of_a_run_that_ends(folder: Path, tmp_path: Path) -> None:
    reader = FileReader(folder, tmp_path / "log", files_per_batch=0)
    reader.prepareForTriggerAvailableNow()
    (folder / "d.tnq").write_text("1\td\n")
    assert reader.latestOffset({"pieces": 0}, ReadAllAvailable()) == {"pieces": 3}


def test_a_replay_reads_the_same_bytes_whatever_was_added(folder: Path, tmp_path: Path) -> None:
    first = FileReader(folder, tmp_path / "log", files_per_batch=0)
    first.latestOffset({"pieces": 0}, ReadAllAvailable())
    before = pieces(first, 0, 3)
    (folder / "0.tnq").write_text("1\t0\n")
    with (folder / "a.tnq").open("a") as file:
        file.write("2\tmore\n")
    again = FileReader(folder, tmp_path / "log", files_per_batch=0)
    assert pieces(again, 0, 3) == before
    assert again.latestOffset({"pieces": 3}, ReadAllAvailable()) == {"pieces": 5}
    assert [(Path(p.path).name, p.start, p.stop) for p in pieces(again, 3, 5)] == [
        ("0.tnq", 0, 4),
        ("a.tnq", 4, 11),
    ]


def test_a_line_that_is_being_written_is_left_for_later(tmp_path: Path) -> None:
    file = tmp_path / "s.tnq"
    file.write_text("1\ta\n2\tunfin")
    log = SourceLog(tmp_path / "log")
    log.look([file], complete=False)
    assert [(piece.start, piece.stop) for piece in log.pieces] == [(0, 4)]
    file.write_text("1\ta\n2\tunfinished\n")
    log.look([file], complete=False)
    assert [(piece.start, piece.stop) for piece in log.pieces] == [(0, 4), (4, 17)]


def test_at_the_end_a_last_line_needs_no_line_end(tmp_path: Path) -> None:
    file = tmp_path / "s.tnq"
    file.write_text("1\ta\n2\tb")
    log = SourceLog(tmp_path / "log")
    log.look([file], complete=True)
    assert [(piece.start, piece.stop) for piece in log.pieces] == [(0, 7)]


def test_a_file_that_became_shorter_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "s.tnq"
    file.write_text("1\ta\n2\tb\n")
    log = SourceLog(tmp_path / "log")
    log.look([file], complete=False)
    file.write_text("1\ta\n")
    with pytest.raises(DataError, match="shorter than before"):
        log.look([file], complete=False)


def test_a_log_cut_short_by_a_crash_is_read_up_to_its_last_line(tmp_path: Path) -> None:
    file, path = tmp_path / "s.tnq", tmp_path / "log"
    file.write_text("1\ta\n")
    SourceLog(path).look([file], complete=False)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"ordinal": 1, "pa')
    assert len(SourceLog(path).pieces) == 1
    assert path.read_bytes() == whole
