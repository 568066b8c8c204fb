"""Elements that missed a window or could not be taken, as lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import starmap
from typing import Protocol

import polars as pl

from headrace.kernel.columns import TIME
from headrace.rdf.elements import Element
from headrace.rdf.times import milliseconds
from headrace.rdf.writing import nquads_statement
from headrace.sinks.files import FileOutput


class Late(Protocol):
    """An element that missed a window, and its stream."""

    @property
    def stream(self) -> str:
        """The IRI of the stream."""

    @property
    def element(self) -> Element:
        """What came too late."""


class Rejected(Protocol):
    """An element that could not be taken; none if it could not even be read."""

    @property
    def stream(self) -> str:
        """The IRI of the stream."""

    @property
    def element(self) -> Element | None:
        """What was refused."""

    @property
    def reason(self) -> str:
        """Why."""


def late_lines(late: Iterable[Late]) -> Iterator[str]:
    """The elements that missed a window, each statement with its stream and its time."""
    for each in late:
        for quad in each.element.quads:
            yield _late_line(each.stream, each.element.time, nquads_statement(quad))


def late_lines_of(late: pl.DataFrame) -> Iterator[str]:
    """The same of columns: `stream`, `time` in microseconds and `quad`, a row a statement."""
    yield from starmap(_late_line, late.select("stream", TIME, "quad").iter_rows())


def rejected_lines(rejected: Iterable[Rejected]) -> Iterator[str]:
    """What could not be taken, and why."""
    for each in rejected:
        time = None if each.element is None else each.element.time
        quads = () if each.element is None else each.element.quads
        yield _rejected_line(each.stream, each.reason, time, [*map(nquads_statement, quads)])


def rejected_lines_of(rejected: pl.DataFrame) -> Iterator[str]:
    """The same of columns: `stream`, `reason`, `time` in microseconds, `quads`, a list, and `text`.

    The last is of what could not be read.
    """
    columns = rejected.select("stream", "reason", TIME, "quads", "text")
    yield from starmap(_rejected_line, columns.iter_rows())


def _late_line(stream: str, time: int, quad: str) -> str:
    return _line({"stream": stream, "time": milliseconds(time), "quad": quad})


def _rejected_line(
    stream: str, reason: str, time: int | None, quads: list[str] | None, text: str | None = None
) -> str:
    record: dict[str, object] = {"stream": stream, "reason": reason}
    if time is not None:  # it could be read
        record |= {"time": milliseconds(time), "quads": quads or []}
    if text is not None:
        record["text"] = text
    return _line(record)


def _line(record: dict[str, object]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


class LinesFile(FileOutput):
    """A file of such lines, with the promises of a sink."""

    def add(self, lines: Iterable[str]) -> None:
        """Add the lines of a batch, durably."""
        # A reason may quote half a character, which UTF-8 has no bytes for and JSON an escape.
        self._file.append(["".join(lines).encode(errors="backslashreplace")])
