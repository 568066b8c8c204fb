"""For each key and instant the row of least rank that holds: MIN, MAX, SAMPLE, latest times.

Every interval is two overlapping stretches of a power of two slots. The least rank is noted for
each stretch, and pushed down to stretches of half the length, for all keys at once.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from headrace.execution.relation.arrays import Ids

NOTHING: Final = int(np.iinfo(np.int64).max)
"""The rank at a slot at which nothing holds."""


def find_least_ranks(begin: Ids, end: Ids, rank: Ids, slots: int) -> Ids:
    """Return for each slot the least rank of the rows that cover it.

    Args:
        begin: the first slot of each row.
        end: the slot after its last.
        rank: the rank of each row.
        slots: how many slots there are.
    """
    least = np.full(slots, NOTHING, np.int64)
    if not begin.size:
        return least
    level = np.frexp(end - begin)[1] - 1
    for height in range(int(level.max()), -1, -1):
        rows = np.flatnonzero(level == height)
        np.minimum.at(least, begin[rows], rank[rows])
        np.minimum.at(least, end[rows] - (1 << height), rank[rows])
        if height:
            least = _halve(least, 1 << (height - 1))
    return least


def _halve(least: Ids, half: int) -> Ids:
    """Turn the ranks of stretches into those of stretches of half their length."""
    halved = least.copy()
    np.minimum(halved[half:], least[:-half], out=halved[half:])
    return halved
