"""A source log that is shortened while it is read and added to, and files that come and go."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headrace.errors import MachineError
from headrace.ingest.log import IngestLog
from headrace.ingest.records import Record
from headrace.pipeline import pieces as module
from headrace.pipeline.following import LogFollower
from headrace.pipeline.pieces import Piece, SourceLog, read_pieces
from headrace.pipeline.streams import Sources


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LEAST", 2_000)


def piece(number: int, file: int = 0) -> Piece:
    return Piece(number, "s", f"/there/{file}.tnq", 10 * number, 10 * number + 10, file)


def test_a_log_stays_small_and_knows_all_that_it_must(tmp_path: Path) -> None:
    log = SourceLog(tmp_path / "source.log")
    follower = LogFollower(log.path)
    sizes = []
    for number in range(500):
        log.add([piece(number, number // 100)])
        assert log.between(number, number + 1) == [piece(number, number // 100)]
        assert follower.pieces(number, number + 1) == [piece(number, number // 100)]
        log.forget(max(0, number - 3))
        log.shorten()
        sizes.append(log.path.stat().st_size)
    assert max(sizes) < 10_000
    for found in (log, SourceLog(log.path, 500)):
        assert found.count == 500
        assert found.between(497, 500) == [piece(each, 4) for each in (497, 498, 499)]
        for file in range(5):
            known = found.last_of("s", f"/there/{file}.tnq")
            assert known == piece(100 * file + 99, file)
    again = LogFollower(log.path).pieces(0, 500)
    assert {each.path: each.stop for each in again} == {
        f"/there/{file}.tnq": 1000 * file + 1000 for file in range(5)
    }
    again = LogFollower(log.path).pieces(497, 500)
    assert [each.ordinal for each in again] == [497, 498, 499]


def test_what_is_missing_of_a_shortened_log_is_missed(tmp_path: Path) -> None:
    log = SourceLog(tmp_path / "source.log")
    log.add([piece(each, each % 3) for each in range(50)])
    log.forget(45)
    log.shorten()
    content = log.path.read_bytes()
    SourceLog(log.path, 50)
    with pytest.raises(MachineError, match="50 pieces, and 51 were read"):
        SourceLog(log.path, 51)
    for place in range(0, len(content) - 1, 7):
        log.path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(MachineError, match=r"source\.log"):
            SourceLog(log.path, 50)


def test_a_disk_that_is_full_leaves_the_log_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = SourceLog(tmp_path / "source.log")
    log.add([piece(each) for each in range(50)])
    log.forget(45)
    content = log.path.read_bytes()

    def full(_file: int, _content: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        log.shorten()
    assert log.path.read_bytes() == content
    assert [each.name for each in tmp_path.iterdir()] == ["source.log"]
    log.add([piece(50)])
    log.shorten()
    assert log.path.stat().st_size < len(content)
    assert read_pieces(log.path).count == 51


def test_segments_that_are_gone_are_not_known_for_ever(tmp_path: Path) -> None:
    source_log = SourceLog(tmp_path / "source.log")
    sources = Sources({"s": [str(tmp_path / "log")]})
    with IngestLog(tmp_path / "log", segment=1) as log:
        for number in range(60):
            log.append([Record(number, "application/n-quads", b"<x:a> <x:b> <x:c> .")])
            sources.look(source_log, complete=False)
            source_log.forget(source_log.count - 1)
            log.prune(log.segments[-1])
            source_log.shorten()
        assert source_log.count == 60
        assert [each.file for each in source_log.between(59, 60)] == [59]
    found = read_pieces(source_log.path)
    assert len(found.before) < 20
    assert source_log.path.stat().st_size < 10_000
