"""Times of arrival: they follow the clock of the machine, never go back, and never stand still.

The clock of a machine may be wrong and be set right, in either direction. Two rules keep the times
of what arrives usable nevertheless:

* A clock that is ahead of what it was, by more than a bound, is followed once it has stayed there
  for as long as the bound. So a mistake that is corrected sooner has no effect beyond the bound.
* While the clock is behind the times that were given already, times go on at half the speed of a
  clock that cannot be set. So they never go back, and the clock catches up with them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, TypeAlias

Clock: TypeAlias = Callable[[], int]
"""Says what time it is, in microseconds since the epoch."""

LOGGER: Final = logging.getLogger("headrace.clock")
SECOND: Final = 1_000_000
CLOCK_SECONDS: Final = 10.0
"""By how many seconds times of arrival may be ahead after a short mistake of the clock."""
_PARTS: Final = 16
"""In so many parts of the bound, earlier readings are kept: one for each."""
_UPTIME: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Unlike others, this one goes on while the machine sleeps, so that waking up is no jump."""


def wall_clock() -> int:
    """Read the clock of this machine, in microseconds since the epoch."""
    return time.time_ns() // 1000


def uptime_clock() -> int:
    """Read a clock that cannot be set, in microseconds since some moment."""
    return time.clock_gettime_ns(_UPTIME) // 1000


@dataclass(frozen=True, slots=True)
class Reading:
    """What the clocks say at a moment, in microseconds.

    Attributes:
        wall: the clock of the machine.
        steady: the same without a jump that may still be taken back.
        uptime: a clock that cannot be set.
    """

    wall: int
    steady: int
    uptime: int


@dataclass(slots=True)
class _Offset:
    """The least difference between the two clocks in a part of the past."""

    since: int
    until: int
    least: int


class SteadyClock:
    """The clock of a machine, whose jumps ahead are followed once they have lasted.

    Threads may share it.

    >>> wall, up = 5 * SECOND, 0
    >>> clock = SteadyClock(lambda: wall, lambda: up, seconds=2, report=print)
    >>> clock.read().steady
    5000000
    >>> wall, up = 66 * SECOND, 1 * SECOND
    >>> clock.read().steady
    the clock is 0:01:00 ahead of what it was; times of arrival follow if it stays so for 2 seconds
    8000000
    >>> wall, up = 68 * SECOND, 3 * SECOND
    >>> clock.read().steady
    68000000
    """

    def __init__(
        self,
        wall: Clock = wall_clock,
        uptime: Clock | None = uptime_clock,
        *,
        seconds: float = CLOCK_SECONDS,
        report: Callable[[str], None] = LOGGER.warning,
    ) -> None:
        """Begin to read.

        Args:
            wall: the clock of the machine.
            uptime: a clock that cannot be set; None if the other one is never wrong, such as one
                that a program advances, which is followed at once.
            seconds: how far ahead the clock is followed at once, and how long it must stay further
                ahead to be followed there.
            report: takes a sentence about each longer jump.
        """
        self._wall = wall
        self._uptime = uptime
        self.bound = round(seconds * SECOND)
        self._report = report
        self._offsets: deque[_Offset] = deque()
        self._last: Reading | None = None
        self._guard = threading.Lock()
        self.jumps = {"ahead": 0, "back": 0}

    def read(self) -> Reading:
        """Read both clocks."""
        with self._guard:
            wall = self._wall()
            up = wall if self._uptime is None else self._uptime()
            if self._last is not None:
                up = max(up, self._last.uptime)
                self._note_jump(wall - up - (self._last.wall - self._last.uptime))
            least = self._least(up, wall - up)
            self._last = Reading(wall, min(wall, up + least + self.bound), up)
            return self._last

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process begins with: Spark sends a clock along with its source."""
        return {name: each for name, each in vars(self).items() if name != "_guard"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Begin in another process."""
        vars(self).update(state, _guard=threading.Lock())

    def _least(self, up: int, offset: int) -> int:
        """Return the least offset of the last seconds; each one holds until the next reading."""
        offsets = self._offsets
        if offsets:
            offsets[-1].until = up
        while offsets and offsets[0].until <= up - self.bound:
            offsets.popleft()
        while offsets and offsets[-1].least >= offset:
            offsets.pop()
        if offsets and up - offsets[-1].since < self.bound // _PARTS:
            offsets[-1].until = up
        else:
            offsets.append(_Offset(up, up, offset))
        return offsets[0].least

    def _note_jump(self, by: int) -> None:
        if abs(by) <= self.bound:
            return
        direction = "ahead" if by > 0 else "back"
        self.jumps[direction] += 1
        if by > 0:
            self._report(
                f"the clock is {duration_text(by)} ahead of what it was; times of arrival follow "
                f"if it stays so for {self.bound / SECOND:g} seconds"
            )
        else:
            self._report(
                f"the clock is {duration_text(-by)} behind what it was; times of arrival never go "
                "back: those ahead of it go on at half its speed until it has caught up"
            )


class ArrivalTimes:
    """The times of what arrives at one place.

    >>> wall, up = 100 * SECOND, 0
    >>> times = ArrivalTimes(SteadyClock(lambda: wall, lambda: up, report=print))
    >>> times.now()
    100000000
    >>> wall, up = 94 * SECOND, 4 * SECOND
    >>> times.now()  # the clock was set back by ten seconds
    102000000
    >>> wall, up = 110 * SECOND, 20 * SECOND
    >>> times.now()
    110000000
    """

    def __init__(self, clock: SteadyClock, last: int | None = None) -> None:
        """Begin.

        Args:
            clock: what time it is.
            last: the last time that was given here before, by another process too.
        """
        self.clock = clock
        reading = clock.read()
        self._from = reading.uptime
        self._floor = self._last = reading.steady if last is None else last
        self._wall = reading.wall

    def now(self) -> int:
        """Return the time of what arrives at this moment, in microseconds since the epoch."""
        reading = self.clock.read()
        slowest = self._floor + (reading.uptime - self._from) // 2
        if reading.steady >= slowest:
            self._floor, self._from = reading.steady, reading.uptime
        self._last = max(self._last, reading.steady, slowest)
        self._wall = reading.wall
        return self._last

    def latest(self) -> int:
        """Return the later one of the clock and the time of what arrives at this moment."""
        return max(self.now(), self._wall)

    @property
    def last(self) -> int:
        """The last time that was given."""
        return self._last

    @property
    def ahead(self) -> int:
        """By how many microseconds the last time was ahead of the clock; negative if behind."""
        return self._last - self._wall


def duration_text(microseconds: int) -> str:
    """Write a duration in days, hours, minutes and seconds.

    >>> duration_text(90_061_400_000)
    '1 day, 1:01:01'
    """
    return str(timedelta(seconds=round(microseconds / SECOND)))
