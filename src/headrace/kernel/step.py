"""What a batch of elements makes due: the kernel, one step at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext

import numpy as np
import polars as pl

from headrace.algebra.walk import constants
from headrace.functions.value_failures import ValueFailure
from headrace.kernel.arrivals import Arrivals
from headrace.kernel.columns import ARRIVALS, ID, POSITION, STATEMENT
from headrace.kernel.derived import Unread, arrivals_of, stop_floods
from headrace.kernel.element_release import Reached
from headrace.kernel.entailed import with_entailed
from headrace.kernel.evaluation import Around
from headrace.kernel.fair_share import FairShare, connected_units
from headrace.kernel.gathering import gathered, taken_apart, without
from headrace.kernel.grid import FOREVER, NEVER, Times
from headrace.kernel.group import Group
from headrace.kernel.largest import stop_largest
from headrace.kernel.log import Elements, StreamLog
from headrace.kernel.overload import Turn
from headrace.kernel.ranks import StepOrder
from headrace.kernel.rejoining import rejoined
from headrace.kernel.remembered import forget_tables
from headrace.kernel.remote import Contracted
from headrace.kernel.reports import Report
from headrace.kernel.schedule import Schedule
from headrace.kernel.slices import slice_end
from headrace.kernel.standing import Elsewhere, Standing, completed
from headrace.kernel.step_results import Placed, Results, unite_results
from headrace.metering import MEMORY, metered
from headrace.planning.plan import Plan
from headrace.planning.sharing import Parameters, Shape, parameters_of
from headrace.rdf.terms import Iri

_FORGET_FROM = 100_000
"""So many terms may be known before the first look at which of them are still needed."""
_MOST_STEPS = 1_000
_FEW_TERMS = 2_000
"""More terms than these are looked at after so many steps, so that slow streams need no more."""


class Kernel:
    """Continuous queries at work over the streams of a deployment."""

    def __init__(
        self,
        plans: Sequence[Plan],
        around: Around,
        live: bool = False,
        share: FairShare | None = None,
    ) -> None:
        """Begin with empty windows.

        Args:
            plans: the queries.
            around: what they share.
            live: whether empty windows are reported up to the watermark, or only between others.
            share: divides the time of a live batch among the queries.
        """
        self.around = around
        self.live = live
        self.share = share
        self.elsewhere: Elsewhere | None = None
        self.queries: list[Standing] = []
        self.logs: dict[Iri, StreamLog] = {}
        self.position = -1
        self._kept_terms = _FORGET_FROM
        self._steps = 0
        self._due_times: dict[Standing, Times] = {}
        self._order = StepOrder()
        self._changed = False
        self._apart = False
        self._tables: list[Parameters] = []
        self._most: dict[Shape, int] = {}
        self._known_late: dict[Iri, Times] = {}
        self._placed: dict[str, Placed] = {}
        self._partial_streams: set[Iri] = set()
        self.is_behind = False
        self._unread = Unread()
        self._begun: dict[Standing, tuple[Schedule | None, int | None]] = {}
        self._end: int | None = None
        self._waiting: set[Standing] = set()
        for plan in plans:
            self._add(Standing(plan))
        self.queries = self._order.sorted(self.queries)

    def register(self, plan: Plan) -> None:
        """Add a query, which sees what comes from now on."""
        self._add(Standing(plan, self.position))

    def remove(self, name: str) -> None:
        """Let a query go, and forget what only it needs."""
        self._unread.remove(name)
        self.queries = without(self.queries, name)
        self._order.remove(name)
        self.around.failures.remove(name)

    def _add(self, query: Standing) -> None:
        for stream in query.plan.streams:
            self._log_of(stream)
        self._order.add(query.plan)
        self.queries.append(query)
        self._changed = True

    def _arrange(self) -> None:
        """Put new queries together with those of their shape, and all of them in order."""
        if not self._changed:
            return
        self.queries = self._order.sorted(gathered(self.queries, self._may_be_shared))
        for query in self.queries:
            for constant in constants(query.plan.pattern):
                self.around.dictionary.encode(constant)
        self._changed, self._apart = False, True

    def _rejoin(self) -> None:
        """Put queries together that have begun at different times, where that is over."""
        may = [query for query in self.queries if self._may_be_shared(query)]
        others = [query for query in self.queries if not self._may_be_shared(query)]
        found = rejoined(may, self._most, self._see_the_same)
        self.queries = self._order.sorted([*found, *others])
        shapes = [query.members[0].shape for query in found if query.members]
        self._apart = len(set(shapes)) < len(shapes)

    def _see_the_same(self, one: Standing, other: Standing) -> bool:
        """Whether no element that only one of them sees can be in a window any more."""
        first, last = sorted((one.since, other.since))
        schedule = self._schedule(one, ended=False)
        if schedule is None:
            return False
        for number, stream in enumerate(one.plan.streams):
            elements, horizon = self.logs[stream].elements, schedule.horizon(number)
            between = (elements.positions > first) & (elements.positions <= last)
            if (between & (elements.times > horizon)).any():
                return False
        return True

    def _may_be_shared(self, query: Standing) -> bool:
        elsewhere = self.elsewhere is not None and self.elsewhere.takes(query.plan)
        return self.around.observe is None and not elsewhere and query not in self._waiting

    # -- going on where another kernel has stopped --------------------------------------------

    def remember(self, stream: Iri, arrivals: Arrivals) -> None:
        """Take back elements with the positions that they had: no progress is made by them."""
        self._append(stream, arrivals)

    def resume(self, query: Standing) -> None:
        """Let a query whose origin is not known yet look at what has been remembered."""
        if query.progress.origin is None:
            for number, (_, elements) in enumerate(self._logs_of(query)):
                query.saw(number, elements)

    # -- steps -----------------------------------------------------------------------------

    def step(self, batch: Mapping[Iri, Arrivals]) -> Results:
        """Add what has come in and evaluate every instant that is due.

        What no query needs any more stays until :meth:`forget` is called, because somebody waits
        for the results.
        """
        return unite_results(list(self.slices(batch)))

    def finish(self, batch: Mapping[Iri, Arrivals] | None = None) -> Results:
        """With the last of the input, evaluate every instant whose windows hold an element."""
        return unite_results(list(self.slices(batch or {}, ended=True)))

    def slices(self, batch: Mapping[Iri, Arrivals], *, ended: bool = False) -> Iterator[Results]:
        """Do the same, a bounded number of instants at a time.

        Between two of them, :meth:`forget` may be called. If the iterator is left early, the next
        step evaluates the rest.

        Args:
            batch: what has come in.
            ended: whether it is the last of the input.
        """
        for query in self.queries:
            if query.remote is not None:
                query.remote.changes = []
        yield self._stepped(batch, ended)
        while self.is_behind:
            yield self._stepped({}, ended)

    def keep_pace(self, took: int | None) -> None:
        """Decide after a step in a live run how many instants are evaluated in the next one.

        Args:
            took: how many microseconds the batch has taken; none if that is not known.
        """
        for query, due in self._due_times.items():
            query.pace = query.pace.after(due, took, query.plan.semantics)
        self._due_times = {}

    def _stepped(self, batch: Mapping[Iri, Arrivals], ended: bool) -> Results:
        """Evaluate a slice of what is due."""
        self._arrange()
        stopped = self._stop_largest()
        self.is_behind, self._partial_streams = False, set()
        for query in self.queries:
            if query not in self._unread:
                query.until = None
        late: dict[Iri, list[Times]] = {}
        self._placed = {}
        first = self.position + 1
        new = {stream: self._append(stream, arrivals, first) for stream, arrivals in batch.items()}
        reports: list[Report] = []
        failed = stopped
        self._begin_slice(new, ended, late)
        ahead = self._ahead(new, ended, late)
        at_work: list[Standing] = []
        self._waiting = set()
        for query, waits in self._turns(ended):
            if query.failure is not None and query not in ahead:
                self._derive(query, (), new, ended)  # those that read it go on without it
                at_work.append(query)
                continue
            parts: Sequence[Standing] = [query]
            if query in ahead:
                told = ahead[query]
            else:
                if query not in self._begun:
                    self._tell(query, new, ended, late)
                told = ()
                if waits:
                    self._waiting.add(query)
                    self.is_behind = True
                elif query not in self._unread:
                    told, parts = self._evaluated(query, ended)
            if query.plan.stream in self.logs:
                told = stop_floods(query, told)
            reports += told
            at_work += parts
            if query.name in self._placed:
                self._placed |= {part.name: self._placed[query.name] for part in parts}
            failed |= {each.plan.name: each.failure for each in parts if each.failure is not None}
            self._derive(query, told, new, ended)
        self._begun = {}
        self.queries = self._order.sorted(at_work)
        positions = {stream: self._newly_late(stream, found) for stream, found in late.items()}
        missed = {
            stream: self.logs[stream].statements.filter(pl.col(POSITION).is_in(found.tolist()))
            for stream, found in positions.items()
        }
        in_order = tuple(sorted(reports, key=self._order.of_report))
        return Results(in_order, missed, failed, positions, self._placed)

    def _turns(self, ended: bool) -> Iterator[tuple[Standing, bool]]:
        """Yield the queries in the order of evaluation, with whether each waits."""
        if self.share is None or ended:
            yield from ((query, False) for query in self.queries)
            return
        for unit, waits in self.share.turns(connected_units(self.queries)):
            yield from ((query, waits) for query in unit)

    def _has_ended(self, query: Standing, ended: bool) -> bool:
        """Test whether the input of a query is complete."""
        return ended and self._partial_streams.isdisjoint(query.plan.streams)

    def _begin_slice(
        self, new: Mapping[Iri, Elements], ended: bool, late: dict[Iri, list[Times]]
    ) -> None:
        """Find the end of a slice, which is the same moment for all queries of a replay.

        So results are in the order of time from slice to slice. Those that read what others make
        wait for them. In a live run with fair shares, each query has slices of its own.
        """
        made = {query.plan.stream for query in self.queries}
        self._begun = {}
        for query in self.queries:
            if query.failure is None and made.isdisjoint(query.plan.streams):
                self._tell(query, new, ended, late)
                self._begun[query] = self._find_slice(query, ended)
        ends = [end for _, end in self._begun.values() if end is not None]
        self._end = min(ends, default=None) if self.share is None or ended else None

    def _find_slice(self, query: Standing, ended: bool) -> tuple[Schedule | None, int | None]:
        """Make the schedule of all that is due, and find the end of its first slice, if it has one.

        There is no schedule while the origin of a query is not known.
        """
        whole = None if query in self._unread else self._schedule(query, ended)
        if whole is None:
            return None, None
        most = None if ended or self.share is None else self.share.most_instants(query)
        return whole, slice_end(query.plan, self._logs_of(query), whole, most)

    def _slice_schedule(self, query: Standing, ended: bool) -> Schedule | None:
        """Make the schedule of a slice of what is due; None while its origin is not known."""
        query.until = None
        whole, end = self._begun.get(query) or self._find_slice(query, ended)
        if whole is None:
            return None
        if self._end is not None and not whole.by_arrival and whole.limit > self._end:
            end = self._end if end is None else min(end, self._end)
        if end is None:
            return whole
        query.until, self.is_behind = end, True
        return self._schedule(query, ended)

    def _stop_largest(self) -> dict[str, str]:
        """Stop the query with the largest windows if memory is short; the reasons, by names."""
        excess = MEMORY.excess()
        if excess is None:
            return {}
        failed = {}
        for query, parts in stop_largest(self.queries, self._held_statements, excess).items():
            others = (each for each in self.queries if each is not query)
            self.queries = self._order.sorted([*others, *parts])
            failed = {part.name: part.failure for part in parts if part.failure is not None}
        return failed

    def _held_statements(self, query: Standing) -> int:
        """Count the statements that the windows of a query may still need."""
        found = 0
        for stream in query.plan.streams:
            elements = self.logs[stream].elements
            horizon = self._horizon(query, stream)
            found += int(elements.sizes[elements.times > horizon].sum())
        return found

    def _newly_late(self, stream: Iri, found: Sequence[Times]) -> Times:
        """Remove elements that another query has already found late.

        A query whose origin is the first element judges elements when that is known.
        """
        every = np.unique(np.concatenate(found))
        if any(query.waits for query in self.queries):
            known = self._known_late.get(stream, every[:0])
            self._known_late[stream] = np.union1d(known, every)
            return np.setdiff1d(every, known)
        known = self._known_late.pop(stream, every[:0])
        return np.setdiff1d(every, known)

    def _evaluated(
        self, query: Standing, ended: bool
    ) -> tuple[Sequence[Report], Sequence[Standing]]:
        """What a query emits now, which is nothing if no instant is due, and what is left of it.

        A group in which something fails is taken apart: only who fails alone stops.
        """
        ended = self._has_ended(query, ended)
        schedule = self._slice_schedule(query, ended)
        turn = None if schedule is None else self._due(query, schedule, ended)
        logs = self._logs_of(query)
        if schedule is None:
            return (), [query]
        if turn is None:
            if self.share is not None:
                self.share.note_idle(query)
            with metered(self.around.meter()):
                query.look_ahead(schedule, logs, self.around)
            return (), [query]
        due, told = turn, list[Report]()

        def tell(some: Standing) -> None:
            with metered(self.around.meter()):
                told.extend(some.told(due, logs, self.around, schedule))
            if query in self._due_times:
                self._due_times[some] = self._due_times[query]

        with nullcontext() if self.share is None else self.share.measure(query, len(due.evaluated)):
            return told, self._taken_apart(query, tell)

    def _taken_apart(self, query: Standing, tell: Callable[[Standing], None]) -> Sequence[Standing]:
        """Evaluate a query, and take it apart if it is a group in which something fails."""
        tell(query)
        if not isinstance(query, Group) or query.failure is None:
            return [query]
        parts = list(taken_apart(query, tell))
        if all(part.failure is None for part in parts):  # together they were too much
            shape = query.members[0].shape
            self._most[shape] = max(len(part.members) for part in parts)
        self._apart = True
        return parts

    def contracted(self) -> dict[str, Contracted]:
        """How queries stand with the endpoints that they ask under a budget."""
        return {
            each.name: each.remote.contracted() for each in self.queries if each.remote is not None
        }

    def value_failures(self) -> dict[str, tuple[ValueFailure, ...]]:
        """Return the failures of expressions so far, by the names of queries."""
        return self.around.failures.by_query()

    def _log_of(self, stream: Iri) -> StreamLog:
        return self.logs.get(stream) or self.logs.setdefault(stream, StreamLog())

    def _append(self, stream: Iri, arrivals: Arrivals, first: int = 0) -> Elements:
        log = self._log_of(stream)
        statements = arrivals.statements
        if first:
            statements = statements.clone()
            place = statements.get_column_index(POSITION)
            moved = pl.Series(POSITION, statements[POSITION].to_numpy() + first)
            statements.replace_column(place, moved)
        every = None if arrivals.elements is None else arrivals.elements.moved(first)
        elements = log.append(statements, arrivals.high, every)
        self.position = max(self.position, int(elements.positions.max(initial=-1)))
        return elements

    def _tell(
        self,
        query: Standing,
        new: Mapping[Iri, Elements],
        ended: bool,
        late: dict[Iri, list[Times]],
    ) -> None:
        """Tell a query what has come in, and collect what is late for it."""
        offered = outside = 0
        for number, stream in enumerate(query.plan.streams):
            elements = new.get(stream)
            if elements is not None:
                if query.since >= 0:
                    elements = elements.where(elements.positions > query.since)
                query.saw(number, elements)
                offered += len(elements)
        ended = self._has_ended(query, ended)
        for number, elements, flags in query.settle(self._watermark(query), ended):
            outside += query.outside(number, elements)
            if flags.any():
                late.setdefault(query.plan.streams[number], []).append(elements.positions[flags])
        if offered or outside:
            self._placed[query.name] = offered, outside

    def _ahead(
        self, new: Mapping[Iri, Elements], ended: bool, late: dict[Iri, list[Times]]
    ) -> dict[Standing, Sequence[Report]]:
        """What queries that are evaluated elsewhere emit; all of them are asked at once."""
        if self.elsewhere is None:
            return {}
        due: dict[Standing, Turn | None] = {}
        for query in self.queries:
            alone = query.failure is None and not isinstance(query, Group)
            if alone and self.elsewhere.takes(query.plan):
                if query not in self._begun:
                    self._tell(query, new, ended, late)
                schedule = self._slice_schedule(query, ended)
                due[query] = None if schedule is None else self._due(query, schedule, ended)
        turns = {query: turn for query, turn in due.items() if turn is not None}
        asked = [(query, turn.evaluated) for query, turn in turns.items()]
        found: dict[Standing, Sequence[Report]] = dict.fromkeys(due, ())
        answers = self.elsewhere.answers(asked, self.around.dictionary) if asked else []
        for (query, instants), answered in zip(asked, answers, strict=True):
            with metered(self.around.meter()):
                report = query.reported(instants, answered, self.around)
            found[query] = [turns[query].told(report, query.failure is not None)]
        return found

    def _schedule(self, query: Standing, ended: bool) -> Schedule | None:
        """Make the schedule of a query; None while its origin is not known."""
        elements = [each for _, each in self._logs_of(query)]
        watermark, slowest = self._reach(query)
        return query.schedule(elements, Reached(watermark, ended, self.live, slowest))

    def _due(self, query: Standing, schedule: Schedule, ended: bool) -> Turn | None:
        """The instants of a query that are due now; none if there are none."""
        instants, query.progress = schedule.due()
        if len(instants):
            instants = query.with_content(instants, self._logs_of(query))
        if len(instants) == 0:
            return None
        if not self.live or ended:
            return Turn(instants)
        known = self._due_times.get(query, instants.times[:0])
        self._due_times[query] = np.union1d(known, instants.times[[0, -1]])
        return Turn(instants, query.pace.chosen(len(instants)))

    def _logs_of(self, query: Standing) -> list[tuple[StreamLog, Elements]]:
        found = []
        for stream in query.plan.streams:
            log = self.logs[stream]
            elements = log.elements
            if query.since >= 0:
                elements = elements.where(elements.positions > query.since)
            found.append((log, elements))
        return found

    def _watermark(self, query: Standing) -> int | None:
        """Compute the watermark of a query; None if a stream has not begun."""
        return self._reach(query)[0]

    def _reach(self, query: Standing) -> tuple[int | None, int]:
        """Compute the watermark of a query, and the number of its slowest stream."""
        found: tuple[int, int] | None = None
        for number, stream in enumerate(query.plan.streams):
            high = self.logs[stream].high
            if high is None:
                return None, number
            watermark = high - query.plan.delay(stream)
            found = (watermark, number) if found is None else min(found, (watermark, number))
        return (None, 0) if found is None else found

    # -- streams out of streams --------------------------------------------------------------

    def _derive(
        self, query: Standing, told: Sequence[Report], new: dict[Iri, Elements], ended: bool
    ) -> None:
        """Give what a query has emitted to those that read it as a stream."""
        stream = query.plan.stream
        if stream is None or stream not in self.logs:
            return
        if query in self._waiting and query not in self._unread:
            self._partial_streams.add(stream)
            return
        statements = ARRIVALS.to_frame()
        schedule = self._schedule(query, ended=False)
        report = self._unread.next_part(query, told, () if schedule is None else schedule.grids)
        is_whole = query not in self._unread and query.until is None
        self.is_behind |= query in self._unread
        if report is not None:
            first, high = self.position + 1, self.logs[stream].high
            statements = arrivals_of(query.plan, report, self.around.dictionary, first, high)
        if not is_whole or not self._partial_streams.isdisjoint(query.plan.streams):
            self._partial_streams.add(stream)
            ended = False
        elements, tables = None, self.around.tables
        if tables is not None:
            statements, elements = with_entailed(statements, tables, self.around.dictionary)
        if query in self._unread and report is not None:
            reached: int | None = int(report.times[-1]) + 1
        else:
            reached = self._reached(query, ended)
        if reached is None and statements.is_empty():
            return
        new[stream] = self._append(stream, Arrivals(statements, reached, elements))

    def _reached(self, query: Standing, ended: bool) -> int | None:
        """How far a derived stream has come: its next element is not before that."""
        schedule = self._schedule(query, ended=False)
        if schedule is None:
            return None
        if ended:
            return query.progress.reported
        failed = query.failure is not None
        until = schedule.released_until if failed else completed(schedule, self.live)
        return until + 1 if until > NEVER else None

    # -- forgetting ------------------------------------------------------------------------

    def forget(self) -> None:
        """Drop the elements that no query will ask for, and now and then their terms.

        Terms that are in no element yet are dropped too: call it before new ones are learned.
        """
        for stream, log in self.logs.items():
            log.forget(self.horizon(stream))
        if self._apart and not self._changed:
            self._rejoin()
        tables = list(filter(None, (parameters_of(query.plan) for query in self.queries)))
        if tables != self._tables:
            self._tables = tables
            forget_tables(self.around.static, tables)
        dictionary = self.around.dictionary
        self._steps += 1
        is_due = self._steps >= _MOST_STEPS and dictionary.most_passing > _FEW_TERMS
        if is_due or dictionary.most_passing > 2 * self._kept_terms:
            dictionary.forget_all_but(self._used_ids())
            self._kept_terms = max(_FORGET_FROM, dictionary.passing)
            self._steps = 0

    def horizon(self, stream: Iri) -> int:
        """The time up to which no query will ask for the elements of a stream."""
        horizons = [
            self._horizon(query, stream)
            for query in self.queries
            if query.failure is None and stream in query.plan.streams
        ]
        return min(horizons, default=FOREVER)

    def _horizon(self, query: Standing, stream: Iri) -> int:
        """Find the time up to which a query will not ask for the elements of a stream.

        While it waits, that is the time after its last evaluation.
        """
        if query in self._waiting:
            return query.horizons.get(stream, NEVER)
        schedule = self._schedule(query, ended=False)
        if schedule is None:
            return NEVER
        found = schedule.horizon(query.plan.streams.index(stream))
        query.horizons[stream] = found
        return found

    def _used_ids(self) -> list[pl.Series]:
        dictionary = self.around.dictionary
        frames = [log.statements for log in self.logs.values()]
        if not self.around.static.lasting:
            frames.append(self.around.static.frame)
        used = [frame[name].drop_nulls() for frame in frames for name in STATEMENT]
        for query in self.queries:
            used += query.ids(dictionary)
        return [series.rename(ID) for series in used]
