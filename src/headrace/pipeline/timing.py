"""How long batches take, and the stages of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import monotonic_ns
from typing import Final

_MICROSECONDS: Final = 1_000_000


def passing_time(clock: Callable[[], int], wall: Callable[[], int]) -> Callable[[], int]:
    """Return a clock for durations, in microseconds, which never goes back.

    A clock that a program advances is followed; that of the machine may be set in either direction,
    so that durations are not measured by it.

    Args:
        clock: the clock of a run.
        wall: the clock of the machine.
    """
    return (lambda: monotonic_ns() // 1000) if clock is wall else rising_clock(clock)


def rising_clock(clock: Callable[[], int]) -> Callable[[], int]:
    """Return a clock that stands still while another one is behind what it has said before.

    >>> times = iter([5, 9, 2, 8, 10])
    >>> clock = rising_clock(lambda: next(times))
    >>> [clock() for _ in range(5)]
    [5, 9, 9, 9, 10]
    """
    latest: int | None = None

    def now() -> int:
        nonlocal latest
        said = clock()
        latest = said if latest is None else max(latest, said)
        return latest

    return now


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
