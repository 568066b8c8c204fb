"""A clock that is set while processes run: a library that is preloaded."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.preloading import build_library
from tests.shared import ROOT

SOURCE: Final = Path(__file__).with_name("jump.c")
OLD_PYTHON: Final = Path(__file__).with_name("old_python")
DAY: Final = 86_400.0
_MICROSECONDS: Final = 1_000_000
_BYTES: Final = 8


@dataclass(frozen=True)
class SettableClock:
    """The clock of some processes.

    Attributes:
        library: the preloaded library.
        path: the file with what is added to the clock.
    """

    library: Path
    path: Path

    @classmethod
    def right(cls, library: Path, path: Path) -> SettableClock:
        """Make a clock that is right."""
        found = cls(library, path)
        path.write_bytes(bytes(_BYTES))
        return found

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a process that has this clock."""
        return {"LD_PRELOAD": str(self.library), "HEADRACE_CLOCK_OFFSET": str(self.path)}

    @property
    def environment_of_old_python(self) -> dict[str, str]:
        """The variables of such a process, whose locks wait until a time of the clock."""
        paths = os.pathsep.join(map(str, (OLD_PYTHON, ROOT / "src")))
        return {**self.environment, "HEADRACE_CLOCK_WAITS": "settable", "PYTHONPATH": paths}

    def set(self, wrong: float) -> None:
        """Set the clock so that it is wrong by some seconds."""
        with self.path.open("r+b", buffering=0) as file:  # the same file, which is mapped
            file.write(struct.pack("=q", round(wrong * _MICROSECONDS)))


def compiled(folder: Path) -> Path:
    """Compile the library into a folder; skip the test where that cannot be done."""
    return build_library(SOURCE, folder)
