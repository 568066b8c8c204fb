"""A log keeps what it has returned for, whatever happens."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import MachineError, SettingError
from headrace.ingest.log import RECENT, IngestLog, LogFull
from headrace.ingest.records import Record, is_damaged, sealed_line
from tests.ingest.logs import lines_of, payloads

NQ = "application/n-quads"


def record(data: bytes, name: str | None = None) -> Record:
    return Record(1, NQ, data, id=name)


def test_a_record_is_a_line_that_says_all_of_it(tmp_path: Path) -> None:
    with IngestLog(tmp_path) as log:
        log.append([Record(1_500_000, NQ, b"a\nb", "1970-01-01T00:00:01Z", "x")])
    assert (tmp_path / "00000001.ndjson").read_bytes().count(b"\n") == 1
    [said] = lines_of(tmp_path)
    assert len(said.pop("xxh3")) == 16
    assert [said] == [
        {
            "received": 1_500_000,
            "type": NQ,
            "data": "a\nb",
            "time": "1970-01-01T00:00:01Z",
            "id": "x",
        }
    ]


@given(data=st.binary() | st.text().map(lambda text: text.encode(errors="replace")))
def test_any_payload_is_one_line_and_comes_back(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    line = record(data).line()
    assert line.count(b"\n") == 1
    assert b"\r" not in line
    directory = tmp_path_factory.mktemp("log")
    (directory / "00000001.ndjson").write_bytes(line)
    assert payloads(directory) == [data]


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    directory = tmp_path / "a" / "log"
    with IngestLog(directory, segment=1) as log:
        log.append([record(b"a")])
        log.append([record(b"b")])
        log.prune("00000001.ndjson")
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()} == {0o600}


def test_a_line_torn_at_any_byte_is_cut_off(tmp_path: Path) -> None:
    whole = record(b"first", "1").line()
    torn = record("zweite Zeile: \u00fc".encode(), "2").line()
    segment = tmp_path / "00000001.ndjson"
    for length in range(len(torn)):
        segment.write_bytes(whole + torn[:length])
        with IngestLog(tmp_path) as log:
            assert segment.read_bytes() == whole
            assert log.recent_ids == ("1",)
            assert log.size == len(whole)
            log.append([record(b"third")])
        assert payloads(tmp_path) == [b"first", b"third"]


def test_a_line_that_only_lacks_nothing_stays(tmp_path: Path) -> None:
    (tmp_path / "00000001.ndjson").write_bytes(record(b"a", "1").line())
    with IngestLog(tmp_path) as log:
        assert log.recent_ids == ("1",)


def test_a_torn_line_is_cut_off_only_in_the_last_segment(tmp_path: Path) -> None:
    (tmp_path / "00000001.ndjson").write_bytes(record(b"a").line())
    (tmp_path / "00000002.ndjson").write_bytes(b'{"rec')
    with IngestLog(tmp_path) as log:
        log.append([record(b"b")])
        assert log.segments == ("00000001.ndjson", "00000002.ndjson")
    assert payloads(tmp_path) == [b"a", b"b"]


def test_a_line_with_a_hole_does_not_keep_the_log_shut(tmp_path: Path) -> None:
    (tmp_path / "00000001.ndjson").write_bytes(b"\0\0\0\n" + record(b"a", "1").line())
    with IngestLog(tmp_path) as log:
        assert log.recent_ids == ("1",)


def test_a_full_segment_is_followed_by_the_next(tmp_path: Path) -> None:
    line = len(record(b"x0").line())
    with IngestLog(tmp_path, segment=2 * line) as log:
        for number in range(5):
            log.append([record(b"x%d" % number)])
        assert log.segments == ("00000001.ndjson", "00000002.ndjson", "00000003.ndjson")
        assert log.size == 5 * line
    assert payloads(tmp_path) == [b"x0", b"x1", b"x2", b"x3", b"x4"]


def test_a_group_is_never_divided_among_segments(tmp_path: Path) -> None:
    with IngestLog(tmp_path, segment=1) as log:
        log.append([record(b"a"), record(b"b"), record(b"c")])
        log.append([record(b"d")])
        assert log.segments == ("00000001.ndjson", "00000002.ndjson")


def test_a_reopened_log_goes_on_in_the_same_segment(tmp_path: Path) -> None:
    for data in (b"a", b"b"):
        with IngestLog(tmp_path) as log:
            log.append([record(data)])
    assert [path.name for path in tmp_path.glob("*.ndjson")] == ["00000001.ndjson"]
    assert payloads(tmp_path) == [b"a", b"b"]


def test_pruning_deletes_whole_segments_but_not_the_last(tmp_path: Path) -> None:
    with IngestLog(tmp_path, segment=1) as log:
        for data in (b"a", b"b", b"c", b"d"):
            log.append([record(data)])
        log.prune("00000002.ndjson")
        assert list(log.segments) == ["00000003.ndjson", "00000004.ndjson"]
        assert log.size == 2 * len(record(b"a").line())
        log.prune("99999999.ndjson")
        assert list(log.segments) == ["00000004.ndjson"]
        log.append([record(b"e")])
    with IngestLog(tmp_path) as log:
        assert log.segments == ("00000004.ndjson", "00000005.ndjson")


def test_the_last_record_is_never_pruned(tmp_path: Path) -> None:
    """The next one must not have arrived before it."""
    with IngestLog(tmp_path, segment=1) as log:
        for received in (5, 7):
            log.append([Record(received, NQ, b"a")])
    (tmp_path / "00000003.ndjson").touch()  # its first write has failed
    with IngestLog(tmp_path, segment=1) as log:
        log.prune("00000003.ndjson")
        assert log.segments == ("00000002.ndjson", "00000003.ndjson")
        assert log.last_received() == 7


def test_what_has_no_time_does_not_hide_the_last_time(tmp_path: Path) -> None:
    with IngestLog(tmp_path) as log:
        assert log.last_received() is None
        log.append([Record(5, NQ, b"a")])
        log.append([Record(6, NQ, b"", problem="too long")])
        assert log.last_received() == 6
    repaired = sealed_line({"received": 0, "data": "", "problem": "it was damaged"})
    with (tmp_path / "00000001.ndjson").open("ab") as file:
        file.write(repaired)
    with IngestLog(tmp_path) as log:
        assert log.last_received() == 6


def test_ids_outlive_their_segments(tmp_path: Path) -> None:
    with IngestLog(tmp_path, segment=1) as log:
        for name in "abcd":
            log.append([record(b"x", name)])
        log.prune("00000003.ndjson")
        log.append([record(b"x", "e"), record(b"x")])
        assert log.recent_ids == tuple("abcde")
    with IngestLog(tmp_path) as log:
        assert log.recent_ids == tuple("abcde")


def test_only_the_last_ids_are_remembered(tmp_path: Path) -> None:
    names = [str(number) for number in range(RECENT + 5)]
    with IngestLog(tmp_path, segment=100_000) as log:
        for start in range(0, len(names), 1_000):
            log.append([record(b"", name) for name in names[start : start + 1_000]])
        assert log.recent_ids == tuple(names[5:])
    with IngestLog(tmp_path) as log:
        assert log.recent_ids == tuple(names[5:])


def test_a_quota_is_kept_until_there_is_room(tmp_path: Path) -> None:
    line = len(record(b"a").line())
    with IngestLog(tmp_path, segment=1, quota=2 * line) as log:
        log.append([record(b"a")])
        log.append([record(b"b")])
        with pytest.raises(LogFull, match="quota"):
            log.append([record(b"c")])
        assert payloads(tmp_path) == [b"a", b"b"]
        log.prune("00000001.ndjson")
        log.append([record(b"c")])
    assert payloads(tmp_path) == [b"b", b"c"]
    with IngestLog(tmp_path, quota=2 * line) as log, pytest.raises(LogFull):
        log.append([record(b"d")])


def test_a_full_disk_leaves_nothing_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    budget = 0

    def until_full(file: int, data: bytes) -> int:
        nonlocal budget
        if not budget:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = write(file, data[:budget])
        budget -= written
        return written

    group = [record(b"second"), record(b"third")]
    with IngestLog(tmp_path) as log:
        log.append([record(b"first")])
        before = (tmp_path / "00000001.ndjson").read_bytes()
        monkeypatch.setattr(os, "write", until_full)
        for room in range(sum(len(each.line()) for each in group)):
            budget = room
            with pytest.raises(MachineError, match=f"{tmp_path}: No space left on device"):
                log.append(group)
            assert (tmp_path / "00000001.ndjson").read_bytes() == before
        monkeypatch.undo()
        log.append(group)
    assert payloads(tmp_path) == [b"first", b"second", b"third"]


def test_what_cannot_be_synced_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with IngestLog(tmp_path) as log:
        monkeypatch.setattr(os, "fsync", failing)
        with pytest.raises(MachineError, match="Input/output error"):
            log.append([record(b"a", "1")])
        monkeypatch.undo()
        assert log.recent_ids == ()
        assert log.size == 0
    assert payloads(tmp_path) == []


def test_what_could_not_be_cut_off_is_cut_off_before_more_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with IngestLog(tmp_path) as log:
        log.append([record(b"a")])
        monkeypatch.setattr(os, "fsync", failing)
        monkeypatch.setattr(os, "ftruncate", failing)
        with pytest.raises(MachineError, match="Input/output error"):
            log.append([record(b"b")])
        with pytest.raises(MachineError, match="Input/output error"):
            log.append([record(b"c")])
        monkeypatch.undo()
        log.append([record(b"d")])
    with IngestLog(tmp_path) as log:
        log.append([record(b"e")])
    assert payloads(tmp_path) == [b"a", b"d", b"e"]


def test_there_is_one_writer(tmp_path: Path) -> None:
    with IngestLog(tmp_path):
        with pytest.raises(SettingError, match="another run"):
            IngestLog(tmp_path)
        text = (
            "import sys, pathlib, headrace.ingest.log as l; l.IngestLog(pathlib.Path(sys.argv[1]))"
        )
        command = [sys.executable, "-c", text, str(tmp_path)]
        other = subprocess.run(command, check=False, capture_output=True, text=True)
        assert "another run" in other.stderr
    IngestLog(tmp_path).close()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MachineError, match=str(tmp_path / "file")):
        IngestLog(tmp_path / "file" / "log")
    with pytest.raises(MachineError, match=str(tmp_path / "file")):
        IngestLog(tmp_path / "file")


def test_threads_share_a_log(tmp_path: Path) -> None:
    with IngestLog(tmp_path, segment=2_000) as log:

        def write(name: str) -> None:
            for number in range(50):
                log.append([record(f"{name}{number}".encode())])

        threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert log.size == sum(path.stat().st_size for path in tmp_path.glob("*.ndjson"))
    found = payloads(tmp_path)
    for name in "abcd":
        own = [data for data in found if data.startswith(name.encode())]
        assert own == [f"{name}{number}".encode() for number in range(50)]


def test_no_flipped_byte_of_a_record_is_believed() -> None:
    line = Record(1_500_000, NQ, b"<x:a> <x:b> 'c' .", "1970-01-01T00:00:01Z", "x").line()
    assert not is_damaged(line)
    for place in range(len(line) - 1):
        for flip in (1, 4, 0x20):
            damaged = line[:place] + bytes([line[place] ^ flip]) + line[place + 1 :]
            assert is_damaged(damaged), damaged


@pytest.mark.parametrize(
    "line",
    [
        b'{"received":1,"type":"text/turtle","data":"","id":"0123456789abcdef"}\n',
        b'{"received":1,"type":"text/turtle","data":"xxh3"}\n',
    ],
)
def test_records_without_a_checksum_are_taken(line: bytes) -> None:
    assert not is_damaged(line)


def test_an_append_that_fails_is_followed_by_another_segment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with IngestLog(tmp_path) as log:
        for data in (b"a", b"b"):
            monkeypatch.setattr(os, "fsync", failing)
            with pytest.raises(MachineError, match="Input/output error"):
                log.append([record(b"lost")])
            monkeypatch.undo()
            log.append([record(data)])
        # The first segment never had a record that was acknowledged.
        assert log.segments == ("00000002.ndjson", "00000003.ndjson")
    assert payloads(tmp_path) == [b"a", b"b"]


def test_damaged_ids_are_refused_by_name(tmp_path: Path) -> None:
    with IngestLog(tmp_path, segment=1) as log:
        log.append([record(b"a", "1")])
        log.append([record(b"b", "2")])
        log.prune("00000001.ndjson")
    ids = tmp_path / "recent-ids"
    ids.write_bytes(ids.read_bytes().replace(b'"1"', b'"7"'))
    with pytest.raises(MachineError, match=r"recent-ids is damaged.*doctor"):
        IngestLog(tmp_path)
    ids.write_text('["1"]')  # of an older version
    with IngestLog(tmp_path) as log:
        assert log.recent_ids == ("1", "2")
