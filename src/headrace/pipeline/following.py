"""What a source log says while another process adds to it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, BinaryIO

from headrace.pipeline.pieces import Piece, head_of
from headrace.pipeline.records import unsealed
from headrace.pipeline.tables import damaged


class LogFollower:
    """Reads on in a source log, line by line, and never changes it."""

    def __init__(self, path: Path) -> None:
        """Begin at the start of the log."""
        self._path = path
        self._file = 0
        self._begin()

    def _begin(self) -> None:
        self._place = self._count = 0

    def pieces(self, first: int, stop: int) -> list[Piece]:
        """Return the pieces from a number up to another; all of them have been written.

        Of a log that was shortened before it was read so far, it is those that still stand in it:
        the last one of each file among them.

        Raises:
            MachineError: the log is not what was written.
        """
        if first == stop:
            return []  # there is no log yet if nothing was found
        if first < self._count:
            self._begin()
        try:
            log = self._path.open("rb")
        except OSError as error:
            raise damaged(self._path, f"it cannot be read ({error.strerror})") from error
        with log:
            file = os.fstat(log.fileno()).st_ino
            if file != self._file:  # a shorter log has taken its place
                self._file = file
                self._begin()
            log.seek(self._place)
            found: list[Piece] = []
            while self._count < stop:
                found += self._next(log, stop)
            return [piece for piece in found if piece.ordinal >= first]

    def _next(self, log: BinaryIO, stop: int) -> list[Piece]:
        """Read the next piece, or the head of the log with the pieces that it names."""
        said = self._line(log, stop, self._count + 1)
        head = head_of(said) if self._place == 0 else None
        if head is None:
            found = [Piece(**said)]
            self._count += 1
        else:
            found = [Piece(**self._line(log, stop, number + 2)) for number in range(head[1])]
            self._count = head[0]
        self._place = log.tell()
        return found

    def _line(self, log: BinaryIO, stop: int, number: int) -> dict[str, Any]:
        line = log.readline()
        if not line.endswith(b"\n"):
            self._begin()
            raise damaged(self._path, f"it has no piece {stop - 1}, which is to be read")
        return unsealed(line[:-1], self._path, f"line {number}")
