"""The latest time of each statement: MAX(time) over its pieces, not "until it comes again".

A statement may come again with an older time, and an occurrence with a later time may leave its
window first. Then the time goes back.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.execution.relation.arrays import Flags, Ids
from headrace.execution.relation.coalesce import Pieces, coalesce, key_rows, take_pieces
from headrace.execution.relation.relation import NO_TIME, Relation
from headrace.execution.relation.slots import Slots, cover_pieces


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


def find_latest_by_stream(
    relation: Relation, statement: Sequence[str], times: Sequence[str], instants: int
) -> Relation:
    """Find the latest time of each statement in each stream, and cut at the changes of all.

    Args:
        relation: occurrences of statements in several streams, and static ones.
        statement: the columns that identify a statement.
        times: a column for each stream; `NO_TIME` where an occurrence is not of the stream.
        instants: how many instants the step has.
    """
    relation = relation.over(instants)
    key = key_rows(relation, statement)
    slots = Slots.of(key, *relation.bounds)
    example = slots.find_least(np.arange(relation.height), np.arange(relation.height))
    live = np.flatnonzero(example >= 0)
    found = Pieces(example[live], slots.first[live], slots.last[live])
    statements = take_pieces(relation.select(statement), found)
    for time in times:
        statements = statements.with_column(time, _find_latest(slots, relation[time])[live])
    return coalesce(statements)


def _find_latest(slots: Slots, times: Ids) -> Ids:
    """Return the latest time at each slot."""
    rank = np.empty(times.size, np.int64)
    rank[np.argsort(times)] = np.arange(times.size)[::-1]
    row = slots.find_least(rank, np.flatnonzero(times != NO_TIME))
    return np.append(times, NO_TIME)[row]


def _expires_in_order(relation: Relation, same: Flags) -> bool:
    """Test that of two occurrences of a statement the later one begins and ends no earlier."""
    rises = [(each[1:] >= each[:-1]) | ~same for each in relation.intervals]
    return all(bool(each.all()) for each in rises)


def _end_at_the_next(relation: Relation, same: Flags) -> Relation:
    """End each occurrence before the next one of the same statement begins."""
    first, last = relation.bounds
    ends: Ids = last.copy()
    ends[:-1] = np.where(same, np.minimum(last[:-1], first[1:] - 1), last[:-1])
    kept = np.flatnonzero(first <= ends)
    return take_pieces(relation, Pieces(kept, first[kept], ends[kept]))
