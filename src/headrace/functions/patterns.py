r"""Regular expressions of users: XPath's, run by RE2, whose time is linear in the text.

XPath's classes are translated (`\d \w \s \i \c` mean what they mean there: `\w` is everything but
punctuation, separators and other, so it has no `_`). Other syntax is an error that says so:
back-references, look-around, subtraction of classes and Unicode blocks (`\p{IsGreek}`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, Protocol, cast

import re2  # type: ignore[import-untyped]  # google-re2 has no types; _Regexp is what we use

from headrace.functions.errors import ExpressionError
from headrace.functions.strings import MAX_LENGTH, bounded, string, utf8
from headrace.functions.terms import simple_text
from headrace.functions.values import FALSE, TRUE
from headrace.metering import current
from headrace.rdf.terms import Literal, Term

_FLAGS: Final = frozenset("ismxq")
_SPACE: Final = frozenset(" \t\n\r")
_CACHED: Final = 1 << 10
_MAX_PATTERN: Final = 1 << 14
_MOST_WORK: Final = 400_000_000
"""Characters times states of a pattern: RE2 needs up to two nanoseconds for each."""
_MOST_GROUPS: Final = 99
"""So many groups are allowed for in a replacement if the pattern is not known."""

# XML's name characters, as ranges of a class.
_NAME_START: Final = (
    r":A-Z_a-z\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{2FF}\x{370}-\x{37D}\x{37F}-\x{1FFF}"
    r"\x{200C}-\x{200D}\x{2070}-\x{218F}\x{2C00}-\x{2FEF}\x{3001}-\x{D7FF}\x{F900}-\x{FDCF}"
    r"\x{FDF0}-\x{FFFD}\x{10000}-\x{EFFFF}"
)
_NAME: Final = _NAME_START + r"\-.0-9\x{B7}\x{300}-\x{36F}\x{203F}-\x{2040}"
_CLASSES: Final = {
    "d": r"\p{Nd}",
    "w": r"\p{L}\p{M}\p{N}\p{S}",
    "s": r" \t\n\r",
    "i": _NAME_START,
    "c": _NAME,
}
# Inside a class its complement must be spelt out.
_COMPLEMENTS: Final = {
    "D": r"\P{Nd}",
    "W": r"\p{P}\p{Z}\p{C}",
    "S": r"\x{0}-\x{8}\x{B}\x{C}\x{E}-\x{1F}\x{21}-\x{10FFFF}",
}


class PatternError(ExpressionError):
    """A pattern, flags or a replacement that no text has a result with.

    Attributes:
        hint: what to do about it.
    """

    def __init__(self, problem: str, hint: str | None = None) -> None:
        """Keep the hint beside the problem."""
        super().__init__(problem)
        self.hint = hint


class _Match(Protocol):
    def group(self, number: int, /) -> str | None: ...


class _Regexp(Protocol):
    """What is used of a compiled expression of re2, which has no types."""

    groups: int
    programsize: int

    def search(self, text: str) -> _Match | None: ...
    def sub(self, replacement: Callable[[_Match], str], text: str) -> str: ...


def matches(text: Term, pattern: Term, flags: Term | None = None) -> Literal:
    """REGEX: whether a pattern occurs in a string."""
    subject = string(text).lexical
    regexp = _compiled(_plain(pattern), "" if flags is None else _plain(flags))
    return TRUE if regexp.search(_searchable(subject, regexp)) is not None else FALSE


def replaced(text: Term, pattern: Term, replacement: Term, flags: Term | None = None) -> Literal:
    """REPLACE: the string with every occurrence of a pattern replaced; `$1` is its first group."""
    subject = string(text)
    switches = "" if flags is None else _plain(flags)
    regexp = _compiled(_plain(pattern), switches)
    _check_not_empty(regexp, pattern)
    wanted = _plain(replacement)
    pieces = (wanted,) if "q" in switches else _pieces(wanted, regexp.groups)
    result = regexp.sub(_Replacement(pieces), _searchable(subject.lexical, regexp))
    return Literal(bounded(result), language=subject.language)


class _Replacement:
    """Makes the text for each match, and stops before all of them together are too long."""

    def __init__(self, pieces: tuple[str | int, ...]) -> None:
        self.pieces = pieces
        self.length = 0
        self.meter = current()

    def __call__(self, match: _Match) -> str:
        text = "".join(
            piece if isinstance(piece, str) else match.group(piece) or "" for piece in self.pieces
        )
        self.length += len(text)
        self.meter.step()
        if self.length > MAX_LENGTH:
            raise ExpressionError(f"the result is longer than {MAX_LENGTH} characters")
        return text


def _plain(term: Term) -> str:
    try:
        return simple_text(term)
    except ExpressionError as error:
        raise PatternError(str(error)) from None


def _searchable(text: str, regexp: _Regexp) -> str:
    """Return a text that a pattern can be searched in within about a second."""
    if len(text) * regexp.programsize > _MOST_WORK:
        raise ExpressionError(
            f"a text of {len(text):,} characters is too long for a pattern of "
            f"{regexp.programsize:,} states"
        )
    utf8(text)
    return text


def check_pattern(
    pattern: Term | None, flags: Term | None, replacement: Term | None, *, replaces: bool
) -> None:
    """Refuse constant arguments without a result for any text; None is not constant.

    Raises:
        ExpressionError: saying what is wrong; `PatternError` if it is the pattern.
    """
    switches = "" if flags is None else _plain(flags)
    _check_flags(switches)
    groups = _MOST_GROUPS
    if pattern is not None and flags is not None:
        regexp = _compiled(_plain(pattern), switches)
        groups = regexp.groups
        if replaces:
            _check_not_empty(regexp, pattern)
    elif pattern is not None:
        _plain(pattern)
    if replacement is not None and flags is not None:
        wanted = _plain(replacement)
        if "q" not in switches:
            _pieces(wanted, groups)


def _check_not_empty(regexp: _Regexp, pattern: Term) -> None:
    if regexp.search("") is not None:
        problem = f"{pattern} matches the empty string, which cannot be replaced"
        raise PatternError(problem, "write + in the place of *, so that a match has a character")


def _check_flags(flags: str) -> None:
    unknown = sorted(set(flags) - _FLAGS)
    if unknown:
        raise PatternError(f"{unknown[0]!r} is not a flag; the flags are i, m, q, s and x")


# -- patterns ----------------------------------------------------------------------------------


@lru_cache(_CACHED)
def _compiled(pattern: str, flags: str) -> _Regexp:
    _check_flags(flags)
    if len(pattern) > _MAX_PATTERN:
        raise PatternError(f"the pattern is longer than {_MAX_PATTERN} characters")
    utf8(pattern)
    if "q" in flags:
        switches, translated = set(flags) & {"i"}, re2.escape(pattern)
    else:
        switches, translated = set(flags) & set("ims"), _translated(pattern, "x" in flags)
    prefix = f"(?{''.join(sorted(switches))})" if switches else ""
    options = re2.Options()
    options.log_errors = False
    try:
        return cast(_Regexp, re2.compile(prefix + translated, options))
    except re2.error as error:
        reason = b"".join(error.args).decode(errors="replace")
        problem = f"RE2 does not accept the pattern {pattern!r}: {reason}"
        hint = "escape characters by \\, or take the whole pattern as text by the flag 'q'"
        raise PatternError(problem, hint) from error


_UNSUPPORTED: Final = (
    ("(?=", "a look-ahead", "ask for both in two calls: REGEX(...) && REGEX(...)"),
    ("(?!", "a negative look-ahead", "ask in two calls: REGEX(...) && !REGEX(...)"),
    ("(?<=", "a look-behind", "match what stands before too, or use STRAFTER"),
    ("(?<!", "a negative look-behind", "ask in two calls: REGEX(...) && !REGEX(...)"),
    ("(?>", "an atomic group", "write (?: for (?>: RE2 never goes back over a text"),
    ("(?(", "a condition", "write the two cases with |"),
)


def _check_supported(pattern: str, token: str, at: int) -> None:
    """Refuse constructs outside of classes that RE2 does not support."""
    if token[0] == "\\" and token[1:] in set("123456789"):
        raise _unsupported(
            f"a back-reference, {token}",
            at,
            "compare parts of the text with STRBEFORE and STRAFTER",
        )
    if token[0] == "\\" and token[1:].startswith(("p{Is", "P{Is")):
        hint = "name a script instead, as in \\p{Greek}, or a range, as in [a-z]"
        raise _unsupported(f"a Unicode block, {token}", at, hint)
    for start, called, hint in _UNSUPPORTED:
        if token == "(" and pattern.startswith(start, at):
            raise _unsupported(f"{called}, {start}", at, hint)


def _unsupported(found: str, at: int, hint: str) -> PatternError:
    return PatternError(
        f"the pattern has {found}, at character {at + 1}, which RE2 does not support", hint
    )


_TOKEN: Final = re.compile(r"\\[pP]\{[^}]*\}|\\.|-\[|.", re.DOTALL)


def _translated(pattern: str, ignore_space: bool) -> str:
    """Translate XPath's character classes to RE2."""
    out: list[str] = []
    in_class = False
    for found in _TOKEN.finditer(pattern):
        token = found[0]
        if not in_class:
            _check_supported(pattern, token, found.start())
        if token[0] == "\\" and len(token) > 1:
            out.append(_escape(token, in_class))
        elif not in_class:
            if not (ignore_space and token in _SPACE):
                # Outside a class `-[` is a hyphen before one.
                out.append(token)
            in_class = token.endswith("[")
        elif token == "-[":
            hint = "list what is left, as in [b-df-h]"
            raise _unsupported("a subtraction of classes, -[", found.start(), hint)
        else:
            in_class = token != "]"
            out.append(token)
    return "".join(out)


def _escape(token: str, in_class: bool) -> str:
    letter = token[1]
    if letter in _CLASSES:
        return _CLASSES[letter] if in_class else f"[{_CLASSES[letter]}]"
    if letter in "DWSIC":
        if not in_class:
            return f"[^{_CLASSES[letter.lower()]}]"
        if letter not in _COMPLEMENTS:
            hint = f"write \\{letter} outside of the class, with |"
            raise PatternError(
                f"the pattern has \\{letter} inside a class, which RE2 does not support", hint
            )
        return _COMPLEMENTS[letter]
    return token


# -- replacements ------------------------------------------------------------------------------

_PIECE: Final = re.compile(r"\\[\\$]|\$[0-9]+|[^\\$]+|.", re.DOTALL)


@lru_cache(_CACHED)
def _pieces(replacement: str, groups: int) -> tuple[str | int, ...]:
    r"""Split a replacement into text and numbers of groups.

    >>> _pieces(r"a\$$1$23", 2)
    ('a', '$', 1, 2, '3')
    """
    pieces: list[str | int] = []
    for token in _PIECE.findall(replacement):
        if token in {"$", "\\"}:
            raise PatternError(
                f"in a replacement \\ stands before \\ or $, and $ before a digit: {replacement!r}"
            )
        if token[0] == "$":
            pieces.extend(_reference(token[1:], groups))
        else:
            pieces.append(token[1:] if token[0] == "\\" else token)
    return tuple(pieces)


def _reference(digits: str, groups: int) -> list[str | int]:
    """As many digits as name a group, then text; a single digit may name none, which is empty."""
    used = len(digits)
    while used > 1 and (used > len(str(groups)) or int(digits[:used]) > groups):
        used -= 1
    number = int(digits[:used])
    named: list[str | int] = [number] if number <= groups else []
    return [*named, digits[used:]] if digits[used:] else named
