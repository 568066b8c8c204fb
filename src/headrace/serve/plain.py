r"""Lines so plain that no parser need look at them: most of what sensors send.

What is found plain here is right, and each line is a statement of its own in no graph; that is
tested against the parsers. What is not may still be right.
"""

from __future__ import annotations

from typing import Final

import regex as re

_FEW_BYTES: Final = 8_000
_REST: Final = r"[A-Za-z0-9._~/!$&'()*+,;=-]*+(?:\#[A-Za-z0-9._~/-]*+)?"
_IRI: Final = rf"<(?:https?://[A-Za-z0-9][A-Za-z0-9.-]*+|[A-Za-z]{{1,8}}+:[A-Za-z0-9]){_REST}>"
_LITERAL: Final = rf'"[ !\#-\[\]-~]*+"(?:\^\^{_IRI}|@[A-Za-z]{{2,8}}+)?'
_STATEMENT: Final = rf"{_IRI} {_IRI} (?:{_IRI}|{_LITERAL}) \."
_STATEMENTS: Final = re.compile(rf"(?:{_STATEMENT}\n)*+(?:{_STATEMENT})?".encode())
_LINE: Final = rf"[0-9]{{1,13}}+\t{_STATEMENT}"
_TIMED: Final = re.compile(rf"(?:{_LINE}\n)*+(?:{_LINE})?".encode())


def plain_statements(data: bytes) -> int:
    r"""How many statements there are in plain lines; none if it is not certain.

    >>> plain_statements(b"<http://e.x/a> <x:b> 'c' ."), plain_statements(b'<x:a> <x:b> "c" .')
    (0, 1)
    """
    return _lines(data) if data and _matches(_STATEMENTS, data) else 0


def plain_timed(data: bytes) -> int:
    r"""How many elements there are in plain lines of timed N-Quads; none if it is not certain.

    >>> plain_timed(b"1\t<x:a> <x:b> <x:c> .\n2\t<x:a> <x:b> <x:c> ."), plain_timed(b"1\n")
    (2, 0)
    """
    return _lines(data) if data and _matches(_TIMED, data) else 0


def _matches(pattern: re.Pattern[bytes], data: bytes) -> bool:
    # To let other threads work meanwhile costs more than to match a few lines.
    return pattern.fullmatch(data, concurrent=len(data) > _FEW_BYTES) is not None


def _lines(data: bytes) -> int:
    return data.count(b"\n") + (not data.endswith(b"\n"))
