"""The stream that holds back the watermark of a query, and the sentence that names it."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.algebra.reporting import OnArrival
from headrace.planning.plan import Plan, takes_arrivals_as_they_come
from headrace.rdf.terms import Iri
from headrace.rdf.times import iso_text


def find_slowest_stream(plan: Plan, highs: Mapping[Iri, int | None]) -> Iri | None:
    """Find the stream that holds back a query; None if no other stream is further.

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
    return slowest if begun[slowest] < max(begun.values()) else None


def describe_wait(plan: Plan, highs: Mapping[Iri, int | None]) -> str | None:
    """Name the stream that a query waits for, and what ends the wait; None if it does not wait.

    Args:
        plan: the query.
        highs: the greatest event time of each stream; none if nothing has come.
    """
    stream = find_slowest_stream(plan, highs)
    if stream is None:
        return None
    high = highs.get(stream)
    where = "has not begun" if high is None else f"has only reached {iso_text(high)}Z"
    return (
        f"query '{plan.name}' waits for stream <{stream.value}>, which {where}; a heartbeat or "
        f"--set idle.{stream.value}=30s lets it go on{_or_by_arrival(plan)}"
    )


def _or_by_arrival(plan: Plan) -> str:
    on_arrival = isinstance(plan.semantics.report, OnArrival)
    return ", and so does --set order=arrival" if on_arrival else ""
