"""A note: one sentence about a run that names the thing at fault and says what to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Severity(StrEnum):
    """The severity of a note; with `--quiet`, only errors are printed."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Code(StrEnum):
    """The situations that notes describe; docs/howto/nothing-comes-out.md lists all of them."""

    NO_ELEMENTS = "no-elements"
    ONLY_HEARTBEATS = "only-heartbeats"
    ALL_REJECTED = "all-rejected"
    ALL_LATE = "all-late"
    MOSTLY_LATE = "mostly-late"
    TIME_FAR_AHEAD = "time-far-ahead"
    TIME_UNIT = "time-unit"
    UNREAD_STREAM = "unread-stream"
    EMPTY_INPUT_STREAM = "empty-input-stream"
    WAITING_FOR_STREAM = "waiting-for-stream"
    NO_WINDOW_CLOSED = "no-window-closed"
    COUNT_NOT_REACHED = "count-not-reached"
    ONLY_IN_GAPS = "only-in-gaps"
    SKIPPED_BY_WINDOWS = "skipped-by-windows"
    TIMES_APART = "times-apart"
    EMPTY_WINDOWS = "empty-windows"
    NAMED_GRAPHS_ONLY = "named-graphs-only"
    DEFAULT_GRAPH_ONLY = "default-graph-only"
    UNKNOWN_GRAPH = "unknown-graph"
    UNKNOWN_PREDICATE = "unknown-predicate"
    UNKNOWN_TERM = "unknown-term"
    OTHER_STREAM = "other-stream"
    OUTSIDE_WINDOW = "outside-window"
    ONLY_STATIC = "only-static"
    EMPTY_DEFAULT_GRAPH = "empty-default-graph"
    OUTSIDE_DATASET = "outside-dataset"
    NO_STATIC_GRAPH = "no-static-graph"
    VALUE_FAILURE = "value-failure"


NoteKey: TypeAlias = tuple[str, str | None, str | None, str | None]


@dataclass(frozen=True, slots=True)
class Note:
    """Something that a user should know about a run.

    Attributes:
        code: which situation it is; notes from other parts of the system may have other codes.
        severity: how serious it is.
        text: one sentence for people.
        query: the query that is concerned, if it is one.
        stream: the IRI of the stream that is concerned, if it is one.
        subject: the predicate, graph or file at fault, as it is written in the text.
    """

    code: str
    severity: Severity
    text: str
    query: str | None = None
    stream: str | None = None
    subject: str | None = None

    @property
    def is_error(self) -> bool:
        """True if it is shown with `--quiet` too."""
        return self.severity is Severity.ERROR

    @property
    def key(self) -> NoteKey:
        """The identity of the note, whatever counts its text has."""
        return self.code, self.query, self.stream, self.subject

    def as_json(self) -> dict[str, str]:
        """Return the fields of the note for JSON, without those that have no value."""
        fields = {
            "code": str(self.code),
            "severity": str(self.severity),
            "text": self.text,
            "query": self.query,
            "stream": self.stream,
            "subject": self.subject,
        }
        return {name: value for name, value in fields.items() if value is not None}

    def concerns(self, query: str, streams: Iterable[str]) -> bool:
        """Test whether the note explains a query that reads some streams."""
        return self.query == query or (self.query is None and self.stream in set(streams))
