"""Where terms stand in a table that grows: its rows in runs, each in the order of the terms.

What is new becomes a run of its own. Runs of about the same size are put together, so that there
are a few of them, each much smaller than the one before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from headrace.kernel.table import Ids

_MUCH_SMALLER: Final = 4
_SMALL: Final = 8_192
"""To put a run of fewer rows than these with another costs less than to look at both of them."""
_NONE: Final = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class _Run:
    """Keys in order, and the row of each."""

    keys: Ids
    rows: Ids

    @classmethod
    def of(cls, keys: Ids, first: int = 0) -> _Run:
        order = np.argsort(keys)
        return cls(keys[order], order + first if first else order)

    def __add__(self, other: _Run) -> _Run:
        keys = np.concatenate([self.keys, other.keys])
        order = np.argsort(keys, kind="stable")  # which merges what is in order already
        return _Run(keys[order], np.concatenate([self.rows, other.rows])[order])

    def __len__(self) -> int:
        return self.keys.size

    def among(self, other: _Run) -> tuple[Ids, Ids, Ids]:
        """Which keys of this run are in another, where the first of each is, and how many."""
        first = other.keys.searchsorted(self.keys)  # much faster for keys in order
        which = np.flatnonzero(other.keys[np.minimum(first, len(other) - 1)] == self.keys)
        first = first[which]
        return which, first, other.keys.searchsorted(self.keys[which], "right") - first

    def moved(self, to: Ids) -> _Run:
        """The same when rows have gone: where each is now, -1 if it is nowhere."""
        rows = to[self.rows]
        kept = rows >= 0
        return _Run(self.keys[kept], rows[kept])


@dataclass(frozen=True, slots=True)
class _Meeting:
    """Where two runs have the same keys: the smaller one is looked up in the larger one."""

    smaller: _Run
    larger: _Run
    which: Ids
    first: Ids
    counts: Ids

    @classmethod
    def of(cls, one: _Run, other: _Run) -> _Meeting:
        smaller, larger = (one, other) if len(one) <= len(other) else (other, one)
        return cls(smaller, larger, *smaller.among(larger))

    def rows(self, asked: _Run) -> tuple[Ids, Ids]:
        """The rows of one of both and of the other that have the same keys."""
        small = self.smaller.rows[np.repeat(self.which, self.counts)]
        large = self.larger.rows[spread(self.first, self.counts)]
        return (small, large) if self.smaller is asked else (large, small)


class SortedRows:
    """The rows of a table by a key."""

    def __init__(self) -> None:
        """Begin with no rows."""
        self._runs: list[_Run] = []
        self.height = 0

    def add(self, keys: Ids) -> None:
        """Take the keys of the rows that come next."""
        if keys.size == 0:
            return
        new = _Run.of(keys, self.height)
        self.height += keys.size
        while self._runs and len(self._runs[-1]) <= max(_SMALL, _MUCH_SMALLER * len(new)):
            new = self._runs.pop() + new
        self._runs.append(new)

    def keep(self, to: Ids, height: int) -> None:
        """Drop rows; where each of the others is now, -1 if it is gone, and how many there are."""
        moved = [each.moved(to) for each in self._runs]
        self._runs = [each for each in moved if len(each)]
        self.height = height

    def count(self, keys: Ids) -> int:
        """How many rows have one of some keys, for each of them."""
        return sum(int(each.counts.sum()) for each in self._meetings(_Run.of(keys)))

    def rows(self, keys: Ids, allow: Callable[[int], None]) -> tuple[Ids, Ids]:
        """For each row with one of some keys, which of these, and which row.

        Args:
            keys: what is looked for.
            allow: is told how many rows there are before they are taken, and may refuse.
        """
        asked = _Run.of(keys)
        meetings = self._meetings(asked)
        allow(sum(int(each.counts.sum()) for each in meetings))
        pairs = [each.rows(asked) for each in meetings]
        if len(pairs) == 1:
            return pairs[0]
        ours, theirs = ([each[side] for each in pairs] for side in (0, 1))
        return np.concatenate([_NONE, *ours]), np.concatenate([_NONE, *theirs])

    def counted(self, keys: Ids) -> tuple[Ids, Ids]:
        """How many rows each of some keys has, and one of them; -1 if there is none."""
        counts, rows = np.zeros(keys.size, np.int64), np.full(keys.size, -1)
        for run in self._runs:
            first = run.keys.searchsorted(keys)
            number = run.keys.searchsorted(keys, "right") - first
            there = np.flatnonzero(number)
            rows[there] = run.rows[first[there]]
            counts += number
        return counts, rows

    def _meetings(self, asked: _Run) -> list[_Meeting]:
        return [_Meeting.of(asked, run) for run in self._runs] if len(asked) else []


def spread(first: Ids, counts: Ids) -> Ids:
    """The numbers from each of some on, so many of each."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if ends.size else 0
    if total == counts.size and (total == 0 or int(counts.max()) == 1):
        return first
    found: Ids = np.arange(total) + np.repeat(first - (ends - counts), counts)
    return found
