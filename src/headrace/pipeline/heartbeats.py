"""The heartbeats of arrival-time streams: one is due as soon as the clock closes a window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from headrace.algebra.reporting import FIRST, SECOND, Every, OnClose
from headrace.algebra.windows import TimeWindow
from headrace.kernel.grid import Grid
from headrace.planning.plan import Plan, opens_on_grid

STEADY: Final = SECOND
"""The longest period of heartbeats for a query that is not evaluated on a known grid."""
_QUICKEST: Final = SECOND // 10


@dataclass(frozen=True)
class HeartbeatSchedule:
    """The moments at which heartbeats are due.

    >>> schedule = HeartbeatSchedule((Grid(2_000_000, 1),), None)
    >>> schedule.is_due(3_000_000, 4_000_000), schedule.is_due(3_000_000, 4_000_001)
    (False, True)

    Attributes:
        grids: the moments at which windows close.
        period: the longest silence without a heartbeat; none if heartbeats are due at closes only.
    """

    grids: tuple[Grid, ...]
    period: int | None

    def is_due(self, last: int, now: int) -> bool:
        """Compare a moment with the last time in the log of the stream."""
        if now <= last:
            return False
        if self.period is not None and now - last >= self.period:
            return True
        return any(grid.to(now) > last for grid in self.grids)


def schedule_heartbeats(plans: Sequence[Plan]) -> HeartbeatSchedule:
    """Compute the schedule from the windows of all queries of a deployment."""
    grids: dict[Grid, None] = {}
    periods = list[int]()
    for plan in plans:
        steps = _steps(plan)
        if not steps or plan.semantics.t0 == FIRST:
            periods.append(max(_QUICKEST, min([STEADY, *(step for step, _ in steps)])))
            continue
        for step, origin in steps:
            for stream in plan.streams:
                # The watermark has to be after the close.
                grids[Grid(step, (origin + plan.delay(stream) + 1) % step)] = None
    return HeartbeatSchedule(tuple(grids), min(periods, default=None))


def _steps(plan: Plan) -> list[tuple[int, int]]:
    """List the grids on which a query is evaluated, as steps and origins."""
    t0 = plan.semantics.t0
    origin = t0 if isinstance(t0, int) else 0
    report = plan.semantics.report
    if isinstance(report, Every):
        return [(report.period, origin)]
    if not isinstance(report, OnClose):
        return []
    found = list[tuple[int, int]]()
    for window in plan.windows:
        if isinstance(window.frame, TimeWindow) and window.frame.slide is not None:
            shift = window.frame.width if opens_on_grid(plan) else 0
            found.append((window.frame.slide, origin + shift))
    return found
