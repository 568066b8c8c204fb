"""Where a file of lines can be cut, so that no element falls apart."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from headrace.rdf.formats import Format
from headrace.rdf.timed import read_timed

PIECE: Final = 16 << 20
"""So many bytes of a file make a piece, and somewhat more."""

Text = bytes | mmap.mmap


def cut(data: Text, size: int, form: Format, start: int = 0, stop: int | None = None) -> list[int]:
    r"""Where the pieces of some whole lines end.

    >>> cut(b"1\ta b c g .\n1\ta b d g .\n2\ta b c .\n", 4, Format.TIMED_N_QUADS)
    [24, 34]

    Args:
        data: the lines are part of it.
        size: how large a piece is, or somewhat larger.
        form: how they are to be read.
        start: where the first line begins.
        stop: where the last one ends.
    """
    stop = len(data) if stop is None else stop
    ends: list[int] = []
    while start < stop:
        end = data.find(b"\n", min(start + size, stop), stop)
        start = _end_of_element(data, stop if end < 0 else end + 1, stop, form)
        ends.append(start)
    return ends


def _end_of_element(data: Text, end: int, stop: int, form: Format) -> int:
    """The end of the last line from an end of line on that may be of the same element."""
    key = _key(data, end, form)
    while key and end < stop and data[end : end + len(key)] == key:
        following = data.find(b"\n", end, stop)
        end = stop if following < 0 else following + 1
    return end


def _key(data: Text, end: int, form: Format) -> bytes:
    """What lines of the same element as the one that ends here begin with; empty if none can."""
    line = data[data.rfind(b"\n", 0, end - 1) + 1 : end]
    if form is Format.TIMED_N_QUADS:
        time, tab, _ = line.partition(b"\t")
        return time + tab if tab else b""
    if form is not Format.NDJSON:
        return b""
    # The triples that a query has constructed at an instant stand on lines of their own.
    head, triple, _ = line.partition(b'"triple"')
    return head if triple else b""


def unfinished(data: Text, start: int, stop: int, form: Format) -> int:
    """Where the last element begins that a writer may still be adding lines to.

    A line of timed N-Quads without a graph is an element of its own, and so is any other line.
    """
    key = _key(data, stop, form)
    if not key or (form is Format.TIMED_N_QUADS and not _has_graph(data, stop)):
        return stop
    begin = data.rfind(b"\n", start, stop - 1) + 1
    while begin > start:
        before = max(start, data.rfind(b"\n", start, begin - 1) + 1)
        if data[before : before + len(key)] != key:
            return begin
        begin = before
    return start


def _has_graph(data: Text, end: int) -> bool:
    """Whether the line that ends here is in a graph."""
    line = data[data.rfind(b"\n", 0, end - 1) + 1 : end]
    found = read_timed(line, on_error=lambda _: None)
    return any(quad.graph is not None for element in found for quad in element.quads)


def new_pieces(
    path: Path, form: Format, start: int, complete: bool, seen: int | None
) -> Iterator[int]:
    """Where the pieces of what is new in a file of lines end.

    Args:
        path: the file.
        form: how it is read.
        start: how much of it is known.
        complete: whether all of it is there.
        seen: how long it was at the last look; if it has not grown, its last element is whole.
    """
    size = path.stat().st_size
    if size <= start:
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as data:
        stop = size
        if not complete:
            stop = data.rfind(b"\n", start, size) + 1
            if stop > start and seen != size:
                stop = unfinished(data, start, stop, form)
        if stop > start:
            yield from cut(data, PIECE, form, start, stop)
