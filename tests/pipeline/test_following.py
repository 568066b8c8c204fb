"""A source log, read while another process adds to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.errors import MachineError
from headrace.pipeline.following import LogFollower
from headrace.pipeline.pieces import Piece, SourceLog


def piece(number: int) -> Piece:
    return Piece(number, "s", "/there/file.tnq", 10 * number, 10 * number + 10)


def test_pieces_are_read_as_they_are_added(tmp_path: Path) -> None:
    log = SourceLog(tmp_path / "source.log")
    follower = LogFollower(log.path)
    log.add([piece(0), piece(1), piece(2)])
    assert follower.pieces(1, 2) == [piece(1)]
    assert follower.pieces(2, 3) == [piece(2)]
    log.add([piece(3)])
    assert follower.pieces(3, 4) == [piece(3)]
    assert follower.pieces(4, 4) == []


def test_nothing_is_read_where_there_is_nothing(tmp_path: Path) -> None:
    assert LogFollower(tmp_path / "source.log").pieces(0, 0) == []


def test_pieces_can_be_read_again(tmp_path: Path) -> None:
    log = SourceLog(tmp_path / "source.log")
    log.add([piece(0), piece(1)])
    follower = LogFollower(log.path)
    assert follower.pieces(0, 2) == follower.pieces(0, 2) == [piece(0), piece(1)]


def test_a_piece_that_should_be_there_is_missed(tmp_path: Path) -> None:
    log = SourceLog(tmp_path / "source.log")
    log.add([piece(0)])
    follower = LogFollower(log.path)
    with pytest.raises(MachineError, match="has no piece 1"):
        follower.pieces(0, 2)
    log.add([piece(1)])
    assert follower.pieces(0, 2) == [piece(0), piece(1)]


def test_damage_is_found(tmp_path: Path) -> None:
    log = SourceLog(tmp_path / "source.log")
    log.add([piece(0)])
    log.path.write_bytes(log.path.read_bytes().replace(b'"stop": 10', b'"stop": 11'))
    with pytest.raises(MachineError, match="line 1 is not what its checksum says"):
        LogFollower(log.path).pieces(0, 1)
