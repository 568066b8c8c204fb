"""Release of elements: one makes its instant once no other element can come before it in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from headrace.kernel.grid import FOREVER, NEVER, Times
from headrace.kernel.holding import Flags, Rules
from headrace.kernel.log import Elements
from headrace.kernel.progress import Progress
from headrace.planning.plan import (
    Plan,
    releases_settled_elements,
    takes_arrivals_as_they_come,
)


@dataclass(frozen=True)
class Reached:
    """The bounds of a step.

    Attributes:
        watermark: of the query; none if one of its streams has not begun.
        slowest: the number of the stream whose watermark it is, the first of those that are equal.
        ended: whether the input has ended.
        live: whether empty windows are reported up to the watermark, or only between others.
    """

    watermark: int | None
    ended: bool = False
    live: bool = False
    slowest: int = 0


@dataclass(frozen=True)
class Release:
    """The elements that a step of a query may use.

    Attributes:
        plan: the query.
        progress: how far it has come; its origin is known.
        logs: the elements of each of its streams.
        reached: how far it may go.
        rules: the arithmetic of its windows.
    """

    plan: Plan
    progress: Progress
    logs: Sequence[Elements]
    reached: Reached
    rules: Rules

    @property
    def by_arrival(self) -> bool:
        """True if elements are taken as they come, without waiting for the watermark."""
        return takes_arrivals_as_they_come(self.plan)

    @cached_property
    def limit(self) -> int:
        """The last moment at which instants are due."""
        if self.reached.ended or self.by_arrival:
            return FOREVER
        return NEVER if self.reached.watermark is None else self.rules.limit(self.reached.watermark)

    @cached_property
    def released_until(self) -> int:
        """The last moment all of whose elements are known."""
        if self.reached.ended or self.by_arrival or self.reached.watermark is None:
            return self.limit
        return min(self.limit, self.reached.watermark - 1)

    @cached_property
    def by_settling(self) -> bool:
        """True if elements are released as soon as none can come before them in order."""
        return releases_settled_elements(self.plan)

    @cached_property
    def settled_at(self) -> int | None:
        """The moment some of whose elements are settled: those of streams up to the slowest.

        The next element of a stream is not before its watermark, and comes after all others of
        its stream at the same time. So at the watermark of the query only the streams that come
        after the slowest have to wait.
        """
        ended = self.reached.ended or self.reached.watermark is None
        return None if ended or not self.by_settling else self.reached.watermark

    # -- elements --------------------------------------------------------------------------

    def new(self, number: int) -> Flags:
        """Select the elements of a stream that may be released now and have not been."""
        log = self.logs[number]
        if self.by_arrival:
            return log.positions > self.progress.position
        return ~has_released(log, number, self.progress) & (log.times <= self.until(number))

    def until(self, number: int) -> int:
        """Compute the last moment whose elements of a stream may be released."""
        settled = self.settled_at
        if settled is None or number > self.reached.slowest:
            return self.released_until
        return max(settled, self.released_until)

    def having_released(self, progress: Progress, times: Times) -> Progress:
        """Advance the progress past the released elements."""
        progress = replace(progress, released=self.released(times))
        if self.settled_at is None:
            return progress
        log = self.logs[self.reached.slowest]
        edge = (self.settled_at, self.reached.slowest, log.last_position)
        return replace(progress, edge=edge if progress.edge is None else max(progress.edge, edge))

    def released(self, times: Times) -> int:
        """Compute the moment up to which all elements are released."""
        if not self.reached.ended:
            return max(self.released_until, self.progress.released)
        return max(self.progress.released, int(times.max(initial=NEVER)))

    def first_after_edge(self, log: Elements) -> int:
        """Find the place of the first element of a stream that has not been released."""
        first = int(np.searchsorted(log.times, self.progress.released, side="right"))
        edge = self.progress.edge
        if edge is None or edge[0] <= self.progress.released:
            return first
        time, _, position = edge
        first, stop = (int(np.searchsorted(log.times, time, side)) for side in ("left", "right"))
        return first + int(np.searchsorted(log.positions[first:stop], position, side="right"))

    def entries(self, number: int) -> Times:
        """Compute the time at which each element of a stream takes its place in the order.

        It is that of the element, or where that had passed the watermark at which it came.
        """
        log = self.logs[number]
        if not self.by_settling:
            return log.times
        return np.maximum(log.times, log.highs - self.plan.delay(self.plan.streams[number]))


def has_released(log: Elements, number: int, progress: Progress) -> Flags:
    """Select the elements of a stream that have been released."""
    done: Flags = log.times <= progress.released
    if progress.edge is None or progress.edge[0] <= progress.released:
        return done
    time, stream, position = progress.edge
    if number == stream:
        done = (log.times < time) | ((log.times == time) & (log.positions <= position))
    else:
        done = log.times <= time - (number > stream)
    return done
