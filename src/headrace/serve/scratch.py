"""A folder for files that can be made again, which is removed with its server."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Final

import psutil

_PREFIX: Final = "headrace-sparql-"
_NAME: Final = re.compile(rf"{_PREFIX}(\d+)-.+")


class Scratch:
    """A folder that is made when it is needed first."""

    def __init__(self) -> None:
        """Begin without a folder."""
        self._folder: Path | None = None

    @property
    def folder(self) -> Path:
        """The folder; what servers that were killed have left behind is removed when it is made."""
        if self._folder is None:
            remove_leftovers(Path(tempfile.gettempdir()))
            self._folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        return self._folder

    def remove(self) -> None:
        """Remove the folder, if there is one."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


def remove_leftovers(parent: Path) -> None:
    """Remove the folders of our user whose processes have ended."""
    for path in parent.glob(f"{_PREFIX}*"):
        named = _NAME.fullmatch(path.name)
        if named and path.is_dir() and not psutil.pid_exists(int(named[1])):
            shutil.rmtree(path, ignore_errors=True)  # that of another user stays
