"""Instants of a grid in closed form where windows hold the same.

A jump of event time, or of a clock, makes the instants of years due at once. Those at which what a
window holds may change are evaluated one by one. Of a long stretch of others the first and the last
are evaluated, and the last stands for those between them. A stretch with elements in its windows,
which has answers at each instant, has to be much longer for that than an empty one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd

import numpy as np

from headrace.kernel.grid import Grid, Times
from headrace.kernel.instants import Stretch

FEW = 10_000
"""So many instants at which windows are empty are evaluated one by one."""
MANY = 1_000_000
"""So many instants at which windows hold the same elements are evaluated one by one."""
_MOST_COUNTED = 100_000
"""The instants of several grids are counted by so many grids that some of them have in common."""


@dataclass(frozen=True, slots=True)
class Intervals:
    """Times as disjoint intervals in order.

    Attributes:
        starts: the first time of each.
        ends: the last time of each.
    """

    starts: Times
    ends: Times

    @classmethod
    def of(cls, starts: Times, ends: Times) -> Intervals:
        """Unite intervals that overlap.

        >>> found = Intervals.of(np.array([5, 1, 20]), np.array([9, 6, 30]))
        >>> found.starts.tolist(), found.ends.tolist()
        ([1, 20], [9, 30])
        """
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], np.maximum.accumulate(ends[order])
        begins = np.concatenate(([True], starts[1:] > ends[:-1])) if starts.size else starts > 0
        last = np.concatenate((np.flatnonzero(begins)[1:], [starts.size])) - 1
        return cls(starts[begins], ends[last] if starts.size else ends)

    def within(self, first: int, last: int) -> Iterator[tuple[int, int, bool]]:
        """Divide an interval into parts, each with whether it is one of these."""
        place = first
        begin = int(np.searchsorted(self.ends, first))
        stop = int(np.searchsorted(self.starts, last, side="right"))
        inside = self.starts[begin:stop].tolist(), self.ends[begin:stop].tolist()
        for start, end in zip(*inside, strict=True):
            if start > place:
                yield place, start - 1, False
                place = start
            yield place, min(end, last), True
            place = end + 1
        if place <= last:
            yield place, last, False


@dataclass(frozen=True, slots=True)
class Contents:
    """When windows hold something.

    Attributes:
        occupied: the times at which they may hold an element.
        changing: those at which what they hold may change; none if each instant of a window with
            elements has to be evaluated.
    """

    occupied: Intervals
    changing: Intervals | None = None

    def parts(self, first: int, last: int) -> Iterator[tuple[int, int, int | None]]:
        """Divide an interval where what windows hold changes.

        Returns:
            The first and the last moment of each part, and how many instants of it are evaluated
            one by one; none if all of them are.
        """
        for start, end, is_occupied in self.occupied.within(first, last):
            if not is_occupied:
                yield start, end, FEW
            elif self.changing is None:
                yield start, end, None
            else:
                for begin, stop, changes in self.changing.within(start, end):
                    yield begin, stop, None if changes else MANY


@dataclass(frozen=True, slots=True)
class DueInstants:
    """The times at which a query is evaluated, and the stretches that some of them stand for."""

    times: Times
    stretches: tuple[Stretch, ...] = ()


def due_instants(grids: Sequence[Grid], contents: Contents, first: int, last: int) -> DueInstants:
    """Find the instants of some grids, with one in place of many where windows hold the same.

    >>> contents = Contents(Intervals.of(np.array([0]), np.array([3])))
    >>> found = due_instants([Grid(1)], contents, 0, 10**15)
    >>> found.times.tolist(), found.stretches  # doctest: +ELLIPSIS
    ([0, 1, 2, 3, 4, 1000000000000000], (Stretch(since=5, last=1000000000000000, ...),))
    """
    times: list[Times] = []
    stretches: list[Stretch] = []
    for start, end, most in contents.parts(first, last):
        stretch = None if most is None else _stretch(grids, start, end, most)
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


def may_be_constant(grids: Sequence[Grid], first: int, last: int) -> bool:
    """Whether so many instants are due that windows may hold the same elements at many of them."""
    return _number(grids, first, last) > MANY


def first_of_due(
    grids: Sequence[Grid], contents: Contents, first: int, last: int, most: int
) -> tuple[int, int | None]:
    """Find the end of so many instants, each grid for itself, and those of a stretch as two.

    >>> contents = Contents(Intervals.of(np.array([0, 9 * 10**14]), np.array([3, 10**15])))
    >>> first_of_due([Grid(1)], contents, 0, 10**15, 100)
    (100, 900000000000093)
    >>> first_of_due([Grid(1)], contents, 0, 8 * 10**14, 100)
    (6, None)

    Returns:
        How many there are up to the end, and the end, which is None if there are no more.
    """
    number = 0
    for start, end, few in contents.parts(first, last):
        if few is not None and _stretch(grids, start, end, few) is not None:
            number += 2
            if number >= most and end < last:
                return number, end
            continue
        every = _number(grids, start, end)
        if number + every > most:
            return _cut(grids, start, end, number, most)
        number += every
    return number, None


def _cut(
    grids: Sequence[Grid], start: int, end: int, number: int, most: int
) -> tuple[int, int | None]:
    """Find the moment up to which an interval has the rest of `most` instants, or its first one."""
    low = min(grid.from_(start) for grid in grids)
    high = end
    while low < high:
        middle = (low + high + 1) // 2
        if number + _number(grids, start, middle) <= most:
            low = middle
        else:
            high = middle - 1
    return number + _number(grids, start, low), low


def _stretch(grids: Sequence[Grid], start: int, end: int, most: int) -> Stretch | None:
    """Make a stretch of the instants of an interval after its first, if they are very many."""
    if _number(grids, start, end) <= most:
        return None
    first = min(grid.from_(start) for grid in grids)
    since = min(grid.from_(first + 1) for grid in grids)
    last = max(grid.to(end) for grid in grids)
    count = _distinct(grids, since, last)
    return None if count is None or since >= last else Stretch(since, last, count)


def _number(grids: Sequence[Grid], first: int, last: int) -> int:
    return sum(max(0, (grid.to(last) - grid.from_(first)) // grid.step + 1) for grid in grids)


def _distinct(grids: Sequence[Grid], first: int, last: int) -> int | None:
    """Count the instants of some grids, those of several once; None if that takes too long.

    An instant of several grids is counted for each of them, less once for each two of them, and so
    on: what two grids have in common is a grid.
    """
    if len(grids) == 1:
        return _number(grids, first, last)
    common: dict[tuple[int, int], int] = {}
    for grid in grids:
        added = {(grid.step, grid.origin % grid.step): 1}
        for progression, weight in common.items():
            both = _in_common(progression, (grid.step, grid.origin))
            if both is not None and _members(both, first, last):
                added[both] = added.get(both, 0) - weight
        for progression, weight in added.items():
            common[progression] = common.get(progression, 0) + weight
        if len(common) > _MOST_COUNTED:
            return None
    return sum(
        weight * _members(progression, first, last) for progression, weight in common.items()
    )


def _in_common(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int] | None:
    """The step and the least moment from 0 on of what two grids have in common.

    >>> _in_common((4, 1), (6, 3)), _in_common((4, 1), (6, 2))
    ((12, 9), None)
    """
    (step, start), (width, begin) = one, other
    shared = gcd(step, width)
    if (begin - start) % shared:
        return None
    turns = (begin - start) // shared * pow(step // shared, -1, width // shared)
    whole = step // shared * width
    return whole, (start + step * (turns % (width // shared))) % whole


def _members(progression: tuple[int, int], first: int, last: int) -> int:
    step, start = progression
    return (last - start) // step - (first - 1 - start) // step
