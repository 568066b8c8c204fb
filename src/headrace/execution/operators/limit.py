"""LIMIT and OFFSET, with or without ORDER BY: which rows are kept depends on what else holds."""

from __future__ import annotations

import numpy as np

from headrace.execution.relation.arrays import Flags, Ids, rank_within
from headrace.execution.relation.coalesce import Pieces, pack, take_pieces, unite_pieces
from headrace.execution.relation.epochs import Epochs
from headrace.execution.relation.pieces import expand
from headrace.execution.relation.relation import MEMBER, Relation
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
    relation = relation.take(np.argsort(rank, kind="stable"))
    if relation.holds_always:
        return relation.filter(_find_wanted(relation, bounds))
    epochs = Epochs.of([relation], instants)
    numbered = epochs.number(relation.with_column(_ROW, np.arange(relation.height)))
    single = expand(numbered.select([_ROW, MEMBER]), epochs.count, "LIMIT", check)
    kept = single.filter(_find_wanted(single, bounds))
    pieces = epochs.restore(take_pieces(kept, unite_pieces(kept[_ROW], *kept.bounds)))
    return pack(take_pieces(relation, Pieces(pieces[_ROW], *pieces.bounds)))


def _find_wanted(ordered: Relation, bounds: tuple[int, int | None]) -> Flags:
    """Flag the rows at the wanted places among the rows of their instant and query."""
    places = rank_within(ordered[MEMBER], *ordered.intervals[:1])
    offset, limit = bounds
    wanted = np.greater_equal(places, offset)
    return wanted if limit is None else wanted & (places < offset + limit)
