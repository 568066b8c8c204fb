"""Slices of due instants: a step evaluates a bounded number of them, and the next one goes on.

What closes on a grid can be stopped at any of its instants, as if the watermark had come no
further: a jump of time, a long pause or the end of the input makes no step larger than another.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.kernel.contents import INSTANT_ROWS, Held
from headrace.kernel.log import Elements, StreamLog
from headrace.kernel.schedule import Schedule
from headrace.planning.plan import Plan

MOST_INSTANTS = 100_000
"""A slice has at most so many instants that time makes due."""
MOST_ROWS = 6_000_000
"""A slice has at most so many statements in windows, of all its instants, or one instant."""


def slice_end(
    plan: Plan,
    logs: Sequence[tuple[StreamLog, Elements]],
    schedule: Schedule,
    most: int | None = None,
) -> int | None:
    """Find the last moment of the first slice of what is due; None if all of it is one slice.

    Args:
        plan: the query.
        logs: its streams, and the elements of each that it may see.
        schedule: its instants.
        most: how many instants the slice may have, if they are fewer than those of any slice.
    """
    number, end = schedule.first_of_due(MOST_INSTANTS if most is None else min(most, MOST_INSTANTS))
    if number <= 1 and end is None:
        return None
    statements = sum(int(elements.sizes.sum()) for _, elements in logs)
    if number * (statements + INSTANT_ROWS) <= MOST_ROWS:
        return end
    some = schedule if end is None else schedule.up_to(end)
    instants, _ = some.due()
    costs = np.cumsum(Held(plan, logs, instants).sizes() + INSTANT_ROWS)
    kept = max(1, int(np.searchsorted(costs, MOST_ROWS, side="right")))
    if kept >= len(instants):
        return end
    last = int(instants.times[kept - 1])
    return last if last < int(instants.times[-1]) else end
