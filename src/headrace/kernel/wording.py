"""Answers that are kept as texts with the matches they are made of, in the order of the texts.

To look up the texts of all rows of a window and to sort them costs more than to find the last
matches. Where each match makes its own answer, both can be done when the match is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from headrace.kernel.columns import INSTANT
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.table import Flags, Ids, Table, stacked

ORDER: Final = "text of all"
"""All texts of a row in one, by which rows are in order."""
_BETWEEN: Final = "\0"
"""No text is the beginning of another that goes on with this."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Matches, and the texts of their answers where these are kept with them.

    Attributes:
        table: the matches.
        texts: of each match those of its answer, and all of them in one.
    """

    table: Table
    texts: pl.DataFrame | None = None

    @property
    def height(self) -> int:
        """How many there are."""
        return self.table.height

    def taken(self, rows: Ids) -> Kept:
        """Some of them, by number."""
        texts = None if self.texts is None else self.texts[pl.Series(rows)]
        return Kept(self.table.taken(rows), texts)

    def where(self, kept: Flags) -> Kept:
        """Those for which it is said."""
        return self if kept.all() else self.taken(np.flatnonzero(kept))

    def with_table(self, table: Table) -> Kept:
        """The same texts beside other columns."""
        return Kept(table, self.texts)

    def in_order(self) -> Kept:
        """The same by their texts, if they have any with them."""
        if self.texts is None:
            return self
        return self.taken(self.texts[ORDER].arg_sort().to_numpy())


def together(parts: Sequence[Kept]) -> Kept:
    """Matches of several parts, one after the other."""
    parts = [part for part in parts if part.height] or parts[:1]
    if len(parts) == 1:
        return parts[0]
    texts = [part.texts for part in parts if part.texts is not None]
    # In one piece: to take rows of several is slow.
    stood = pl.concat(texts, rechunk=True) if texts else None
    return Kept(stacked([part.table for part in parts]), stood)


def worded(matches: Table, answers: pl.DataFrame, dictionary: Dictionary) -> Kept:
    """Those of some matches that have an answer, with its texts.

    Args:
        matches: some.
        answers: of each, the number of its match and ids.
        dictionary: the terms.
    """
    names = [name for name in answers.columns if name != INSTANT]
    texts = pl.DataFrame(dictionary.texts_of([answers[name] for name in names]))
    order = pl.concat_str([pl.col(name).fill_null("") for name in names], separator=_BETWEEN)
    whole = answers.height == matches.height
    kept = matches if whole else matches.taken(answers[INSTANT].to_numpy())
    return Kept(kept, texts.with_columns(order.alias(ORDER)))


def inserted(ordered: Kept, more: Kept) -> Kept:
    """Matches in the order of their texts, with others."""
    rows = ordered_rows(ordered, np.arange(ordered.height), more, np.arange(more.height))
    return together([ordered, more]).taken(rows)


def ordered_rows(ordered: Kept, ours: Ids, more: Kept, theirs: Ids) -> Ids:
    """In which order some of the matches of two parts, one below the other, have their texts.

    Args:
        ordered: matches in order.
        ours: which of them.
        more: others.
        theirs: which of these.
    """
    if theirs.size == 0:
        return ours
    assert ordered.texts is not None, "both have texts"
    assert more.texts is not None, "both have texts"
    texts = more.texts[ORDER].gather(theirs)
    sorting = texts.arg_sort().to_numpy()
    before = ordered.texts[ORDER].search_sorted(texts.gather(sorting)).to_numpy()
    places = np.searchsorted(ours, before)  # of those before it, so many are among ours
    return np.insert(ours, places, ordered.height + theirs[sorting])


def rows_of(texts: pl.DataFrame, rows: Ids, instant: int) -> pl.DataFrame:
    """What is reported at an instant of some matches, in their order."""
    chosen = pl.Series(rows)
    columns = [texts[name].gather(chosen) for name in texts.columns if name != ORDER]
    number = pl.Series(INSTANT, [instant], pl.Int64).new_from_index(0, rows.size)
    return pl.DataFrame([number, *columns])
