"""A disk whose calls fail in chosen ways, for real processes: a library that is preloaded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.preloading import build_library

SOURCE: Final = Path(__file__).with_name("faulty.c")
FOREVER: Final = 1_000_000
_COUNTS: Final = 16 * 8
"""Bytes of the counters of rules."""


def compiled(folder: Path) -> Path:
    """Compile the library into a folder; skip the test where that cannot be done."""
    return build_library(SOURCE, folder)


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
