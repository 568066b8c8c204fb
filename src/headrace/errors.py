"""Every error Headrace raises on purpose, by who must act.

HeadraceError
  QueryError             the query is wrong
    QuerySyntaxError       it is not of the language
    ScopeError             it is of the language, but a name in it does not fit
    UnsupportedError       it has a meaning, but not one this version can run
    TooLargeError          it is larger or deeper than the limits allow
  SettingError           an option of a run or of a profile is wrong
  DataError              an element is wrong; it is rejected, the query goes on
  LimitError             an evaluation exceeds a limit; only its query stops
  MachineError           this machine is not ready (Java, memory, a directory)
    DamagedError           a file of ours is not what was written
    UnwritableError        a file cannot be written
  InternalError          we are wrong; please report it
"""

from __future__ import annotations

import re
from bisect import bisect_right
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from errno import EDQUOT, EFBIG, EISDIR, ENOSPC
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TAB = 4
MOST_COMPARED = 200


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a source text, as offsets of its first character and of the one after its last."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Source:
    """A text and the name it is known by, able to show a piece of itself.

    Attributes:
        text: what is parsed.
        name: what it is called, such as its file.
        written: what stands in the file, if escapes in it were replaced before parsing.
        shifts: from which offset of the text on it is how far behind what is written.
    """

    text: str
    name: str | None = None
    written: str | None = None
    shifts: tuple[tuple[int, int], ...] = ()

    def position(self, offset: int) -> tuple[int, int]:
        r"""Line and column of an offset, both counted from one.

        >>> Source("SELECT\n  ?x").position(9)
        (2, 3)
        """
        if self.written is not None:
            return Source(self.written).position(self.as_written(offset))
        before = self.text[:offset]
        return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1

    def as_written(self, offset: int) -> int:
        """Where what stands at an offset of the text stands in what is written."""
        place = bisect_right(self.shifts, offset, key=lambda shift: shift[0])
        return offset + (self.shifts[place - 1][1] if place else 0)

    def excerpt(self, span: Span) -> str:
        """The line of a span with carets under it, preceded by where it is."""
        if self.written is not None:
            there = Span(self.as_written(span.start), self.as_written(span.end))
            return Source(self.written, self.name).excerpt(there)
        line, column = self.position(span.start)
        start = self.text.rfind("\n", 0, span.start) + 1
        end = self.text.find("\n", start)
        shown = self.text[start : end if end >= 0 else len(self.text)].rstrip("\r")
        width = max(1, min(span.end, start + len(shown)) - span.start)
        indent = len(shown[: column - 1].expandtabs(TAB))
        carets = "^" * len(shown[column - 1 : column - 1 + width].expandtabs(TAB) or "^")
        where = f"line {line}, column {column}"
        if self.name:
            where = f"{self.name}, {where}"
        shown = shown.expandtabs(TAB)
        if len(shown) > EXCERPT_WIDTH:  # a generated one-line query must not fill the screen
            cut = max(0, indent - EXCERPT_WIDTH // 2)
            before = "…" if cut else ""
            after = "…" if cut + EXCERPT_WIDTH < len(shown) else ""
            indent += len(before) - cut
            shown = before + shown[cut : cut + EXCERPT_WIDTH] + after
            carets = carets[: max(1, len(shown) - indent)]
        return f"{where}\n  {shown}\n  {' ' * indent}{carets}"


EXCERPT_WIDTH = 110


class HeadraceError(Exception):
    """The root of all errors that Headrace raises on purpose."""


class LimitError(HeadraceError):
    """An evaluation exceeds a limit; only its query stops.

    Attributes:
        limit: the name of the limit.
        problem: what exceeds it.
    """

    def __init__(self, limit: str, problem: str) -> None:
        """Name the limit after the problem."""
        self.limit, self.problem = limit, problem
        super().__init__(f"{problem} (limit '{limit}')")

    def __reduce__(self) -> tuple[type[LimitError], tuple[str, str]]:
        """Make the same error in another process."""
        return LimitError, (self.limit, self.problem)


_LIMIT: Final = re.compile(r"\(limit '(\w+)'\)$")


def with_limit_option(text: str) -> str:
    """Add to the error of an exceeded limit how a command raises it; other errors stay the same.

    >>> with_limit_option("there are 16 rows (limit 'rows')")
    "there are 16 rows (limit 'rows'); --limit rows=VALUE raises it"
    """
    found = _LIMIT.search(text)
    return text if found is None else f"{text}; --limit {found[1]}=VALUE raises it"


class QueryError(HeadraceError):
    """A query is wrong: what is wrong, where, and what to do about it.

    Attributes:
        problem: what was found and what was expected, in one line.
        source: the query.
        span: where in the query, if it can be said.
        hint: what to do about it.
    """

    def __init__(
        self,
        problem: str,
        source: Source | None = None,
        span: Span | None = None,
        hint: str | None = None,
    ) -> None:
        """Keep the parts as data and show them as one text."""
        self.problem = problem
        self.source = source
        self.span = span
        self.hint = hint
        super().__init__(self._shown())

    @property
    def line(self) -> int | None:
        """The line of the span, counted from one."""
        return self._position()[0]

    @property
    def column(self) -> int | None:
        """The column of the span, counted from one."""
        return self._position()[1]

    def _position(self) -> tuple[int, int] | tuple[None, None]:
        if self.source is None or self.span is None:
            return None, None
        return self.source.position(self.span.start)

    def _shown(self) -> str:
        parts = [self.problem]
        if self.source is not None and self.span is not None:
            parts.append(self.source.excerpt(self.span))
        if self.hint:
            parts.append(self.hint)
        return "\n".join(parts)


class QuerySyntaxError(QueryError):
    """The text is not of the language."""


class ScopeError(QueryError):
    """The text is of the language, but a name in it is unknown, taken or out of reach."""


class UnsupportedError(QueryError):
    """The query has a meaning, but not one that this version can run."""


class TooLargeError(QueryError):
    """The query is larger or more deeply nested than the limits allow."""


@contextmanager
def limited_depth(source: Source | None) -> Iterator[None]:
    """Refuse a query that nests more deeply than functions can call each other.

    Args:
        source: the query.

    Raises:
        TooLargeError: it does.
    """
    try:
        yield
    except RecursionError:
        hint = "join conditions by && in one FILTER, and patterns in one group"
        raise TooLargeError("the query nests too deeply", source, hint=hint) from None


class SettingError(HeadraceError):
    """An option of a run or of a profile is wrong."""


class DataError(HeadraceError):
    """An element is wrong; it goes to the rejected output with this as the reason.

    Attributes:
        problem: what is wrong, in one line.
        name: the file or stream it stands in, if known.
        line: its line there, counted from one.
        column: its column there, counted from one.
    """

    def __init__(
        self,
        problem: str,
        name: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        """Keep the parts as data and show them as one line."""
        self.problem = problem
        self.name = name
        self.line = line
        self.column = column
        where = ":".join(str(part) for part in (name, line, column) if part is not None)
        super().__init__(f"{where}: {problem}" if where else problem)


class MachineError(HeadraceError):
    """This machine is not ready; the message says what to install or change."""


class DamagedError(MachineError):
    """A file of ours is not what was written; the message names it and the remedy."""


class UnwritableError(MachineError):
    """A file or a folder cannot be written; the message names it and the remedy.

    Nothing is lost: a run goes on when it is started again, a server by itself.
    """

    def __init__(self, problem: str, cause: OSError) -> None:
        """Add the reason and the remedy to a problem that names the file."""
        remedy = _REMEDIES.get(cause.errno or 0, "put that right")
        super().__init__(f"{problem}: {cause.strerror or cause}; {remedy}")


_REMEDIES = {
    **dict.fromkeys((ENOSPC, EDQUOT, EFBIG), "make room there"),
    EISDIR: "move that folder out of the way",
}


class OutputClosedError(HeadraceError):
    """Whoever reads the results has seen enough: nobody must act."""


class InternalError(HeadraceError):
    """Headrace is wrong; please report it."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name a mistyped one was probably meant to be.

    >>> nearest("STREEM", ["STREAM", "SELECT"])
    'STREAM'
    >>> nearest("xyzzy", ["STREAM", "SELECT"]) is None
    True
    """
    folded = {name.casefold(): name for name in islice(known, MOST_COMPARED)}
    close = get_close_matches(word.casefold(), list(folded), n=1, cutoff=0.7)
    return folded[close[0]] if close else None


def listing(names: Iterable[str], last: str = "or") -> str:
    """Names as a person lists them.

    >>> listing(["a", "b", "c"])
    'a, b or c'
    """
    *head, tail = list(names)
    return f"{', '.join(head)} {last} {tail}" if head else tail


def counted(number: int, noun: str) -> str:
    """Write a number with its noun.

    >>> counted(1, "element"), counted(2_000, "element")
    ('1 element', '2,000 elements')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
