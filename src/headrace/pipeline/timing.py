"""How long batches take, and the stages of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

_MICROSECONDS: Final = 1_000_000


class Stopwatch:
    """Measures what is done for one batch after the other; waiting between them does not count."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Measure with a clock of seconds that never goes back."""
        self._clock = clock
        self._spent: dict[str, float] = {}
        self._since_lap = 0.0
        self._laps = 0

    @property
    def spent(self) -> Mapping[str, float]:
        """How many seconds each stage of this batch has taken so far."""
        return self._spent

    def start(self) -> None:
        """Begin with a batch."""
        self._spent = {}

    def lap(self) -> int | None:
        """How many microseconds of work there were since the last lap.

        The first lap pays for the start of the process, and is none, because it says nothing about
        the others.
        """
        worked, self._since_lap = self._since_lap, 0.0
        self._laps += 1
        return round(worked * _MICROSECONDS) if self._laps > 1 else None

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add how long something takes to what a stage of this batch has taken."""
        began = self._clock()
        try:
            yield
        finally:
            took = self._clock() - began
            self._spent[name] = self._spent.get(name, 0.0) + took
            self._since_lap += took
