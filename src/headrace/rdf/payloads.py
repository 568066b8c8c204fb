"""RDF that came as one: in a message, on a line of a log, or in a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headrace.errors import DataError
from headrace.rdf.formats import Format


@dataclass(frozen=True, slots=True)
class Payload:
    """Some bytes, and what is known of them by what is around them.

    Attributes:
        data: what they are.
        form: how they are to be read.
        placed: makes a problem in them one of the place where they stand.
        scope: a name that no other payload of the stream has, for blank nodes.
        time: the time of all of it, if something around it says one; it is one element then.
        source_time: the time that the source has for it.
        first_byte: where it begins in what it is a part of, if it has lines of its own.
        beats: whether it is a heartbeat if it is empty and has a time; a file is not.
    """

    data: bytes
    form: Format
    placed: Callable[[DataError], DataError]
    scope: str = ""
    time: int | None = None
    source_time: int | None = None
    first_byte: int = 0
    beats: bool = True


def in_text(name: str | None, first_line: int, error: DataError) -> DataError:
    """A problem of a text, by the name of it and the number that its first line has there.

    >>> str(in_text("f.nq", 5, DataError("expected a term", None, 2, 1)))
    'f.nq:6:1: expected a term'
    """
    line = None if error.line is None else error.line + first_line - 1
    return DataError(error.problem, name, line, error.column)
