"""What has been read of a stream, as the kernel takes it in."""

from __future__ import annotations

import numpy as np
import polars as pl

from headrace.kernel.columns import ARRIVALS, HIGH, POSITION, TIME
from headrace.kernel.grid import NEVER
from headrace.rdf.columns import TimedColumns


def with_highs(read: TimedColumns, high: int | None) -> tuple[pl.DataFrame, int | None]:
    """Statements with the greatest time of the stream before each, and that after all of them.

    Args:
        read: what has been read, heartbeats included.
        high: the greatest time of the stream before it.
    """
    start = NEVER if high is None else high
    reached = np.maximum.accumulate(np.concatenate(([start], read.elements[TIME].to_numpy())))
    highs = pl.Series(HIGH, reached[read.statements[POSITION].to_numpy()], dtype=pl.Int64)
    after = int(reached[-1])
    statements = read.statements.with_columns(highs.replace(NEVER, None)).select(*ARRIVALS)
    return statements, None if after == NEVER else after
