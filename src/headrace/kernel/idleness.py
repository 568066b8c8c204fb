"""Idleness of streams: how far a silent stream is advanced. Reads no clock.

A silent stream follows the slowest of those that queries read together with it and that are not
silent. When all of them are, they are moved on past the close of the window that holds the last
element; to the closes after it, they are moved on as fast as the clock goes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headrace.algebra.reporting import Every, OnClose
from headrace.algebra.windows import CountWindow
from headrace.kernel.grid import NEVER
from headrace.kernel.holding import Rules
from headrace.kernel.progress import Progress
from headrace.planning.plan import Plan, releases_settled_elements
from headrace.rdf.terms import Iri

Standings = Sequence[tuple[Plan, Progress]]
"""Queries that have not failed, and how far each has come."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the source of a stream.

    Attributes:
        stream: the stream.
        name: which part of its source.
        high: the greatest event time so far; none if nothing has come.
        moved: how far it was moved on before, because it was silent.
        is_silent: whether it has been silent for longer than the idle time-out of its stream.
        elapsed: how long ago something came, or it was moved on.
    """

    stream: Iri
    name: str
    high: int | None
    moved: int | None = None
    is_silent: bool = False
    elapsed: int = 0

    @property
    def heard(self) -> int | None:
        """The greatest time that has come; none if it was moved on past that."""
        return None if self.high == self.moved else self.high


def advance_idle_parts(parts: Sequence[Part], queries: Standings) -> dict[Part, int]:
    """Compute how far silent parts are advanced now; parts that stay are left out."""
    found = dict[Part, int]()
    if not any(part.is_silent for part in parts):
        return found
    for streams, readers in _group_streams(queries):
        own = [part for part in parts if part.stream in streams]
        others = [part.high for part in own if not part.is_silent]
        known = [high for high in others if high is not None]
        if others and len(known) < len(others):
            continue  # one that is not silent has not begun
        if not others and all(part.high is None for part in own):
            continue
        ends = dict.fromkeys(streams, min(known)) if others else _find_next_closes(readers, own)
        for part in own:
            reached = ends.get(part.stream)
            if (
                part.is_silent
                and reached is not None
                and (part.high is None or part.high < reached)
            ):
                found[part] = reached
    return found


def _group_streams(queries: Standings) -> list[tuple[set[Iri], Standings]]:
    """Group the streams that queries read together, directly or through derived streams."""
    groups = list[tuple[set[Iri], list[tuple[Plan, Progress]]]]()
    for plan, progress in queries:
        streams = {*plan.streams} | ({plan.stream} if plan.stream is not None else set())
        members = [(plan, progress)]
        apart = []
        for others, readers in groups:
            if streams & others:
                streams |= others
                members = [*readers, *members]
            else:
                apart.append((others, readers))
        groups = [*apart, (streams, members)]
    return [(streams, members) for streams, members in groups]


def _find_next_closes(queries: Standings, parts: Sequence[Part]) -> Mapping[Iri, int]:
    """Compute how far each stream must come for the next instant that holds an element."""
    sources = {part.stream for part in parts}
    elements, closes = dict[Iri, int](), list[dict[Iri, int]]()
    for plan, progress in queries:
        # What reads a stream that a query makes follows all that queries read together with it.
        direct = sources.issuperset(plan.streams)
        plans = [plan] if direct else [other for other, _ in queries]
        delays = {
            each: max(other.delay(each) for other in plans)
            for each in (plan.streams if direct else sources)
        }
        own = [part for part in parts if part.stream in delays]
        reached = [part.high - delays[part.stream] for part in own if part.high is not None]
        if not reached:
            continue
        times = [part.heard for part in own if part.heard is not None] if direct else []
        watermark = min(reached)
        released = _find_release(plan, times, watermark)
        if released is not None:
            for each, delay in delays.items():
                elements[each] = max(released + delay, elements.get(each, NEVER))
        close = _find_close(plan, progress, max([watermark, *times]), watermark)
        # Without new elements, time goes on as fast as the clock.
        elapsed = min(part.elapsed for part in own)
        if close is not None and (times or close - watermark <= elapsed):
            closes.append({each: close + delay for each, delay in delays.items()})
    first = min(closes, key=lambda ends: min(ends.values()), default={})
    return {
        each: max(first.get(each, NEVER), elements.get(each, NEVER))
        for each in {**first, **elements}
    }


def _find_release(plan: Plan, times: Sequence[int], watermark: int) -> int | None:
    """Compute the watermark that releases elements which make instants by themselves."""
    if not times or isinstance(plan.semantics.report, OnClose | Every):
        counted = any(isinstance(window.frame, CountWindow) for window in plan.windows)
        if not times or not counted:
            return None
    # The only stream of a query need not wait for equal times of another.
    alone = len(plan.streams) == 1 and releases_settled_elements(plan)
    end = max(times) + (0 if alone else 1)
    return end if end > watermark else None


def _find_close(plan: Plan, progress: Progress, start: int, watermark: int) -> int | None:
    """Compute the watermark after the first close from a moment on; None if no window is open.

    Args:
        plan: the query.
        progress: how far it has come.
        start: the moment.
        watermark: how far its streams have come.
    """
    origin = progress.earliest if progress.origin is None else progress.origin
    last = progress.last
    if origin is None or (last is None and progress.origin is not None):
        return None
    if last is not None and last < watermark:
        return None
    rules = Rules(plan, origin)
    grids = [rules.instants] if rules.instants is not None else []
    if not grids and isinstance(plan.semantics.report, OnClose):
        sliding = [rules.sliding(window) for window in plan.windows]
        grids = [each.closes for each in sliding if each is not None]
    closes = [grid.from_(start) for grid in grids]
    if not closes:
        return None
    close = min(closes)
    return (close if last is None else min(close, last)) + 1
