"""Pairs of rows with one key whose intervals meet: look up which row begins later.

Two intervals meet iff the second begins within the first, or the first begins within the second
and after it began. Each is a range in an order by key and beginning, and no pair is in both. So
every pair is found once, and their number is known before one is made.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

import numpy as np

from headrace.execution.relation.arrays import EMPTY, Ids, repeat_ranges
from headrace.execution.relation.keys import combine_keys, count_keys, fit_instants
from headrace.execution.relation.row_budget import SizeCheck, check_rows

Keyed: TypeAlias = tuple[Ids, Ids, Ids]
"""Key, first and last instant of each row."""
RowPairs: TypeAlias = tuple[Ids, Ids]
"""Row numbers of the left and of the right side."""
_OPERATOR: Final = "a join"


class _Ranges(NamedTuple):
    """For each row of one side the range of positions of the other that it pairs with."""

    low: Ids
    high: Ids

    @property
    def size(self) -> int:
        """How many pairs they have."""
        return int((self.high - self.low).sum())


def find_equal_rows(left: Ids, right: Ids, check: SizeCheck = check_rows) -> RowPairs:
    """Pair the rows of one key, whatever their intervals."""
    order = np.argsort(right)
    ranges = _look_up(right[order], left, left + 1)
    check(ranges.size, _OPERATOR)
    rows, positions = repeat_ranges(*ranges)
    return rows, order[positions]


def find_meeting_rows(left: Keyed, right: Keyed, check: SizeCheck = check_rows) -> RowPairs:
    """Pair the rows of one key whose intervals meet."""
    (left_key, left_first, left_last), (right_key, right_first, right_last) = left, right
    if not left_key.size or not right_key.size:
        return EMPTY, EMPTY
    bounds = (left_first, left_last + 1, right_first, right_last + 1)
    span, fitted = fit_instants(count_keys(left_key, right_key), *bounds)
    begin, end = (combine_keys(left_key, each, span) for each in fitted[:2])
    other_begin, other_end = (combine_keys(right_key, each, span) for each in fitted[2:])
    return _pair_intervals((begin, end), (other_begin, other_end), check)


def _pair_intervals(left: RowPairs, right: RowPairs, check: SizeCheck) -> RowPairs:
    """Pair intervals `[begin, end)`, which lie apart if their keys differ."""
    (begin, end), (other_begin, other_end) = left, right
    order, other_order = np.argsort(begin), np.argsort(other_begin)
    within = _look_up(other_begin[other_order], begin[order], end[order])
    around = _look_up(begin[order], other_begin[other_order] + 1, other_end[other_order])
    check(within.size + around.size, _OPERATOR)
    row, position = repeat_ranges(*within)
    other, other_position = repeat_ranges(*around)
    return (
        np.concatenate([order[row], order[other_position]]),
        np.concatenate([other_order[position], other_order[other]]),
    )


def _look_up(ordered: Ids, low: Ids, high: Ids) -> _Ranges:
    """Find the positions of the values in `[low, high)`; an empty range has none."""
    begin = np.searchsorted(ordered, low, "left")
    return _Ranges(begin, np.maximum(begin, np.searchsorted(ordered, high, "left")))
