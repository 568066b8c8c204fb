"""A query that is evaluated by what is new: its matches are kept as long as they last.

All that is kept follows from the elements that the logs of its streams hold, so that it can be
thrown away and made again at any time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from headrace.algebra.operators import Project, Reduced
from headrace.algebra.query import Construct, Select
from headrace.algebra.reporting import Contents, OnArrival
from headrace.algebra.scope import possible
from headrace.kernel.arrived import Arrived
from headrace.kernel.columns import (
    ARRIVALS,
    CONTENTS,
    FIRST,
    INSTANT,
    LAST,
    POSITION,
    column,
)
from headrace.kernel.contents import runs
from headrace.kernel.data import Quads, WindowContents
from headrace.kernel.found import Found
from headrace.kernel.grid import NEVER, Times
from headrace.kernel.instants import Instants
from headrace.kernel.interval_rows import simplified_rows
from headrace.kernel.lasting import BEGIN, END, LASTING, TURN, at_run, numbered
from headrace.kernel.log import Elements, StreamLog
from headrace.kernel.matches import Asking, Matches
from headrace.kernel.members import MEMBER, OF_MEMBER, is_hidden
from headrace.kernel.schedule import Schedule
from headrace.kernel.solutions import Solutions
from headrace.kernel.table import Table, stacked
from headrace.planning.matching import Core
from headrace.planning.plan import Plan
from headrace.rewrite.optimise import ADAPT

Logs = Sequence[tuple[StreamLog, Elements]]

_OFTEN: Final = 32
"""New statements wait until they are one in so many, if no instant needs them before."""
_FEW: Final = 5_000
"""So many statements may always wait."""
_AT_ONCE: Final = 16
"""At no more instants than these it pays to look at all matches for each of them."""


@dataclass(frozen=True, slots=True)
class _Cored:
    """The matches of a core, branch by branch."""

    core: Core
    branches: tuple[Matches, ...]

    @property
    def names(self) -> list[str]:
        """The columns of its solutions; where they are of members, which says it all."""
        names = sorted(column(each) for each in possible(self.core.operator))
        return [name for name in names if name == OF_MEMBER or not is_hidden(name)]


def makes_its_own(plan: Plan) -> bool:
    """Whether each match of a query makes its own solutions, whatever others there are."""
    selects = isinstance(plan.query.form, Select | Construct)
    return selects and plan.matching.is_whole(plan.pattern)


def answer_names(plan: Plan) -> list[str] | None:
    """The columns of matches that are the answers of a query, if there is nothing else to them."""
    form, pattern = plan.query.form, plan.pattern
    if not isinstance(form, Select) or not form.variables or plan.members:
        return None
    while not any(pattern is core.operator for core in plan.matching.cores):
        if isinstance(pattern, Project) and not {*form.variables} <= {*pattern.variables}:
            return None
        if not isinstance(pattern, Project | Reduced):
            return None
        pattern = pattern.input
    return [column(each) for each in form.variables]


class Incremental:
    """What a query has matched so far."""

    def __init__(self, plan: Plan, asking: Asking) -> None:
        """Begin before the first element."""
        self.plan = plan
        timed = plan.semantics.contents is Contents.TIMED
        adapts = plan.applies(ADAPT)
        self._cores = [
            _Cored(core, tuple(Matches(each, timed, adapts, asked) for each in core.branches))
            for core in plan.matching.cores
            for asked in [frozenset(map(column, possible(core.operator)))]
        ]
        self._seen = _Seen(isinstance(plan.semantics.report, OnArrival))
        self.told: Matched | None = None
        for matches in self.branches():
            matches.begin(asking)

    def branches(self) -> Iterator[Matches]:
        """The matches of each branch of each core."""
        for cored in self._cores:
            yield from cored.branches

    def take(self, schedule: Schedule, logs: Logs, until: int | None, asking: Asking) -> None:
        """Look at the elements that have come, or those that have had their turn.

        Args:
            schedule: when the query is evaluated.
            logs: its streams.
            until: how many elements in order, where they cause instants.
            asking: how patterns are looked at.
        """
        fresh = self._seen.fresh(schedule, until)
        if not any(each.size for each in fresh):
            return
        needed = {each.scanned.windows for matches in self.branches() for each in matches.patterns}
        arrived = {windows: self._arrived(windows, fresh, schedule, logs) for windows in needed}
        self._seen.mark(schedule, until)
        floor = _floor(schedule)
        for matches in self.branches():
            matches.take(arrived, floor, asking)

    def over(self, schedule: Schedule, last: int | None = None) -> None:
        """All instants of a step have been looked at, if there were some up to a last moment."""
        floor = _floor(schedule) if last is None else max(_floor(schedule), last)
        for matches in self.branches():
            matches.over(floor, at_leisure=last is None)

    def is_close_behind(self, schedule: Schedule, width: int) -> bool:
        """Whether time has gone on by no more than so much in what is new."""
        fresh = self._seen.fresh(schedule, None)
        pairs = zip(schedule.logs, fresh, strict=True)
        times = np.concatenate([log.times[each] for log, each in pairs])
        return times.size == 0 or int(times.max() - times.min()) <= width

    def waits(self, schedule: Schedule, logs: Logs) -> bool:
        """Whether what is new is so little that it can wait for more."""
        if self._seen.position < 0:
            return False  # all that windows hold is new
        fresh = self._seen.fresh(schedule, None)
        new = sum(
            int(log.sizes[each].sum()) for log, each in zip(schedule.logs, fresh, strict=True)
        )
        known = sum(log.height for log, _ in logs)
        return new < max(_FEW, known // _OFTEN)

    def _arrived(
        self,
        windows: tuple[int, ...],
        fresh: Sequence[Times],
        schedule: Schedule,
        logs: Logs,
    ) -> Arrived:
        tables, frames = list[Table](), list[pl.DataFrame]()
        for number in windows:
            window = self.plan.windows[number]
            stream = self.plan.streams.index(window.stream)
            log, elements = logs[stream]
            kept = fresh[stream]
            if kept.size == 0:
                continue
            new = elements.where(kept)
            begins, ends = schedule.rules.lasting(window, new, self.plan.delay(window.stream))
            ordered = self._seen.ordered
            turns = schedule.turns_of(stream, kept) if ordered else np.zeros(kept.size, int)
            for statements in log.between(int(new.positions[0]), int(new.positions[-1])):
                places, known = new.places(statements[POSITION].to_numpy())
                if known.all():
                    frames.append(statements)
                else:
                    rows = np.flatnonzero(known)
                    places = places[rows]
                    frames.append(statements[pl.Series(rows)])
                lasting = {BEGIN: begins, END: ends, TURN: turns}
                tables.append(Table(lasting, kept.size).taken(places))
        if not frames:
            return Arrived(Table.without_rows(LASTING), [ARRIVALS.to_frame()])
        return Arrived(stacked(tables), frames)

    def at(self, instants: Instants) -> Matched:
        """The matches at some instants."""
        kept = {
            id(cored.core.operator): _Kept(
                tuple(cored.names),
                tuple(each.found for each in cored.branches if each.found is not None),
            )
            for cored in self._cores
        }
        return Matched(self.plan, instants, kept)

    def tell(self, instants: Instants) -> None:
        """Take note that what holds at some instants has been told."""
        for matches in self.branches():
            matches.tell(instants)
        self.told = self.at(instants.chosen(slice(len(instants) - 1, None)))


@dataclass(frozen=True, slots=True)
class _Kept:
    """The matches of a core, branch by branch, and what is asked of them."""

    names: tuple[str, ...]
    found: tuple[Found, ...]

    def numbered(self, instants: Instants) -> pl.DataFrame:
        """The matches of all branches, each with the first and the last instant, by number."""
        return self._frame(numbered(each.table, instants) for each in self.found)

    def moving(self, instants: Instants) -> pl.DataFrame:
        """The same of those that begin or end there."""
        return self._frame(each.moving(instants) for each in self.found)

    def _frame(self, tables: Iterable[Table]) -> pl.DataFrame:
        names = [FIRST, LAST, *self.names]
        frames = [
            each.only(name for name in names if name in each.columns).frame() for each in tables
        ]
        if len(frames) == 1 and frames[0].width == len(names):
            return frames[0]
        every = pl.DataFrame(schema=dict.fromkeys(names, pl.Int64))
        # What a branch does not bind is unbound in it.
        return pl.concat([every, *frames], how="diagonal")


def left_in_windows(plan: Plan, instants: int) -> tuple[WindowContents, ...]:
    """What is left in windows where the solutions of all cores are known: nothing."""
    nothing = Quads(CONTENTS.to_frame(), range(instants))
    return tuple(WindowContents(each.name, each.stream, nothing) for each in plan.windows)


@dataclass(frozen=True)
class Matched:
    """The matches of a query at some instants, in place of what its windows hold.

    Attributes:
        plan: the query.
        instants: when.
        kept: the matches of each core by the identity of its operator.
    """

    plan: Plan
    instants: Instants
    kept: Mapping[int, _Kept]

    @cached_property
    def found(self) -> Mapping[int, pl.DataFrame]:
        """The matches of each core, with the first and the last instant of each."""
        return {operator: each.numbered(self.instants) for operator, each in self.kept.items()}

    def texts(self, most: int) -> pl.DataFrame | None:
        """What is reported, if that is kept with the matches.

        Args:
            most: how many rows an instant may have; with more, there is no answer.
        """
        [kept] = self.kept.values()
        if len(self.instants) > _AT_ONCE or len(kept.found) != 1:
            return None
        [found] = kept.found
        if not found.is_worded:
            return None
        moments = self.instants.times.tolist()
        rows = [found.texts(moment, number) for number, moment in enumerate(moments)]
        return pl.concat(rows) if all(each.height <= most for each in rows) else None

    def blocks(self) -> Iterator[tuple[int, int]]:
        """The instants in runs that can each be evaluated in one pass."""
        total = np.zeros(len(self.instants) + 1, np.int64)
        for frame in self.found.values():
            np.add.at(total, frame[FIRST].to_numpy(), 1)
            np.add.at(total, frame[LAST].to_numpy() + 1, -1)
        return runs(np.cumsum(total)[:-1])

    def windows(self, start: int, stop: int) -> tuple[WindowContents, ...]:
        """What is left to be looked at in windows."""
        return left_in_windows(self.plan, stop - start)

    @property
    def is_whole(self) -> bool:
        """Whether each match makes its own solutions, so that they last as long as it does."""
        if self.plan.members and any(OF_MEMBER not in each.names for each in self.kept.values()):
            return False  # a match of all members has to be told apart first
        return makes_its_own(self.plan)

    @property
    def height(self) -> int:
        """How many matches are kept, of whatever instants."""
        return sum(each.height for kept in self.kept.values() for each in kept.found)

    def moving(self) -> pl.DataFrame:
        """The matches that begin or end at the instants, with the first and the last of them."""
        [kept] = self.kept.values()
        return kept.moving(self.instants)

    def moving_rows(self) -> Table | None:
        """The same as the answers that they make, where these are columns of theirs."""
        [kept] = self.kept.values()
        names = answer_names(self.plan)
        if names is None or len(kept.found) != 1:
            return None
        moving = kept.found[0].moving(self.instants)
        bound = all(name in moving.columns for name in names)
        return moving.only([*names, FIRST, LAST]) if bound else None

    def each(self, frame: pl.DataFrame) -> tuple[Mapping[int, Solutions], pl.DataFrame]:
        """Every match as if it were of an instant of its own, and how long it lasts for whom."""
        [operator] = self.kept
        rows = pl.Series(INSTANT, np.arange(frame.height))
        hidden = {FIRST, LAST, OF_MEMBER} if self.plan.members else {FIRST, LAST}
        own = pl.DataFrame([rows, *(frame[name] for name in frame.columns if name not in hidden)])
        lasting = [frame[FIRST], frame[LAST]]
        if self.plan.members:
            lasting.append(frame[OF_MEMBER].alias(MEMBER))
        return {operator: Solutions(own, keyed=True)}, pl.DataFrame(lasting)

    def given(self, start: int, stop: int) -> Mapping[int, Solutions]:
        """The solutions that are known at a run of instants, numbered from 0."""
        return {
            operator: Solutions(simplified_rows(at_run(frame, start, stop)), keyed=True)
            for operator, frame in self.found.items()
        }


@dataclass(slots=True)
class _Seen:
    """Which elements have been looked at.

    Attributes:
        ordered: whether elements cause instants, so that their order matters.
        position: the last that had come.
        key: the time, the stream and the position of the last in order.
    """

    ordered: bool
    position: int = -1
    key: tuple[int, int, int] | None = None

    def fresh(self, schedule: Schedule, until: int | None) -> list[Times]:
        """Find the places of the elements in order that have not been processed."""
        found = []
        for number, log in enumerate(schedule.logs):
            if not self.ordered:
                first = int(np.searchsorted(log.positions, self.position, side="right"))
                found.append(np.arange(first, len(log)))
                continue
            if schedule.is_one:
                first = int(np.searchsorted(log.positions, self.position, side="right"))
                if not schedule.by_arrival:  # what was not in order yet may be now
                    first = min(first, self._place_after_last(log))
                found.append(np.arange(first, max(first, self._until(schedule, until))))
                continue
            new = log.positions > self.position
            if not schedule.by_arrival:
                # What was not in order yet may be now.
                new |= ~self._before(number, log, schedule.entries(number))
            new &= schedule.turns(number) < self._until(schedule, until)
            found.append(np.flatnonzero(new))
        return found

    def _place_after_last(self, log: Elements) -> int:
        """Where the elements of a stream in order begin that come after the last."""
        if self.key is None:
            return 0
        time, _, position = self.key
        first, stop = (int(np.searchsorted(log.times, time, side)) for side in ("left", "right"))
        return first + int(np.searchsorted(log.positions[first:stop], position, side="right"))

    def _before(self, number: int, log: Elements, times: Times) -> npt.NDArray[np.bool_]:
        """Select the elements up to the last processed one in order."""
        if self.key is None:
            return np.zeros(len(log), np.bool_)
        time, stream, position = self.key
        before: npt.NDArray[np.bool_] = times < time
        if number <= stream:
            then = times == time
            before |= then & (log.positions <= position) if number == stream else then
        return before

    def _until(self, schedule: Schedule, until: int | None) -> int:
        return schedule.released_number if until is None else until

    def mark(self, schedule: Schedule, until: int | None) -> None:
        """Take note that elements have been looked at."""
        if self.ordered and schedule.by_arrival:
            _, _, self.position = schedule.element(self._until(schedule, until) - 1)
            return
        if self.ordered:
            self.key = schedule.element(self._until(schedule, until) - 1)
        self.position = max(self.position, *(log.last_position for log in schedule.logs))


def _floor(schedule: Schedule) -> int:
    """A moment that no instant to come is before."""
    progress = schedule.progress
    if schedule.rules.by_time or schedule.by_arrival:
        return NEVER if progress.reported is None else progress.reported
    return progress.released
