"""Rows of frames that hold from one instant to another: `first` and `last`, and other columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from headrace.execution.relation.arrays import Ids, repeat_ranges
from headrace.execution.relation.coalesce import Pieces, subtract_pieces, unite_rows
from headrace.execution.relation.keys import number_both
from headrace.execution.relation.meeting import find_meeting_rows
from headrace.execution.relation.relation import UNBOUND
from headrace.kernel.columns import FIRST, INSTANT, LAST

CheckPairs = Callable[[int], None]
"""Takes the number of pairs of rows that a join makes, and refuses too many."""


def single_instant_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """A row for each instant at which one holds, with `instant` in place of its interval."""
    first, last = intervals_of(rows)
    if np.array_equal(first, last):
        return rows.drop(FIRST, LAST).insert_column(0, rows[FIRST].alias(INSTANT))
    row, instant = repeat_ranges(first, last + 1)
    return rows[row].drop(FIRST, LAST).insert_column(0, pl.Series(INSTANT, instant))


def simplified_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """The same rows with `instant` in place of intervals, if each holds at one instant only."""
    return single_instant_rows(rows) if np.array_equal(*intervals_of(rows)) else rows


def count_solutions(rows: pl.DataFrame) -> int:
    """How many rows there are at all instants together."""
    first, last = intervals_of(rows)
    return int((last - first).sum()) + rows.height


def coalesced_rows(rows: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Each row once at each instant, of those that are equal in some columns."""
    pieces = unite_rows(_ids(rows, names), *intervals_of(rows))
    return rows if pieces.row.size == rows.height else with_pieces(rows, pieces)


def joined_rows(
    left: pl.DataFrame, right: pl.DataFrame, on: Sequence[str], check: CheckPairs
) -> pl.DataFrame:
    """Pairs of rows that are equal in some columns, at the instants at which both hold."""
    (rows, others), (first, last) = meeting_rows(left, right, on, check)
    ours = with_pieces(left, Pieces(rows, first, last))
    names = [name for name in right.columns if name not in {FIRST, LAST, *on}]
    return ours.hstack([right[name][others] for name in names])


def meeting_rows(
    left: pl.DataFrame, right: pl.DataFrame, on: Sequence[str], check: CheckPairs
) -> tuple[tuple[Ids, Ids], tuple[Ids, Ids]]:
    """The numbers of rows that are equal in some columns and hold together, and when they do."""
    key, other_key = number_both(_ids(left, on), _ids(right, on), left.height, right.height)
    (first, last), (other_first, other_last) = intervals_of(left), intervals_of(right)
    rows, others = find_meeting_rows(
        (key, first, last), (other_key, other_first, other_last), lambda number, _: check(number)
    )
    both = (
        np.maximum(first[rows], other_first[others]),
        np.minimum(last[rows], other_last[others]),
    )
    return (rows, others), both


def remaining_rows(rows: pl.DataFrame, gone: Pieces) -> pl.DataFrame:
    """Rows without the pieces of them that are gone."""
    if not gone.row.size:
        return rows
    return with_pieces(rows, subtract_pieces(*intervals_of(rows), gone))


def with_pieces(rows: pl.DataFrame, pieces: Pieces) -> pl.DataFrame:
    """A row for each piece, with its interval."""
    found = rows[pieces.row]
    for name, instants in ((FIRST, pieces.first), (LAST, pieces.last)):
        found.replace_column(found.get_column_index(name), pl.Series(name, instants))
    return found


def intervals_of(rows: pl.DataFrame) -> tuple[Ids, Ids]:
    """The first and the last instants of rows."""
    return rows[FIRST].to_numpy(), rows[LAST].to_numpy()


def _ids(rows: pl.DataFrame, names: Sequence[str]) -> list[Ids]:
    return [ids_of(rows[name]) for name in names]


def ids_of(series: pl.Series) -> Ids:
    """A column of ids as an array; what is unbound is 0."""
    return (series.fill_null(UNBOUND) if series.null_count() else series).to_numpy()
