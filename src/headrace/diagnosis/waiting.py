"""Which stream holds a query back: the others have come further, and something waits for that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from headrace.algebra.reporting import Every, OnArrival, OnClose
from headrace.algebra.windows import TimeWindow
from headrace.planning.plan import Plan, opens_on_grid, takes_arrivals_as_they_come
from headrace.rdf.terms import Iri


def slowest_stream(plan: Plan, highs: Mapping[Iri, int | None]) -> Iri | None:
    """The stream that holds a query back; none if nothing waits for it.

    Args:
        plan: the query.
        highs: the greatest event time of each stream; none if nothing has come.
    """
    if len(plan.streams) == 1 or takes_arrivals_as_they_come(plan):
        return None
    reached = {
        stream: None if (high := highs.get(stream)) is None else high - plan.delay(stream)
        for stream in plan.streams
    }
    begun = {stream: time for stream, time in reached.items() if time is not None}
    if not begun:
        return None
    if len(begun) < len(reached):
        return next(stream for stream, time in reached.items() if time is None)
    slowest = min(begun, key=lambda stream: begun[stream])
    return slowest if _is_due_between(plan, begun[slowest], max(begun.values())) else None


def _is_due_between(plan: Plan, watermark: int, furthest: int) -> bool:
    """Whether the query may have something to evaluate between two watermarks."""
    grids = list(_grids(plan))
    if not grids:  # elements are evaluated one by one
        return furthest > watermark
    return any(
        furthest - watermark >= step
        if origin is None
        else (furthest - 1 - origin) // step > (watermark - 1 - origin) // step
        for step, origin in grids
    )


def _grids(plan: Plan) -> Iterator[tuple[int, int | None]]:
    """The steps between evaluations, each with one of their times if that is known."""
    t0, report = plan.semantics.t0, plan.semantics.report
    origin = t0 if isinstance(t0, int) else None
    if isinstance(report, Every):
        yield report.period, origin
    elif isinstance(report, OnClose):
        for window in plan.windows:
            frame = window.frame
            if isinstance(frame, TimeWindow) and frame.slide is not None:
                shift = frame.width if opens_on_grid(plan) else 0
                yield frame.slide, None if origin is None else origin + shift


def remedies(plan: Plan, stream: Iri) -> str:
    """What lets a query go on that waits for a stream."""
    text = (
        "push an element or a heartbeat to it, or give it an idle time-out"
        f" (--set idle.{stream.value}=30s)"
    )
    on_arrival = isinstance(plan.semantics.report, OnArrival)
    return f"{text}; --set order=arrival does not wait" if on_arrival else text
