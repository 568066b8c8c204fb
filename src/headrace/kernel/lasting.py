"""Matches and how long they last: from one moment to another, whichever instants there will be.

A match is one as long as all of its triples are in their windows: it begins with the last of them
to enter and ends with the first to leave. The same match may come about by several triples that are
equal; then it lasts as long as one of them does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import polars as pl

from headrace.kernel.columns import FIRST, INSTANT, LAST
from headrace.kernel.grid import FOREVER, NEVER, Times
from headrace.kernel.instants import Instants
from headrace.kernel.scan import expanded_rows
from headrace.kernel.wording import in_order, words_of

BEGIN: Final = "begin"
END: Final = "end"
"""The first and the last moment at which a match is one."""
TURN: Final = "turn"
"""The place of its last element among those of a step, where elements cause instants."""
LASTING: Final = (BEGIN, END, TURN)
_OTHER: Final = " of the other"
_RUN: Final = "run"

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
    ends = frame[END].to_numpy()
    kept = (frame[BEGIN].to_numpy() <= ends) & (ends >= moment)
    return frame if kept.all() else frame.filter(pl.Series(kept))


def in_past(frame: pl.DataFrame) -> pl.DataFrame:
    """The same when the step in which their elements had their turns is over."""
    if frame[TURN].max() == -1:
        return frame
    return frame.with_columns(pl.lit(-1, pl.Int64).alias(TURN))


def united(frame: pl.DataFrame, first: str = BEGIN, last: str = END) -> pl.DataFrame:
    """Each match once for each time without a break that it lasts.

    Args:
        frame: matches, of which several may be the same; their turns must be over.
        first: the column of when they begin.
        last: the column of when they end.
    """
    words = words_of(frame)
    key = [name for name in frame.columns if name not in {first, last, TURN, *words}]
    if differ(frame, key):
        return frame
    ordered = frame.sort([*key, first])
    latest = pl.col(last).cum_max().shift(1)
    before = latest.over(key) if key else latest
    breaks = (pl.col(first) > before + 1).fill_null(value=True)
    runs = ordered.with_columns(breaks.cum_sum().alias(_RUN))
    others = [pl.col(TURN).max()] if TURN in frame.columns else []
    found = runs.group_by([*key, _RUN], maintain_order=True).agg(
        pl.col(first).min(), pl.col(last).max(), *others, *(pl.col(name).first() for name in words)
    )
    return in_order(found.select(frame.columns))


def differ(frame: pl.DataFrame, key: list[str]) -> bool:
    """Whether no two rows agree on some columns."""
    if frame.height <= 1:
        return True
    if any(frame[name].n_unique() == frame.height for name in key):
        return True
    return len(key) > 1 and frame.select(key).n_unique() == frame.height


def numbered(frame: pl.DataFrame, instants: Instants) -> pl.DataFrame:
    """The matches of some instants, with the first and the last of them, by number; each once."""
    first = np.searchsorted(instants.times, frame[BEGIN].to_numpy(), side="left")
    last = np.searchsorted(instants.times, frame[END].to_numpy(), side="right") - 1
    if instants.cuts is not None:
        seen = np.searchsorted(instants.cuts, frame[TURN].to_numpy(), side="right")
        first = np.maximum(first, seen)
    numbers = pl.DataFrame(
        [
            *(frame[name] for name in names_of(frame)),
            pl.Series(FIRST, first, pl.Int64),
            pl.Series(LAST, last, pl.Int64),
        ]
    )
    return united(numbers.filter(pl.col(FIRST) <= pl.col(LAST)), FIRST, LAST)


def at_moment(frame: pl.DataFrame, moment: int) -> pl.DataFrame:
    """The matches of one moment."""
    kept = (frame[BEGIN].to_numpy() <= moment) & (frame[END].to_numpy() >= moment)
    return frame.filter(pl.Series(kept))


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
