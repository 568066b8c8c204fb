"""Groups: when each of them lives, and the slots between its changes.

Every aggregate of a grouping is an array beside its pieces. A caller turns the arrays into terms,
adds them as columns, and may coalesce: neighbours with equal results then become one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from headrace.execution.relation.arrays import Flags, Ids, repeat_ranges
from headrace.execution.relation.coalesce import Pieces, take_pieces, unite_pieces
from headrace.execution.relation.keys import number_rows
from headrace.execution.relation.relation import Relation, concat_relations
from headrace.execution.relation.row_budget import SizeCheck, check_rows
from headrace.execution.relation.slots import Slots, number_slots

ORIGINAL: Final = "row before DISTINCT"
"""The column of distinct members with the number of the row that each is like."""


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """Groups of rows and their pieces.

    Attributes:
        pieces: the keys of each group, disjoint pieces for each.
        slots: all change points of all groups.
        key: the number of each row's group.
        members: the rows that are grouped, with intervals.
        live: the slot of each piece.
    """

    pieces: Relation
    slots: Slots
    key: Ids
    members: Relation
    live: Ids

    def accumulate(self, weights: Ids) -> Ids:
        """Sum the weights of the members that hold at each piece."""
        padding = np.zeros(self.slots.begin.size - weights.size, np.int64)
        return self.slots.accumulate(np.concatenate([weights, padding]))[self.live]

    def keep_distinct(self, columns: Sequence[Ids], wanted: Flags) -> Grouping:
        """Return the same groups with each value once: for COUNT(DISTINCT), SUM(DISTINCT).

        The pieces stay; the members are one row for each group, value and stretch of time.

        Args:
            columns: the value, or several columns that make it.
            wanted: the rows that have one.
        """
        rows = np.flatnonzero(wanted)
        values = number_rows([self.key[rows], *(each[rows] for each in columns)], rows.size)
        first, last = (each[rows] for each in self.members.bounds)
        united = unite_pieces(values, first, last)
        kept = rows[united.row]
        key = self.key[kept]
        slots = replace(
            self.slots,
            begin=number_slots(self.slots, key, united.first),
            end=number_slots(self.slots, key, united.last + 1),
        )
        members = take_pieces(self.members, Pieces(kept, united.first, united.last))
        return replace(self, slots=slots, key=key, members=members.with_column(ORIGINAL, kept))


def form_groups(
    relation: Relation, keys: Sequence[str], instants: int, presence: Relation | None = None
) -> Grouping:
    """Form the groups of rows with equal keys.

    A group lives while one of its rows holds. Without keys there is one group, at every instant.

    Args:
        relation: the rows.
        keys: the columns with the keys.
        instants: how many instants the step has.
        presence: where groups live that have no row: the keys, and when their graph is there.
    """
    holds_always = relation.holds_always and (presence is None or presence.holds_always)
    if presence is None:
        presence = Relation.empty(keys) if keys else Relation.unit()
    span = 1 if holds_always else instants
    members = relation.over(span)
    every = concat_relations([members.select(keys), presence.select(keys).over(span)], span)
    number = number_rows([every[name] for name in keys], every.height)
    slots = Slots.of(number, *every.bounds)
    live = find_live_slots(slots)
    example = np.zeros(every.height + 1, np.int64)
    example[number] = np.arange(every.height)
    found = Pieces(example[slots.key[live]], slots.first[live], slots.last[live])
    pieces = take_pieces(every, found)
    if holds_always:
        pieces = pieces.without_intervals()
    return Grouping(pieces, slots, number[: members.height], members, live)


def find_live_slots(slots: Slots) -> Ids:
    """Return the slots at which a row holds. A group may have gaps."""
    return np.flatnonzero(slots.accumulate(np.ones(slots.begin.size, np.int64)) > 0)


def list_members(grouping: Grouping, check: SizeCheck = check_rows) -> tuple[Ids, Ids]:
    """List the members of each piece: for GROUP_CONCAT, and sums that cannot be taken back.

    Returns:
        the number of a piece and the number of a row that holds there, by piece and row.
    """
    slots, height = grouping.slots, grouping.members.height
    begin, end = slots.begin[:height], slots.end[:height]
    check(int((end - begin).sum()), "a group")
    row, slot = repeat_ranges(begin, end)
    piece = np.searchsorted(grouping.live, slot)
    order = np.argsort(piece, kind="stable")
    return piece[order], row[order]


def cut_members(grouping: Grouping, check: SizeCheck = check_rows) -> tuple[Relation, Ids]:
    """Cut each member at the changes of its group, to put aggregates beside it.

    Returns:
        pieces of the members, and for each of them the number of the piece of its group.
    """
    piece, row = list_members(grouping, check)
    intervals = (each[piece] for each in grouping.pieces.intervals)
    members = grouping.members.without_intervals().take(row)
    return Relation(members.columns, members.height, *intervals), piece
