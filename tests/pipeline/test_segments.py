"""Logs of what was received, read while they are written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headrace.ingest.log import IngestLog, is_segment
from headrace.ingest.records import Record
from headrace.pipeline.pieces import SourceLog
from headrace.pipeline.streams import Sources

RECORD = Record(7, "application/n-quads", b"<x:a> <x:b> <x:c> .")


def look(folder: Path, log: Path, *, complete: bool) -> list[tuple[int, int]]:
    found = SourceLog(log)
    Sources({"s": [str(folder)]}).look(found, complete=complete)
    return [(piece.start, piece.stop) for piece in found.pieces]


@pytest.mark.parametrize("complete", [False, True])
def test_a_line_that_is_being_written_is_left_for_later(tmp_path: Path, complete: bool) -> None:
    folder, size = tmp_path / "received", len(RECORD.line())
    with IngestLog(folder) as log:
        log.append([RECORD])
        [segment] = folder.glob("*.ndjson")
        with segment.open("ab") as file:
            file.write(RECORD.line()[:-5])
        assert look(folder, tmp_path / "log", complete=complete) == [(0, size)]
        with segment.open("ab") as file:
            file.write(RECORD.line()[-5:])
        assert look(folder, tmp_path / "log", complete=complete)[-1] == (size, 2 * size)


def test_a_file_of_a_user_is_complete_without_a_last_line_end(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "00000001.ndjson").write_bytes(RECORD.line()[:-1])
    assert not is_segment(folder / "00000001.ndjson")
    assert look(folder, tmp_path / "log", complete=True) == [(0, len(RECORD.line()) - 1)]


def test_what_was_seen_of_a_log_is_on_disk_before_it_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "received"
    with IngestLog(folder) as log:
        log.append([RECORD])
    synced: list[str] = []
    fsync = os.fsync

    def noted(file: int) -> None:
        synced.append(Path(f"/proc/self/fd/{file}").readlink().name)
        fsync(file)

    monkeypatch.setattr(os, "fsync", noted)
    look(folder, tmp_path / "source.log", complete=False)
    assert synced == ["00000001.ndjson", "source.log"]
    look(folder, tmp_path / "source.log", complete=False)
    assert len(synced) == 2
