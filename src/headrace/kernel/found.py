"""The matches of a branch, kept until they are over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from headrace.kernel.alike import alike
from headrace.kernel.columns import FIRST, LAST
from headrace.kernel.instants import Instants
from headrace.kernel.lasting import (
    BEGIN,
    END,
    TOLD,
    TURN,
    from_on,
    in_past,
    mostly_over,
    names_of,
    places_at,
    spans,
    united,
)
from headrace.kernel.table import Flags, Ids, Table, mixed, stacked
from headrace.kernel.wording import Kept, inserted, ordered_rows, rows_of, together

_GROWN: Final = 2
_SMALL: Final = 1_024
"""Matches are put in order when they are so many times as many as then, and not few."""
_RECENT: Final = 16
"""Those found lately are put with the others when they are one in so many."""
_MOST_RECENT: Final = 3
"""The same while somebody waits for answers."""
_MARK_BITS: Final = 16
_BEFORE: Final = -1
"""The number of the instant before some others."""


@dataclass(frozen=True, slots=True)
class Found:
    """Matches that may still be ones.

    Attributes:
        settled: those found before; if they have texts with them, in the order of these.
        recent: those found lately.
        ordered: how many there were when they were put in order.
    """

    settled: Kept
    recent: Kept
    ordered: int = 0

    @classmethod
    def first(cls, found: Kept) -> Found:
        """The first ones."""
        new = _untold(found)
        return cls(new.taken(np.empty(0, np.int64)), new)

    @property
    def table(self) -> Table:
        """All of them."""
        return stacked([self.settled.table, self.recent.table])

    @property
    def height(self) -> int:
        """How many there are."""
        return self.settled.height + self.recent.height

    def and_more(self, new: Kept) -> Found:
        """These and others."""
        return Found(self.settled, together([self.recent, _untold(new)]), self.ordered)

    def without_over(self, floor: int) -> Found:
        """The same without those that are over, if most are."""
        settled, recent = _without_most(self.settled, floor), _without_most(self.recent, floor)
        return Found(settled, recent, self.ordered)

    def tidied(self, floor: int, *, at_leisure: bool) -> Found:
        """The same after a step in which elements had their turns.

        Now and then, what is over itself is dropped, and what is the same put together.

        Args:
            floor: a moment that no instant to come is before.
            at_leisure: whether nobody waits, so that recent ones may be put with the others.
        """
        recent = self.recent.with_table(in_past(self.recent.table))
        number = self.height
        nothing = recent.taken(np.empty(0, np.int64))
        if number > max(_SMALL, _GROWN * self.ordered):
            every = together([self.settled, recent])
            settled = _once(every.where(_needed(every.table, floor))).in_order()
            return Found(settled, nothing, settled.height)
        if recent.height * (_RECENT if at_leisure else _MOST_RECENT) > number:
            settled = self.settled if recent.height == 0 else _with(self.settled, recent)
            return Found(settled, nothing, self.ordered)
        return Found(self.settled, recent, self.ordered)

    @property
    def is_worded(self) -> bool:
        """Whether they have the texts of their answers with them."""
        return self.settled.texts is not None

    def texts(self, moment: int, instant: int) -> pl.DataFrame:
        """What is reported of those of a moment, at an instant with some number."""
        ours, theirs = places_at(self.settled.table, moment), places_at(self.recent.table, moment)
        rows = np.concatenate([ours, self.settled.height + theirs])
        now = self.table.taken(rows)
        every = [each.texts for each in (self.settled, self.recent) if each.texts is not None]
        texts = pl.concat(every, rechunk=True)
        if alike(now, names_of(now))[1].size == now.height:
            return rows_of(texts, ordered_rows(self.settled, ours, self.recent, theirs), instant)
        once = _once(Kept(now, texts[pl.Series(rows)])).in_order()
        assert once.texts is not None, "all of them have texts"
        return rows_of(once.texts, np.arange(once.height), instant)

    # -- what changes from one evaluation to the next -----------------------------------------

    def told(self, instants: Instants) -> Found:
        """The same when what holds at some instants has been told."""
        return Found(_told(self.settled, instants), _told(self.recent, instants), self.ordered)

    def moving(self, instants: Instants) -> Table:
        """The matches that begin or end at some instants, with the first and the last of them.

        -1 is the instant that was told before them.
        """
        table = self.table
        first, last = spans(table, instants)
        here, told = first <= last, table[TOLD] > 0
        moves = (here | told) & ~(told & here & (first == 0) & (last == len(instants) - 1))
        chosen = _like(table, moves)
        chosen = chosen[(here | told)[chosen]]
        every = table.only(names_of(table)).taken(chosen)
        first, last, here, told = first[chosen], last[chosen], here[chosen], told[chosen]
        before = np.full(int(np.count_nonzero(told)), _BEFORE)
        then = every.where(told).with_columns({FIRST: before, LAST: before})
        now = every.where(here).with_columns({FIRST: first[here], LAST: last[here]})
        once, _ = united(stacked([then, now]), FIRST, LAST)
        return once.where((once[FIRST] > _BEFORE) | (once[LAST] < len(instants) - 1))


def _like(table: Table, chosen: Flags) -> Ids:
    """Where matches stand that may be the same as some, and these themselves."""
    names = names_of(table)
    if not chosen.any() or not names:
        return np.flatnonzero(chosen | (not names))
    keys = mixed(table, names).view(np.uint64) >> np.uint64(64 - _MARK_BITS)
    marks = np.zeros(1 << _MARK_BITS, np.bool_)
    marks[keys[chosen]] = True
    return np.flatnonzero(marks[keys])


def _untold(found: Kept) -> Kept:
    return found.with_table(found.table.with_columns({TOLD: np.zeros(found.height, np.int64)}))


def _told(kept: Kept, instants: Instants) -> Kept:
    table, last = kept.table, int(instants.times[-1])
    told = (table[BEGIN] <= last) & (table[END] >= last)
    if instants.cuts is not None:
        told &= table[TURN] < int(instants.cuts[-1])
    return kept.with_table(table.with_columns({TOLD: told.astype(np.int64)}))


def _once(kept: Kept) -> Kept:
    table, chosen = united(kept.table)
    return kept if chosen is None else kept.taken(chosen).with_table(table)


def _without_most(kept: Kept, floor: int) -> Kept:
    return kept.where(_needed(kept.table, floor)) if mostly_over(kept.table, floor) else kept


def _needed(table: Table, floor: int) -> Flags:
    """Which matches may be asked for: also those that were told, until it is told that they end."""
    return from_on(table, floor) | (table[TOLD] > 0)


def _with(settled: Kept, recent: Kept) -> Kept:
    return together([settled, recent]) if settled.texts is None else inserted(settled, recent)
