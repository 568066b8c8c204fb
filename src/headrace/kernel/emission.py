"""What a query emits of its answers: all of them, what is new, or what has gone.

Answers are multisets: a solution that was there twice and is there once has gone once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from headrace.algebra.reporting import Emit
from headrace.kernel.alike import numbers
from headrace.kernel.columns import FIRST, INSTANT, LAST

_COUNT: Final = "count"
_BEFORE: Final = "count before"
_PLACE: Final = "place"

Numbers: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers at some instants.

    Attributes:
        frame: `instant` and the columns of the solutions, in order.
        number: how many instants there are, from 0 on.
    """

    frame: pl.DataFrame
    number: int


def emitted(
    answers: Answers, emit: Emit, previous: pl.DataFrame | None
) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """What is emitted at each instant, and the answer that the next instant is compared with.

    Args:
        answers: one for each instant.
        emit: which part of them.
        previous: the answer before the first of them, each solution once with its `count`.
    """
    if emit is Emit.RSTREAM:
        return answers.frame, None
    found = counted(answers.frame)
    shifted = found.with_columns(pl.col(INSTANT) + 1)
    if previous is not None:
        first = previous.with_columns(pl.lit(0, pl.Int64).alias(INSTANT))
        shifted = pl.concat([first.select(shifted.columns), shifted])
    last = shifted.filter(pl.col(INSTANT) == answers.number).drop(INSTANT)
    before = shifted.filter(pl.col(INSTANT) < answers.number)
    return compared(found, before, emit), last


def compared(found: pl.DataFrame, before: pl.DataFrame, emit: Emit) -> pl.DataFrame:
    """What of some answers is new, or has gone.

    Args:
        found: the answers, each solution of an instant once.
        before: at each instant, what it is compared with.
        emit: which of both.
    """
    names = [name for name in found.columns if name not in {INSTANT, _COUNT, _PLACE}]
    new, old = (found, before) if emit is Emit.ISTREAM else (before, found)
    joined = new.join(
        old.select(INSTANT, *names, pl.col(_COUNT).alias(_BEFORE)),
        on=[INSTANT, *names],
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    surplus = (pl.col(_COUNT) - pl.col(_BEFORE).fill_null(0)).clip(lower_bound=0)
    rows = joined.with_columns(surplus.alias(_COUNT)).filter(pl.col(_COUNT) > 0)
    repeated = rows.select(pl.exclude(_COUNT, _BEFORE).repeat_by(_COUNT)).explode(
        INSTANT, _PLACE, *names
    )
    return repeated.sort(INSTANT, _PLACE, maintain_order=True).drop(_PLACE)


def changes(
    rows: pl.DataFrame, number: int, emit: Emit, previous: pl.DataFrame | None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The same for answers that each hold from one instant to another: only where they change.

    Args:
        rows: `first` and `last`, and the columns of the solutions, in any order; what holds at the
            instant before the first is there from -1 on, or else in the previous answer.
        number: how many instants there are.
        emit: what is new, or what has gone.
        previous: the answer before the first of them.
    """
    names = [name for name in rows.columns if name not in {FIRST, LAST}]
    first, last = rows[FIRST].to_numpy(), rows[LAST].to_numpy()
    # The first column is there so that there are rows even where solutions have no columns.
    every = pl.DataFrame([rows[FIRST].alias(INSTANT), *(rows[name] for name in names)])
    before = np.zeros(0, np.int64)
    if previous is not None and previous.height:
        every = pl.concat([every, previous.select(pl.col(_COUNT).alias(INSTANT), *names)])
        before = previous[_COUNT].to_numpy()
    same, example = numbers(every, names)
    ours, theirs = same[: rows.height], same[rows.height :]
    past = Past(theirs, before)
    instants, which = changing(first, last, ours, number, emit, past)
    changed = every[pl.Series(example[which])]
    changed.replace_column(0, pl.Series(INSTANT, instants, pl.Int64))
    stays = last >= number - 1
    still, counts = _added(ours[stays], np.ones(np.count_nonzero(stays), np.int64))
    answer = every[pl.Series(example[still])]
    often = pl.Series(_COUNT, counts, pl.Int64)
    places = pl.Series(_PLACE, np.arange(still.size), pl.Int64)
    return changed, pl.DataFrame([*(answer[name] for name in names), often, places])


@dataclass(frozen=True, slots=True)
class Past:
    """The answers before some instants: their numbers, and how often each is there."""

    which: Numbers
    counts: Numbers


_NO_PAST: Final = Past(np.zeros(0, np.int64), np.zeros(0, np.int64))


def changing(
    first: Numbers, last: Numbers, same: Numbers, number: int, emit: Emit, past: Past = _NO_PAST
) -> tuple[Numbers, Numbers]:
    """At which instants answers come or go, and which, each as often as it does.

    Args:
        first: the instant from which on each is one; from -1 on if it was one before.
        last: the instant up to which it is one.
        same: the number of each, the same for equal ones.
        number: how many instants there are.
        emit: what is new, or what has gone.
        past: what was there before, if it is not among these.
    """
    entering, leaving = first >= 0, last < number - 1
    # An answer that was there before leaves at the first instant, where it is one again or not.
    zero = np.zeros(past.which.size, np.int64)
    at = np.concatenate([first[entering], last[leaving] + 1, zero])
    what = np.concatenate([same[entering], same[leaving], past.which])
    entered, left = int(np.count_nonzero(entering)), int(np.count_nonzero(leaving))
    change = np.concatenate([np.ones(entered, np.int64), np.full(left, -1), -past.counts])
    if emit is Emit.DSTREAM:
        change = -change
    most = int(max(same.max(initial=0), past.which.max(initial=0))) + 1
    keys, net = _added(at * most + what, change)
    kept = net > 0
    instants, which = np.divmod(np.repeat(keys[kept], net[kept]), most)
    return instants, which


def _added(keys: Numbers, values: Numbers) -> tuple[Numbers, Numbers]:
    """Each key once, in order, with the sum of its values."""
    if keys.size == 0:
        return keys, values
    order = np.argsort(keys)
    ordered = keys[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return ordered[starts], np.add.reduceat(values[order], starts)


def counted(frame: pl.DataFrame) -> pl.DataFrame:
    """Each solution of an instant once: how often it is there, and where it first stands."""
    names = frame.columns
    return (
        frame.with_row_index(_PLACE)
        .group_by(names, maintain_order=True)
        .agg(pl.len().cast(pl.Int64).alias(_COUNT), pl.col(_PLACE).first().cast(pl.Int64))
    )
