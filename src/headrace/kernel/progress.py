"""How far a query has come: all that decides which of its instants are due, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from headrace.algebra.reporting import FIRST as FROM_FIRST
from headrace.algebra.reporting import Every
from headrace.kernel.grid import NEVER
from headrace.kernel.log import Elements
from headrace.planning.plan import Plan


@dataclass(frozen=True, slots=True)
class Progress:
    """A value that can be written down, and taken up by another process.

    Attributes:
        origin: t0; not known before the watermark has passed the first element, if it is that.
        earliest: for each stream, the least event time so far, until the watermark passes it.
        settled: for each stream, whether it has.
        first: the first instant whose windows hold an element.
        last: the last such instant.
        reported: the last instant that time has made due.
        released: the time up to which elements have made instants due.
        position: the last element that has, where elements are taken as they come.
        sequence: the number of its instant among those of the same time, likewise.
        counted: for each window, how many triples or elements it has counted so far.
    """

    origin: int | None = None
    earliest: tuple[int | None, ...] = ()
    settled: tuple[bool, ...] = ()
    first: int | None = None
    last: int | None = None
    reported: int | None = None
    released: int = NEVER
    position: int = -1
    sequence: int = -1
    counted: tuple[int, ...] = ()

    @classmethod
    def start(cls, plan: Plan) -> Progress:
        """Before anything has come."""
        streams, t0 = len(plan.streams), plan.semantics.t0
        # Where nothing lies on a grid, it does not matter where the grid begins.
        on_grid = isinstance(plan.semantics.report, Every) or any(
            window.slide is not None for window in plan.windows
        )
        first = None if on_grid else 0
        return cls(
            origin=first if t0 == FROM_FIRST else t0,
            earliest=(None,) * streams,
            settled=(False,) * streams,
            counted=(0,) * len(plan.windows),
        )

    def saw_times(self, stream: int, elements: Elements, high: int | None, delay: int) -> Progress:
        """Look for the earliest element of a stream, in the stream's own order.

        It is settled as soon as the stream's watermark has passed it: what is earlier and comes
        later is late, however the stream is cut into batches.
        """
        if self.origin is not None or self.settled[stream]:
            return self
        before = self.earliest[stream]
        start = _FAR if before is None else before
        least = np.minimum.accumulate(np.concatenate(([start], elements.times)))
        highs = np.concatenate((elements.highs, [NEVER if high is None else high]))
        watermarks = highs - delay
        passed = np.flatnonzero((watermarks > least) & (least < _FAR))
        found = int(least[passed[0]] if passed.size else least[-1])
        return replace(
            self,
            earliest=_put(self.earliest, stream, None if found == _FAR else found),
            settled=_put(self.settled, stream, passed.size > 0),
        )

    def with_origin(self, ended: bool) -> Progress:
        """Take the earliest element of all streams for the origin, once all of them are settled."""
        known = [time for time in self.earliest if time is not None]
        if self.origin is not None or not known or not (ended or all(self.settled)):
            return self
        return replace(self, origin=min(known))

    def holds(self, first: int, last: int) -> Progress:
        """Take note of elements, by the first and the last instant whose windows hold one."""
        return replace(
            self,
            first=first if self.first is None else min(self.first, first),
            last=last if self.last is None else max(self.last, last),
        )


_FAR = 2**62


Value = TypeVar("Value")


def _put(values: tuple[Value, ...], place: int, value: Value) -> tuple[Value, ...]:
    return (*values[:place], value, *values[place + 1 :])
