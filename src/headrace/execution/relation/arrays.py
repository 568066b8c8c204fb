"""Ragged ranges and runs on integer arrays."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Ids: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]

EMPTY: Ids = np.empty(0, np.int64)


def integers(values: npt.ArrayLike) -> Ids:
    """Make an int64 array."""
    return np.asarray(values, dtype=np.int64)


def repeat_ranges(low: Ids, high: Ids) -> tuple[Ids, Ids]:
    """List for each range `[low, high)` its number once for each of its members, and the members.

    >>> repeat_ranges(integers([3, 7, 5]), integers([5, 7, 6]))
    (array([0, 0, 2]), array([3, 4, 5]))
    """
    sizes = np.maximum(high - low, 0)
    number = np.repeat(np.arange(sizes.size), sizes)
    before = np.cumsum(sizes) - sizes
    return number, np.arange(number.size) - before[number] + low[number]


def run_starts(*columns: Ids) -> Ids:
    """Return the positions at which a run of equal rows begins.

    >>> run_starts(integers([1, 1, 2]), integers([5, 6, 6]))
    array([0, 1, 2])
    """
    changes = np.zeros(columns[0].size, np.bool_)
    changes[:1] = True
    for each in columns:
        changes[1:] |= each[1:] != each[:-1]
    return np.flatnonzero(changes)


def sum_runs(values: Ids, starts: Ids) -> Ids:
    """Sum the values of each run."""
    return np.add.reduceat(values, starts) if starts.size else values[:0]


def rank_within(*keys: Ids) -> Ids:
    """Number the rows with equal keys from zero, in the order in which they stand.

    >>> rank_within(integers([7, 8, 7, 7, 8]))
    array([0, 0, 1, 2, 1])
    """
    order = np.lexsort(keys)
    starts = run_starts(*(each[order] for each in keys))
    ranks = np.empty(order.size, np.int64)
    ranks[order] = np.arange(order.size) - np.repeat(starts, np.diff(starts, append=order.size))
    return ranks
