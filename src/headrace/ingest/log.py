"""Ingest logs: payloads that their sender does not repeat, on disk before they are acknowledged.

A log is a folder of segments, `00000001.ndjson` and so on, that are only ever appended to. A
record that `append` has returned for survives any crash. One that it has not returned for may be
there or not, but never in part: all that a crash can leave of it is a line without an end, which
the next opening cuts off and which no reader takes for a line.

Beside the segments are `lock`, which the one writer has locked, and `recent-ids`, the ids of
records whose segments are deleted, so that a record that is sent again is recognised nevertheless.
"""

from __future__ import annotations

import json
import mmap
import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Final, Self

from headrace.durable import AppendFile, locked, sync_directory
from headrace.errors import DamagedError, MachineError, UnwritableError
from headrace.ingest.records import (
    Record,
    id_of_line,
    is_damaged,
    is_record,
    received_of_line,
    record_of_line,
    sealed_line,
)

SEGMENT: Final = 64 << 20
"""So many bytes make a segment full."""

RECENT: Final = 20_000
"""So many ids are remembered; no broker has more messages under way to one client."""

_PROBE: Final = 4096
"""So many bytes are written to see whether the disk takes them."""
_SUFFIX: Final = ".ndjson"
_DIGITS: Final = 8
IDS: Final = "recent-ids"
LOCK: Final = "lock"


class LogFull(MachineError):  # noqa: N818 - a state that ends by itself, when readers have read
    """A log has reached its quota; there is room again when what has been read is pruned."""

    def __init__(self, message: str, more: int) -> None:
        """Take what is wrong, and how many bytes there was no room for."""
        super().__init__(message)
        self.more = more


class IngestLog:
    """The one writer of a log; its methods may be called from several threads."""

    def __init__(
        self,
        directory: Path,
        *,
        segment: int = SEGMENT,
        quota: int | None = None,
        span: int | None = None,
    ) -> None:
        """Open a log, or make one.

        Args:
            directory: the folder it is kept in.
            segment: how many bytes make a segment full, so that the next one is begun.
            quota: how many bytes all segments may have together.
            span: for how many microseconds of arrival records go into one segment, so that old
                ones can be pruned soon; for any time if None.

        Raises:
            SettingError: another process is writing to it.
            MachineError: the folder cannot be written to.
        """
        self.directory = directory
        self._segment = segment
        self._quota = quota
        self._span = span
        self._begun: int | None = None
        self._guard = Lock()
        self._closed = False
        self._has_failed = False
        with self._failing("open"):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            directory.chmod(0o700)
            self._lock = self._locked()
        try:
            with self._failing("open"):
                self._open()
        except BaseException:
            os.close(self._lock)
            raise

    def _locked(self) -> int:
        return locked(
            self.directory / LOCK,
            f"the ingest log {self.directory} is being written by another run; "
            "stop that one, or give this one a folder of its own",
        )

    def _open(self) -> None:
        found = self._paths()
        for done in found[:-1]:
            _check_end(done)
        path = found[-1] if found else self._numbered(1)
        self._file = AppendFile(path, _end_of_lines(path) if found else 0)
        try:
            sync_directory(self.directory)
            self._size = sum(path.stat().st_size for path in self._paths())
            self._ids = deque(self._read_ids(), RECENT)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        """Use it until the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Release the log, so that another process can write to it."""
        self.close()

    def close(self) -> None:
        """Release the log, so that another process can write to it."""
        with self._guard:
            if not self._closed:
                self._file.close()
                os.close(self._lock)
                self._closed = True

    @property
    def size(self) -> int:
        """The bytes of all segments."""
        return self._size

    @property
    def segments(self) -> tuple[str, ...]:
        """The names of the segments, oldest first."""
        return tuple(path.name for path in self._paths())

    def last_record(self) -> Record | None:
        """Return the record that was put on disk last, of those that are still there."""
        for path in reversed(self._paths()):
            for line in _lines_backwards(path):
                return record_of_line(line)
        return None

    def last_received(self) -> int | None:
        """Return the time at which the last record arrived; the next must not be earlier."""
        return last_received(segments_of(self.directory))

    @property
    def recent_ids(self) -> tuple[str, ...]:
        """The ids of the last records that have one, oldest first, pruned ones among them."""
        with self._guard:
            return tuple(self._ids)

    def append(self, records: Sequence[Record], *, urgent: bool = False) -> Sequence[bytes]:
        """Put records on disk, all of them or none; they are there when this returns.

        Args:
            records: what to write.
            urgent: whether they may go beyond the quota by the size of a segment: what lets time
                go on must come in, or what is there would never have been read for good.

        Returns:
            The lines that they have become.

        Raises:
            LogFull: they would exceed the quota.
            MachineError: the disk is full or broken.
        """
        if not records:
            return ()
        lines = [record.line() for record in records]
        text = b"".join(lines)
        with self._guard:
            self._admit(len(text), self._segment if urgent else 0)
            with self._failing("write to"):
                if self._is_full(records[0].received) or self._has_failed:
                    self._begin_segment()
                    self._has_failed = False
                    self._begun = records[0].received
                try:
                    self._file.append(text)
                except OSError:
                    # A reader may have seen lines before they were cut off, so nothing may take
                    # their place in this segment.
                    self._has_failed = True
                    raise
            self._size += len(text)
            self._ids.extend(record.id for record in records if record.id is not None)
        return lines

    def _is_full(self, now: int) -> bool:
        """Test whether the next record belongs into another segment."""
        if self._begun is None:  # a segment of an earlier run is continued for a whole span
            self._begun = now
        is_old = self._span is not None and now - self._begun >= self._span
        return self._file.length >= self._segment or (is_old and self._file.length > 0)

    def _admit(self, more: int, beyond: int) -> None:
        if self._closed:
            raise MachineError(f"the ingest log {self.directory} is closed; open it again")
        if self._quota is not None and self._size + more > self._quota + beyond:
            raise LogFull(
                f"the ingest log {self.directory} has {self._size:,} bytes, "
                f"and {more:,} more would exceed its quota of {self._quota:,}",
                more,
            )

    def _begin_segment(self) -> None:
        self._file.repair()
        segment = AppendFile(self._numbered(int(self._file.path.stem) + 1), 0)
        try:
            sync_directory(self.directory)
        except OSError:
            segment.close()
            raise
        self._file.close()
        if not self._file.length:  # nothing but what has failed was ever in it
            paths = self._paths()
            if paths[0] == self._file.path:
                write_ids(self.directory, self._ids, paths[1:])
            self._file.path.unlink(missing_ok=True)
        self._file = segment

    def check_writable(self, size: int = 0) -> None:
        """Check that the disk takes writes again, after one has failed.

        Args:
            size: the bytes that could not be written.

        Raises:
            MachineError: it does not.
        """
        with self._guard, self._failing("write to"):
            self._file.repair()
            probe = self.directory / "probe"
            file = os.open(probe, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
            try:
                left = max(size, _PROBE)
                while left > 0:
                    left -= os.write(file, bytes(min(left, _PROBE)))
                os.fsync(file)
            finally:
                os.close(file)
                probe.unlink(missing_ok=True)

    def prune(self, through: str) -> None:
        """Delete the segments up to one, by name; the last one stays, for it is being written.

        So does the one with the last record, because a later one must not have arrived before it.

        Raises:
            MachineError: one cannot be deleted.
        """
        with self._guard, self._failing("prune"):
            paths = self._paths()
            last = next((path for path in reversed(paths) if path.stat().st_size), paths[-1])
            old = [path for path in paths if path < last and path.name <= through]
            if not old:
                return
            write_ids(self.directory, self._ids, self._paths()[len(old) :])
            for path in old:
                self._size -= path.stat().st_size
                path.unlink()
            sync_directory(self.directory)

    def _read_ids(self) -> Iterable[str]:
        lines = (line for path in reversed(self._paths()) for line in _lines_backwards(path))
        newest = [found for line in islice(lines, RECENT) if (found := id_of_line(line))]
        # Those of segments that were not deleted yet are known on both sides.
        return dict.fromkeys([*kept_ids(self.directory), *reversed(newest)])

    def _paths(self) -> list[Path]:
        return segments_of(self.directory)

    def _numbered(self, number: int) -> Path:
        return self.directory / f"{number:0{_DIGITS}}{_SUFFIX}"

    @contextmanager
    def _failing(self, doing: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            file = "" if error.filename is None else f", file {error.filename}"
            problem = f"cannot {doing} the ingest log {self.directory}{file}"
            raise UnwritableError(problem, error) from error


def segments_of(directory: Path) -> list[Path]:
    """The segments of a log, oldest first."""
    return sorted(directory.glob(f"{'[0-9]' * _DIGITS}{_SUFFIX}"))


def last_received(segments: Sequence[Path]) -> int | None:
    """Return the time at which the last record of some segments arrived; None if there is none."""
    for path in reversed(segments):
        for line in _lines_backwards(path):
            received = received_of_line(line)
            if received is not None:
                return received
    return None


def read_whole(path: Path) -> bytes:
    """Read a file of a log.

    Raises:
        DamagedError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise DamagedError(
            f"{path} cannot be read ({error.strerror}); make it readable, or put the file back "
            "from a backup"
        ) from error


def write_ids(directory: Path, ids: Iterable[str], segments: Sequence[Path]) -> None:
    """Write the ids of records whose segments are deleted, before they are.

    Args:
        directory: the log.
        ids: those of the last records.
        segments: those that stay.
    """
    written = directory / f"{IDS}.new"
    file = os.open(written, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    with os.fdopen(file, "wb") as kept:
        kept.write(sealed_line({"ids": list(ids), "first": _number_of(segments)}))
        kept.flush()
        os.fsync(kept.fileno())
    written.replace(directory / IDS)
    sync_directory(directory)


def kept_ids(directory: Path) -> list[str]:
    """Read the ids of records whose segments are deleted.

    Raises:
        DamagedError: the file is missing, older than the segments, or not what was written.
    """
    path = directory / IDS
    oldest = _number_of(segments_of(directory))
    if not path.exists():
        if oldest > 1:
            raise _damaged_ids(path, "is missing, and has")
        return []
    content = read_whole(path)
    try:
        found = json.loads(content)
    except ValueError:
        found = None
    if found is None or (is_damaged(content) and isinstance(found, dict)):
        raise _damaged_ids(path, "is damaged: it has")
    if isinstance(found, list):  # an older version has written a plain list
        return [str(each) for each in found]
    if oldest > found.get("first", oldest):
        raise _damaged_ids(path, f"is older than segment {oldest}, which is the first: it has")
    return [str(each) for each in found["ids"]]


def _damaged_ids(path: Path, problem: str) -> DamagedError:
    return DamagedError(
        f"{path} {problem} the ids of the last pushes; put it back from a backup, or let "
        f"`headrace doctor --checkpoint {_home_of(path)} --repair` begin it anew: a push that its "
        "sender repeats may then be taken twice"
    )


def _number_of(segments: Sequence[Path]) -> int:
    """Return the number of the first segment."""
    return int(segments[0].stem) if segments else 1


def is_segment(path: Path) -> bool:
    """Whether a file is a segment of a log, which a writer may append to."""
    numbered = len(path.stem) == _DIGITS and path.stem.isdecimal() and path.suffix == _SUFFIX
    return numbered and (path.parent / LOCK).exists()


def check_segment(path: Path, content: bytes, start: int) -> None:
    """Check that whole lines of a segment are what was written.

    Args:
        path: the segment.
        content: the lines.
        start: where they begin in it.

    Raises:
        DamagedError: a line is not.
    """
    place = start
    for line in content.splitlines(keepends=True):
        if is_damaged(line):
            raise _damaged_record(path, place)
        place += len(line)


def _damaged_record(path: Path, place: int) -> DamagedError:
    return DamagedError(
        f"{path} is damaged: the record at byte {place} is not what was written; put the "
        "file back from a backup, or stop the run and let `headrace doctor --checkpoint "
        f"{_home_of(path)} --repair` replace that record by a rejected one"
    )


def _home_of(path: Path) -> Path:
    """Return the checkpoint, or the location of a server, that a file of a log belongs to."""
    return path.parent.parent.parent


def _check_end(path: Path) -> None:
    """Check that a segment that is done ends with a whole line.

    Raises:
        DamagedError: it does not.
    """
    with _mapped(path) as content:
        if content[-1:] not in (b"", b"\n"):
            raise _damaged_record(path, content.rfind(b"\n") + 1)


def sync_segment(path: Path) -> None:
    """Make what a reader has seen of a segment durable, which its writer may not have done yet.

    Raises:
        MachineError: the disk is full or broken.
    """
    try:
        segment = os.open(path, os.O_RDONLY)
        try:
            os.fsync(segment)
        finally:
            os.close(segment)
    except OSError as error:
        problem = f"cannot make {path} of an ingest log durable"
        raise UnwritableError(problem, error) from error


def _end_of_lines(path: Path) -> int:
    """Return where the last whole line of a file ends.

    Raises:
        DamagedError: a whole record follows, and another byte is in place of its line end.
    """
    with _mapped(path) as content:
        end = content.rfind(b"\n") + 1
        if is_record(content[end:-1]):
            check_segment(path, content[end:], end)
        return end


def _lines_backwards(path: Path) -> Iterator[bytes]:
    """The whole lines of a file, the last one first."""
    with _mapped(path) as content:
        end = content.rfind(b"\n") + 1
        while end:
            start = content.rfind(b"\n", 0, end - 1) + 1
            yield content[start:end]
            end = start


@contextmanager
def _mapped(path: Path) -> Iterator[mmap.mmap | bytes]:
    if not path.stat().st_size:  # nothing cannot be mapped
        yield b""
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        yield content
