"""Files that a crash leaves whole: some grow by batches and can be cut, some are put in place."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, TypeAlias

from headrace.durable import claim, os_errors, sync_directory
from headrace.errors import InternalError, MachineError, SettingError
from headrace.sinks.base import Mark

Bytes: TypeAlias = bytes | memoryview


class AppendedFile:
    """A file with one writer, whose marks are its sizes."""

    def __init__(self, path: Path) -> None:
        """Open or make it, and leave what is in it until it is known where to begin.

        Raises:
            SettingError: it cannot be written, or another run writes it.
        """
        self.path = path
        self._end: int | None = None
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise SettingError(f"cannot write {path}: {error.strerror}") from None
        try:
            if not stat.S_ISREG(os.fstat(self._file).st_mode):
                raise SettingError(f"cannot write {path}: it is not a file")
            claim(self._file, claimed(path))
            sync_directory(path.parent)
        except BaseException:
            os.close(self._file)
            raise

    @property
    def size(self) -> int:
        """How many bytes have been written and are to stay."""
        if self._end is None:
            raise InternalError(f"{self.path} is used before it is known where to begin")
        return self._end

    def recover(self, mark: Mark, header: bytes = b"") -> None:
        """Cut it where it was at a mark; at the start, begin it with a header.

        Raises:
            MachineError: it is shorter than that, or cannot be cut.
            SettingError: the mark is not one of a file, or the file has another header.
        """
        if isinstance(mark, str):
            raise SettingError(f"expected a size as the mark of {self.path}, found '{mark}'")
        wanted, found = mark or 0, os.fstat(self._file).st_size
        if found < wanted:
            raise MachineError(
                f"{self.path} has {found} bytes, and the run had written {wanted}: results are "
                "missing; put the file back, or start again in a new checkpoint directory"
            )
        if wanted and os.pread(self._file, len(header), 0) != header:
            raise SettingError(
                f"{self.path} was begun with other columns than these queries have; choose "
                "another file, or start again in a new checkpoint directory"
            )
        try:
            os.ftruncate(self._file, wanted)
            os.fsync(self._file)
        except OSError as error:
            raise unwritten(self.path, error) from None
        self._end = wanted
        if not wanted:
            self.append([header])

    def append(self, parts: Iterable[Bytes]) -> None:
        """Add to its end, durably: all of it, or nothing that stays.

        Raises:
            MachineError: it cannot be written.
        """
        begin = end = self.size
        try:
            for part in parts:
                end = self._put(memoryview(part), end)
            if end > begin:
                os.fsync(self._file)
        except BaseException as error:
            with suppress(OSError):  # if even this fails, recovery will do it
                os.ftruncate(self._file, begin)
            if isinstance(error, OSError):
                raise unwritten(self.path, error) from None
            raise
        self._end = end

    def _put(self, part: memoryview, place: int) -> int:
        """Write a part at a place; a system may take only some of it at a time."""
        while part:
            written = os.pwrite(self._file, part, place)
            part, place = part[written:], place + written
        return place

    def close(self) -> None:
        """Let go of it; nothing is waiting to be written."""
        os.close(self._file)


class FileOutput:
    """What every output can do that is one such file."""

    def __init__(self, path: Path) -> None:
        """Open the file.

        Raises:
            SettingError: it cannot be written.
        """
        self._file = AppendedFile(path)

    def mark(self) -> Mark:
        """The size of the file."""
        return self._file.size

    def recover(self, mark: Mark) -> None:
        """Cut the file to the size that it had."""
        self._file.recover(mark)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def put(path: Path, content: Bytes) -> None:
    """Put a file in its place, durably: it is never there in part.

    Raises:
        MachineError: it cannot be written.
    """
    put_written(path, lambda file: file.write(content))


def put_written(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Put a file in its place that something writes, durably: it is never there in part.

    Raises:
        MachineError: it cannot be written.
    """
    draft = draft_of(path)
    try:
        with draft.open("wb") as file:
            with os_errors():
                write(file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        with suppress(OSError):  # if even this fails, recovery will do it
            draft.unlink(missing_ok=True)
        raise unwritten(path, error) from None


def draft_of(path: Path) -> Path:
    """Where a file is written before it is put in its place; readers pass over such names."""
    return path.with_name(f".{path.name}.draft")


def claimed(path: Path) -> str:
    """What to say when another run writes a file or a directory."""
    return f"cannot write {path}: another run writes it"


def unwritten(path: Path, error: OSError) -> MachineError:
    """What to say when a file could be opened, but not written."""
    return MachineError(
        f"cannot write {path}: {error.strerror}; once it can be, run it again: "
        "it goes on after the last whole batch"
    )
