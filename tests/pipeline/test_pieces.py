"""Which bytes are read, in which order, and the same again when they are replayed."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.arrival_times import SteadyClock
from headrace.errors import DataError, SettingError
from headrace.pipeline import cutting
from headrace.pipeline.cutting import cut, unfinished
from headrace.pipeline.pieces import Piece, SourceLog
from headrace.pipeline.streams import Sources, declared, files_of
from headrace.rdf.formats import Format
from headrace.rdf.terms import Iri

TIMED = Format.TIMED_N_QUADS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "stream"
    folder.mkdir()
    for name in ("b", "a", "c"):
        (folder / f"{name}.tnq").write_text(f"1\t{name}\n")
    (folder / "other.txt").write_text("not a stream")
    (folder / "_draft.tnq").write_text("not yet")
    return folder


def found(log: SourceLog) -> list[tuple[str, int, int]]:
    return [(Path(each.path).stem, each.start, each.stop) for each in log.pieces]


def test_files_are_read_in_the_order_of_their_names(folder: Path) -> None:
    assert [file.stem for file in files_of(str(folder))] == ["a", "b", "c"]
    assert [file.stem for file in files_of(f"{folder}/[bc].tnq")] == ["b", "c"]
    with pytest.raises(SettingError, match="no file, folder or pattern"):
        files_of(str(folder / "missing"))


def test_what_a_source_names() -> None:
    assert [declared(each).kind for each in ("a.tnq", "mqtt://h/t", "tcp://h:1", "rate:9")] == [
        *("file", "mqtt", "tcp", "rate"),
    ]
    assert declared("http-log:logs").place == "logs"
    assert declared("a.nt?time=http://example.org/at").rule.predicate == Iri(
        "http://example.org/at"
    )
    with pytest.raises(SettingError, match="expected a file or"):
        declared("ftp://host/file")
    with pytest.raises(SettingError, match=r"expected \?time=source"):
        declared("folder?time=now")


def test_streams_take_turns(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "x.tnq").write_text("1\tx\n")
    log = SourceLog(tmp_path / "log")
    Sources({"s": [str(folder)], "t": [str(other)]}).look(log, complete=True)
    assert [name for name, _, _ in found(log)] == ["a", "x", "b", "c"]
    assert [(each.stream, each.file) for each in log.pieces] == [
        *(("s", 0), ("t", 0), ("s", 1), ("s", 2)),
    ]


def test_a_replay_reads_the_same_bytes_whatever_was_added(folder: Path, tmp_path: Path) -> None:
    sources = Sources({"s": [str(folder)]})
    first = SourceLog(tmp_path / "log")
    sources.look(first, complete=True)
    (folder / "0.tnq").write_text("1\t0\n")
    with (folder / "a.tnq").open("a") as file:
        file.write("2\tmore\n")
    again = SourceLog(tmp_path / "log")
    assert again.pieces == first.pieces
    sources.look(again, complete=True)
    assert found(again)[3:] == [("0", 0, 4), ("a", 4, 11)]
    assert again.pieces[4].file == 0


def test_a_line_that_is_being_written_is_left_for_later(tmp_path: Path) -> None:
    file, log = tmp_path / "s.tnq", SourceLog(tmp_path / "log")
    file.write_text("1\ta\n2\tunfin")
    log.look({"s": [file]}, complete=False)
    assert found(log) == [("s", 0, 4)]
    file.write_text("1\ta\n2\tunfinished\n")
    log.look({"s": [file]}, complete=False)
    assert found(log) == [("s", 0, 4), ("s", 4, 17)]


def test_an_element_that_is_being_written_is_left_until_its_file_rests(tmp_path: Path) -> None:
    file, log = tmp_path / "s.tnq", SourceLog(tmp_path / "log")
    line = "1\t<x:a> <x:p> <x:b> <x:g> .\n"
    file.write_text(f"0\t<x:a> <x:p> <x:b> .\n{line}")
    log.look({"s": [file]}, complete=False)
    assert found(log) == [("s", 0, 22)]
    file.write_text(file.read_text() + line)
    log.look({"s": [file]}, complete=False)
    log.look({"s": [file]}, complete=False)
    assert found(log) == [("s", 0, 22), ("s", 22, 22 + 2 * len(line))]


def test_a_document_is_read_when_it_no_longer_grows(tmp_path: Path) -> None:
    file, log = tmp_path / "s.trig", SourceLog(tmp_path / "log")
    file.write_text("<x:g> {")
    log.look({"s": [file]}, complete=False)
    file.write_text("<x:g> { <x:a> <x:b> <x:c> }")
    log.look({"s": [file]}, complete=False)
    assert found(log) == []
    log.look({"s": [file]}, complete=False)
    assert found(log) == [("s", 0, 27)]


def test_at_the_end_a_last_line_needs_no_line_end(tmp_path: Path) -> None:
    file, log = tmp_path / "s.tnq", SourceLog(tmp_path / "log")
    file.write_text("1\ta\n2\tb")
    log.look({"s": [file]}, complete=True)
    assert found(log) == [("s", 0, 7)]


def test_a_file_that_became_shorter_is_an_error(tmp_path: Path) -> None:
    file, log = tmp_path / "s.tnq", SourceLog(tmp_path / "log")
    file.write_text("1\ta\n2\tb\n")
    log.look({"s": [file]}, complete=False)
    file.write_text("1\ta\n")
    with pytest.raises(DataError, match="shorter than before"):
        log.look({"s": [file]}, complete=False)


def test_a_log_cut_short_by_a_crash_is_read_up_to_its_last_line(tmp_path: Path) -> None:
    file, path = tmp_path / "s.tnq", tmp_path / "log"
    file.write_text("1\ta\n")
    SourceLog(path).look({"s": [file]}, complete=False)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[: len(whole) // 2])
    assert len(SourceLog(path).pieces) == 1
    assert path.read_bytes() == whole


@pytest.mark.parametrize("size", [1, 7, 30, 1000])
def test_a_file_is_cut_between_elements(size: int) -> None:
    graph = [b"%d\t<x:a> <x:p> <x:%d> <x:g> .\n" % (number // 3, number) for number in range(9)]
    data = b"".join(graph) + b"7\n8\t<x:a> <x:p> <x:b> .\n"
    ends = cut(data, size, TIMED)
    assert ends[-1] == len(data)
    starts = {sum(map(len, graph[:number])) for number in (0, 3, 6, 9)}
    assert all(end in starts or end >= max(starts) for end in ends)


def test_results_of_one_instant_are_not_cut_apart() -> None:
    head = b'{"query": "q", "at": %d, "seq": 0, "windows": {}, "triple": [%d]}\n'
    data = b"".join(head % (number // 2, number) for number in range(6))
    size = len(head % (0, 0))
    assert cut(data, 1, Format.NDJSON) == [2 * size, 4 * size, 6 * size]
    assert unfinished(data, 0, len(data), Format.NDJSON) == 4 * size


def test_generated_elements_come_by_the_clock(tmp_path: Path) -> None:
    now = 1_000_000_000
    clock = SteadyClock(lambda: now, None)
    log, sources = SourceLog(tmp_path / "log"), Sources({"s": ["rate:10"]}, clock)
    sources.look(log, complete=False)
    now += 2_500_000
    sources.look(log, complete=False)
    assert [(each.start, each.stop) for each in log.pieces] == [(0, 0), (0, 25)]
    lines = log.pieces[1].content().splitlines()
    assert len(lines) == 25
    assert lines[0].startswith(b"1000000\t")


def test_a_generator_goes_on_when_its_clock_is_set_and_makes_small_pieces(tmp_path: Path) -> None:
    wall, up = 10**15, 0
    log = SourceLog(tmp_path / "log")
    sources = Sources({"s": ["rate:1000"]}, SteadyClock(lambda: wall, lambda: up))
    sources.look(log, complete=False)
    up, wall = 4_000_000, wall - 3_600_000_000
    sources.look(log, complete=False)
    assert log.pieces[-1].stop == 2000  # at half its speed
    up, wall = 8_000_000, wall + 7_200_000_000
    sources.look(log, complete=False)
    up, wall = 19_000_000, wall + 11_000_000
    sources.look(log, complete=False)
    ends = [0, *(each.stop for each in log.pieces)]
    assert ends == sorted(ends)
    assert ends[-1] > 3_600_000
    assert max(each.stop - each.start for each in log.pieces) <= 50_000
    again = Sources({"s": ["rate:1000"]}, SteadyClock(lambda: 10**15, lambda: up))
    again.look(log, complete=False)
    assert log.pieces[-1].stop == ends[-1]  # a restart with a corrected clock makes none twice


def test_pieces_are_as_large_as_they_should_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cutting, "PIECE", 100)
    file, log = tmp_path / "s.tnq", SourceLog(tmp_path / "log")
    file.write_text("".join(f"{number}\t<x:a> <x:p> <x:b> .\n" for number in range(50)))
    log.look({"s": [file]}, complete=True)
    assert len(log.pieces) == 10
    assert b"".join(each.content() for each in log.pieces) == file.read_bytes()
    assert isinstance(log.pieces[0], Piece)


def test_what_was_read_is_forgotten_but_not_where_its_file_goes_on(tmp_path: Path) -> None:
    source, log = tmp_path / "a.tnq", SourceLog(tmp_path / "source.log")
    source.write_text("1\t<x:a> <x:b> <x:c> .\n")
    log.look({"s": [source]}, complete=True)
    log.forget(1)
    assert log.pieces == []
    with source.open("a") as file:
        file.write("2\t<x:a> <x:b> <x:d> .\n")
    log.look({"s": [source]}, complete=True)
    assert log.count == 2
    [piece] = log.between(1, 9)
    assert (piece.ordinal, piece.start, piece.stop) == (1, 22, 44)
    assert log.between(2, 9) == []
    assert [each.ordinal for each in SourceLog(log.path).pieces] == [0, 1]
