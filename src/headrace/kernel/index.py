"""Where an id stands among many: a lookup of whole columns in a few passes.

Ids are hashes, so their first bits spread them evenly over buckets of one or two each. A column
is looked up by going to each id's bucket and comparing what is there, entry by entry.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Positions: TypeAlias = npt.NDArray[np.int64]

_FEW: Final = 512
"""So few ids are found by binary search before the passes of the other way have begun."""


class IdIndex:
    """Finds the positions of ids in a column of them, sorted as unsigned numbers."""

    def __init__(self, ids: npt.NDArray[np.int64]) -> None:
        """Note where each bucket begins; each id is there once."""
        self._sorted = ids
        self._bits = max(1, int(ids.size).bit_length())
        counts = np.bincount(self._buckets(self._sorted), minlength=1 << self._bits)
        self.starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
        self.deepest = int(counts.max(initial=0))

    @classmethod
    def known(
        cls, ids: npt.NDArray[np.int64], starts: npt.NDArray[np.int32], deepest: int
    ) -> IdIndex:
        """An index that was made before, of the same ids."""
        found = cls.__new__(cls)
        found._sorted, found._bits = ids, max(1, int(ids.size).bit_length())
        found.starts, found.deepest = starts, deepest
        return found

    def _buckets(self, ids: npt.NDArray[np.int64]) -> Positions:
        return (ids.view(np.uint64) >> np.uint64(64 - self._bits)).astype(np.int64)

    def positions(self, ids: npt.NDArray[np.int64]) -> Positions:
        """The position of each id, -1 if it is not there.

        >>> IdIndex(np.array([7, 9, -3])).positions(np.array([9, 8, -3])).tolist()
        [1, -1, 2]
        """
        if ids.size <= _FEW and self._sorted.size:
            return self._by_halves(ids)
        found = np.full(ids.size, -1, dtype=np.int64)
        buckets = self._buckets(np.ascontiguousarray(ids))
        places, ends = self.starts[buckets], self.starts[buckets + 1]
        open_rows = np.flatnonzero(places < ends)
        for step in range(self.deepest):
            candidates = places[open_rows] + step
            equal = self._sorted[candidates] == ids[open_rows]
            found[open_rows[equal]] = candidates[equal]
            further = ~equal & (candidates + 1 < ends[open_rows])
            open_rows = open_rows[further]
            if open_rows.size == 0:
                break
        return found

    def _by_halves(self, ids: npt.NDArray[np.int64]) -> Positions:
        """The same by binary search."""
        wanted, known = ids.view(np.uint64), self._sorted.view(np.uint64)
        places = np.minimum(known.searchsorted(wanted), known.size - 1)
        return np.where(known[places] == wanted, places, -1)
