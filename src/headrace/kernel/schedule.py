"""Which instants of a query are due: those that time has reached, and those elements have made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import assert_never

import numpy as np

from headrace.algebra.reporting import OnChange, OnClose, Pick
from headrace.algebra.windows import AllWindow, Counted, CountWindow, NowWindow, TimeWindow
from headrace.kernel.element_release import Reached, Release, has_released
from headrace.kernel.grid import FOREVER, NEVER, Ends, Grid, Times
from headrace.kernel.holding import Flags, Rules
from headrace.kernel.instants import Instants, Span, Stretch, merged, numbered
from headrace.kernel.log import Elements
from headrace.kernel.progress import Progress
from headrace.kernel.stretches import (
    Contents,
    DueInstants,
    Intervals,
    are_few,
    due_instants,
    first_of_due,
    may_be_constant,
)
from headrace.planning.plan import (
    Plan,
    reports_arrivals,
    takes_arrivals_as_they_come,
)
from headrace.planning.planned import PlannedWindow


@dataclass(frozen=True)
class Schedule:
    """The instants of one step of a query.

    Attributes:
        plan: the query.
        progress: how far it has come; its origin is known.
        logs: the elements of each of its streams.
        reached: how far it may go.
    """

    plan: Plan
    progress: Progress
    logs: Sequence[Elements]
    reached: Reached

    @cached_property
    def rules(self) -> Rules:
        """The arithmetic of its windows."""
        assert self.progress.origin is not None, "t0 is known"
        return Rules(self.plan, self.progress.origin)

    @property
    def by_arrival(self) -> bool:
        """Whether elements are taken as they come, without waiting for the watermark."""
        return takes_arrivals_as_they_come(self.plan)

    @cached_property
    def release(self) -> Release:
        """The release of elements that the step may use."""
        return Release(self.plan, self.progress, self.logs, self.reached, self.rules)

    @property
    def limit(self) -> int:
        """The last moment whose instants are due."""
        return self.release.limit

    @property
    def released_until(self) -> int:
        """The last moment all of whose elements are known."""
        return self.release.released_until

    @property
    def by_settling(self) -> bool:
        """True if elements are released as soon as none can come before them in order."""
        return self.release.by_settling

    def entries(self, number: int) -> Times:
        """Return the time at which each element of a stream takes its place in the order."""
        return self.release.entries(number)

    # -- moments ---------------------------------------------------------------------------

    def due(self) -> tuple[Instants, Progress]:
        """Return the instants that are due now, and the progress after them."""
        times, cuts, stretches, progress = self._moments()
        seqs = numbered(times, self._sequence_before(times))
        if (self.by_arrival or self.by_settling) and times.size:
            progress = replace(progress, reported=int(times[-1]), sequence=int(seqs[-1]))
        spans = self.spans(times, cuts) if times.size else ()  # to look at windows takes a while
        instants = Instants(times, seqs, spans, cuts).with_stretches(stretches)
        return instants, self._having_counted(progress)

    def spans(self, times: Times, cuts: Times | None = None) -> tuple[Span, ...]:
        """What each window is at some moments.

        Args:
            times: the moments.
            cuts: how many elements in order each of them sees, where single elements cause them.
        """
        return tuple(self._span(window, times, cuts) for window in self.plan.windows)

    def _sequence_before(self, times: Times) -> int:
        """Count the reported instants of the first of some times."""
        if times.size == 0 or self.progress.reported != int(times[0]):
            return 0
        # A `[)` window closes once, before what the elements of the same time cause.
        return self.progress.sequence + 1 if self.by_arrival or self.by_settling else 1

    def _moments(self) -> tuple[Times, Times | None, Sequence[Stretch], Progress]:
        """Find the instants, the elements that each sees, empty stretches, and the progress."""
        progress = self.progress
        if isinstance(self.plan.semantics.report, OnChange):
            times, progress = self._changes(progress)
            return times, None, (), progress
        if not reports_arrivals(self.plan):
            due, progress = self._by_time(self._with_count_closes(progress))
            return due.times, None, due.stretches, progress
        caused, cuts, progress = self._by_elements(progress)
        due, progress = self._by_time(self._between_causes(caused, progress))
        timed = due.times
        if self.rules.ends.high == 0:  # else a window closes before the elements of that time
            timed = timed[~np.isin(timed, caused)]  # equal closes are one evaluation
        if timed.size == 0:
            return caused, cuts, (), progress
        before = np.searchsorted(self._order[2], timed + self.rules.ends.high, side="right")
        both = np.unique(
            np.stack([np.concatenate([timed, caused]), np.concatenate([before, cuts])], axis=1),
            axis=0,
        )
        return both[:, 0], both[:, 1], due.stretches, progress

    def _with_count_closes(self, progress: Progress) -> Progress:
        """Take note of the instants that take closes of count windows."""
        for window in self.plan.windows:
            if isinstance(window.frame, CountWindow):
                closes = self._log(window).times[self._closing(window)]
                closes = closes[closes <= self.limit]
                if closes.size:
                    first, last = int(closes.min()), int(closes.max())
                    progress = progress.holds(self.rules.picks(first), self.rules.picks(last))
        return progress

    def _by_time(self, progress: Progress) -> tuple[DueInstants, Progress]:
        """Return the moments at which windows close, or as often as the query says."""
        timed = self._timed(progress)
        if timed is None:
            return DueInstants(np.empty(0, np.int64)), progress
        found = self._due(*timed)
        if found.times.size == 0:
            return found, progress
        return found, replace(progress, reported=int(found.times[-1]))

    def _timed(self, progress: Progress) -> tuple[Sequence[Grid], int, int] | None:
        """The grids whose instants are due, from one time to another; None if there are none."""
        first, last = progress.first, progress.last
        grids = self.grids
        if not self.rules.by_time or first is None or last is None or not grids:
            return None
        reported = progress.reported
        start = first if reported is None else max(first, reported + 1)
        live = self.reached.live and not self.reached.ended
        return grids, start, self.limit if live else min(self.limit, last)

    def _due(self, grids: Sequence[Grid], start: int, until: int) -> DueInstants:
        """Find the instants of some grids from one time to another."""
        if are_few(grids, start, until):
            return DueInstants(np.unique(np.concatenate([g.between(start, until) for g in grids])))
        return due_instants(grids, self._contents(grids, start, until), start, until)

    # -- slices ----------------------------------------------------------------------------

    def first_of_due(self, most: int) -> tuple[int, int | None]:
        """Bound the instants that time makes due.

        Args:
            most: how many of them are allowed; of those that are equal on several grids, each.

        Returns:
            How many there are up to the bound, and the bound, which is None if these are all.
        """
        if not self.rules.by_time:
            return 0, None
        progress = self._with_causes(self.progress)
        timed = self._timed(progress)
        if timed is None:
            return 0, None
        grids, start, until = timed
        if are_few(grids, start, until):
            contents = Contents(Intervals.of(np.array([start]), np.array([until])))
        else:
            contents = self._contents(grids, start, until)
        return first_of_due(grids, contents, start, until, most)

    def _with_causes(self, progress: Progress) -> Progress:
        """Take note of the instants that elements cause, and of those that take their closes."""
        if not reports_arrivals(self.plan):
            return self._with_count_closes(progress)
        caused, _, progress = self._by_elements(progress)
        return self._between_causes(caused, progress)

    def _between_causes(self, caused: Times, progress: Progress) -> Progress:
        """Take note of the closes on a grid between the closes of count windows.

        A `[)` window that closes at the time of the first of them closed before it.
        """
        if not caused.size or not self.rules.by_time:
            return progress
        return progress.holds(int(caused[0]) - self.rules.ends.high, int(caused[-1]))

    def up_to(self, moment: int) -> Schedule:
        """The same step, if it ended with the instants up to a moment: a lower watermark.

        Which instants are the first and the last may follow from elements that are after it.
        """
        live = self.reached.live and not self.reached.ended
        reached = Reached(self.rules.watermark_of(moment), live=live)
        known = self._with_causes(self.progress) if self.rules.by_time else self.progress
        progress = replace(self.progress, first=known.first, last=known.last)
        return Schedule(self.plan, progress, self.logs, reached)

    def _contents(self, grids: Sequence[Grid], start: int, until: int) -> Contents:
        """Find when windows hold something, and when that changes."""
        slides = [window.slide or 0 for window in self.plan.windows]
        margin = sum(grid.step for grid in grids) + max(slides) + 2
        occupied = self._occupied(margin)
        if self.plan.looks_at_time or not may_be_constant(grids, start, until):
            return Contents(occupied)
        return Contents(occupied, self._changing(margin))

    def _occupied(self, margin: int) -> Intervals:
        """Find the times at which a window may hold an element, and some more."""
        starts, ends = [], []
        for window in self.plan.windows:
            log = self._log(window)
            starts.append(log.times - margin)
            match window.frame:
                case TimeWindow(width, _):  # one that came late is in fewer of its windows
                    ends.append(log.times + width + margin)
                case NowWindow():
                    ends.append(log.times + margin)
                case AllWindow() | CountWindow():  # what they hold stays, and makes answers
                    ends.append(np.full(len(log), FOREVER))
                case frame:
                    assert_never(frame)
        return Intervals.of(np.concatenate(starts), np.concatenate(ends))

    def _changing(self, margin: int) -> Intervals:
        """Find the times at which an element may enter or leave a window, and some more."""
        moments = []
        for window in self.plan.windows:
            log = self._log(window)
            # What came late enters with the watermark at which it came.
            closed = self.rules.ends_of(window).closed_by(
                log.highs - self.plan.delay(window.stream)
            )
            moments += [log.times, np.maximum(log.times, closed)]
            if isinstance(window.frame, TimeWindow):
                moments.append(log.times + window.frame.width)
        every = np.concatenate(moments)
        return Intervals.of(every - margin, every + margin)

    @property
    def grids(self) -> Sequence[Grid]:
        """What the instants lie on that time makes due."""
        return [self.rules.instants] if self.rules.instants else self._closes()

    @property
    def on_grid(self) -> bool:
        """Whether time itself makes instants due, with elements or without."""
        return self.rules.instants is not None or (self.rules.by_time and bool(self._closes()))

    def _closes(self) -> list[Grid]:
        sliding = [self.rules.sliding(window) for window in self.plan.windows]
        return list(dict.fromkeys(each.closes for each in sliding if each is not None))

    def _changes(self, progress: Progress) -> tuple[Times, Progress]:
        """Return the moments at which an element enters a window."""
        found = []
        for window in self.plan.windows:
            log = self._log(window)
            entering = ~self._late(self._number(window)) & self.release.new(self._number(window))
            sliding = self.rules.sliding(window)
            if sliding is not None:
                entering &= sliding.first(log.times) <= sliding.last(log.times)
            found.append(log.times[entering])
        times = np.unique(np.concatenate(found))
        return times, replace(progress, released=self.release.released(times))

    def _by_elements(self, progress: Progress) -> tuple[Times, Times, Progress]:
        """Return the instants that single elements cause."""
        if self.is_one and not isinstance(self.plan.semantics.report, OnClose):
            return self._by_elements_of_one(progress)
        streams, places, times = self._order
        causes = np.zeros(streams.size, np.bool_)
        for number, stream in enumerate(self.plan.streams):
            log = self.logs[number]
            own = streams == number
            causes[own] = (~self._late(number) & self.release.new(number))[places[own]]
            if isinstance(self.plan.semantics.report, OnClose):
                closing = np.zeros(len(log), np.bool_)
                for window in self.plan.windows:
                    if window.stream == stream and isinstance(window.frame, CountWindow):
                        closing[self._closing(window)] = True
                causes[own] &= closing[places[own]]
        found = np.flatnonzero(causes)
        moments = times[found]
        if self.by_arrival:
            before = NEVER if self.progress.reported is None else self.progress.reported
            # Time goes by with all that has come, heartbeats too.
            heard = np.concatenate([log.highs for log in self.logs])[self._merged_places()]
            reached = np.maximum.accumulate(np.maximum(times, heard))
            moments = np.maximum(reached, before)[found]
            return moments, found + 1, replace(progress, position=self._latest())
        return moments, found + 1, self.release.having_released(progress, moments)

    def _by_elements_of_one(self, progress: Progress) -> tuple[Times, Times, Progress]:
        """Return the instants of the new elements of a single stream, which is in order."""
        [log] = self.logs
        if self.by_arrival:
            first = int(np.searchsorted(log.positions, self.progress.position, side="right"))
            moments = np.maximum.accumulate(np.maximum(log.times[first:], log.highs[first:]))
            before = NEVER if self.progress.reported is None else self.progress.reported
            cuts = np.arange(first, len(log)) + 1
            return np.maximum(moments, before), cuts, replace(progress, position=self._latest())
        first = self.release.first_after_edge(log)
        until = int(np.searchsorted(log.times, self.release.until(0), side="right"))
        new = log.where(slice(first, max(first, until)))
        causes = np.flatnonzero(new.times >= new.highs - self.plan.delay(self.plan.streams[0]))
        moments = new.times[causes]
        return moments, causes + first + 1, self.release.having_released(progress, moments)

    def _merged_places(self) -> Times:
        """Where each element of the order stands among the elements of all logs."""
        offsets = np.cumsum([0, *(len(log) for log in self.logs[:-1])])
        streams, places, _ = self._order
        return offsets[streams] + places

    def _latest(self) -> int:
        return max(self.progress.position, *(log.last_position for log in self.logs))

    # -- elements --------------------------------------------------------------------------

    @cached_property
    def is_one(self) -> bool:
        """Whether there is one stream, whose elements have come in their order."""
        return len(self.logs) == 1 and (self.by_arrival or self.logs[0].in_order)

    @cached_property
    def _order(self) -> tuple[Times, Times, Times]:
        entries = None
        if self.by_settling and not self.is_one:
            entries = [self.entries(number) for number in range(len(self.logs))]
        return merged(self.logs, self.by_arrival, entries)

    @property
    def released_number(self) -> int:
        """The number of elements in order that may be used."""
        times = self.logs[0].times if self.is_one else self._order[2]
        if self.by_arrival:
            return times.size
        until = int(np.searchsorted(times, self.released_until, side="right"))
        settled = self.release.settled_at
        if settled is None or settled <= self.released_until:
            return until
        stop = int(np.searchsorted(times, settled, side="right"))
        if self.is_one:
            return stop
        streams = self._order[0][until:stop]
        return until + int(np.searchsorted(streams, self.reached.slowest, side="right"))

    def element(self, place: int) -> tuple[int, int, int]:
        """The time, the stream and the position of an element, by its place in order."""
        if self.is_one:
            [log] = self.logs
            return int(log.times[place]), 0, int(log.positions[place])
        streams, places, times = self._order
        stream = int(streams[place])
        return int(times[place]), stream, int(self.logs[stream].positions[places[place]])

    def turns_of(self, number: int, chosen: Times) -> Times:
        """Where some elements of a stream stand among those of all streams."""
        return chosen if self.is_one else self.turns(number)[chosen]

    def turns(self, number: int) -> Times:
        """Where each element of a stream stands among those of all streams."""
        if self.is_one:
            return np.arange(len(self.logs[number]))
        streams, places, _ = self._order
        own = streams == number
        found = np.empty(len(self.logs[number]), np.int64)
        found[places[own]] = np.flatnonzero(own)
        return found

    def _number(self, window: PlannedWindow) -> int:
        return self.plan.streams.index(window.stream)

    def _log(self, window: PlannedWindow) -> Elements:
        return self.logs[self._number(window)]

    def _late(self, number: int) -> Flags:
        """Which elements came when their own moment had passed."""
        if self.by_arrival:
            return np.zeros(len(self.logs[number]), np.bool_)
        log = self.logs[number]
        return log.times < log.highs - self.plan.delay(self.plan.streams[number])

    def _members(self, window: PlannedWindow) -> Times:
        """Return the elements that may be in a window, in order."""
        log = self._log(window)
        if self.by_arrival or log.in_order:
            order: Times = np.arange(len(log))
        else:
            order = np.lexsort((log.positions, self.entries(self._number(window))))
        if isinstance(window.frame, CountWindow):
            return order[~self._late(self._number(window))[order]]
        return order

    def _seen(
        self, window: PlannedWindow, members: Times, times: Times, cuts: Times | None
    ) -> Times:
        """How many members each instant sees."""
        if cuts is None:
            moments = self._log(window).times[members]
            until = times + self.rules.ends_of(window).high
            return np.searchsorted(moments, until, side="right")
        if self.is_one and members.size == len(self._log(window)):
            return cuts
        streams, places, _ = self._order
        among = np.zeros(len(self._log(window)), np.bool_)
        among[members] = True
        own = streams == self._number(window)
        own[own] = among[places[own]]
        return np.concatenate(([0], np.cumsum(own)))[cuts]

    # -- windows ---------------------------------------------------------------------------

    @property
    def _is_strict(self) -> bool:
        """Whether an instant takes the close before it, and not one at the same time."""
        return self.rules.instants is not None and self.plan.semantics.pick is Pick.STRICT

    def _span(self, window: PlannedWindow, times: Times, cuts: Times | None) -> Span:
        """What a window is at each instant."""
        members = self._members(window)
        log = self._log(window)
        moments = log.times if members.size == len(log) and log.in_order else log.times[members]
        ends = self.rules.ends_of(window)
        sliding = self.rules.sliding(window)
        if sliding is not None and self.rules.by_time:
            closes = sliding.closes.to(times - 1 if self._is_strict else times)
            opens = closes - sliding.width
            upper = np.searchsorted(moments, closes + ends.high, side="right")
            return Span(opens, closes, members, upper, since=opens + ends.low, ends=ends)
        upper = self._seen(window, members, times, cuts)
        if sliding is not None and isinstance(self.plan.semantics.report, OnChange):
            opens = sliding.first(times) - sliding.width
            begins = np.minimum(opens, times)  # in a gap it has not begun
            return Span(begins, times, members, upper, since=opens + ends.low, ends=ends)
        match window.frame:
            case TimeWindow(width):
                opens = times - width
                return Span(opens, times, members, upper, since=opens + ends.low, ends=ends)
            case NowWindow():
                passed = self._passed(window, times, cuts)
                return Span(times, times, members, upper, since=times - 1 + passed)
            case AllWindow():
                never = np.full(times.size, NEVER)
                return Span(never, times, members, upper, since=never, ends=ends)
            case CountWindow():
                return self._count_span(window, times, upper)
            case frame:
                assert_never(frame)

    def _passed(self, window: PlannedWindow, times: Times, cuts: Times | None) -> Times:
        """Whether an instant was caused by a stream whose turn at this time is after this one's."""
        if cuts is None or times.size == 0:
            return np.zeros(times.size, np.int64)
        return (self._order[0][cuts - 1] > self._number(window)).astype(np.int64)

    # -- counting --------------------------------------------------------------------------

    def _counts(self, window: PlannedWindow) -> tuple[Times, Times, Times]:
        """Return the elements that are counted, what each counts, and the total with each."""
        assert isinstance(window.frame, CountWindow), "only these count"
        log, members = self._log(window), self._members(window)
        triples = window.frame.counted is Counted.TRIPLES
        weights = log.sizes[members] if triples else np.ones(members.size, np.int64)
        before = has_released(log, self._number(window), self.progress)[members]
        if self.by_arrival:
            before = log.positions[members] <= self.progress.position
        known = self.progress.counted[self.plan.windows.index(window)]
        return members, weights, np.cumsum(weights) + known - int(weights[before].sum())

    def _closing(self, window: PlannedWindow) -> Times:
        """The elements at which a count window closes: its total passes a multiple of the step."""
        assert isinstance(window.frame, CountWindow), "only these count"
        members, weights, totals = self._counts(window)
        step = window.frame.step
        return members[totals // step > (totals - weights) // step]

    def _count_span(self, window: PlannedWindow, times: Times, seen: Times) -> Span:
        assert isinstance(window.frame, CountWindow), "only these count"
        members, _, totals = self._counts(window)
        moments = self._log(window).times[members]
        if self.rules.by_time:
            if self._is_strict:
                seen = np.searchsorted(moments, times - 1, side="right")
            closing = np.flatnonzero(np.isin(members, self._closing(window)))
            latest = np.searchsorted(closing, seen - 1, side="right")
            seen = np.concatenate(([0], closing + 1))[latest]
        some = seen > 0
        now = np.where(some, totals[seen - 1] if totals.size else 0, 0)
        skipped = np.searchsorted(totals, now - window.frame.size, side="right")
        skipped = np.where(some, skipped, 0)
        opens, closes = np.full(seen.size, NEVER), np.full(seen.size, NEVER)
        if some.any():
            # Where elements are taken as they come, the first to come need not be the oldest.
            edges = np.stack([skipped[some], seen[some]], axis=1).ravel()
            padded = np.append(moments, moments[-1])
            opens[some] = np.minimum.reduceat(padded, edges)[::2]
            closes[some] = np.maximum.reduceat(padded, edges)[::2]
        # A late element is not counted, so no watermark keeps a member out.
        never_closed = Ends(0, FOREVER // 2)
        return Span(opens, closes, members, seen, skipped=skipped, ends=never_closed)

    def _having_counted(self, progress: Progress) -> Progress:
        """The progress with what count windows have counted up to it."""
        if not any(isinstance(window.frame, CountWindow) for window in self.plan.windows):
            return progress
        if self.rules.by_time and not reports_arrivals(self.plan) and progress.reported is not None:
            progress = replace(progress, released=progress.reported)
        counted = tuple(
            self._total(window, progress) if isinstance(window.frame, CountWindow) else 0
            for window in self.plan.windows
        )
        return replace(progress, counted=counted)

    def _total(self, window: PlannedWindow, progress: Progress) -> int:
        """Return the total of a count window at a point of the progress."""
        members, _, totals = self._counts(window)
        log = self._log(window)
        done = has_released(log, self._number(window), progress)[members]
        if self.by_arrival:
            done = log.positions[members] <= progress.position
        known = self.progress.counted[self.plan.windows.index(window)]
        return int(totals[done].max(initial=known))

    # -- what can be forgotten -------------------------------------------------------------

    def horizon(self, stream: int) -> int:
        """The moment up to which no later instant will ask for the elements of a stream."""
        windows = [each for each in self.plan.windows if self._number(each) == stream]
        return min(self._horizon(window) for window in windows)

    @cached_property
    def _base(self) -> int:
        """The moment up to which all instants have been evaluated."""
        reported = self.progress.reported
        if self.by_arrival:
            return NEVER if reported is None else reported
        first = self.progress.first
        if not self.on_grid or len(self.plan.windows) == 1 or first is None:
            return self.released_until
        # Instants after the last that held something may still be asked for.
        return min(self.released_until, first - 1 if reported is None else reported)

    def _horizon(self, window: PlannedWindow) -> int:
        match window.frame:
            case TimeWindow(width, slide):
                return self._base - width - (slide or 0) - 2
            case NowWindow():
                return self._base - 1
            case AllWindow():
                return NEVER
            case CountWindow(size, step):
                members, _, totals = self._counts(window)
                moments = self._log(window).times[members]
                total = int(totals[moments <= self._base].max(initial=0))
                place = int(np.searchsorted(totals, total - size - step, side="right"))
                oldest = int(moments[place:].min(initial=self._base))
                # What has not been counted yet must still be there to be.
                counted = self._base if self.by_arrival else self.progress.released
                return min(oldest - 1, self._base - 1, counted)
            case frame:
                assert_never(frame)
