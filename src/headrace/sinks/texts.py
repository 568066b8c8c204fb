"""Columns of canonical texts on their way into lines: patterns for most terms, and the bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import polars as pl

from headrace.sinks.files import Bytes

# What stands in a canonical text as it is. Any other text is converted on its own.
IRI: Final = r'[^<>"\\\x00-\x20]*'
LEXICAL: Final = r'[^"\\\x00-\x1f]*'
LANGUAGE: Final = "[a-z0-9-]+"

PLAIN: Final = pl.CompatLevel.oldest()
"""Texts as one run of bytes, where Polars itself has many short ones."""
_BLOCK: Final = 100_000
"""How many lines are made at a time: enough for columns to pay, and not much memory."""


def blocks(frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """A frame in parts, none of which takes much memory when it is made into lines."""
    return frame.iter_slices(_BLOCK)


def converted(
    texts: pl.Series, patterns: Sequence[tuple[str, str]], otherwise: Callable[[str], str]
) -> pl.Series:
    """Texts by the pattern that each matches, or one by one where none changes it.

    Texts of one column are mostly of one kind, so that the first patterns are often enough.
    """
    made, rest = texts.clone(), texts.is_not_null()  # what is scattered into is changed
    for pattern, replacement in patterns:
        made = made.str.replace(pattern, replacement)
        rest = made == texts
        if not rest.any():
            return made
    singly = [otherwise(text) for text in texts.filter(rest)]
    return made.scatter(rest.arg_true(), pl.Series(singly, dtype=pl.String))


def content(lines: pl.Series, end: str) -> Bytes:
    """The bytes of lines, each with an end."""
    array = (lines + end).rechunk().to_arrow(compat_level=PLAIN)
    # Arrow keeps texts one after the other, which is what a file is to hold.
    found = array.buffers()[2]
    return b"" if found is None else memoryview(found)
