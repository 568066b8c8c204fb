"""What windows hold at instants: statements with the first and the last instant they are in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from headrace.algebra.reporting import Contents
from headrace.kernel.columns import CONTENTS, FIRST, LAST, POSITION, STREAM
from headrace.kernel.data import Quads, WindowContents
from headrace.kernel.grid import Times
from headrace.kernel.instants import Instants
from headrace.kernel.log import Elements, StreamLog
from headrace.kernel.solutions import Solutions
from headrace.planning.plan import Plan

BLOCK_ROWS = 3_000_000
"""So many statements of windows are looked at in one pass, so that memory stays bounded."""
INSTANT_ROWS = 16
"""What an instant costs by itself, in statements."""


@dataclass(frozen=True, slots=True)
class Intervals:
    """For each window, the elements that are in it at some instant, and from when to when."""

    members: Times
    first: Times
    last: Times


@dataclass(frozen=True)
class Held:
    """The contents of a query's windows at some instants.

    Attributes:
        plan: the query.
        logs: its streams, and the elements of each that it may see.
        instants: when.
    """

    plan: Plan
    logs: Sequence[tuple[StreamLog, Elements]]
    instants: Instants

    @cached_property
    def intervals(self) -> tuple[Intervals, ...]:
        """Which elements are in each window, and from which instant to which."""
        found = []
        for window, span in zip(self.plan.windows, self.instants.spans, strict=True):
            elements = self.logs[self.plan.streams.index(window.stream)][1]
            first, last = span.intervals(elements, self.plan.delay(window.stream))
            kept = first <= last
            found.append(Intervals(span.members[kept], first[kept], last[kept]))
        return tuple(found)

    def sizes(self) -> Times:
        """How many statements the windows hold at each instant, all of them together."""
        total = np.zeros(len(self.instants) + 1, np.int64)
        for window, each in zip(self.plan.windows, self.intervals, strict=True):
            weights = self.logs[self.plan.streams.index(window.stream)][1].sizes[each.members]
            np.add.at(total, each.first, weights)
            np.add.at(total, each.last + 1, -weights)
        return np.cumsum(total)[:-1]

    def blocks(self) -> Iterator[tuple[int, int]]:
        """The instants in runs that can each be evaluated in one pass."""
        return iter([(0, 1)]) if len(self.instants) == 1 else runs(self.sizes())

    def given(self, _start: int, _stop: int) -> Mapping[int, Solutions]:
        """The solutions that are known already: none."""
        return {}

    def windows(self, start: int, stop: int) -> tuple[WindowContents, ...]:
        """What each window holds at a run of instants, numbered from 0."""
        return tuple(
            WindowContents(window.name, window.stream, self._quads(number, start, stop))
            for number, window in enumerate(self.plan.windows)
        )

    def _quads(self, number: int, start: int, stop: int) -> Quads:
        timed = self.plan.semantics.contents is Contents.TIMED
        return Quads(self.statements(number, start, stop), range(stop - start), timed)

    def statements(
        self, number: int, start: int, stop: int, names: Sequence[str] = tuple(CONTENTS)
    ) -> pl.DataFrame:
        """What a window holds at a run of instants, numbered from 0.

        Args:
            number: of the window.
            start: the first of the instants.
            stop: the one after the last.
            names: the columns that are asked for: those of contents, and `position`.
        """
        stream = self.plan.streams.index(self.plan.windows[number].stream)
        log, elements = self.logs[stream]
        if len(self.instants) == 1:
            only = self._only(number, log, elements)
            if only is not None:
                return _at_one_instant(only, stream, names)
        each = self.intervals[number]
        inside = (each.first < stop) & (each.last >= start)
        members = each.members[inside]
        first = np.full(len(elements), 1, np.int64)
        last = np.zeros(len(elements), np.int64)
        first[members] = np.maximum(each.first[inside], start) - start
        last[members] = np.minimum(each.last[inside], stop - 1) - start
        return _with_intervals(log.statements, elements, (first, last), stream, names)

    def _only(self, number: int, log: StreamLog, elements: Elements) -> pl.DataFrame | None:
        """What a window holds at the only instant, if that came from one time to another."""
        span = self.instants.spans[number]
        delay = self.plan.delay(self.plan.windows[number].stream)
        in_time = elements.in_order and elements.all_in_time(delay)
        if span.since is None or not in_time or len(elements) == 0:
            return None
        start = int(np.searchsorted(elements.times, span.since[0], side="right"))
        stop = int(span.upper[0])
        if start >= stop:
            return log.statements.clear()
        positions = log.statements[POSITION]
        first = positions.search_sorted(int(elements.positions[start]), side="left")
        after = positions.search_sorted(int(elements.positions[stop - 1]), side="right")
        return log.statements[first:after]


def runs(sizes: Times) -> Iterator[tuple[int, int]]:
    """Instants in runs, by how many rows each of them has."""
    costs = np.cumsum(sizes + INSTANT_ROWS)
    start, spent = 0, 0
    while start < sizes.size:
        stop = int(np.searchsorted(costs, spent + BLOCK_ROWS, side="right"))
        stop = max(stop, start + 1)
        yield start, stop
        start, spent = stop, int(costs[stop - 1])


def _at_one_instant(statements: pl.DataFrame, stream: int, names: Sequence[str]) -> pl.DataFrame:
    """Statements that are all in a window at the only instant."""
    numbers = {FIRST: 0, LAST: 0, STREAM: stream}
    same = {
        name: pl.Series(name, [number], pl.Int64).new_from_index(0, statements.height)
        for name, number in numbers.items()
    }
    return pl.DataFrame([same[name] if name in same else statements[name] for name in names])


def _with_intervals(
    statements: pl.DataFrame,
    elements: Elements,
    interval: tuple[Times, Times],
    stream: int,
    names: Sequence[str],
) -> pl.DataFrame:
    """The statements of elements, each with the instants of its element."""
    if len(elements) == 0:
        return pl.DataFrame(schema=dict.fromkeys(names, pl.Int64))
    first, last = interval
    positions = statements[POSITION].to_numpy()
    places, known = _places(elements, positions)
    kept = (first <= last)[places] & known
    chosen = statements if kept.all() else statements.filter(kept)
    places = places[kept]
    made = {
        FIRST: pl.Series(FIRST, first[places]),
        LAST: pl.Series(LAST, last[places]),
        STREAM: pl.Series(STREAM, [stream], pl.Int64).new_from_index(0, chosen.height),
    }
    return pl.DataFrame([made[name] if name in made else chosen[name] for name in names])


def _places(elements: Elements, positions: Times) -> tuple[Times, npt.NDArray[np.bool_]]:
    """Which element each statement is of, and whether it is of one of them."""
    if int(elements.sizes.sum()) == positions.size:
        places = np.repeat(np.arange(len(elements)), elements.sizes)
        if np.array_equal(elements.positions[places], positions):
            return places, np.ones(places.size, np.bool_)
    # Some statements were dropped, or a query that began later does not see all elements.
    return elements.places(positions)
