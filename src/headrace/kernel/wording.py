"""Answers that are kept as texts with the matches they are made of, in the order of the texts.

To look up the texts of all rows of a window and to sort them costs more than to find the last
matches. Where each match makes its own answer, both can be done when the match is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl

from headrace.kernel.columns import INSTANT
from headrace.kernel.dictionary import Dictionary

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


def worded(
    matches: pl.DataFrame, answers: pl.DataFrame, names: Sequence[str], dictionary: Dictionary
) -> pl.DataFrame:
    """Those of some matches that have an answer, with its texts.

    Args:
        matches: some.
        answers: of each, the number of its match and ids.
        names: the columns of the answers, in order.
        dictionary: the terms.
    """
    texts = [dictionary.texts(answers[name]).alias(f"{WORDED}{name}") for name in names]
    order = pl.concat_str([pl.col(each.name).fill_null("") for each in texts], separator=_BETWEEN)
    kept = matches if answers.height == matches.height else matches[answers[INSTANT]]
    return kept.hstack(texts).with_columns(order.alias(ORDER))


def in_order(matches: pl.DataFrame) -> pl.DataFrame:
    """Matches by their texts, if they have any with them."""
    return matches.sort(ORDER) if is_worded(matches) else matches


def inserted(ordered: pl.DataFrame, more: pl.DataFrame) -> pl.DataFrame:
    """Matches in the order of their texts, with others."""
    more = in_order(more)
    places = ordered[ORDER].search_sorted(more[ORDER]).cast(pl.Int64).to_numpy()
    rows = np.arange(ordered.height)
    rows = np.insert(rows, places, np.arange(ordered.height, ordered.height + more.height))
    return pl.concat([ordered, more], rechunk=True)[pl.Series(rows)]


def only_words(frame: pl.DataFrame) -> pl.DataFrame:
    """The texts of the answers of matches."""
    return frame.select(words_of(frame))


def rows_of(ordered: pl.DataFrame, more: pl.DataFrame, instant: int) -> pl.DataFrame:
    """What is reported at an instant of texts that are in order, and of others."""
    frame = inserted(ordered, more) if more.height else ordered
    names = [name for name in words_of(frame) if name != ORDER]
    texts = [frame[name].alias(name.removeprefix(WORDED)) for name in names]
    number = pl.Series(INSTANT, [instant], pl.Int64).new_from_index(0, frame.height)
    return pl.DataFrame([number, *texts])
