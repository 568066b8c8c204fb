r"""NDJSON: a stream of JSON objects, one a line, each of which is an element in one of these forms.

An **envelope** has ``"time"``, in milliseconds or ISO 8601, and ``"data"``, a text in the format
that ``"type"`` says by its media type (N-Quads if it does not); or ``"base64"`` in place of
``"data"``. Without either it is a heartbeat. Without a time it is a document like any other, for
which ``"received"``, in microseconds, is the time of the source: that is what an ingest log adds.
With ``"received"``, ``"data"`` and ``"problem"`` only, it is what a log could not take of a source.
Whatever else is in it is passed over.

**JSON-LD** has a member that begins with ``@``. If that is ``@graph``, a member ``"time"`` beside
it is the time of it all, and no part of the data.

A **result** of a query, as a run writes it, has ``"at"`` and ``"triple"``, perhaps ``"graph"``.
Adjacent ones of one query and instant are one element, and an evaluation without results is a
heartbeat, and so is an instant that was skipped. Lines with the **notes** about a query are passed
over.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import lru_cache, partial
from typing import Any, Final

from headrace.errors import DataError, SettingError
from headrace.rdf.formats import Format, format_of_media_type
from headrace.rdf.guard import check_document
from headrace.rdf.json_terms import Number, statement_text
from headrace.rdf.lines import line_starts, split_lines
from headrace.rdf.options import Limits, ReadOptions
from headrace.rdf.payloads import Payload
from headrace.rdf.scopes import within
from headrace.rdf.texts import decoded
from headrace.rdf.times import microseconds

Object = dict[str, Any]

_BLANK: Final = " \t"
_BLANKS: Final = re.compile(r"[ \t]*")
_MOST_SHOWN: Final = 5
_SURELY_COUNTABLE: Final = 18
"""So many digits of microseconds fit into 64 bits."""
_MOST_DIGITS: Final = 40
"""More than the digits of any time that can be counted in microseconds."""


def opened(outer: Payload, options: ReadOptions) -> list[Payload | DataError]:
    """What the lines of NDJSON hold, in order, or what is wrong with them.

    Args:
        outer: the NDJSON.
        options: limits, of which the one on size is for each line, and star mode.
    """
    return _Lines(outer, options).read()


@dataclass(slots=True)
class _Results:
    """Adjacent lines with results of one query at one instant."""

    key: tuple[Any, ...]
    first: Payload
    lines: list[int] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Lines:
    """A cursor over the lines of NDJSON, and what has been found so far."""

    outer: Payload
    options: ReadOptions
    found: list[Payload | DataError | _Results] = field(default_factory=list)
    results: _Results | None = None

    def read(self) -> list[Payload | DataError]:
        data = self.outer.data
        starts = line_starts(data)
        for number, (start, raw) in enumerate(zip(starts, split_lines(data), strict=True), 1):
            try:
                self._read_line(raw, start, number)
            except DataError as error:
                problem = DataError(error.problem, None, number, error.column)
                self.found.append(self.outer.placed(problem))
        return [self._closed(each) if isinstance(each, _Results) else each for each in self.found]

    def _read_line(self, raw: str | bytes, start: int, number: int) -> None:
        limits = self.options.limits
        if limits.line is not None and len(raw) > limits.line:
            raise DataError(f"expected at most {limits.line:,} bytes, found {len(raw):,}")
        text = decoded(raw)
        if not text.strip(_BLANK):
            return
        members = _object(text, limits)
        if "received" in members:
            members.pop(_CHECKSUM, None)
        if members.keys() == _LOST:
            raise DataError(str(members["problem"]))
        scope = within(self.outer.scope, str(self.outer.first_byte + start))
        if not members.keys() <= _KNOWN and any(name.startswith("@") for name in members):
            self._add(self._json_ld(members, text, scope, number))
        elif not members.keys().isdisjoint(_ENVELOPE):
            self._add(self._envelope(members, scope, number))
        elif "at" in members:
            self._add_result(members, scope, number)
        elif members.keys() == _NOTES:
            self.results = None
        else:
            raise _unknown(members)

    def _add(self, payload: Payload) -> None:
        self.found.append(payload)
        self.results = None

    # -- the forms -------------------------------------------------------------------------

    def _envelope(self, members: Object, scope: str, number: int) -> Payload:
        data, form = _data(members), _form(members)
        source_time = _received(members, self.outer.source_time)
        time = _time(members, "time")
        time = self.outer.time if time is None else time
        place = partial(_in_data, self.outer.placed, number)
        if data is not None:
            return Payload(data, form, place, scope, time, source_time)
        time = source_time if time is None else time
        if time is None:
            raise DataError("expected 'time' or 'data', found neither")
        return Payload(b"", Format.N_QUADS, place, scope, time)

    def _json_ld(self, members: Object, text: str, scope: str, number: int) -> Payload:
        time = self.outer.time
        if "@graph" in members and "time" in members:
            time = _time(members, "time")
            text = _without(text, "time")
        place = partial(_at_line, self.outer.placed, number)
        source_time = self.outer.source_time
        return Payload(text.encode(), Format.JSON_LD, place, scope, time, source_time)

    def _add_result(self, members: Object, scope: str, number: int) -> None:
        time = _time(members, "at")
        if time is None:
            raise DataError("expected a time as 'at', found null")
        place = partial(_at_line, self.outer.placed, number)
        empty = Payload(b"", Format.N_QUADS, place, scope, time)
        if "triple" not in members:
            _check_empty(members)
            self._add(empty)
            return
        statement = statement_text(members, self.options)
        key = (members.get("query"), time, members.get("seq"))
        if self.results is None or self.results.key != key:
            self.results = _Results(key, empty)
            self.found.append(self.results)
        self.results.lines.append(number)
        self.results.statements.append(statement)

    def _closed(self, results: _Results) -> Payload:
        first = results.first
        place = partial(_in_results, self.outer.placed, results.lines)
        data = "\n".join(results.statements).encode()
        return Payload(data, first.form, place, first.scope, first.time)


_ENVELOPE: Final = frozenset({"time", "data", "base64"})
"""One of these makes an object an envelope."""
_NOTES: Final = {"query", "notes"}
"""The members of a line with notes, which says nothing about the data."""
_LOST: Final = frozenset({"received", "data", "problem"})
"""The keys of a message that a log could not keep, and of its problem."""
_CHECKSUM: Final = "xxh3"
"""The key of the checksum of a record of an ingest log, which is checked where it is read."""
_KNOWN: Final = _ENVELOPE | {"type", "received", "id"}
"""What most envelopes have, so that there is nothing to be looked for in them."""


def _unknown(members: Object) -> DataError:
    names = [repr(name[:_MOST_DIGITS]) for name in list(members)[:_MOST_SHOWN]]
    found = ", ".join(names) + (", ..." if len(members) > _MOST_SHOWN else "") or "nothing in it"
    return DataError(
        "expected 'data' or 'time' in an envelope, a member that begins with '@' in JSON-LD, or"
        f" 'at' in a result, found {found}; plain JSON becomes statements by an '@context' in it"
    )


# -- where problems stand ------------------------------------------------------------------


def _at_line(outer: Callable[[DataError], DataError], number: int, error: DataError) -> DataError:
    """A problem of the line itself."""
    return outer(DataError(error.problem, None, number + (error.line or 1) - 1, error.column))


def _in_data(outer: Callable[[DataError], DataError], number: int, error: DataError) -> DataError:
    """A problem of the data in an envelope, which may have lines of their own."""
    inner = ":".join(str(part) for part in (error.line, error.column) if part is not None)
    where = f"in its data at {inner}" if inner else "in its data"
    return outer(DataError(f"{where}: {error.problem}", None, number))


def _in_results(
    outer: Callable[[DataError], DataError], lines: list[int], error: DataError
) -> DataError:
    """A problem of a statement that was made of the terms on one of several lines."""
    line = lines[0] if error.line is None else lines[error.line - 1]
    return outer(DataError(f"in its triple: {error.problem}", None, line))


# -- what is in an object ------------------------------------------------------------------


def _refuse_constant(text: str) -> None:
    raise ValueError(f"found {text}")


_DECODER: Final = json.JSONDecoder(
    parse_float=Number, parse_int=Number, parse_constant=_refuse_constant
)


def _object(text: str, limits: Limits) -> Object:
    """The object that a line is."""
    if text.count("{") + text.count("[") > limits.nested:
        check_document(text, Format.JSON_LD, limits)
    begin = len(text) - len(text.lstrip(_BLANK))
    try:
        found, end = _DECODER.raw_decode(text, begin)
    except json.JSONDecodeError as error:
        problem = error.msg[0].lower() + error.msg[1:]
        raise DataError(f"expected JSON: {problem}", column=error.colno) from None
    except ValueError as error:
        raise DataError(f"expected JSON: {error}") from None
    if not isinstance(found, dict):
        raise DataError("expected an object of JSON on a line, found something else", column=1)
    if text[end:].strip(_BLANK):
        raise DataError("expected one object of JSON on a line, found more", column=end + 1)
    return found


def _time(members: Object, name: str) -> int | None:
    found = members.get(name)
    if found is None:
        return None
    if not isinstance(found, str):
        raise DataError(f"expected a number or a text as {name!r}, found something else")
    try:
        return microseconds(_plain(found) if isinstance(found, Number) else found)
    except ValueError as error:
        raise DataError(f"in {name!r}: {error}") from None


def _received(members: Object, otherwise: int | None) -> int | None:
    """When an ingest log took an envelope in, if it says so."""
    match members.get("received"):
        case Number() as found if found.isdigit() and len(found) <= _SURELY_COUNTABLE:
            return int(found)
        case _:
            return otherwise


def _plain(number: Number) -> str:
    """A number without an exponent, if that is not too long to be a time anyway."""
    if "e" not in number.lower() or len(number) > _MOST_DIGITS:
        return number
    try:
        exact = Decimal(number)
    except InvalidOperation:
        return number
    return f"{exact:f}" if abs(exact.adjusted()) < _MOST_DIGITS else number


def _data(members: Object) -> bytes | None:
    text, encoded = members.get("data"), members.get("base64")
    if text is not None and encoded is not None:
        raise DataError("expected 'data' or 'base64', found both")
    name, found = ("data", text) if encoded is None else ("base64", encoded)
    if found is None:
        return None
    if not isinstance(found, str) or isinstance(found, Number):
        raise DataError(f"expected a text as {name!r}, found something else")
    try:
        return decoded(found).encode() if encoded is None else b64decode(found, validate=True)
    except DataError as error:
        raise DataError(f"in its data: {error.problem}") from None
    except ValueError as error:
        raise DataError(f"expected base64 as 'base64': {error}") from None


def _form(members: Object) -> Format:
    found = members.get("type")
    if found is None:
        return Format.N_QUADS
    if not isinstance(found, str):
        raise DataError("expected a media type as 'type', found something else")
    try:
        return _known_form(found)
    except SettingError as error:
        raise DataError(str(error)) from None


@lru_cache(maxsize=64)
def _known_form(media_type: str) -> Format:
    return format_of_media_type(media_type)


def _check_empty(members: Object) -> None:
    """Refuse a result that is no triple, but not an evaluation without results."""
    if "row" in members and members["row"] is None:
        return
    if members.get("skipped") is True:
        return
    kind = next((name for name in ("row", "boolean", "error") if name in members), None)
    if kind == "error":
        raise DataError("expected a triple, found the error of an evaluation")
    found = "neither" if kind is None else f"{kind!r}"
    raise DataError(
        f"expected 'triple' in a result, found {found}; only what CONSTRUCT and DESCRIBE give"
        " can be read as a stream"
    )


def _without(text: str, member: str) -> str:
    """The text of an object without a member, with all others where they were.

    >>> _without('{"a": 1, "time": 2, "b": [3]}', "time")
    '{"a": 1,            "b": [3]}'
    """
    parts = [text[: text.index("{") + 1]]
    end, separator = len(parts[0]), ""
    for name, start, following in _members(text, end):
        if name != member:
            parts += [separator, " " * (start - end - len(separator)), text[start:following]]
            end, separator = following, ","
    return "".join([*parts, "}"])


def _members(text: str, position: int) -> Iterator[tuple[str, int, int]]:
    """The name of each member of an object of JSON, and where the member begins and ends."""
    start = _after_blanks(text, position)
    while not text.startswith("}", start):
        name, end = _DECODER.raw_decode(text, start)
        value = _after_blanks(text, _after_blanks(text, end) + len(":"))
        _, end = _DECODER.raw_decode(text, value)
        yield name, start, end
        comma = _after_blanks(text, end)
        start = _after_blanks(text, comma + text.startswith(",", comma))


def _after_blanks(text: str, position: int) -> int:
    blanks = _BLANKS.match(text, position)
    return position if blanks is None else blanks.end()
