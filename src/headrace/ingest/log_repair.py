"""Find and replace damaged records of an ingest log that no run has open."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headrace.durable import sync_directory
from headrace.errors import DamagedError
from headrace.ingest.log import IDS, kept_ids, segments_of
from headrace.ingest.records import is_damaged, sealed_line

_PROBLEM: Final = "the record was damaged on disk"
_SHORTEST: Final = len(sealed_line({"received": 0, "data": "", "problem": ""}))


@dataclass(frozen=True, slots=True)
class DamagedRecord:
    """A line of a segment that is not what was written.

    Attributes:
        path: the segment.
        start: where the line begins in it.
        length: how many bytes it has, with its line end.
    """

    path: Path
    start: int
    length: int

    def text(self) -> str:
        """Name the record."""
        return f"{self.path} is damaged: the record at byte {self.start} is not what was written"


def damaged_records(folder: Path) -> Iterator[DamagedRecord]:
    """Find the damaged records of a log, of those that were written whole."""
    for path in segments_of(folder):
        content = path.read_bytes()
        start = 0
        for line in content[: content.rfind(b"\n") + 1].split(b"\n")[:-1]:
            length = len(line) + 1
            if is_damaged(line):
                yield DamagedRecord(path, start, length)
            start += length


def damaged_ids(folder: Path) -> str | None:
    """Say what is wrong with the ids of a log, if something is."""
    try:
        kept_ids(folder / IDS)
    except DamagedError as error:
        return str(error)
    return None


def repair_log(folder: Path, aside: Path) -> list[str]:
    """Replace each damaged record by a rejected one of the same length, and remove damaged ids.

    Positions in the segments stay as they are, for runs have written them down.

    Args:
        folder: the log.
        aside: where the damaged files are stored as they were.

    Returns:
        What was done.
    """
    done = []
    for record in list(damaged_records(folder)):
        _copy_aside(record.path, aside)
        with record.path.open("r+b") as segment:
            segment.seek(record.start)
            segment.write(_rejected(record.length))
            segment.flush()
            os.fsync(segment.fileno())
        done.append(
            f"the record at byte {record.start} of {record.path} is rejected when it is read"
        )
    if damaged_ids(folder) is not None:
        _copy_aside(folder / IDS, aside)
        (folder / IDS).unlink()
        sync_directory(folder)
        done.append(f"{folder / IDS} is removed: a push that is repeated may be taken twice")
    return done


def _copy_aside(path: Path, aside: Path) -> None:
    stored = aside / path.parent.name / path.name
    if not stored.exists():
        stored.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copy2(path, stored)


def _rejected(length: int) -> bytes:
    """Write a rejected record of a length; spaces fill it up, and a very short one is blank."""
    if length < _SHORTEST:
        return b" " * (length - 1) + b"\n"
    problem = _PROBLEM[: max(0, length - _SHORTEST)]
    line = sealed_line({"received": 0, "data": "", "problem": problem})
    padding = length - len(line)
    if padding:
        whole = json.loads(line)
        whole.pop("xxh3")
        line = sealed_line({**whole, "problem": problem + " " * padding})
    return line
