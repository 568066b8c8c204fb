"""Slots: the stretches between the change points of each key, and the rows that cover them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headrace.execution.relation.arrays import Ids, run_starts
from headrace.execution.relation.coalesce import Pieces, unite_pieces
from headrace.execution.relation.keys import combine_keys, count_keys, fit_instants, order_rows
from headrace.execution.relation.least_cover import NOTHING, find_least_ranks


@dataclass(frozen=True, slots=True, eq=False)
class Slots:
    """The change points of keys: at each of them a row of the key begins or has ended.

    A slot begins at a change point and ends before the next one of the key. All changes of one
    instant are one point: there is no slot for a state in between.

    Attributes:
        key: the key of each slot.
        first: its first instant.
        begin: for each row the slot at which it begins.
        end: for each row the slot at which it has ended.
    """

    key: Ids
    first: Ids
    begin: Ids
    end: Ids

    @classmethod
    def of(cls, key: Ids, first: Ids, last: Ids) -> Slots:
        """Collect the change points of each key, in the order of keys and instants."""
        keys, instants = np.concatenate([key, key]), np.concatenate([first, last + 1])
        order = order_rows(keys, instants)
        starts = run_starts(keys[order], instants[order])
        slot = np.empty(keys.size, np.int64)
        slot[order] = np.repeat(np.arange(starts.size), np.diff(starts, append=keys.size))
        points = order[starts]
        return cls(keys[points], instants[points], slot[: key.size], slot[key.size :])

    @property
    def count(self) -> int:
        """How many slots there are, with that after the last change of each key."""
        return self.key.size

    @property
    def last(self) -> Ids:
        """The last instant of each slot; that after the last change of a key means nothing."""
        return np.append(self.first[1:], self.first[-1:])[: self.count] - 1

    def accumulate(self, weights: Ids) -> Ids:
        """Sum the weights of the rows that hold at each slot.

        Sums may wrap on the way; that is harmless where those of the rows that hold do not.
        """
        changes = np.zeros(self.count, np.int64)
        np.add.at(changes, self.begin, weights)
        np.subtract.at(changes, self.end, weights)
        return np.cumsum(changes)

    def find_least(self, rank: Ids, rows: Ids) -> Ids:
        """Return for each slot which of some rows that hold has the least rank, -1 if none does.

        Args:
            rank: a different rank for each row, below their number.
            rows: the numbers of the rows that count.
        """
        least = find_least_ranks(self.begin[rows], self.end[rows], rank[rows], self.count)
        by_rank = np.empty(rank.size + 1, np.int64)
        by_rank[rank] = np.arange(rank.size)
        by_rank[-1] = -1
        return by_rank[np.where(least == NOTHING, rank.size, least)]


def cover_pieces(key: Ids, first: Ids, last: Ids, rank: Ids) -> Pieces:
    """Return the pieces of each row at which no row of its key with a lesser rank holds."""
    slots = Slots.of(key, first, last)
    row = slots.find_least(rank, np.arange(key.size))
    covered = np.flatnonzero(row >= 0)
    found = Pieces(row[covered], slots.first[covered], slots.last[covered])
    united = unite_pieces(*found)
    return Pieces(found.row[united.row], united.first, united.last)


def number_slots(slots: Slots, key: Ids, instant: Ids) -> Ids:
    """Find the slots that begin at change points, each of which is there."""
    keys = np.concatenate([slots.key, key])
    span, (instants,) = fit_instants(count_keys(keys), np.concatenate([slots.first, instant]))
    points = combine_keys(keys, instants, span)
    return np.searchsorted(points[: slots.count], points[slots.count :])
