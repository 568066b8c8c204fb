"""Continuous queries and streams as data. Times have any unit, as long as all have the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from headrace.rdf import terms as rdf


class Event(NamedTuple):
    """An element of a stream; one without statements is a heartbeat."""

    time: int
    quads: tuple[rdf.Quad, ...] = ()


@dataclass(frozen=True, slots=True)
class Window:
    """A window over a stream; for count windows `width` and `slide` are the size and the step."""

    name: str
    stream: str
    kind: Literal["time", "triples", "elements", "now", "all"]
    width: int = 0
    slide: int | None = None
    in_default: bool = False

    @property
    def slides(self) -> bool:
        """Whether it closes at certain times."""
        return self.kind == "time" and self.slide is not None

    @property
    def counts(self) -> bool:
        """Whether it closes at certain elements."""
        return self.kind in {"triples", "elements"}


@dataclass(frozen=True, slots=True)
class Continuous:
    """A continuous query; how its body is written is said in snapshots.py.

    With `made` it is a CONSTRUCT: of the columns of its body it makes the subject and the object.
    """

    windows: tuple[Window, ...]
    body: str
    made: tuple[int, rdf.Iri, int] | None = None
    report: Literal["on-close", "every", "on-change", "on-arrival"] = "on-close"
    period: int = 0
    emit: Literal["rstream", "istream", "dstream"] = "rstream"
    bounds: Literal["(]", "[)", "[]"] = "(]"
    align: Literal["close", "open"] = "close"
    t0: int | Literal["first"] = 0
    contents: Literal["set", "timed"] = "set"
    non_empty: Literal["off", "content", "answer"] = "off"
    pick: Literal["latest", "strict"] = "latest"
    order: Literal["event-time", "arrival"] = "event-time"
    delays: Mapping[str, int] = field(default_factory=dict)
    max_ahead: int | None = None
    static: tuple[rdf.Quad, ...] = ()

    @property
    def streams(self) -> list[str]:
        """The streams that it reads."""
        return sorted({window.stream for window in self.windows})

    @property
    def waits(self) -> bool:
        """Whether it reports when windows close or time has passed, not when something comes."""
        return self.report in {"on-close", "every"}
