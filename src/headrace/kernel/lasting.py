"""Matches and how long they last: from one moment to another, whichever instants there will be.

A match is one as long as all of its triples are in their windows: it begins with the last of them
to enter and ends with the first to leave. The same match may come about by several triples that are
equal; then it lasts as long as one of them does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from headrace.kernel.alike import numbers as alike
from headrace.kernel.columns import FIRST, INSTANT, LAST
from headrace.kernel.grid import FOREVER, NEVER, Times
from headrace.kernel.instants import Instants
from headrace.kernel.scan import expanded_rows
from headrace.kernel.wording import words_of

BEGIN: Final = "begin"
END: Final = "end"
"""The first and the last moment at which a match is one."""
TURN: Final = "turn"
"""The place of its last element among those of a step, where elements cause instants."""
LASTING: Final = (BEGIN, END, TURN)
_OTHER: Final = " of the other"

Flags: TypeAlias = npt.NDArray[np.bool_]

_MOST_OVER: Final = 0.5
"""When more than this part of some matches is over, they are dropped at once."""

ALWAYS: Final = [
    pl.lit(NEVER, pl.Int64).alias(BEGIN),
    pl.lit(FOREVER, pl.Int64).alias(END),
    pl.lit(-1, pl.Int64).alias(TURN),
]


def names_of(frame: pl.DataFrame) -> list[str]:
    """The columns of what is matched."""
    others = {*LASTING, *words_of(frame)}
    return [name for name in frame.columns if name not in others]


def joined(
    left: pl.DataFrame, right: pl.DataFrame, on: list[str], names: list[str]
) -> pl.DataFrame:
    """Matches that agree on some columns, as long as both last; with some columns of both."""
    if on:
        found = left.join(right, on=on, how="inner", suffix=_OTHER)
    else:
        found = left.join(right, how="cross", suffix=_OTHER)
    ours = {name: found[name].to_numpy() for name in LASTING}
    theirs = {name: found[name + _OTHER].to_numpy() for name in LASTING}
    lasting = {
        BEGIN: np.maximum(ours[BEGIN], theirs[BEGIN]),
        END: np.minimum(ours[END], theirs[END]),
        TURN: np.maximum(ours[TURN], theirs[TURN]),
    }
    return pl.DataFrame([*(found[name] for name in names), *_columns(lasting)])


def _columns(arrays: Mapping[str, Times]) -> list[pl.Series]:
    return [pl.Series(name, array) for name, array in arrays.items()]


def from_on(frame: pl.DataFrame, moment: int) -> pl.DataFrame:
    """Those of some matches that are one at some moment, and not before another only."""
    begins, ends = frame[BEGIN].to_numpy(), frame[END].to_numpy()
    return _where(frame, (begins <= ends) & (ends >= moment))


def without_most(frame: pl.DataFrame, moment: int) -> pl.DataFrame:
    """Those of some matches that are not over before a moment, if most of them are; else all."""
    over = int(np.count_nonzero(frame[END].to_numpy() < moment))
    return from_on(frame, moment) if over > _MOST_OVER * frame.height else frame


def in_past(frame: pl.DataFrame) -> pl.DataFrame:
    """The same when the step in which their elements had their turns is over."""
    if frame[TURN].max() == -1:
        return frame
    return _with(frame, {TURN: np.full(frame.height, -1)})


def _where(frame: pl.DataFrame, kept: Flags) -> pl.DataFrame:
    """Some rows; taken by number, which for a few is much faster than to filter them."""
    return frame if kept.all() else frame[pl.Series(np.flatnonzero(kept))]


def _with(frame: pl.DataFrame, columns: Mapping[str, Times]) -> pl.DataFrame:
    """The same with other numbers in some columns."""
    made = frame.clone()
    for name, numbers in columns.items():
        made.replace_column(made.get_column_index(name), pl.Series(name, numbers, pl.Int64))
    return made


def differ(frame: pl.DataFrame, key: list[str]) -> bool:
    """Whether no two rows agree on some columns."""
    if any(frame[name].n_unique() == frame.height for name in key):
        return True
    return frame.height <= 1 or alike(frame, key)[1].size == frame.height


def united(frame: pl.DataFrame, first: str = BEGIN, last: str = END) -> pl.DataFrame:
    """Each match once for each time without a break that it lasts.

    Args:
        frame: matches, of which several may be the same; their turns must be over.
        first: the column of when they begin.
        last: the column of when they end.
    """
    if frame.height <= 1:
        return frame
    words = words_of(frame)
    key = [name for name in frame.columns if name not in {first, last, TURN, *words}]
    same, rows = alike(frame, key)
    if rows.size == frame.height:
        return frame
    begins, ends = frame[first].to_numpy(), frame[last].to_numpy()
    order = np.lexsort((begins, same))
    same, begins, ends = same[order], begins[order], ends[order]
    breaks = np.ones(frame.height, np.bool_)
    breaks[1:] = same[1:] != same[:-1]
    breaks[1:] |= begins[1:] > _latest(ends, breaks)[:-1] + 1
    if breaks.all():
        return frame
    starts = np.flatnonzero(breaks)
    lasting = {first: begins[starts], last: np.maximum.reduceat(ends, starts)}
    if TURN in frame.columns:
        lasting[TURN] = np.maximum.reduceat(frame[TURN].to_numpy()[order], starts)
    return _with(frame[pl.Series(order[starts])], lasting)


def _latest(ends: Times, begins_run: Flags) -> Times:
    """The greatest number so far, from where a run begins."""
    falls = ends[1:] < ends[:-1]
    if not (falls & ~begins_run[1:]).any():
        return ends
    values, ranks = np.unique(ends, return_inverse=True)
    runs = np.cumsum(begins_run) * values.size  # so that each run begins above the one before it
    found: Times = values[np.maximum.accumulate(runs + ranks) - runs]
    return found


def numbered(frame: pl.DataFrame, instants: Instants) -> pl.DataFrame:
    """The matches of some instants, with the first and the last of them, by number; each once."""
    first = np.searchsorted(instants.times, frame[BEGIN].to_numpy(), side="left")
    last = np.searchsorted(instants.times, frame[END].to_numpy(), side="right") - 1
    if instants.cuts is not None:
        seen = np.searchsorted(instants.cuts, frame[TURN].to_numpy(), side="right")
        first = np.maximum(first, seen)
    lasting = {BEGIN: first, END: last}
    numbers = _with(frame.drop(TURN, *words_of(frame)), lasting).rename({BEGIN: FIRST, END: LAST})
    return united(_where(numbers, first <= last), FIRST, LAST)


def places_at(frame: pl.DataFrame, moment: int) -> Times:
    """Where the matches of one moment stand."""
    kept = (frame[BEGIN].to_numpy() <= moment) & (frame[END].to_numpy() >= moment)
    return np.flatnonzero(kept)


def at_each(numbers: pl.DataFrame, start: int, stop: int) -> pl.DataFrame:
    """A row for each of a run of instants at which a match is one; they are numbered from 0."""
    inside = numbers.filter(pl.col(FIRST) < stop, pl.col(LAST) >= start)
    clipped = inside.with_columns(
        pl.max_horizontal(FIRST, pl.lit(start, pl.Int64)).alias(FIRST) - start,
        pl.min_horizontal(LAST, pl.lit(stop - 1, pl.Int64)).alias(LAST) - start,
    )
    expanded = expanded_rows(clipped, range(stop - start))
    names = [name for name in numbers.columns if name not in {FIRST, LAST}]
    return expanded.select(INSTANT, *names)
