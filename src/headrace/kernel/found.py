"""The matches of a branch, kept until they are over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from headrace.kernel.lasting import (
    BEGIN,
    differ,
    from_on,
    in_past,
    names_of,
    places_at,
    united,
    without_most,
)
from headrace.kernel.wording import in_order, inserted, is_worded, ordered_rows, rows_of, words_of

_GROWN: Final = 2
_SMALL: Final = 1_024
"""Matches are put in order when they are so many times as many as then, and not few."""
_RECENT: Final = 16
"""Those found lately are put with the others when they are one in so many."""
_MOST_RECENT: Final = 3
"""The same while somebody waits for answers."""


@dataclass(frozen=True, slots=True)
class Found:
    """Matches that may still be ones.

    Attributes:
        settled: those found before; if they have texts with them, in the order of these.
        recent: those found lately.
        ordered: how many there were when they were put in order.
    """

    settled: pl.DataFrame
    recent: pl.DataFrame
    ordered: int = 0

    @classmethod
    def first(cls, found: pl.DataFrame) -> Found:
        """The first ones."""
        return cls(found.clear(), found)

    @property
    def frame(self) -> pl.DataFrame:
        """All of them."""
        return pl.concat([self.settled, self.recent])

    def and_more(self, new: pl.DataFrame) -> Found:
        """These and others."""
        # In one piece: to take rows of several is slow.
        return Found(self.settled, pl.concat([self.recent, new], rechunk=True), self.ordered)

    def without_over(self, floor: int) -> Found:
        """The same without those that are over, if most are."""
        settled, recent = without_most(self.settled, floor), without_most(self.recent, floor)
        return Found(settled, recent, self.ordered)

    def tidied(self, floor: int, *, at_leisure: bool) -> Found:
        """The same after a step in which elements had their turns.

        Now and then, what is over itself is dropped, and what is the same put together.

        Args:
            floor: a moment that no instant to come is before.
            at_leisure: whether nobody waits, so that recent ones may be put with the others.
        """
        recent = in_past(self.recent)
        number = self.settled.height + recent.height
        if number > max(_SMALL, _GROWN * self.ordered):
            settled = in_order(united(from_on(pl.concat([self.settled, recent]), floor))).rechunk()
            return Found(settled, recent.clear(), settled.height)
        if recent.height * (_RECENT if at_leisure else _MOST_RECENT) > number:
            settled = _together(self.settled, recent)
            return Found(settled, recent.clear(), self.ordered)
        return Found(self.settled, recent, self.ordered)

    @property
    def is_worded(self) -> bool:
        """Whether they have the texts of their answers with them."""
        return is_worded(self.settled)

    def texts(self, moment: int, instant: int) -> pl.DataFrame:
        """What is reported of those of a moment, at an instant with some number."""
        ours, theirs = places_at(self.settled, moment), places_at(self.recent, moment)
        names = names_of(self.settled)
        wanted = [*names, BEGIN, *words_of(self.settled)]
        both = pl.concat([self.settled.select(wanted), self.recent.select(wanted)], rechunk=True)
        rows = np.concatenate([ours, self.settled.height + theirs])
        if differ(both.select(*names, BEGIN)[pl.Series(rows)], names):
            return rows_of(both, ordered_rows(self.settled, ours, self.recent, theirs), instant)
        once = in_order(united(self.frame[pl.Series(rows)]))
        return rows_of(once, np.arange(once.height), instant)


def _together(settled: pl.DataFrame, recent: pl.DataFrame) -> pl.DataFrame:
    if recent.height == 0:
        return settled
    if is_worded(settled):
        return inserted(settled, recent)
    return pl.concat([settled, recent]).rechunk()
