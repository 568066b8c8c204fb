"""The latest time of each statement: MAX(time) over its pieces, not "until it comes again".

A statement may come again with an older time, and an occurrence with a later time may leave its
window first. Then the time goes back.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.execution.relation.arrays import Flags, Ids
from headrace.execution.relation.coalesce import Pieces, key_rows, take_pieces
from headrace.execution.relation.relation import Relation
from headrace.execution.relation.slots import cover_pieces


def keep_latest_times(
    relation: Relation, statement: Sequence[str], time: str, instants: int
) -> Relation:
    """Keep each occurrence while no occurrence of the same statement with a later time holds.

    Args:
        relation: occurrences of statements.
        statement: the columns that identify a statement.
        time: the column of its time; `NO_TIME` is the least, so that static statements count only
            where no stream has them.
        instants: how many instants the step has.
    """
    if not relation.height:
        return relation
    relation = relation.over(instants)
    key = key_rows(relation, statement)
    order = np.lexsort((relation[time], key))
    relation, key = relation.take(order), key[order]
    same = key[1:] == key[:-1]
    if _expires_in_order(relation, same):
        return _end_at_the_next(relation, same)
    rank = np.arange(relation.height)[::-1].copy()
    return take_pieces(relation, cover_pieces(key, *relation.bounds, rank))


def _expires_in_order(relation: Relation, same: Flags) -> bool:
    """Whether of two occurrences of a statement the later one neither begins nor ends before."""
    rises = [(each[1:] >= each[:-1]) | ~same for each in relation.intervals]
    return all(bool(each.all()) for each in rises)


def _end_at_the_next(relation: Relation, same: Flags) -> Relation:
    """End each occurrence before the next one of the same statement begins."""
    first, last = relation.bounds
    ends: Ids = last.copy()
    ends[:-1] = np.where(same, np.minimum(last[:-1], first[1:] - 1), last[:-1])
    kept = np.flatnonzero(first <= ends)
    return take_pieces(relation, Pieces(kept, first[kept], ends[kept]))
