"""When a continuous query is evaluated and what it emits: the values that engines disagree on."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Literal, TypeAlias

MILLISECOND: Final = 1_000
SECOND: Final = 1_000 * MILLISECOND
DAY: Final = 86_400 * SECOND


class Bounds(StrEnum):
    """Which ends of a time window belong to it."""

    OPEN_CLOSED = "(]"
    CLOSED_OPEN = "[)"
    CLOSED = "[]"


class Align(StrEnum):
    """Which end of a time window lies on the grid."""

    CLOSE = "close"
    OPEN = "open"


class Contents(StrEnum):
    """Whether equal triples of a window are one, or each time they occur is its own match."""

    SET = "set"
    TIMED = "timed"


class Emit(StrEnum):
    """The whole answer, what is new in it, or what has gone from it."""

    RSTREAM = "rstream"
    ISTREAM = "istream"
    DSTREAM = "dstream"


class NonEmpty(StrEnum):
    """What suppresses a report: nothing, an empty window, or an empty answer."""

    REPORT_ALL = "off"
    CONTENT = "content"
    ANSWER = "answer"


class Order(StrEnum):
    """The order in which arrivals are evaluated."""

    EVENT_TIME = "event-time"
    ARRIVAL = "arrival"


class Pick(StrEnum):
    """Which close `every` takes: the latest not after the instant, or the latest before it."""

    LATEST = "latest"
    STRICT = "strict"


class BlankNodes(StrEnum):
    """Within what equal blank node labels are the same node."""

    ELEMENT = "element"
    STREAM = "stream"


class Scope(StrEnum):
    """Whether windows bound each element's age, or the span of a whole match."""

    WINDOW = "window"
    MATCH = "match"


class Consumption(StrEnum):
    """Which of the triples in a window may make matches, and how often."""

    UNRESTRICTED = "unrestricted"
    RECENT = "recent"
    CHRONOLOGICAL = "chronological"


class FromNamed(StrEnum):
    """The visibility of the static default graph beside FROM NAMED without FROM.

    It is hidden in SPARQL; the engine of CQELS keeps the data that it has loaded.
    """

    HIDES = "hides-default"
    KEEPS = "keeps-default"


class Strategy(StrEnum):
    """How windows are evaluated; for experiments."""

    AUTO = "auto"
    SNAPSHOT = "snapshot"
    INCREMENTAL = "incremental"


@dataclass(frozen=True, slots=True)
class OnClose:
    """At each close of one of the query's windows."""


@dataclass(frozen=True, slots=True)
class Every:
    """At t0 + k * period."""

    period: int


@dataclass(frozen=True, slots=True)
class OnChange:
    """At each event time at which an element enters."""


@dataclass(frozen=True, slots=True)
class OnArrival:
    """At each element."""


Report: TypeAlias = OnClose | Every | OnChange | OnArrival


@dataclass(frozen=True, slots=True)
class Keep:
    """Every instant is evaluated, however far behind a live run is."""

    def __str__(self) -> str:
        """As `--set` takes it."""
        return "keep"


@dataclass(frozen=True, slots=True)
class Skip:
    """Some instants are skipped while a live run cannot keep up.

    Attributes:
        patience: how long a batch may always take.
    """

    patience: int = 5 * SECOND

    def __str__(self) -> str:
        """As `--set` takes it."""
        whole = self.patience % SECOND == 0
        return f"skip:{self.patience // SECOND}s" if whole else f"skip:{self.patience}us"


Overload: TypeAlias = Keep | Skip

FIRST: Final = "first"
Origin: TypeAlias = int | Literal["first"]
"""t0: microseconds since the epoch, or the least event time seen."""


@dataclass(frozen=True, slots=True)
class Semantics:
    """Every choice a continuous query makes beyond its text. Durations in microseconds."""

    bounds: Bounds = Bounds.OPEN_CLOSED
    align: Align = Align.CLOSE
    t0: Origin = 0
    contents: Contents = Contents.SET
    report: Report = OnClose()
    emit: Emit = Emit.RSTREAM
    non_empty: NonEmpty = NonEmpty.REPORT_ALL
    order: Order = Order.EVENT_TIME
    pick: Pick = Pick.LATEST
    scope: Scope = Scope.WINDOW
    delay: int = 0
    stream_delays: tuple[tuple[str, int], ...] = ()
    max_ahead: int | None = None
    blank_nodes: BlankNodes = BlankNodes.ELEMENT
    assert_quoted: bool = False
    strategy: Strategy = Strategy.AUTO
    switched_rules: tuple[tuple[str, bool], ...] = ()
    overload: Overload = Keep()
    # Not in the text by which checkpoints know queries: it says how a run waits, not the meaning.
    idle: int | None = field(default=None, repr=False)
    stream_idles: tuple[tuple[str, int], ...] = field(default=(), repr=False)
    # Not in the text by which checkpoints know queries; plans add it where it is not the default.
    consumption: Consumption = field(default=Consumption.UNRESTRICTED, repr=False)
    from_named: FromNamed = field(default=FromNamed.HIDES, repr=False)

    def idle_of(self, stream: str) -> int | None:
        """Return the idle time-out of a stream; None if it has none."""
        return dict(self.stream_idles).get(stream, self.idle)

    @property
    def consumes(self) -> bool:
        """Whether not all triples in a window make all matches that they could."""
        return self.consumption is not Consumption.UNRESTRICTED
