"""What a stream is made of."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.rdf.terms import Quad


@dataclass(frozen=True, slots=True)
class Element:
    """A small dataset with the time at which it holds; without statements, a heartbeat.

    Attributes:
        time: microseconds since the epoch, UTC.
        quads: its statements.
    """

    time: int
    quads: tuple[Quad, ...] = ()

    @property
    def is_heartbeat(self) -> bool:
        """Whether it says only that time has come this far."""
        return not self.quads
