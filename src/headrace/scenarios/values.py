"""What a scenario says, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final, TypeAlias

from headrace.rdf.elements import Element
from headrace.rdf.terms import Quad, Term
from headrace.rdf.timed import to_timed

Row: TypeAlias = tuple[tuple[str, Term], ...]
"""The bound columns of a row, by name."""
Bounds: TypeAlias = tuple[int | None, int | None]
"""When a window opens and closes."""
Entry: TypeAlias = Element | str
"""What comes in a stream: an element or a heartbeat, or a line of timed N-Quads as it stands."""

NOTHING: Final = "(nothing)"
"""How a file says that an instant is reported without rows."""
UNBOUND: Final = "()"
"""How it says that a row has no bound column."""
UNREADABLE: Final = "(unreadable)"
"""How it says that what is rejected is no element at all."""


@dataclass(frozen=True, slots=True)
class ScenarioQuery:
    """A query: its name in the results, its dialect and its text."""

    name: str
    dialect: str
    text: str


@dataclass(frozen=True, slots=True)
class Instant:
    """What a query is to report at one instant; where all parts are empty, a report of nothing.

    Attributes:
        line: where the scenario says so.
        at: microseconds since the epoch.
        seq: its place among the instants of the same time.
        windows: bounds by the window's name; no name is the only window of the query.
        rows: of a SELECT.
        quads: of a CONSTRUCT or DESCRIBE.
        boolean: of an ASK.
        error: what the message of a failed instant has in it.
    """

    line: int
    at: int
    seq: int = 0
    windows: tuple[tuple[str | None, Bounds], ...] = ()
    rows: tuple[Row, ...] = ()
    quads: tuple[Quad, ...] = ()
    boolean: bool | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Emission:
    """All that one query is to report; rows in any order, unless they are said to have one."""

    query: str
    instants: tuple[Instant, ...]
    in_order: bool = False


@dataclass(frozen=True, slots=True)
class Counts:
    """How many elements of a stream came, and what became of them; None is not said."""

    elements: int | None = None
    late: int | None = None
    rejected: int | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """Queries, what they read, and what they are to make of it.

    Attributes:
        name: what the file is called.
        title: what it shows, in a sentence.
        prefixes: IRIs by prefix, for showing terms.
        queries: in the order of the file.
        settings: as of ``--set``.
        static: Turtle by graph; no graph is the default one.
        schemas: Turtle by the name of the schema; that of queries that name none has no name.
        streams: what comes in each stream.
        live: whether the input has no end, so that instants run up to the watermark.
        emits: what is emitted, by query; of a query that is not here, nothing is said.
        late: the elements that come too late, by stream; of others, none does.
        rejected: the times of elements that are rejected, by stream; None if it cannot be read.
        counts: how many elements there are, by stream.
        refused: what the message has in it if a query is to be refused.
    """

    name: str
    title: str
    prefixes: Mapping[str, str] = field(default_factory=dict)
    queries: tuple[ScenarioQuery, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    static: Mapping[str | None, str] = field(default_factory=dict)
    schemas: Mapping[str | None, str] = field(default_factory=dict)
    streams: Mapping[str, tuple[Entry, ...]] = field(default_factory=dict)
    live: bool = False
    emits: tuple[Emission, ...] = ()
    late: Mapping[str, tuple[Element, ...]] = field(default_factory=dict)
    rejected: Mapping[str, tuple[int | None, ...]] = field(default_factory=dict)
    counts: Mapping[str, Counts] = field(default_factory=dict)
    refused: tuple[str, ...] = ()

    @property
    def dialect(self) -> str | None:
        """The dialect of all queries; None if they have several, each told by its words."""
        dialects = {query.dialect for query in self.queries}
        return dialects.pop() if len(dialects) == 1 else None

    def timed(self) -> dict[str, str]:
        """The streams as timed N-Quads.

        Raises:
            DataError: if an element cannot be written so, such as one with several triples of no
                graph.
        """
        return {stream: _timed(script) for stream, script in self.streams.items()}


def _timed(script: tuple[Entry, ...]) -> str:
    parts = groupby(script, key=lambda entry: isinstance(entry, Element))
    return "".join(_lines(list(entries)) for _, entries in parts)


def _lines(entries: list[Entry]) -> str:
    raw = "".join(f"{entry}\n" for entry in entries if isinstance(entry, str))
    return raw or to_timed(entry for entry in entries if isinstance(entry, Element))
