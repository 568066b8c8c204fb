"""Which windows of time hold a moment. Pure arithmetic on microseconds, for numbers and columns.

The ends of a window are whole microseconds, so an end that does not belong to it is the same as
one that does, a microsecond further in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from headrace.algebra.reporting import Bounds

Times = npt.NDArray[np.int64]
Moment = TypeVar("Moment", int, Times)

NEVER = -(2**62)
"""Before every event time; differences with it stay within 64 bits."""
FOREVER = 2**62
"""After every event time."""


@dataclass(frozen=True, slots=True)
class Ends:
    """Which ends of a window belong to it.

    Attributes:
        low: added to the opening, gives the last moment before the window.
        high: added to the close, gives the last moment in the window.
    """

    low: int
    high: int

    @classmethod
    def of(cls, bounds: Bounds) -> Ends:
        """The ends of windows with some bounds."""
        return cls(
            low=0 if bounds is Bounds.OPEN_CLOSED else -1,
            high=-1 if bounds is Bounds.CLOSED_OPEN else 0,
        )

    def closed_by(self, watermark: Moment) -> Moment:
        """The last close that a watermark has closed.

        >>> Ends.of(Bounds.OPEN_CLOSED).closed_by(10), Ends.of(Bounds.CLOSED_OPEN).closed_by(10)
        (9, 10)
        """
        return watermark - 1 - self.high


NO_WAITING = Ends(0, 0)
"""Where a moment is over as soon as a later one has come."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The moments origin + k * step.

    >>> [Grid(5).from_(time) for time in (9, 10, 11)], [Grid(5, 3).to(time) for time in (7, 8, 9)]
    ([10, 10, 15], [3, 8, 8])
    """

    step: int
    origin: int = 0

    def from_(self, time: Moment) -> Moment:
        """The first of them not before a moment."""
        return self.origin - (self.origin - time) // self.step * self.step

    def to(self, time: Moment) -> Moment:
        """The last of them not after a moment."""
        return self.origin + (time - self.origin) // self.step * self.step

    def between(self, first: int, last: int) -> Times:
        """All of them from one moment to another."""
        return np.arange(self.from_(first), last + 1, self.step, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Sliding:
    """Windows of a width that close on a grid.

    >>> windows = Sliding(10, Grid(5), Ends.of(Bounds.OPEN_CLOSED))
    >>> windows.first(3), windows.last(3)
    (5, 10)
    >>> windows.first(5), windows.last(5)
    (5, 10)
    """

    width: int
    closes: Grid
    ends: Ends

    def first(self, time: Moment) -> Moment:
        """The first close whose window holds a moment, if one does."""
        return self.closes.from_(time - self.ends.high)

    def last(self, time: Moment) -> Moment:
        """The last close whose window holds a moment, if one does: it may be before the first."""
        return self.closes.to(time + self.width - self.ends.low - 1)
