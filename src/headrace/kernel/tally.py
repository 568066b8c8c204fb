"""How often each term stands in a column that gains and loses rows: exact where it is often.

The few terms that stand there often are counted one by one. All others share counters: each term
has one in each of several rows of them, and the least is an upper bound of how often it is there,
from which what others are expected to have left is taken away.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]
Counts = npt.NDArray[np.float64]

_ROWS: Final = 2
_ROOMY: Final = 2
"""There are so many times as many counters in a row as terms, as a power of two."""
_FEWEST_BITS, _MOST_BITS = 10, 18
_LATELY: Final = 20
"""How many terms differ is counted again when one in so many has come or gone."""
_OFTEN: Final = 256
"""A term that is one in so many, or more often, has a counter of its own."""


class Tally:
    """Counts of terms; what is added can be taken away again."""

    def __init__(self, ids: Ids) -> None:
        """Begin with a column."""
        self.total = 0
        self._counted, self._distinct = 0, 0.0
        self._heavy, self._exact = _often(ids)
        bits = int(ids.size).bit_length() + _ROOMY
        self._bits = min(max(bits, _FEWEST_BITS), _MOST_BITS)
        self._shared = np.zeros((_ROWS, 1 << self._bits), np.int32)
        self.add(ids)

    @property
    def is_full(self) -> bool:
        """Whether there are so many terms that more counters would say more."""
        return self._bits < _MOST_BITS and self.total > 1 << self._bits

    def add(self, ids: Ids) -> None:
        """Count more terms."""
        self._change(ids, 1)

    def take_away(self, ids: Ids) -> None:
        """Count some terms less, which were counted before."""
        self._change(ids, -1)

    def _change(self, ids: Ids, by: int) -> None:
        self.total += by * ids.size
        known, places = self._known(ids)
        if known.any():
            self._exact += by * np.bincount(places[known], minlength=self._exact.size)
            ids = ids[~known]
        for row, slots in enumerate(self._slots(ids)):
            np.add.at(self._shared[row], slots, by)

    def _known(self, ids: Ids) -> tuple[npt.NDArray[np.bool_], Ids]:
        """Which terms have a counter of their own, and where."""
        if self._heavy.size == 0:
            return np.zeros(ids.size, np.bool_), np.zeros(ids.size, np.int64)
        places = np.minimum(np.searchsorted(self._heavy, ids), self._heavy.size - 1)
        return self._heavy[places] == ids, places

    def _slots(self, ids: Ids) -> list[npt.NDArray[np.int64]]:
        """Ids are hashes: the bits at their beginning and at their end have nothing in common."""
        hashes = np.ascontiguousarray(ids).view(np.uint64)
        mask = np.uint64((1 << self._bits) - 1)
        first = (hashes >> np.uint64(64 - self._bits)).astype(np.int64)
        return [first, (hashes & mask).astype(np.int64)]

    def of(self, ids: Ids) -> Counts:
        """How often each of some terms is there: exact if it is often, else about."""
        known, places = self._known(ids)
        least = np.minimum(
            *(self._shared[row][slots] for row, slots in enumerate(self._slots(ids)))
        )
        rest = self.total - int(self._exact.sum())
        others = np.maximum(rest - least, 0) / (1 << self._bits)
        # In all rows of counters at once, others have left something the less often.
        found: Counts = np.maximum(least - np.minimum(others, others**_ROWS), 0.0)
        if self._exact.size:
            found[known] = self._exact[places[known]]
        return found

    @property
    def distinct(self) -> float:
        """About how many different terms there are, as of lately."""
        if abs(self.total - self._counted) * _LATELY > self._counted:
            self._counted, self._distinct = self.total, self._count()
        return self._distinct

    def _count(self) -> float:
        """By how many counters nobody has used."""
        size = 1 << self._bits
        unused = int(np.count_nonzero(self._shared[0] == 0))
        others = size * np.log(size / unused) if unused else float(size)
        return int(np.count_nonzero(self._exact)) + float(others)


def _often(ids: Ids) -> tuple[Ids, npt.NDArray[np.int64]]:
    """The terms that are worth counters of their own, in order, and the counters."""
    terms, counts = np.unique(ids, return_counts=True)
    heavy = terms[counts * _OFTEN >= ids.size] if ids.size >= _OFTEN else terms
    return heavy, np.zeros(heavy.size, np.int64)
