"""What a source log says while another process adds to it."""

from __future__ import annotations

from pathlib import Path

from headrace.pipeline.pieces import Piece
from headrace.pipeline.records import unsealed
from headrace.pipeline.tables import damaged


class LogFollower:
    """Reads on in a source log, line by line, and never changes it."""

    def __init__(self, path: Path) -> None:
        """Begin at the start of the log."""
        self._path = path
        self._begin()

    def _begin(self) -> None:
        self._place = self._count = 0

    def pieces(self, first: int, stop: int) -> list[Piece]:
        """The pieces from a number up to another; all of them have been written.

        Raises:
            MachineError: the log is not what was written.
        """
        if first == stop:
            return []  # there is no log yet if nothing was found
        if first < self._count:
            self._begin()
        found = []
        try:
            log = self._path.open("rb")
        except OSError as error:
            raise damaged(self._path, f"it cannot be read ({error.strerror})") from error
        with log:
            log.seek(self._place)
            while self._count < stop:
                line = log.readline()
                self._count += 1
                self._place += len(line)
                if not line.endswith(b"\n"):
                    self._begin()
                    raise damaged(self._path, f"it has no piece {stop - 1}, which is to be read")
                if self._count > first:
                    place = f"line {self._count}"
                    found.append(Piece(**unsealed(line[:-1], self._path, place)))
        return found
