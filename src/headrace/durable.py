"""Durable files and locks: synced directories, appends that leave nothing if they fail."""

from __future__ import annotations

import errno
import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import polars as pl

from headrace.errors import SettingError, UnwritableError

_SYSTEM_ERROR: Final = re.compile(r"\(os error (\d+)\)")


@contextmanager
def os_errors() -> Iterator[None]:
    """Raise an OSError where Polars reports an error of the operating system as its own."""
    try:
        yield
    except pl.exceptions.PolarsError as error:
        found = _SYSTEM_ERROR.search(str(error))
        if found is None:
            raise
        raise OSError(int(found[1]), os.strerror(int(found[1]))) from error


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def claim(handle: int, problem: str) -> None:
    """Be the only one to have a file or a directory, for as long as the handle is open.

    Raises:
        SettingError: another process has it; the problem says what to do.
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise SettingError(problem) from None


def is_claimed(path: Path) -> bool:
    """Test whether a process has claimed a file or a directory, and is still running.

    Raises:
        OSError: it cannot be opened.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def locked(path: Path, problem: str) -> int:
    """Make a lock file and claim it; a handle that lets others in when it is closed.

    Raises:
        SettingError: another process has it; the problem says what to do.
        UnwritableError: it cannot be made.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise UnwritableError(f"cannot lock {path}", error) from error
    try:
        claim(handle, problem)
    except BaseException:
        os.close(handle)
        raise
    return handle


class AppendFile:
    """A file that grows by whole appends: one that fails leaves nothing behind.

    After a failed write or `fsync` nothing of the append counts as written: the kernel may have
    dropped its pages and report success the next time. The file is cut to its last good length,
    at once or before the next append.
    """

    def __init__(self, path: Path, length: int) -> None:
        """Open a file for appending, and cut what stands after its good part.

        Args:
            path: the file, which is made if it is missing, for its owner's eyes only.
            length: how many bytes of it are good.

        Raises:
            OSError: it cannot be opened or cut.
        """
        self.path = path
        self.length = length
        self._handle: int | None = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        try:
            self._has_torn_end = os.fstat(self._handle).st_size > length
            self.repair()
        except OSError:
            self.close()
            raise

    def append(self, content: bytes) -> None:
        """Append and sync; the content is on disk when this returns, and not there if it fails.

        Raises:
            OSError: it could not be written, or the file is closed.
        """
        if self._handle is None:
            raise OSError(errno.EBADF, "the file is closed")
        self.repair()
        self._has_torn_end = True
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(self._handle, rest) :]
            os.fsync(self._handle)
        except OSError:
            with suppress(OSError):  # else before the next append, or by the next opening
                self.repair()
            raise
        self._has_torn_end = False
        self.length += len(content)

    def repair(self) -> None:
        """Cut what a failed append has left after the good part.

        Raises:
            OSError: it cannot be cut.
        """
        if self._has_torn_end and self._handle is not None:
            os.ftruncate(self._handle, self.length)
            os.fsync(self._handle)
            self._has_torn_end = False

    def close(self) -> None:
        """Release the file."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
