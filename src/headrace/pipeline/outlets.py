"""Where late and rejected elements go: files of JSON lines, exactly once after a crash."""

from __future__ import annotations

from pathlib import Path

from headrace.pipeline.results import Told
from headrace.sinks.base import Mark
from headrace.sinks.rejects import LinesFile, late_lines_of, rejected_lines_of


class LateFile:
    """The elements that missed a window."""

    name = "late elements"

    def __init__(self, path: Path) -> None:
        """Open the file.

        Raises:
            SettingError: it cannot be written.
        """
        self._file = LinesFile(path)

    def mark(self) -> Mark:
        """The size of the file."""
        return self._file.mark()

    def recover(self, mark: Mark) -> None:
        """Cut the file to the size that it had."""
        self._file.recover(mark)

    def write(self, label: str, told: Told) -> None:
        """Add those of a batch."""
        self._file.write(label, late_lines_of(told.late))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class RejectedFile(LateFile):
    """What could not be taken, and why."""

    name = "rejected elements"

    def write(self, label: str, told: Told) -> None:
        """Add what a batch could not take."""
        self._file.write(label, rejected_lines_of(told.rejected))
