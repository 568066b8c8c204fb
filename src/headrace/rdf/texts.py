"""Bytes as characters, or where they are none."""

from __future__ import annotations

import re

from headrace.errors import DataError
from headrace.rdf.lexical import position

_SURROGATE = re.compile("[\ud800-\udfff]")


def decoded(data: str | bytes) -> str:
    """A text whose every character can be written in UTF-8.

    Raises:
        DataError: at the first byte that is not UTF-8, or the first half of a character.
    """
    if isinstance(data, bytes):
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            before = data[: error.start].decode()
            where = position(before, len(before))
            problem = f"expected UTF-8, found the byte 0x{data[error.start]:02X}"
            raise DataError(problem, None, *where) from None
        return text
    if not data.isascii() and (half := _SURROGATE.search(data)):
        problem = f"expected a character, found the half of one, U+{ord(half[0]):04X}"
        raise DataError(problem, None, *position(data, half.start()))
    return data
