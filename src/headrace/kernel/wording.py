"""Answers that are kept as texts with the matches they are made of, in the order of the texts.

To look up the texts of all rows of a window and to sort them costs more than to find the last
matches. Where each match makes its own answer, both can be done when the match is found.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from headrace.kernel.columns import INSTANT
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.grid import Times

WORDED: Final = "text of "
"""Begins the names of the columns with texts."""
ORDER: Final = "text of all"
"""All texts of a row in one, by which rows are in order."""
_BETWEEN: Final = "\0"
"""No text is the beginning of another that goes on with this."""


def is_worded(frame: pl.DataFrame) -> bool:
    """Whether matches have the texts of their answers with them."""
    return ORDER in frame.columns


def words_of(frame: pl.DataFrame) -> list[str]:
    """The columns that only say in texts what others say."""
    return [name for name in frame.columns if name.startswith(WORDED)]


def worded(matches: pl.DataFrame, answers: pl.DataFrame, dictionary: Dictionary) -> pl.DataFrame:
    """Those of some matches that have an answer, with its texts.

    Args:
        matches: some.
        answers: of each, the number of its match and ids.
        dictionary: the terms.
    """
    names = [name for name in answers.columns if name != INSTANT]
    texts = [dictionary.texts(answers[name]).alias(f"{WORDED}{name}") for name in names]
    order = pl.concat_str([pl.col(each.name).fill_null("") for each in texts], separator=_BETWEEN)
    kept = matches if answers.height == matches.height else matches[answers[INSTANT]]
    return kept.hstack(texts).with_columns(order.alias(ORDER))


def in_order(matches: pl.DataFrame) -> pl.DataFrame:
    """Matches by their texts, if they have any with them."""
    return matches.sort(ORDER) if is_worded(matches) else matches


def inserted(ordered: pl.DataFrame, more: pl.DataFrame) -> pl.DataFrame:
    """Matches in the order of their texts, with others."""
    every = np.arange(ordered.height), np.arange(more.height)
    rows = ordered_rows(ordered, every[0], more, every[1])
    return pl.concat([ordered, more], rechunk=True)[pl.Series(rows)]


def ordered_rows(ordered: pl.DataFrame, ours: Times, more: pl.DataFrame, theirs: Times) -> Times:
    """In which order some of the matches of two frames, one below the other, have their texts.

    Args:
        ordered: matches in order.
        ours: which of them.
        more: others.
        theirs: which of these.
    """
    if theirs.size == 0:
        return ours
    texts = more[ORDER].gather(theirs)
    sorting = texts.arg_sort().to_numpy()
    before = ordered[ORDER].search_sorted(texts.gather(sorting)).to_numpy()
    places = np.searchsorted(ours, before)  # of those before it, so many are among ours
    return np.insert(ours, places, ordered.height + theirs[sorting])


def rows_of(frame: pl.DataFrame, rows: Times, instant: int) -> pl.DataFrame:
    """What is reported at an instant of some matches, in their order."""
    names = [name for name in words_of(frame) if name != ORDER]
    chosen = pl.Series(rows)
    texts = [frame[name].gather(chosen).alias(name.removeprefix(WORDED)) for name in names]
    number = pl.Series(INSTANT, [instant], pl.Int64).new_from_index(0, rows.size)
    return pl.DataFrame([number, *texts])
