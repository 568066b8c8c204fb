"""The matches of a branch, kept until they are over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import polars as pl

from headrace.kernel.lasting import (
    BEGIN,
    at_moment,
    differ,
    from_on,
    in_past,
    names_of,
    united,
    without_most,
)
from headrace.kernel.wording import in_order, inserted, is_worded, only_words, rows_of

_GROWN: Final = 2
_SMALL: Final = 1_024
"""Matches are put in order when they are so many times as many as then, and not few."""
_RECENT: Final = 8
"""Those found lately are put with the others when they are one in so many."""


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
        return Found(self.settled, pl.concat([self.recent, new]), self.ordered)

    def without_over(self, floor: int) -> Found:
        """The same without those that are over, if most are."""
        settled, recent = without_most(self.settled, floor), without_most(self.recent, floor)
        return Found(settled, recent, self.ordered)

    def tidied(self, floor: int) -> Found:
        """The same after a step in which elements had their turns.

        Now and then, what is over itself is dropped, and what is the same put together.
        """
        recent = in_past(self.recent)
        number = self.settled.height + recent.height
        if number > max(_SMALL, _GROWN * self.ordered):
            settled = in_order(united(from_on(pl.concat([self.settled, recent]), floor))).rechunk()
            return Found(settled, recent.clear(), settled.height)
        if recent.height * _RECENT > number:
            settled = _together(self.settled, recent)
            return Found(settled, recent.clear(), self.ordered)
        return Found(self.settled, recent, self.ordered)

    @property
    def is_worded(self) -> bool:
        """Whether they have the texts of their answers with them."""
        return is_worded(self.settled)

    def texts(self, moment: int, instant: int) -> pl.DataFrame:
        """What is reported of those of a moment, at an instant with some number."""
        settled, recent = at_moment(self.settled, moment), at_moment(self.recent, moment)
        names = names_of(settled)
        both = [each.select(*names, BEGIN) for each in (settled, recent)]
        if differ(pl.concat(both), names):
            return rows_of(only_words(settled), only_words(recent), instant)
        once = united(pl.concat([settled, recent]))
        return rows_of(only_words(once), only_words(once.clear()), instant)


def _together(settled: pl.DataFrame, recent: pl.DataFrame) -> pl.DataFrame:
    if recent.height == 0:
        return settled
    if is_worded(settled):
        return inserted(settled, recent)
    return pl.concat([settled, recent]).rechunk()
