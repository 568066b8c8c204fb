"""Which solutions of two blocks have intervals that are related: before, during, and their like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, assert_never

import polars as pl

from headrace.algebra.operators import Relation, Temporal
from headrace.kernel.budget import Budget
from headrace.kernel.columns import END, STAMP, START
from headrace.kernel.join import join, left_join
from headrace.kernel.solutions import Solutions

_LEFT: Final = (f"{STAMP}the left start", f"{STAMP}the left end")
_RIGHT: Final = (f"{STAMP}the right start", f"{STAMP}the right end")

Interval = tuple[pl.Expr, pl.Expr]
"""The least and the greatest time of the stream triples behind a solution."""


def related(
    operator: Temporal,
    left: Solutions,
    right: Solutions,
    instants: Sequence[int],
    budget: Budget,
) -> Solutions:
    """The unions of compatible solutions whose intervals are related.

    The interval of such a union reaches over both. What has no interval is related to nothing.
    """
    ours = _marked(left, _LEFT, whole=operator.optional)
    theirs = _marked(right, _RIGHT, whole=False)
    holds = _holds(operator)
    if operator.optional:
        found = left_join(
            ours, theirs, lambda pairs: pairs.frame.select(holds).to_series(), instants, budget
        )
    else:
        pairs = join(ours, theirs, budget)
        found = replace(pairs, frame=pairs.frame.filter(holds))
    return replace(found, frame=found.frame.drop(*_LEFT, *_RIGHT, strict=False))


def _marked(solutions: Solutions, names: tuple[str, str], *, whole: bool) -> Solutions:
    """Solutions with their interval under other names too; what has none only if all are wanted."""
    frame = solutions.frame
    if END not in frame.columns:
        none = pl.lit(None, pl.Int64)
        frame = frame.with_columns(none.alias(START), none.alias(END))
    if not whole:
        frame = frame.filter(pl.col(END).is_not_null())
    start, end = names
    frame = frame.with_columns((-pl.col(START)).alias(start), pl.col(END).alias(end))
    return replace(solutions, frame=frame)


def _holds(operator: Temporal) -> pl.Expr:
    """Whether a pair of solutions is related as asked; null if one of them has no interval."""
    left, right = (pl.col(_LEFT[0]), pl.col(_LEFT[1])), (pl.col(_RIGHT[0]), pl.col(_RIGHT[1]))
    holds = relation(operator.relation, left, right)
    if operator.within is None:
        return holds
    earlier, later = (left, right) if operator.relation is Relation.BEFORE else (right, left)
    return holds & (later[0] - earlier[1] <= operator.within)


def relation(name: Relation, one: Interval, other: Interval) -> pl.Expr:
    """Whether an interval lies to another as a relation says: of all thirteen exactly one does.

    Where an interval is a single moment, what it begins or ends with comes before what it meets.
    """
    (start, end), (its_start, its_end) = one, other
    match name:
        case Relation.BEFORE:
            return end < its_start
        case Relation.MEETS:
            return (start < end) & (end == its_start) & (its_start < its_end)
        case Relation.OVERLAPS:
            return (start < its_start) & (its_start < end) & (end < its_end)
        case Relation.STARTS:
            return (start == its_start) & (end < its_end)
        case Relation.DURING:
            return (its_start < start) & (end < its_end)
        case Relation.FINISHES:
            return (its_start < start) & (end == its_end)
        case Relation.EQUALS:
            return (start == its_start) & (end == its_end)
        case (
            Relation.AFTER
            | Relation.METBY
            | Relation.OVERLAPPEDBY
            | Relation.STARTEDBY
            | Relation.CONTAINS
            | Relation.FINISHEDBY
        ):
            return relation(_INVERSE[name], other, one)
        case _:
            assert_never(name)


_INVERSE: Final = {
    Relation.AFTER: Relation.BEFORE,
    Relation.METBY: Relation.MEETS,
    Relation.OVERLAPPEDBY: Relation.OVERLAPS,
    Relation.STARTEDBY: Relation.STARTS,
    Relation.CONTAINS: Relation.DURING,
    Relation.FINISHEDBY: Relation.FINISHES,
}
