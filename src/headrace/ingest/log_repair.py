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
from headrace.ingest.log import IDS, LOCK, kept_ids, read_whole, segments_of, write_ids
from headrace.ingest.records import is_damaged, is_record, sealed_line

_PROBLEM: Final = "the record was damaged on disk"
_SHORTEST: Final = len(sealed_line({"received": 0, "data": "", "problem": ""}))


@dataclass(frozen=True, slots=True)
class DamagedRecord:
    """A line of a segment that is not what was written.

    Attributes:
        path: the segment.
        start: where the line begins in it.
        length: how many bytes it has, with its line end.
        whole: the record itself, if only its line end is lost.
    """

    path: Path
    start: int
    length: int
    whole: bytes | None = None

    def replacement(self) -> bytes:
        """Return the line to put in its place."""
        return _rejected(self.length) if self.whole is None else self.whole + b"\n"

    def done(self) -> str:
        """Say what has become of it."""
        record = f"the record at byte {self.start} of {self.path}"
        if self.whole is not None:
            return f"{record} has its line end again"
        return f"{record} is rejected when it is read"

    def text(self) -> str:
        """Name the record."""
        return f"{self.path} is damaged: the record at byte {self.start} is not what was written"


@dataclass(frozen=True, slots=True)
class LostEnd:
    """The end of a segment that was read and is there no longer.

    Attributes:
        path: the segment.
        length: how many bytes its whole records have.
        read: how many bytes were read.
    """

    path: Path
    length: int
    read: int

    def text(self) -> str:
        """Name the segment."""
        return (
            f"{self.path} is damaged: its records end at byte {self.length:,}, and {self.read:,} "
            "bytes were read"
        )


def misplaced_folders(folder: Path) -> list[Path]:
    """List the folders that stand where a log has its files."""
    files = (*segments_of(folder), folder / IDS, folder / LOCK)
    return [path for path in files if path.is_dir()]


def damaged_records(folder: Path) -> Iterator[DamagedRecord]:
    """Find the damaged records of a log, of those that were written whole."""
    paths = segments_of(folder)
    for path in paths:
        content = read_whole(path)
        end = content.rfind(b"\n") + 1
        start = 0
        for line in content[:end].split(b"\n")[:-1]:
            length = len(line) + 1
            if is_damaged(line):
                yield DamagedRecord(path, start, length)
            start += length
        tail = content[end:]
        # A segment that is done has no torn end, and a whole record has a line end.
        whole = next((each for each in (tail, tail[:-1]) if is_record(each)), None)
        if tail and (path != paths[-1] or is_record(tail[:-1])):
            yield DamagedRecord(path, end, len(tail), whole)


def end_of_records(path: Path) -> int:
    """Return where the last whole record of a segment ends; 0 if there is no such file."""
    return read_whole(path).rfind(b"\n") + 1 if path.exists() else 0


def damaged_ids(folder: Path) -> str | None:
    """Say what is wrong with the ids of a log, if something is."""
    try:
        kept_ids(folder)
    except DamagedError as error:
        return str(error)
    return None


def fill_end(lost: LostEnd, aside: Path) -> str:
    """Put a rejected record in the place of a lost end, so that what follows is read again.

    Args:
        lost: the end.
        aside: where the segment is stored as it was.

    Returns:
        What was done.
    """
    if lost.path.exists():
        _copy_aside(lost.path, aside)
    lost.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _overwrite(lost.path, lost.length, _rejected(lost.read - lost.length))
    return (
        f"the bytes from {lost.length:,} to {lost.read:,} of {lost.path} are a rejected record: "
        "they were read before, and a push in them that is repeated may be taken twice"
    )


def _overwrite(path: Path, start: int, content: bytes) -> None:
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    with os.fdopen(handle, "r+b") as segment:
        segment.seek(start)
        segment.write(content)
        segment.flush()
        os.fsync(segment.fileno())
    sync_directory(path.parent)


def repair_log(folder: Path, aside: Path) -> list[str]:
    """Replace each damaged record by a rejected one of the same length, and begin damaged ids anew.

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
        _overwrite(record.path, record.start, record.replacement())
        done.append(record.done())
    if damaged_ids(folder) is not None:
        if (folder / IDS).exists():
            _copy_aside(folder / IDS, aside)
        write_ids(folder, (), segments_of(folder))
        done.append(f"{folder / IDS} is begun anew: a push that is repeated may be taken twice")
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
