"""Matches and how long they last: from one moment to another, whichever instants there will be.

A match is one as long as all of its triples are in their windows: it begins with the last of them
to enter and ends with the first to leave. The same match may come about by several triples that are
equal; then it lasts as long as one of them does.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from headrace.kernel.alike import alike
from headrace.kernel.columns import FIRST, LAST
from headrace.kernel.grid import FOREVER, Times
from headrace.kernel.instants import Instants
from headrace.kernel.table import Flags, Table

BEGIN: Final = "begin"
END: Final = "end"
"""The first and the last moment at which a match is one."""
TURN: Final = "turn"
"""The place of its last element among those of a step, where elements cause instants."""
NO_TURN: Final = -1
"""The turn of what came in no step, or in one that is over."""
LASTING: Final = (BEGIN, END, TURN)
TOLD: Final = "told"
"""Whether it was one at the last instant that was evaluated."""

_BESIDE: Final = frozenset({*LASTING, TOLD, FIRST, LAST})
_MOST_OVER: Final = 0.5
"""When more than this part of some matches is over, they are dropped at once."""


def names_of(table: Table) -> list[str]:
    """The columns of what is matched."""
    return [name for name in table.columns if name not in _BESIDE]


def from_on(table: Table, moment: int) -> Flags:
    """Which of some matches are one at some moment, and not before another only."""
    ends = table[END]
    kept: Flags = (table[BEGIN] <= ends) & (ends >= moment)
    return kept


def mostly_over(table: Table, moment: int) -> bool:
    """Whether most of some matches are over before a moment."""
    return int(np.count_nonzero(table[END] < moment)) > _MOST_OVER * table.height


def in_past(table: Table) -> Table:
    """The same when the step in which their elements had their turns is over."""
    if int(table[TURN].max(initial=NO_TURN)) == NO_TURN:
        return table
    return table.with_columns({TURN: np.full(table.height, NO_TURN)})


def united(table: Table, first: str = BEGIN, last: str = END) -> tuple[Table, Times | None]:
    """Each match once for each time without a break that it lasts; which rows they are of.

    Args:
        table: matches, of which several may be the same; their turns must be over.
        first: the column of when they begin.
        last: the column of when they end.

    Returns:
        The matches, and for each the row of one that is the same; none if all rows stay.
    """
    if table.height <= 1:
        return table, None
    same, rows = alike(table, names_of(table))
    if rows.size == table.height:
        return table, None
    order = _in_order(same, table[first])
    same, begins, ends = same[order], table[first][order], table[last][order]
    breaks = np.ones(table.height, np.bool_)
    breaks[1:] = same[1:] != same[:-1]
    breaks[1:] |= begins[1:] > _latest(ends, breaks)[:-1] + 1
    if breaks.all():
        return table, None
    starts = np.flatnonzero(breaks)
    lasting = {first: begins[starts], last: np.maximum.reduceat(ends, starts)}
    for name in (TURN, TOLD):
        if name in table.columns:
            lasting[name] = np.maximum.reduceat(table[name][order], starts)
    chosen = order[starts]
    return table.taken(chosen).with_columns(lasting), chosen


def _in_order(numbers: Times, moments: Times) -> Times:
    """The order of rows by a number, and then by a moment."""
    low, high = int(moments.min()), int(moments.max())
    span = high - low + 1
    if (int(numbers.max()) + 1) * span < FOREVER:  # both in one number are sorted much faster
        return np.argsort(numbers * span + (moments - low))
    return np.lexsort((moments, numbers))


def _latest(ends: Times, begins_run: Flags) -> Times:
    """The greatest number so far, from where a run begins."""
    falls = ends[1:] < ends[:-1]
    if not (falls & ~begins_run[1:]).any():
        return ends
    values, ranks = np.unique(ends, return_inverse=True)
    runs = np.cumsum(begins_run) * values.size  # so that each run begins above the one before it
    found: Times = values[np.maximum.accumulate(runs + ranks) - runs]
    return found


def spans(table: Table, instants: Instants) -> tuple[Times, Times]:
    """The first and the last instant of each match, by number; it has none if they are reversed."""
    first = np.searchsorted(instants.times, table[BEGIN], side="left")
    last = np.searchsorted(instants.times, table[END], side="right") - 1
    if instants.cuts is not None:
        seen = np.searchsorted(instants.cuts, table[TURN], side="right")
        first = np.maximum(first, seen)
    return first, last


def numbered(table: Table, instants: Instants) -> Table:
    """The matches of some instants, with the first and the last of them, by number; each once."""
    first, last = spans(table, instants)
    numbers = {FIRST: first, LAST: last}
    every = table.only(names_of(table)).with_columns(numbers)
    found, _ = united(every.where(first <= last), FIRST, LAST)
    return found


def places_at(table: Table, moment: int) -> Times:
    """Where the matches of one moment stand."""
    return np.flatnonzero((table[BEGIN] <= moment) & (table[END] >= moment))


def at_run(numbers: pl.DataFrame, start: int, stop: int) -> pl.DataFrame:
    """The matches of a run of instants, which are numbered from 0."""
    first, last = numbers[FIRST].to_numpy(), numbers[LAST].to_numpy()
    inside = np.flatnonzero((first < stop) & (last >= start))
    found = numbers if inside.size == numbers.height else numbers[inside]
    clipped = {
        FIRST: np.maximum(first[inside], start) - start,
        LAST: np.minimum(last[inside], stop - 1) - start,
    }
    return found.with_columns(pl.Series(name, each) for name, each in clipped.items())
