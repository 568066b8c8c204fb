"""When a query is evaluated, and what each of its windows is then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from headrace.kernel.grid import NEVER, NO_WAITING, Ends, Times
from headrace.kernel.log import Elements


@dataclass(frozen=True, slots=True)
class Span:
    """A window at each of some instants, as bounds that never go back.

    Attributes:
        opens: the moment after which it begins, to be shown; `NEVER` if it has no beginning.
        closes: the moment it ends with; `NEVER` if it has none.
        members: which elements of its stream's log may be in it, in order.
        upper: how many of the members are not after it.
        since: the last moment before it, where its beginning is a moment.
        skipped: how many of the members are before it, where its beginning is a number.
        ends: which of its ends belong to it; decides when a watermark has closed it.
    """

    opens: Times
    closes: Times
    members: Times
    upper: Times
    since: Times | None = None
    skipped: Times | None = None
    ends: Ends = NO_WAITING

    def intervals(self, elements: Elements, delay: int) -> tuple[Times, Times]:
        """The first and last instant at which each member is in it, by number.

        A member that came when the watermark had closed the window is not in it; the first is
        after the last if there is no instant.
        """
        first = _passed(self.upper, self.members.size)
        if self.since is not None:
            times = elements.times[self.members]
            if elements.in_order:
                last = _passed(np.searchsorted(times, self.since, side="right"), times.size) - 1
            else:
                last = np.searchsorted(self.since, times, side="left") - 1
        else:
            assert self.skipped is not None, "a window has a beginning"
            last = _passed(self.skipped, self.members.size) - 1
        if elements.all_in_time(delay):
            return first, last
        closed = self.ends.closed_by(elements.highs[self.members] - delay)
        return np.maximum(first, np.searchsorted(self.closes, closed, side="right")), last

    def shown(self, place: int) -> tuple[int | None, int | None]:
        """Its opening and its close at an instant."""
        opens, closes = int(self.opens[place]), int(self.closes[place])
        return None if opens == NEVER else opens, None if closes == NEVER else closes


def _passed(bounds: Times, size: int) -> Times:
    """For each of so many places, how many of some rising bounds are not after it.

    >>> _passed(np.array([1, 1, 3]), 5).tolist()
    [0, 2, 2, 3, 3]
    """
    edges = np.concatenate(([0], np.minimum(bounds, size), [size]))
    return np.repeat(np.arange(edges.size - 1), np.diff(edges))


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive instants at which all windows hold the same; only the last is evaluated.

    Attributes:
        since: the first of them.
        last: the last of them.
        count: how many there are.
    """

    since: int
    last: int
    count: int


@dataclass(frozen=True, slots=True)
class Instants:
    """Moments of evaluation, in order.

    Attributes:
        times: when.
        seqs: which of those at the same time.
        spans: each window of the query at each of them.
        cuts: how many elements in order each of them sees, where single elements cause them.
        since: the first instant that each of them stands for, where it is the last of a stretch
            in which all windows hold the same; `NEVER` if it only stands for itself.
        counts: how many instants each of them stands for.
    """

    times: Times
    seqs: Times
    spans: tuple[Span, ...]
    cuts: Times | None = None
    since: Times | None = None
    counts: Times | None = None

    def __len__(self) -> int:
        """How many there are."""
        return self.times.size

    def chosen(self, which: slice | npt.NDArray[np.bool_]) -> Instants:
        """Some of them."""
        spans = tuple(
            replace(
                span,
                opens=span.opens[which],
                closes=span.closes[which],
                upper=span.upper[which],
                since=None if span.since is None else span.since[which],
                skipped=None if span.skipped is None else span.skipped[which],
            )
            for span in self.spans
        )
        return Instants(
            self.times[which],
            self.seqs[which],
            spans,
            None if self.cuts is None else self.cuts[which],
            None if self.since is None else self.since[which],
            None if self.counts is None else self.counts[which],
        )

    def with_stretches(self, stretches: Sequence[Stretch]) -> Instants:
        """Let the last instant of each stretch stand for all of them."""
        if not stretches:
            return self
        since, counts = np.full(len(self), NEVER), np.ones(len(self), np.int64)
        for stretch in stretches:
            place = np.searchsorted(self.times, stretch.last)
            since[place], counts[place] = stretch.since, stretch.count
        return replace(self, since=since, counts=counts)

    @property
    def stretches(self) -> dict[int, Stretch]:
        """The stretches of which an instant is the last, by its number."""
        if self.since is None or self.counts is None:
            return {}
        return {
            place: Stretch(int(self.since[place]), int(self.times[place]), int(self.counts[place]))
            for place in np.flatnonzero(self.since != NEVER).tolist()
        }


def numbered(times: Times, first: int = 0) -> Times:
    """Which of the equal times each is.

    >>> numbered(np.array([1, 2, 2, 2, 5])).tolist()
    [0, 0, 1, 2, 0]
    """
    places = np.arange(times.size)
    starts = np.flatnonzero(np.diff(times, prepend=NEVER))
    begun = np.repeat(starts, np.diff(starts, append=times.size))
    seqs = places - begun
    if first:
        seqs[: starts[1] if starts.size > 1 else None] += first
    return seqs


def merged(
    logs: Sequence[Elements], by_arrival: bool, entries: Sequence[Times] | None = None
) -> tuple[Times, Times, Times]:
    """Return the elements of several streams in one order: streams, places in their logs, times.

    Args:
        logs: the elements of each stream.
        by_arrival: whether they are in the order in which they came.
        entries: the times that decide the order; those of the elements if not given.
    """
    if len(logs) == 1 and (by_arrival or logs[0].in_order):
        number = len(logs[0])
        return np.zeros(number, np.int64), np.arange(number), logs[0].times
    streams = np.concatenate([np.full(len(log), number) for number, log in enumerate(logs)])
    places = np.concatenate([np.arange(len(log)) for log in logs])
    times = np.concatenate([log.times for log in logs] if entries is None else list(entries))
    positions = np.concatenate([log.positions for log in logs])
    keys = (positions,) if by_arrival else (positions, streams, times)
    order = np.lexsort(keys)
    return streams[order], places[order], times[order]
