"""Where late and rejected elements go: files of JSON lines, exactly once after a crash."""

from __future__ import annotations

from headrace.pipeline.results import Told
from headrace.sinks.rejects import LinesFile, late_lines_of, rejected_lines_of


class LateFile(LinesFile):
    """The elements that missed a window."""

    name = "late elements"

    def write(self, label: str, told: Told) -> None:  # noqa: ARG002
        """Add those of a batch."""
        self.add(late_lines_of(told.late))


class RejectedFile(LinesFile):
    """What could not be taken, and why."""

    name = "rejected elements"

    def write(self, label: str, told: Told) -> None:  # noqa: ARG002
        """Add what a batch could not take."""
        self.add(rejected_lines_of(told.rejected))
