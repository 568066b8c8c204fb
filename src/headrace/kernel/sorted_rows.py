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
_NONE: Final = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class _Run:
    """Keys in order, and the row of each."""

    keys: Ids
    rows: Ids

    @classmethod
    def of(cls, keys: Ids, first: int) -> _Run:
        order = np.argsort(keys, kind="stable")
        return cls(keys[order], order + first)

    def __add__(self, other: _Run) -> _Run:
        keys = np.concatenate([self.keys, other.keys])
        order = np.argsort(keys, kind="stable")  # of two runs in order, that only merges them
        return _Run(keys[order], np.concatenate([self.rows, other.rows])[order])

    def found(self, keys: Ids) -> tuple[Ids, Ids, Ids]:
        """Which of some keys are here, where the first row of each is, and how many there are."""
        first = self.keys.searchsorted(keys)
        which = np.flatnonzero(self.keys[np.minimum(first, self.keys.size - 1)] == keys)
        first = first[which]
        return which, first, self.keys.searchsorted(keys[which], "right") - first

    def moved(self, to: Ids) -> _Run:
        """The same when rows have gone: where each is now, -1 if it is nowhere."""
        rows = to[self.rows]
        kept = rows >= 0
        return _Run(self.keys[kept], rows[kept])


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
        while self._runs and self._runs[-1].keys.size <= _MUCH_SMALLER * new.keys.size:
            new = self._runs.pop() + new
        self._runs.append(new)

    def keep(self, to: Ids, height: int) -> None:
        """Drop rows; where each of the others is now, -1 if it is gone, and how many there are."""
        moved = [each.moved(to) for each in self._runs]
        self._runs = [each for each in moved if each.keys.size]
        self.height = height

    def count(self, keys: Ids) -> int:
        """How many rows have one of some keys, for each of them."""
        return sum(int(each.found(keys)[2].sum()) for each in self._runs)

    def rows(self, keys: Ids, allow: Callable[[int], None]) -> tuple[Ids, Ids]:
        """For each row with one of some keys, which of these, and which row.

        Args:
            keys: what is looked for.
            allow: is told how many rows there are before they are taken, and may refuse.
        """
        found = [(run, *run.found(keys)) for run in self._runs]
        allow(sum(int(counts.sum()) for *_, counts in found))
        ours, theirs = [_NONE], [_NONE]
        for run, which, first, counts in found:
            ours.append(np.repeat(which, counts))
            theirs.append(run.rows[spread(first, counts)])
        return np.concatenate(ours), np.concatenate(theirs)


def spread(first: Ids, counts: Ids) -> Ids:
    """The numbers from each of some on, so many of each."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if ends.size else 0
    if total == counts.size and (total == 0 or int(counts.max()) == 1):
        return first
    found: Ids = np.arange(total) + np.repeat(first - (ends - counts), counts)
    return found
