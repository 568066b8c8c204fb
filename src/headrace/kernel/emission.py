"""What a query emits of its answers: all of them, what is new, or what has gone.

Answers are multisets: a solution that was there twice and is there once has gone once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import polars as pl

from headrace.algebra.reporting import Emit
from headrace.kernel.columns import FIRST, INSTANT, LAST

_COUNT: Final = "count"
_BEFORE: Final = "count before"
_PLACE: Final = "place"


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
) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """The same for answers that each hold from one instant to another: only where they change.

    Args:
        rows: `first` and `last`, and the columns of the solutions, in any order.
        number: how many instants there are.
        emit: what is new, or what has gone.
        previous: the answer before the first of them.
    """
    names = [name for name in rows.columns if name not in {FIRST, LAST}]
    begun = rows.filter(pl.col(FIRST) == 0).select(pl.col(FIRST).alias(INSTANT), *names)
    at_first, last = emitted(Answers(begun, 1), emit, previous)
    if number == 1:
        return at_first, last
    sign = 1 if emit is Emit.ISTREAM else -1
    entered = rows.filter(pl.col(FIRST) > 0).select(
        pl.col(FIRST).alias(INSTANT), *names, pl.lit(sign, pl.Int64).alias(_COUNT)
    )
    left = rows.filter(pl.col(LAST) < number - 1).select(
        (pl.col(LAST) + 1).alias(INSTANT), *names, pl.lit(-sign, pl.Int64).alias(_COUNT)
    )
    net = pl.concat([entered, left]).group_by(INSTANT, *names).agg(pl.col(_COUNT).sum())
    net = net.filter(pl.col(_COUNT) > 0)
    later = net.select(pl.exclude(_COUNT).repeat_by(_COUNT)).explode(INSTANT, *names)
    final = rows.filter(pl.col(LAST) == number - 1).select(pl.col(LAST).alias(INSTANT), *names)
    after = counted(final).drop(INSTANT)
    return pl.concat([at_first, later]).sort(INSTANT, maintain_order=True), after


def counted(frame: pl.DataFrame) -> pl.DataFrame:
    """Each solution of an instant once: how often it is there, and where it first stands."""
    names = frame.columns
    return (
        frame.with_row_index(_PLACE)
        .group_by(names, maintain_order=True)
        .agg(pl.len().cast(pl.Int64).alias(_COUNT), pl.col(_PLACE).first().cast(pl.Int64))
    )
