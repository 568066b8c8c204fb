"""Instants of a grid in closed form where no window holds an element.

A jump of event time, or of a clock, makes the instants of years due at once. Those at which a
window holds something are evaluated one by one. Of a long stretch of others the first and the
last are evaluated, and the last stands for those between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import lcm

import numpy as np

from headrace.kernel.grid import Grid, Times
from headrace.kernel.instants import Stretch

FEW = 10_000
"""So many empty instants of a stretch are evaluated one by one."""
_MOST_COUNTED = 1_000_000
"""The instants of several grids are counted by a common period of so many."""


@dataclass(frozen=True, slots=True)
class Occupied:
    """The times at which windows may hold an element, as disjoint intervals in order.

    Attributes:
        starts: the first time of each.
        ends: the last time of each.
    """

    starts: Times
    ends: Times

    @classmethod
    def of(cls, starts: Times, ends: Times) -> Occupied:
        """Unite intervals that overlap.

        >>> found = Occupied.of(np.array([5, 1, 20]), np.array([9, 6, 30]))
        >>> found.starts.tolist(), found.ends.tolist()
        ([1, 20], [9, 30])
        """
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], np.maximum.accumulate(ends[order])
        begins = np.concatenate(([True], starts[1:] > ends[:-1])) if starts.size else starts > 0
        last = np.concatenate((np.flatnonzero(begins)[1:], [starts.size])) - 1
        return cls(starts[begins], ends[last] if starts.size else ends)

    def within(self, first: int, last: int) -> Iterator[tuple[int, int, bool]]:
        """Divide an interval into parts, each with whether it is occupied."""
        place = first
        for start, end in zip(self.starts.tolist(), self.ends.tolist(), strict=True):
            if end < place:
                continue
            if start > last:
                break
            if start > place:
                yield place, start - 1, False
                place = start
            yield place, min(end, last), True
            place = end + 1
        if place <= last:
            yield place, last, False


@dataclass(frozen=True, slots=True)
class DueInstants:
    """The times at which a query is evaluated, and the stretches that some of them stand for."""

    times: Times
    stretches: tuple[Stretch, ...] = ()


def due_instants(grids: Sequence[Grid], occupied: Occupied, first: int, last: int) -> DueInstants:
    """Find the instants of some grids, with one in place of many where windows are empty.

    >>> occupied = Occupied.of(np.array([0]), np.array([3]))
    >>> found = due_instants([Grid(1)], occupied, 0, 10**15)
    >>> found.times.tolist(), found.stretches  # doctest: +ELLIPSIS
    ([0, 1, 2, 3, 4, 1000000000000000], (Stretch(since=5, last=1000000000000000, ...),))
    """
    times: list[Times] = []
    stretches: list[Stretch] = []
    for start, end, is_occupied in occupied.within(first, last):
        stretch = None if is_occupied else _stretch(grids, start, end)
        if stretch is None:
            times += [grid.between(start, end) for grid in grids]
        else:
            before = min(grid.from_(start) for grid in grids)
            times.append(np.array([before, stretch.last]))
            stretches.append(stretch)
    found = np.unique(np.concatenate(times)) if times else np.empty(0, np.int64)
    return DueInstants(found, tuple(stretches))


def are_few(grids: Sequence[Grid], first: int, last: int) -> bool:
    """Whether so few instants are due that all of them are evaluated."""
    return _number(grids, first, last) <= FEW


def number_of(grids: Sequence[Grid], occupied: Occupied, first: int, last: int) -> int:
    """Count the instants at which a query is evaluated, each grid for itself."""
    number = 0
    for start, end, is_occupied in occupied.within(first, last):
        every = _number(grids, start, end)
        number += every if is_occupied or _stretch(grids, start, end) is None else 2
    return number


def _stretch(grids: Sequence[Grid], start: int, end: int) -> Stretch | None:
    """The instants after the first one of an interval, if there are many."""
    if are_few(grids, start, end):
        return None
    first = min(grid.from_(start) for grid in grids)
    since = min(grid.from_(first + 1) for grid in grids)
    last = max(grid.to(end) for grid in grids)
    count = _distinct(grids, since, last)
    return None if count is None or since >= last else Stretch(since, last, count)


def _number(grids: Sequence[Grid], first: int, last: int) -> int:
    return sum(max(0, (grid.to(last) - grid.from_(first)) // grid.step + 1) for grid in grids)


def _distinct(grids: Sequence[Grid], first: int, last: int) -> int | None:
    """Count the instants of some grids, those of several once; None if that takes too long."""
    if len(grids) == 1:
        return _number(grids, first, last)
    period = lcm(*(grid.step for grid in grids))
    if _number(grids, 0, period) > _MOST_COUNTED:
        return None

    def counted(start: int, end: int) -> int:
        return int(np.unique(np.concatenate([grid.between(start, end) for grid in grids])).size)

    periods, rest = divmod(last + 1 - first, period)
    whole = periods * counted(first, first + period - 1) if periods else 0
    return whole + (counted(last + 1 - rest, last) if rest else 0)
