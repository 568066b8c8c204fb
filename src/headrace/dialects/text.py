"""Query texts before any parser sees them: limits on size and depth, and code point escapes."""

from __future__ import annotations

import re
from typing import Final

from headrace.errors import QuerySyntaxError, Source, Span, TooLargeError

MAX_CHARACTERS: Final = 256 * 1024
MAX_DEPTH: Final = 128
MAX_SHOWN: Final = 40

# Strings, IRIs and comments are passed over as wholes; what is left of brackets nests. The end of
# a string may be missing, so that no loop ever has to go back: the scan is linear in any text.
_STRUCTURE: Final = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*(?:""")?'
    r"|'''(?:[^'\\]|\\.|'(?!''))*(?:''')?"
    r'|"(?:[^"\\\n\r]|\\.)*"?'
    r"|'(?:[^'\\\n\r]|\\.)*'?"
    r"|<[^\x00-\x20<>\"{}|^`\\]*>"
    r"|\#[^\n\r]*"
    r"|(?P<open>[({\[]|<<)"
    r"|(?P<close>[)}\]]|>>)",
    re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\\\|\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
_HALF: Final = re.compile("[\ud800-\udfff]")
_CLOSING: Final = {"(": ")", "{": "}", "[": "]", "<<": ">>"}


def guard(source: Source) -> None:
    """Refuse a text that is too long or nests too deeply, in one pass over it."""
    text = source.text
    if len(text) > MAX_CHARACTERS:
        raise TooLargeError(
            f"a query has at most {MAX_CHARACTERS:,} characters, and this one {len(text):,}",
            hint="put long lists of values into a file and load it as static data",
        )
    depth = 0
    for found in _STRUCTURE.finditer(text):
        if found.lastgroup == "open":
            depth += 1
            if depth > MAX_DEPTH:
                raise TooLargeError(
                    f"brackets nest more than {MAX_DEPTH} deep", source, Span(*found.span())
                )
        elif found.lastgroup == "close":
            depth = max(0, depth - 1)


def check_characters(source: Source) -> None:
    """Refuse halves of characters, which no text in UTF-8 can hold."""
    found = _HALF.search(source.text)
    if found is not None:
        raise QuerySyntaxError(
            "the query holds half of a character, so it was not read as UTF-8",
            Source(source.text.encode(errors="replace").decode(), source.name),
            Span(*found.span()),
        )


def unclosed(text: str) -> tuple[int, str] | None:
    """Where the innermost bracket opens that the text never closes, and what would close it."""
    stack: list[tuple[int, str]] = []
    for found in _STRUCTURE.finditer(text):
        if found.lastgroup == "open":
            stack.append((found.start(), _CLOSING[found[0]]))
        elif found.lastgroup == "close" and stack and stack[-1][1] == found[0]:
            stack.pop()
    return stack[-1] if stack else None


def mismatched(text: str) -> tuple[int, tuple[int, str] | None] | None:
    """The first bracket that closes the wrong one or nothing, and what it should have closed."""
    stack: list[tuple[int, str]] = []
    for found in _STRUCTURE.finditer(text):
        if found.lastgroup == "open":
            stack.append((found.start(), _CLOSING[found[0]]))
        elif found.lastgroup == "close":
            if not stack or stack[-1][1] != found[0]:
                return found.start(), (stack[-1] if stack else None)
            stack.pop()
    return None


def shortened(text: str) -> str:
    """A piece of a query, cut if it is too long to show.

    >>> shortened("x" * 100)
    'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…'
    """
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def unescaped(source: Source) -> Source:
    r"""The text with `\uXXXX` and `\UXXXXXXXX` replaced, which SPARQL does before parsing."""
    if "\\u" not in source.text and "\\U" not in source.text:
        return source

    shifts: list[tuple[int, int]] = []
    shift = 0

    def character(found: re.Match[str]) -> str:
        nonlocal shift
        digits = found[1] or found[2]
        if digits is None:
            return found[0]
        code = int(digits, 16)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:  # noqa: PLR2004
            raise QuerySyntaxError(f"'{found[0]}' is not a character", source, Span(*found.span()))
        shift += len(found[0]) - 1
        shifts.append((found.end() - shift, shift))
        return chr(code)

    text = _ESCAPE.sub(character, source.text)
    return Source(text, source.name, source.text, tuple(shifts))
