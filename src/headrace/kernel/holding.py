"""Which instants a new element can matter to, and whether it comes too late for one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

import numpy as np
import numpy.typing as npt

from headrace.algebra.reporting import Every, OnArrival, OnChange, OnClose, Pick
from headrace.algebra.windows import AllWindow, CountWindow, NowWindow, TimeWindow
from headrace.errors import InternalError
from headrace.kernel.grid import FOREVER, NEVER, NO_WAITING, Ends, Grid, Sliding, Times
from headrace.kernel.log import Elements
from headrace.planning.plan import (
    Plan,
    bounds_of,
    opens_on_grid,
    takes_arrivals_as_they_come,
)
from headrace.planning.planned import PlannedWindow

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Rules:
    """The arithmetic of a query's windows, once its origin is known."""

    plan: Plan
    origin: int

    @property
    def ends(self) -> Ends:
        """Which ends of its windows of time belong to them."""
        ends = Ends.of(bounds_of(self.plan.semantics))
        match self.plan.semantics.report:
            case OnClose() | Every():
                return ends
            case OnArrival() | OnChange():
                return Ends(ends.low, 0)  # what has just come is always in
            case report:
                assert_never(report)

    def ends_of(self, window: PlannedWindow) -> Ends:
        """The same for one window; what is not a stretch of time holds its own instant."""
        ends = self.ends
        return ends if isinstance(window.frame, TimeWindow) else Ends(ends.low, 0)

    @property
    def instants(self) -> Grid | None:
        """The grid of the instants, if the query says how often."""
        report = self.plan.semantics.report
        return Grid(report.period, self.origin) if isinstance(report, Every) else None

    @property
    def by_time(self) -> bool:
        """Whether instants are those moments at which windows close, or as often as it says."""
        return isinstance(self.plan.semantics.report, OnClose | Every)

    def sliding(self, window: PlannedWindow) -> Sliding | None:
        """The windows that close on a grid, if a declared one is of that sort."""
        if not isinstance(window.frame, TimeWindow) or window.frame.slide is None:
            return None
        width, slide = window.frame.width, window.frame.slide
        origin = self.origin + width if opens_on_grid(self.plan) else self.origin
        return Sliding(width, Grid(slide, origin), Ends.of(bounds_of(self.plan.semantics)))

    def limit(self, watermark: int) -> int:
        """The last moment that makes an instant due by itself, without an element.

        At a `[)` close the elements of that very moment need not be known, unless a window
        looks at them.
        """
        on_close = isinstance(self.plan.semantics.report, OnClose)
        blind = (TimeWindow, CountWindow) if on_close else (TimeWindow,)
        plain = all(isinstance(window.frame, blind) for window in self.plan.windows)
        return self.ends.closed_by(watermark) if self.by_time and plain else watermark - 1

    def watermark_of(self, limit: int) -> int:
        """The least watermark that makes instants due up to a moment by itself."""
        return limit - self.limit(0)

    def between(self, window: PlannedWindow, times: Times) -> Flags:
        """Select the moments that lie in a gap between windows."""
        sliding = self.sliding(window)
        in_steps = not isinstance(self.plan.semantics.report, OnArrival)
        if sliding is None or not in_steps or sliding.closes.step <= sliding.width:
            return np.zeros(times.size, np.bool_)
        return sliding.first(times) > sliding.last(times)

    # -- lateness --------------------------------------------------------------------------

    def late(self, window: PlannedWindow, elements: Elements, delay: int) -> Flags:
        """Which elements come too late for a window that would hold them."""
        if takes_arrivals_as_they_come(self.plan):
            if not isinstance(window.frame, TimeWindow):
                return np.zeros(len(elements), np.bool_)
            return elements.times <= elements.highs - window.frame.width + self.ends.low
        if elements.all_in_time(delay):
            return np.zeros(len(elements), np.bool_)
        watermarks = elements.highs - delay
        sliding = self.sliding(window)
        if not self.by_time or isinstance(window.frame, CountWindow):
            return elements.times < watermarks
        if sliding is not None:
            first, last = sliding.first(elements.times), sliding.last(elements.times)
        else:
            first, last = self._moments(window, elements.times)
        return (first <= last) & (first <= self.ends_of(window).closed_by(watermarks))

    def _moments(self, window: PlannedWindow, times: Times) -> tuple[Times, Times]:
        """The first and last instant at which a window that moves with time holds moments."""
        grid = self.instants or Grid(1)  # with other windows' closes, any moment may be one
        ends = self.ends_of(window)
        first = grid.from_(times - ends.high)
        match window.frame:
            case TimeWindow(width):
                return first, grid.to(times + width - ends.low - 1)
            case NowWindow():
                return grid.from_(times), grid.to(times)
            case AllWindow() | CountWindow():
                return first, first  # it stays in for ever; what counts is when it enters
            case frame:
                assert_never(frame)

    # -- how long an element stays ---------------------------------------------------------

    def lasting(self, window: PlannedWindow, elements: Elements, delay: int) -> tuple[Times, Times]:
        """The first and the last moment at which an instant finds each element in a window.

        Where elements cause instants, an instant also has to be that of the element or after it;
        count windows, and what is reported on change, are not a matter of moments.
        """
        begins, ends = self._lasting(window, elements.times)
        if elements.all_in_time(delay):
            return begins, ends
        waiting = NO_WAITING if isinstance(window.frame, NowWindow) else self.ends_of(window)
        open_from = waiting.closed_by(elements.highs - delay) + 1
        sliding = self.sliding(window)
        if sliding is not None and self.by_time:
            open_from = sliding.closes.from_(open_from) + self._behind
        return np.maximum(begins, open_from), ends

    def _lasting(self, window: PlannedWindow, times: Times) -> tuple[Times, Times]:
        ends = self.ends_of(window)
        sliding = self.sliding(window)
        if sliding is not None and self.by_time:
            # An instant takes the latest close: up to the next one that has passed.
            until = sliding.last(times) + sliding.closes.step - 1
            return sliding.first(times) + self._behind, until + self._behind
        begins = self._begins(times, ends)
        match window.frame:
            case TimeWindow(width):
                return begins, times + width - ends.low - 1
            case NowWindow():
                return begins, times
            case AllWindow():
                return begins, np.full(times.size, FOREVER)
            case CountWindow():
                raise InternalError("how long an element stays in a count window is not known")
            case frame:
                assert_never(frame)

    def _begins(self, times: Times, ends: Ends) -> Times:
        if self.by_time:
            return times - ends.high
        # Where elements cause instants in the order of their times, none before it finds one.
        in_order = not takes_arrivals_as_they_come(self.plan)
        return times if in_order else np.full(times.size, NEVER)

    @property
    def _behind(self) -> int:
        """How far an instant is behind the close that it takes, at least."""
        return 1 if self.instants is not None and self.plan.semantics.pick is Pick.STRICT else 0

    # -- instants that hold something --------------------------------------------------------

    def held(self, window: PlannedWindow, elements: Elements, delay: int) -> tuple[int, int] | None:
        """The first and the last instant by time whose windows hold one of some elements."""
        if len(elements) == 0 or isinstance(window.frame, CountWindow):
            return None  # a count window holds what it does when it closes
        times, watermarks = elements.times, elements.highs - delay
        sliding = self.sliding(window)
        without_gaps = sliding is not None and sliding.closes.step <= sliding.width
        if sliding and without_gaps and not self.instants and elements.all_in_time(delay):
            # No window that would hold one has closed: the earliest and the latest say it all.
            return sliding.first(int(times.min())), sliding.last(int(times.max()))
        open_from = self.ends_of(window).closed_by(watermarks) + 1
        if sliding is not None:
            first = np.maximum(sliding.first(times), sliding.closes.from_(open_from))
            last = sliding.last(times)
        elif self.instants is not None:
            first, last = self._moments(window, times)
            first = np.maximum(first, self.instants.from_(open_from))
            if isinstance(window.frame, AllWindow):
                last = first
        else:
            return None  # on close, only windows that close make instants
        kept = first <= last
        if sliding is not None and self.instants is not None:
            first, last = self._picked(sliding, first, last)
            kept &= first <= last
        if not kept.any():
            return None
        return int(first[kept].min()), int(last[kept].max())

    def _picked(self, sliding: Sliding, first: Times, last: Times) -> tuple[Times, Times]:
        """The first and last instant that takes one of some closes."""
        assert self.instants is not None, "the query says how often"
        until = last + sliding.closes.step - 1 + self._behind
        return self.instants.from_(first + self._behind), self.instants.to(until)

    def picks(self, close: int) -> int:
        """The first instant that takes a close."""
        assert self.instants is not None, "the query says how often"
        return self.instants.from_(close + self._behind)
