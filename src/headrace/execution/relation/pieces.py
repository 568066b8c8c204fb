"""Clip, cut and expand the intervals of relations; number copies at single instants."""

from __future__ import annotations

import numpy as np

from headrace.execution.relation.arrays import Ids, rank_within, repeat_ranges
from headrace.execution.relation.coalesce import Pieces, key_rows, take_pieces
from headrace.execution.relation.relation import Relation
from headrace.execution.relation.row_budget import SizeCheck, check_rows


def clip(relation: Relation, first: int, last: int) -> Relation:
    """Keep what holds within some instants. What holds always stays as it is."""
    if relation.holds_always:
        return relation
    begin, end = relation.bounds
    clipped = relation.with_intervals(np.maximum(begin, first), np.minimum(end, last))
    return clipped.filter((begin <= last) & (end >= first))


def cut(relation: Relation, instants: Ids) -> Relation:
    """Cut rows so that none holds both before and from one of the instants.

    After this every operator gives the same between two of the instants as over all of them.
    """
    if relation.holds_always or not instants.size:
        return relation
    instants = np.unique(instants)
    begin, end = relation.bounds
    row, stretch = repeat_ranges(
        np.searchsorted(instants, begin, "right"), np.searchsorted(instants, end, "right") + 1
    )
    opens = instants[np.maximum(stretch - 1, 0)]
    closes = instants[np.minimum(stretch, instants.size - 1)] - 1
    opens = np.where(stretch > 0, np.maximum(opens, begin[row]), begin[row])
    closes = np.where(stretch < instants.size, np.minimum(closes, end[row]), end[row])
    return take_pieces(relation, Pieces(row, opens, closes))


def expand(
    relation: Relation,
    instants: int,
    operator: str = "an operator on single instants",
    check: SizeCheck = check_rows,
) -> Relation:
    """Repeat each row once for each instant at which it holds.

    Args:
        relation: the rows.
        instants: how many instants the step has, for rows that hold always.
        operator: what needs single instants, for the error.
        check: refuses too many rows, before one is made.
    """
    relation = relation.over(instants)
    begin, end = relation.bounds
    check(int((end - begin + 1).sum()), operator)
    row, instant = repeat_ranges(begin, end + 1)
    return take_pieces(relation, Pieces(row, instant, instant))


def number_copies(single: Relation) -> Ids:
    """Number the equal rows of each instant from zero: the seed of RAND() and its like.

    Args:
        single: rows at single instants. Copies are numbered after rows have been expanded: how
            many there are depends on the instant.
    """
    return rank_within(key_rows(single), single.bounds[0])
