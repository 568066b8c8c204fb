"""What every way out of a run can do, so that a crash neither loses nor repeats a result.

The driver keeps, with each batch, how far each sink had come before it. After a crash it puts the
sinks back there and writes the batch again:

    sink.recover(None)                 a run begins: nothing is there yet
    mark = sink.mark()                 kept durably with the batch, before anything is written
    sink.write("12", reports)          on disk when it returns
    ...                                a crash, and a new process
    sink.recover(mark)
    sink.write("12", reports)          the same bytes as before
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from headrace.diagnosis import Note
from headrace.kernel.reports import Report

Mark: TypeAlias = int | str | None
"""How far a sink has come, as a value of JSON; None is the start."""


class Sink(Protocol):
    """A way out, with one writer."""

    def mark(self) -> Mark:
        """How far it has come."""

    def recover(self, mark: Mark) -> None:
        """Begin at a mark: whatever was written after it is gone. Called once, before all else.

        Raises:
            MachineError: what was written before the mark is gone too.
        """

    def write(self, label: str, reports: Sequence[Report]) -> None:
        """Write what a batch reported, durably; the label is the batch's, as `12` or `12.final`.

        Raises:
            MachineError: it cannot be written.
        """

    def close(self) -> None:
        """Let go of what is open. What was written stays."""


@runtime_checkable
class NoteSink(Protocol):
    """A sink that also takes the notes on queries."""

    def write_notes(self, label: str, notes: Mapping[str, Sequence[Note]]) -> None:
        """Write the notes about queries at the end of the input, durably, after all results.

        Raises:
            MachineError: they cannot be written.
        """
