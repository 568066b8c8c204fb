"""What an endpoint answers: how much of it is read, and which table it is."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from typing import Final

from headrace.errors import DataError
from headrace.rdf.scopes import Scope
from headrace.results.formats import ResultFormat, format_of_media_type
from headrace.results.reading import read_result
from headrace.results.table import ResultLimits, Table

ACCEPT: Final = "application/sparql-results+json, application/sparql-results+xml;q=0.9"
ACCEPT_ENCODING: Final = "gzip, identity;q=0.5"

_EXCERPT: Final = 200
_NOT_SHOWN: Final = re.compile(r"[^ -~\u00a1-\u024f]+")
_GZIP: Final = zlib.MAX_WBITS | 16


class TooLongError(Exception):
    """An answer has more bytes than it may have."""


def collected(chunks: Iterable[bytes], encoding: str, most: int) -> bytes:
    """The bytes of an answer, decompressed, and never more of them than allowed.

    Raises:
        TooLongError: as soon as there are more.
        DataError: if it is compressed in a way we did not ask for, or badly.
    """
    match encoding.strip().lower():
        case "" | "identity":
            return _plain(chunks, most)
        case "gzip" | "x-gzip":
            return _unzipped(chunks, most)
        case other:
            raise DataError(f"expected an answer in gzip or as it is, found {other[:20]!r}")


def _plain(chunks: Iterable[bytes], most: int) -> bytes:
    whole = bytearray()
    for chunk in chunks:
        whole += chunk
        if len(whole) > most:
            raise TooLongError
    return bytes(whole)


def _unzipped(chunks: Iterable[bytes], most: int) -> bytes:
    whole = bytearray()
    unzip = zlib.decompressobj(_GZIP)
    try:
        for chunk in chunks:
            waiting = chunk
            while waiting:
                # A kilobyte can be a megabyte; so much as is still allowed, and one byte more.
                whole += unzip.decompress(waiting, most - len(whole) + 1)
                if len(whole) > most:
                    raise TooLongError
                waiting = unzip.unconsumed_tail
    except zlib.error as error:
        raise DataError(f"expected an answer in gzip: {error}") from None
    if not unzip.eof:
        raise DataError("expected the rest of an answer in gzip, found its end")
    return bytes(whole)


def table_of(data: bytes, media_type: str, scope: Scope, limits: ResultLimits) -> Table:
    """The table that an answer is.

    Raises:
        DataError: if it is none.
    """
    syntax = format_of_media_type(media_type)
    if syntax not in (ResultFormat.JSON, ResultFormat.XML):
        found = excerpt(media_type.encode()) or "no media type"
        raise DataError(f"expected SPARQL results in JSON or XML, found {found!r}")
    result = read_result(data, syntax, scope=scope, limits=limits)
    if not isinstance(result, Table):
        raise DataError("expected a table, found yes or no")
    return result


def arranged(table: Table, variables: tuple[str, ...]) -> Table:
    """The table with the columns that were asked for; one that is missing is unbound.

    Raises:
        DataError: if there are others.
    """
    if table.variables == variables:
        return table
    others = [name for name in table.variables if name not in variables]
    if others and variables:
        found = excerpt(others[0].encode())
        raise DataError(f"expected only the variables that were asked for, found ?{found}")
    places = [table.variables.index(name) if name in table.variables else -1 for name in variables]
    rows = (tuple(None if place < 0 else row[place] for place in places) for row in table.rows)
    return Table(variables, tuple(rows))


def excerpt(data: bytes) -> str:
    """The beginning of what a server said, on one line and without what a terminal would obey."""
    text = data[: 4 * _EXCERPT].decode(errors="replace")
    line = " ".join(_NOT_SHOWN.sub(" ", text).split())
    return line if len(line) <= _EXCERPT else line[:_EXCERPT] + "…"
