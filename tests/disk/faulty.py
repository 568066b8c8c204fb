"""A disk whose calls fail in chosen ways, for real processes: a library that is preloaded."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

SOURCE: Final = Path(__file__).with_name("faulty.c")
FOREVER: Final = 1_000_000
_COUNTS: Final = 16 * 8
"""Bytes of the counters of rules."""


def compiler() -> Sequence[str] | None:
    """Find a C compiler: that of the system, or that of the package `ziglang`."""
    found = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if found is not None:
        return [found]
    if importlib.util.find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc"]
    return None


def compiled(folder: Path) -> Path:
    """Compile the library into a folder; skip the test where that cannot be done."""
    if not sys.platform.startswith("linux"):
        pytest.skip("faults of disks are made by a preloaded library for Linux")
    command = compiler()
    if command is None:
        pytest.skip("there is no C compiler: install gcc, or pip install ziglang")
    library = folder / "faulty.so"
    options = ["-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl", "-lpthread"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return library


@dataclass(frozen=True)
class FaultyDisk:
    """What makes calls of processes fail.

    Attributes:
        library: the preloaded library.
        folder: where its rules and its counters are.
    """

    library: Path
    folder: Path

    def prepared(self) -> FaultyDisk:
        """Make the files; nothing fails yet."""
        self.folder.mkdir(exist_ok=True)
        self.recover()
        return self

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a process that has this disk."""
        return {"LD_PRELOAD": str(self.library), "HEADRACE_DISK_FAULTS": str(self.folder)}

    def fail(
        self, operation: str, fault: str, pattern: str, first: int = 1, times: int = FOREVER
    ) -> None:
        """Make calls fail from the first one on, so many times; see `faulty.c`."""
        (self.folder / "hits").unlink(missing_ok=True)
        self._rule(f"{operation} {fault} {first} {times} {pattern}\n")

    def recover(self) -> None:
        """Let no call fail any more."""
        self._rule("")

    def _rule(self, text: str) -> None:
        (self.folder / "counts").touch()
        with (self.folder / "counts").open("r+b") as counts:
            counts.write(bytes(_COUNTS))
        draft = self.folder / "rules.draft"
        draft.write_text(text)
        draft.replace(self.folder / "rules")

    @property
    def hits(self) -> list[str]:
        """The calls that have failed, a line each."""
        path = self.folder / "hits"
        return path.read_text().splitlines() if path.exists() else []
