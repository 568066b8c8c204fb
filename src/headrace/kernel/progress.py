"""How far a query has come: all that decides which of its instants are due, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, replace

from headrace.algebra.reporting import FIRST as FROM_FIRST
from headrace.algebra.reporting import Every, OnArrival
from headrace.kernel.grid import NEVER
from headrace.kernel.log import Elements
from headrace.planning.plan import Plan


@dataclass(frozen=True, slots=True)
class Progress:
    """A value that can be written down, and taken up by another process.

    Attributes:
        origin: t0; not known before the watermark has passed the first element, if it is that.
        earliest: the least event time so far, of elements that came in time.
        first: the first instant whose windows hold an element.
        last: the last such instant.
        reported: the last instant that time has made due.
        released: the time up to which elements have made instants due.
        position: the last element that has, where elements are taken as they come.
        sequence: the number of the last instant among those of the same time, where elements
            make instants.
        counted: for each window, how many triples or elements it has counted so far.
        edge: the time, the stream and the position of the last element in order that has made
            instants due, where elements are released as soon as none can come before them.
    """

    origin: int | None = None
    earliest: int | None = None
    first: int | None = None
    last: int | None = None
    reported: int | None = None
    released: int = NEVER
    position: int = -1
    sequence: int = -1
    counted: tuple[int, ...] = ()
    edge: tuple[int, int, int] | None = None

    @classmethod
    def start(cls, plan: Plan) -> Progress:
        """Before anything has come."""
        t0 = plan.semantics.t0
        # Where nothing lies on a grid, it does not matter where the grid begins.
        report = plan.semantics.report
        on_grid = isinstance(report, Every) or (
            not isinstance(report, OnArrival)
            and any(window.slide is not None for window in plan.windows)
        )
        first = None if on_grid else 0
        return cls(
            origin=first if t0 == FROM_FIRST else t0,
            counted=(0,) * len(plan.windows),
        )

    def saw_times(self, elements: Elements, delay: int) -> Progress:
        """Look for the earliest element; one that is behind its stream's watermark is late."""
        if self.origin is not None:
            return self
        timely = elements.times[elements.times >= elements.highs - delay]
        if timely.size == 0:
            return self
        least = int(timely.min())
        return replace(self, earliest=least if self.earliest is None else min(self.earliest, least))

    def with_origin(self, watermark: int | None, ended: bool) -> Progress:
        """Take the earliest element for the origin, once no earlier one can come in time.

        Where none came in time, the grid begins at the epoch: the late ones are judged by it.
        """
        if self.origin is not None:
            return self
        if self.earliest is None:
            return replace(self, origin=0) if ended else self
        passed = watermark is not None and watermark > self.earliest
        return replace(self, origin=self.earliest) if passed or ended else self

    def holds(self, first: int, last: int) -> Progress:
        """Take note of elements, by the first and the last instant whose windows hold one."""
        return replace(
            self,
            first=first if self.first is None else min(self.first, first),
            last=last if self.last is None else max(self.last, last),
        )
