"""Where the tokens of many lines stand, found on the whole text at once.

Nothing is decided here about what is a term: a line that looks like a statement is cut where its
white space says, and any line that looks otherwise is left to those who read line by line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

Positions: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Codes: TypeAlias = npt.NDArray[np.int32]

BLOCK: Final = 24 << 20
"""So many bytes are looked at together: more than files are cut into, so that none is copied."""

_TAB, _NEWLINE, _SPACE = b"\t\n "
_HASH, _DOT, _LESS, _LOW_LINE = b"#.<_"
_IN_TRIPLE: Final = 4
"""The white space in a triple: after its time, its subject, its predicate and its object."""
_EVERY_OTHER: Final = 0b01010101


@dataclass(frozen=True, slots=True)
class Spans:
    """Where the tokens of a column begin and end, in the order of the text."""

    starts: Positions
    ends: Positions

    def only(self, which: Flags | Positions) -> Spans:
        """Those of some rows."""
        return Spans(self.starts[which], self.ends[which])


@dataclass(frozen=True, slots=True)
class Statements:
    """Lines that look like ``TIME tab SUBJECT PREDICATE OBJECT .``, perhaps with a graph.

    Attributes:
        lines: which lines they are.
        in_graph: which of the rows have a graph; only these are in ``graph``.
    """

    lines: Positions
    time: Spans
    subject: Spans
    predicate: Spans
    object: Spans
    in_graph: Positions
    graph: Spans


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a text by what they look like; those without content are in none of these.

    Attributes:
        all: where each line begins and ends.
        statements: those that look like a statement.
        heartbeats: those without white space.
        others: those that must be read one by one.
    """

    all: Spans
    statements: Statements
    heartbeats: Positions
    others: Positions


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a column: each of them once, and the ordinal of the one in each row."""

    distinct: pl.Series
    codes: Codes


def blocks(text: bytes, size: int = BLOCK) -> Iterator[bytes]:
    r"""A text in pieces of whole lines, each of which has its line end.

    >>> list(blocks(b"1\n23\n4", size=1))
    [b'1\n', b'23\n', b'4\n']
    """
    start = 0
    while start < len(text):
        end = text.find(b"\n", start + size - 1) + 1 or len(text)
        block = text[start:end]
        yield block if block.endswith(b"\n") else block + b"\n"
        start = end


def find_lines(text: bytes, longest: int | None) -> Lines:
    r"""The lines of a text that ends with a newline; longer ones than allowed look like nothing.

    >>> found = find_lines(b"1\t<x:a> <x:b> <x:c> .\n2\n# a\n3  \n", None)
    >>> found.statements.lines.tolist(), found.heartbeats.tolist(), found.others.tolist()
    ([0], [1], [3])
    """
    characters = np.frombuffer(text, np.uint8)
    gaps = np.flatnonzero(characters <= _SPACE)
    kinds = characters[gaps]
    last = np.flatnonzero(kinds == _NEWLINE)
    first = np.concatenate(([0], last[:-1] + 1))
    ends = gaps[last]
    starts = np.concatenate(([0], ends[:-1] + 1))
    length, spaces = ends - starts, last - first
    readable = _readable(text, length, longest)
    # A comment that is no UTF-8, or that is too long, is an error as any other line is.
    content = ~(readable & ((length == 0) | (characters[starts] == _HASH)))
    readable &= content
    lines = np.flatnonzero(readable & (spaces >= _IN_TRIPLE))
    cuts = _Cuts(characters, gaps, kinds, first[lines], last[lines])
    shaped = cuts.are_a_statement()
    lines = lines[shaped]
    statements = cuts.only(shaped).statements(lines, starts[lines])
    heartbeats = np.flatnonzero(readable & (spaces == 0))
    content[lines] = False
    content[heartbeats] = False
    return Lines(Spans(starts, ends), statements, heartbeats, np.flatnonzero(content))


@dataclass(frozen=True, slots=True)
class _Cuts:
    """The white space within lines that have enough of it for a statement.

    Attributes:
        gaps: the offsets of all white space, control characters and line ends of the text.
        kinds: which characters these are.
        first: the ordinal of the first gap of each line.
        last: the ordinal of its line end.
    """

    characters: npt.NDArray[np.uint8]
    gaps: Positions
    kinds: npt.NDArray[np.uint8]
    first: Positions
    last: Positions

    def only(self, which: Flags) -> _Cuts:
        first, last = self.first[which], self.last[which]
        return _Cuts(self.characters, self.gaps, self.kinds, first, last)

    def are_a_statement(self) -> Flags:
        """Which lines have a tab, then two spaces, and end with a space and a dot."""
        first, before_dot = self.first, self.last - 1
        shaped: Flags = self.kinds[first] == _TAB
        for space in (first + 1, first + 2, before_dot):
            shaped &= self.kinds[space] == _SPACE
        end = self.gaps[before_dot]
        shaped &= self.characters[end + 1] == _DOT
        shaped &= self.gaps[self.last] - end == len(" .")
        return shaped

    def statements(self, lines: Positions, starts: Positions) -> Statements:
        """The tokens of lines that all are a statement."""
        gaps, first = self.gaps, self.first
        tab, space, second, dot = gaps[first], gaps[first + 1], gaps[first + 2], gaps[self.last - 1]
        in_graph, split = self._graphs()
        object_ends = dot.copy()
        object_ends[in_graph] = split
        return Statements(
            lines=lines,
            time=Spans(starts, tab),
            subject=Spans(tab + 1, space),
            predicate=Spans(space + 1, second),
            object=Spans(second + 1, object_ends),
            in_graph=in_graph,
            graph=Spans(split + 1, dot[in_graph]),
        )

    def _graphs(self) -> tuple[Positions, Positions]:
        """Which lines end with a graph, and the offsets of the spaces before these.

        The last word of a string may be mistaken for a graph; what is before it is no term then.
        """
        rows = np.flatnonzero(self.last - self.first > _IN_TRIPLE)
        gap = self.last[rows] - 2
        space = self.gaps[gap]
        after = self.characters[space + 1]
        found = (self.kinds[gap] == _SPACE) & ((after == _LESS) | (after == _LOW_LINE))
        return rows[found], space[found]


def _readable(text: bytes, length: Positions, longest: int | None) -> Flags:
    """Which lines are UTF-8 and not too long."""
    readable = np.ones(length.size, np.bool_) if longest is None else length <= longest
    if not _is_utf8(text):
        readable &= np.fromiter(map(_is_utf8, text.split(b"\n")[:-1]), np.bool_, length.size)
    return readable


def _is_utf8(text: bytes) -> bool:
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def tokens(text: bytes, spans: Spans) -> Tokens:
    """The tokens of a column, which are UTF-8, without a copy of those that repeat."""
    count = spans.starts.size
    if count == 0:
        return Tokens(pl.Series(dtype=pl.String), np.empty(0, np.int32))
    # Arrow wants strings without gaps, so what is between tokens is a string too, and null.
    offsets = np.empty(2 * count + 1, np.int64)
    offsets[0:-1:2] = spans.starts
    offsets[1::2] = spans.ends
    offsets[-1] = spans.ends[-1]
    valid = bytes([_EVERY_OTHER]) * (count // 4 + 1)
    buffers = [pa.py_buffer(valid), pa.py_buffer(offsets.data), pa.py_buffer(text)]
    array = pa.Array.from_buffers(pa.large_string(), 2 * count, [*buffers])
    encoded = array.dictionary_encode()
    _, indices = encoded.indices.buffers()
    assert indices is not None, "there are some"
    codes = np.frombuffer(memoryview(indices), np.int32, 2 * count)[::2]
    return Tokens(pl.Series(encoded.dictionary, dtype=pl.String), codes)
