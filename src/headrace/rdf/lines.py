"""N-Triples and N-Quads, where a bad line leaves all others readable."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

import pyoxigraph as ox

from headrace.errors import DataError
from headrace.rdf.formats import Format
from headrace.rdf.guard import check_nesting, check_size
from headrace.rdf.options import OnError, ReadOptions, StarMode, report
from headrace.rdf.oxigraph import Terms, data_error, ox_format
from headrace.rdf.scopes import Scope
from headrace.rdf.statements import StarStatement
from headrace.rdf.terms import Quad
from headrace.rdf.texts import decoded

_CHUNK = 1000
_OTHER_LINE_ENDS = re.compile("\r\n?")
_OTHER_LINE_ENDS_BYTES = re.compile(b"\r\n?")
_LINE_ENDS_BYTES = re.compile(b"\r\n?|\n")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_DIRECTION = re.compile(r"@[A-Za-z0-9-]*--")


def split_lines(data: str | bytes) -> Sequence[str | bytes]:
    r"""The lines of a text, which end where N-Triples says and nowhere else.

    >>> split_lines("a\r\nb\u2028c\n")
    ['a', 'b\u2028c', '']
    """
    if isinstance(data, bytes):
        return with_newlines(data).split(b"\n")
    data = data.removeprefix("\ufeff")
    return (_OTHER_LINE_ENDS.sub("\n", data) if "\r" in data else data).split("\n")


def with_newlines(data: bytes) -> bytes:
    """A text without a byte order mark, the lines of which all end with a newline."""
    data = data.removeprefix(_BYTE_ORDER_MARK)
    return _OTHER_LINE_ENDS_BYTES.sub(b"\n", data) if b"\r" in data else data


def line_starts(data: str | bytes) -> list[int]:
    r"""The byte at which each line of a text begins, if its characters are written in UTF-8.

    >>> line_starts("\u00e9\r\nb\n")
    [0, 4, 6]
    """
    raw = data if isinstance(data, bytes) else data.encode(errors="surrogatepass")
    first = len(_BYTE_ORDER_MARK) if raw.startswith(_BYTE_ORDER_MARK) else 0
    if b"\r" in raw:
        return [first, *(end.end() for end in _LINE_ENDS_BYTES.finditer(raw))]
    _, *starts = accumulate((len(line) + 1 for line in raw.split(b"\n")[:-1]), initial=0)
    return [first, *starts]


class LineReader:
    """Reads statements of one text, a line or many lines at a time."""

    def __init__(self, syntax: Format, options: ReadOptions, scope: Scope) -> None:
        """Read N-Triples or N-Quads, blank nodes being those of a scope."""
        self._graphs = syntax is Format.N_QUADS
        self._format = ox_format(syntax.media_type)
        self._community = options.star is StarMode.COMMUNITY
        self._limits = options.limits
        self._scope = scope
        self._terms = Terms(scope, options.limits)

    def statement(self, line: str) -> Quad | None:
        """The statement of a line, if there is one.

        Raises:
            DataError: with the column of what is wrong.
        """
        if self._community and ("<<" in line or _DIRECTION.search(line)):
            start = line.lstrip(" \t")
            if start.startswith("#"):
                return None
            return StarStatement(line, self._scope, self._limits).quad(self._graphs)
        check_nesting(line, self._limits)
        try:
            found = list(ox.parse(line, self._format))
        except SyntaxError as error:
            raise data_error(error, [line]) from None
        return self._terms.quad(found[0]) if found else None

    def statements(self, lines: Sequence[str | bytes]) -> list[Quad] | None:
        """The statements of many lines at once, or None if a line needs to be looked at."""
        try:
            text = "\n".join(map(decoded, lines))
            if "<<" in text or (self._community and _DIRECTION.search(text)):
                return None
            return [self._terms.quad(quad) for quad in ox.parse(text, self._format)]
        except (DataError, SyntaxError):
            return None


def read_lines(
    data: str | bytes,
    syntax: Format,
    options: ReadOptions,
    scope: Scope,
    on_error: OnError,
) -> Iterator[Quad]:
    """The statements of N-Triples or N-Quads; the problems in it have lines and no name."""
    try:
        check_size(data, options.limits)
    except DataError as error:
        report(error, on_error)
        return
    reader = LineReader(syntax, options, scope)
    lines = split_lines(data)
    for first in range(0, len(lines), _CHUNK):
        chunk = lines[first : first + _CHUNK]
        quads = reader.statements(chunk)
        if quads is not None:
            yield from quads
            continue
        for number, line in enumerate(chunk, first + 1):
            try:
                quad = reader.statement(decoded(line))
            except DataError as error:
                report(DataError(error.problem, None, number, error.column), on_error)
            else:
                if quad is not None:
                    yield quad
