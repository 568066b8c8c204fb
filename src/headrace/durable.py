"""What makes files last and keeps others out of them."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from headrace.errors import SettingError


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


def locked(path: Path, problem: str) -> int:
    """Make a lock file and claim it; a handle that lets others in when it is closed.

    Raises:
        SettingError: another process has it; the problem says what to do.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        claim(handle, problem)
    except BaseException:
        os.close(handle)
        raise
    return handle
