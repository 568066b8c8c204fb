"""LIMIT and OFFSET, with or without ORDER BY: which rows are kept depends on what else holds."""

from __future__ import annotations

import numpy as np

from headrace.execution.relation.arrays import Ids, rank_in_runs, run_starts
from headrace.execution.relation.coalesce import Pieces, pack, take_pieces, unite_pieces
from headrace.execution.relation.epochs import Epochs
from headrace.execution.relation.pieces import expand
from headrace.execution.relation.relation import Relation
from headrace.execution.relation.row_budget import SizeCheck, check_rows

_ROW = "row before the limit"


def limit_rows(
    relation: Relation,
    rank: Ids,
    instants: int,
    bounds: tuple[int, int | None],
    check: SizeCheck = check_rows,
) -> Relation:
    """Keep the rows at some places of the order at each instant.

    Args:
        relation: the rows.
        rank: the place of each row among all, which does not depend on the instant. Rows of equal
            rank stand in the order in which they are given.
        instants: how many instants the step has.
        bounds: OFFSET and LIMIT, which may be absent.
        check: refuses too many rows, before one is made.
    """
    order = np.argsort(rank, kind="stable")
    relation = relation.take(order)
    if relation.holds_always:
        return relation.take(_slice(np.arange(relation.height), bounds))
    epochs = Epochs.of([relation], instants)
    numbered = epochs.number(relation.with_column(_ROW, np.arange(relation.height)))
    single = expand(numbered.select([_ROW]), epochs.count, "LIMIT", check)
    kept = _slice_instants(single, bounds)
    row, (first, last) = kept[_ROW], kept.bounds
    pieces = unite_pieces(row, first, last)
    whole = epochs.restore(take_pieces(kept, pieces))
    return pack(take_pieces(relation, Pieces(whole[_ROW], *whole.bounds)))


def _slice_instants(single: Relation, bounds: tuple[int, int | None]) -> Relation:
    """Keep the rows at some places of each instant; they are given in order."""
    instant, _ = single.bounds
    order = np.argsort(instant, kind="stable")
    places = rank_in_runs(run_starts(instant[order]), order.size)
    return single.take(order[_slice(places, bounds)])


def _slice(places: Ids, bounds: tuple[int, int | None]) -> Ids:
    """Return the positions of the wanted places."""
    offset, limit = bounds
    wanted = places >= offset
    if limit is not None:
        wanted &= places < offset + limit
    return np.flatnonzero(wanted)
