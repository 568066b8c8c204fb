"""What has come in on a stream since the last step."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from headrace.kernel.columns import ARRIVALS
from headrace.kernel.log import Elements


@dataclass(frozen=True, slots=True)
class Arrivals:
    """What has come in on a stream.

    Attributes:
        statements: in the order in which they came; positions count from 0 over the whole batch.
        high: how far the stream has come; heartbeats count too.
        elements: all elements, where some of their statements were dropped because no query can
            ask for them; they still count for time, for instants and in count windows.
    """

    statements: pl.DataFrame = field(default_factory=ARRIVALS.to_frame)
    high: int | None = None
    elements: Elements | None = None
