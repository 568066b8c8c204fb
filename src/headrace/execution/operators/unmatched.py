"""Left rows with and without a match: what OPTIONAL, MINUS and EXISTS have in common."""

from __future__ import annotations

import numpy as np

from headrace.execution.relation.arrays import Ids
from headrace.execution.relation.coalesce import (
    Pieces,
    subtract_pieces,
    take_pieces,
    unite_pieces,
)
from headrace.execution.relation.relation import Relation


def match_pieces(rows: Ids, intervals: tuple[Ids, ...], instants: int) -> Pieces:
    """Return the pieces of left rows at which they have a match.

    Args:
        rows: the number of the left row of each match.
        intervals: when the matches hold; none if always.
        instants: how many instants the step has.
    """
    if intervals:
        return Pieces(rows, *intervals)
    zeros = np.zeros(rows.size, np.int64)
    return Pieces(rows, zeros, zeros + (instants - 1))


def unite_matches(matches: Pieces) -> Pieces:
    """Unite the matches of each left row: a row with two matches stays one row."""
    united = unite_pieces(*matches)
    return Pieces(matches.row[united.row], united.first, united.last)


def keep_matches(left: Relation, matches: Pieces, instants: int) -> Relation:
    """Keep each left row at the instants at which it has a match.

    Args:
        left: the rows.
        matches: united pieces with row numbers of the left side.
        instants: how many instants the step has, for left rows that hold always.
    """
    if left.holds_always and _are_whole(matches, instants):
        return left.take(matches.row)
    return take_pieces(left, matches)


def remove_matches(left: Relation, matches: Pieces, instants: int) -> Relation:
    """Keep each left row at the instants at which none of its matches holds.

    Args:
        left: the rows. Equal rows with different intervals are matched one by one.
        matches: pieces with row numbers of the left side, within the intervals of these rows.
        instants: how many instants the step has, for left rows that hold always.
    """
    if not matches.row.size:
        return left
    if left.holds_always and _are_whole(matches, instants):  # it need not get intervals
        return left.filter(~np.isin(np.arange(left.height), matches.row))
    left = left.over(instants)
    first, last = left.bounds
    return take_pieces(left, subtract_pieces(first, last, matches))


def _are_whole(matches: Pieces, instants: int) -> bool:
    """Test whether all pieces hold at all instants of the step."""
    return bool(((matches.first <= 0) & (matches.last >= instants - 1)).all())
