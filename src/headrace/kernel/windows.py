"""Which windows a moment belongs to, and which of them are due. Pure arithmetic on microseconds."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.planning.plan import Plan


@dataclass(frozen=True, slots=True)
class Sliding:
    """Windows of a width that close at origin + k * slide and hold (close - width, close]."""

    width: int
    slide: int
    origin: int = 0

    @classmethod
    def of(cls, plan: Plan) -> Sliding:
        """The windows of a plan."""
        return cls(plan.width, plan.slide, plan.origin)

    def opens(self, close: int) -> int:
        """The moment after which the window that closes then begins.

        >>> Sliding(10, 5).opens(20)
        10
        """
        return close - self.width

    def close_from(self, time: int) -> int:
        """The first close not before a moment.

        >>> [Sliding(10, 5).close_from(time) for time in (9, 10, 11)]
        [10, 10, 15]
        """
        return self.origin - (self.origin - time) // self.slide * self.slide

    def close_before(self, time: int) -> int:
        """The last close before a moment.

        >>> [Sliding(10, 5).close_before(time) for time in (9, 10, 11)]
        [5, 5, 10]
        """
        return self.close_from(time) - self.slide

    def closes(self, first: int, last: int) -> range:
        """All closes from one to another.

        >>> list(Sliding(10, 5).closes(10, 20))
        [10, 15, 20]
        """
        return range(first, last + 1, self.slide)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a query has come: all that decides which windows are due.

    Attributes:
        first: the first close whose window holds an element.
        last: the last close whose window holds an element.
        reported: the last close that was evaluated.
    """

    first: int | None = None
    last: int | None = None
    reported: int | None = None

    def saw(self, first: int, last: int) -> Progress:
        """Take note of elements, by the first and the last close that holds one of them.

        An element never enters a window that its stream's watermark has passed. So nothing that
        is seen later can move `first` to a close that was already due.
        """
        return Progress(
            first if self.first is None else min(self.first, first),
            last if self.last is None else max(self.last, last),
            self.reported,
        )

    def due(self, windows: Sliding, watermark: int) -> range:
        """The closes that the watermark has passed and that were not evaluated yet."""
        return self._until(windows, windows.close_before(watermark))

    def remaining(self, windows: Sliding) -> range:
        """At the end of the input, the closes up to the last that holds an element."""
        return range(0) if self.last is None else self._until(windows, self.last)

    def after(self, evaluated: range) -> Progress:
        """Take note of closes that have been evaluated."""
        return Progress(self.first, self.last, evaluated[-1]) if evaluated else self

    def _until(self, windows: Sliding, last: int) -> range:
        if self.first is None:
            return range(0)
        start = self.first if self.reported is None else self.reported + windows.slide
        return windows.closes(start, last)
