"""Keys of rows: dense numbers of equal rows, and orders by key and instant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from headrace.execution.relation.arrays import Ids

_ROOM: Final = 2**62
"""Products below this bound fit an int64."""
_MIXER: Final = -7046029254386353131
"""An odd number with many different bits: the golden ratio in 64 bits."""
_SHIFT: Final = 29


def number_rows(columns: Sequence[Ids], height: int) -> Ids:
    """Number equal rows from zero, densely and without collisions.

    Without columns all rows are equal.

    >>> len(set(number_rows([np.array([5, 5, 5]), np.array([1, 2, 1])], 3).tolist()))
    2
    """
    if not columns:
        return np.zeros(height, np.int64)
    if len(columns) == 1:
        return _densify(columns[0])
    hashes = hash_rows(columns)
    order = np.argsort(hashes)
    equal = hashes[order[1:]] == hashes[order[:-1]]
    if not are_equal(columns, order[1:][equal], order[:-1][equal]):
        return _number_one_by_one(columns, height)
    numbers = np.zeros(height, np.int64)
    numbers[order[1:]] = np.cumsum(~equal)
    return numbers


def hash_rows(columns: Sequence[Ids]) -> Ids:
    """Mix the ids of each row into one number; different rows rarely have the same.

    The upper bits depend on all bits of the ids.
    """
    mixed = columns[0] * _MIXER
    for each in columns[1:]:
        mixed ^= mixed >> _SHIFT
        mixed += each
        mixed *= _MIXER
    return mixed


def are_equal(columns: Sequence[Ids], rows: Ids, others: Ids) -> bool:
    """Test whether rows are equal to others, pair by pair."""
    return all(np.array_equal(each[rows], each[others]) for each in columns)


def _number_one_by_one(columns: Sequence[Ids], height: int) -> Ids:
    """Number rows column by column, where different rows have the same hash."""
    numbers = _densify(columns[0])
    for each in columns[1:]:
        # Both are less than the height, so that the product stays far below the bound.
        numbers = _densify(numbers * height + _densify(each))
    return numbers


def number_both(
    left: Sequence[Ids], right: Sequence[Ids], left_height: int, right_height: int
) -> tuple[Ids, Ids]:
    """Number the rows of two relations together: equal rows of both have one number."""
    columns = [np.concatenate(pair) for pair in zip(left, right, strict=True)]
    numbers = number_rows(columns, left_height + right_height)
    return numbers[:left_height], numbers[left_height:]


def _densify(ids: Ids) -> Ids:
    """Replace ids by their ranks."""
    order = np.argsort(ids)
    ordered = ids[order]
    numbers = np.zeros(ids.size, np.int64)
    numbers[order[1:]] = np.cumsum(ordered[1:] != ordered[:-1])
    return numbers


def order_rows(key: Ids, instant: Ids) -> Ids:
    """Order rows by key, then by instant."""
    span, (fitted,) = fit_instants(count_keys(key), instant)
    return np.argsort(combine_keys(key, fitted, span))


def combine_keys(key: Ids, instant: Ids, span: int) -> Ids:
    """Join a key and an instant in `[0, span)` into one number that sorts like the pair."""
    return key * span + instant


def fit_instants(keys: int, *instants: Ids) -> tuple[int, tuple[Ids, ...]]:
    """Make instants small enough to be combined with keys below a number.

    Moments of event time times the number of keys may exceed an int64: then instants are replaced
    by their ranks. Order and equality stay, distances do not: pass ends as the instant after the
    last, so that touching pieces are found by equality.

    Returns:
        the number of possible instants, and the instants, none of which is negative.
    """
    if not instants[0].size:
        return 1, instants
    least = min(int(each.min()) for each in instants)
    span = max(int(each.max()) for each in instants) + 1
    if least >= 0 and span < _ROOM // max(keys, 1):
        return span, instants
    points, ranks = np.unique(np.concatenate(instants), return_inverse=True)
    cuts = np.cumsum([each.size for each in instants])[:-1]
    return points.size, tuple(np.split(ranks.astype(np.int64), cuts))


def count_keys(*keys: Ids) -> int:
    """Return a number greater than all keys."""
    return max((int(each.max()) + 1 for each in keys if each.size), default=0)
