"""The runner in the calling process: for tests, notebooks and small machines."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import polars as pl
import xxhash

from headrace.algebra.reporting import SECOND, BlankNodes, Semantics
from headrace.arrival_times import ArrivalTimes
from headrace.diagnosis import QueryFacts, StreamFacts
from headrace.diagnosis.demands import Needs
from headrace.errors import DataError
from headrace.kernel.alerts import Alerts
from headrace.kernel.arrivals import Arrivals
from headrace.kernel.arriving import Gate, with_quoted
from headrace.kernel.columns import (
    ARRIVALS,
    HIGH,
    POSITION,
    STATEMENT,
    TIME,
)
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.entailed import stated, with_entailed
from headrace.kernel.grid import NEVER, Times
from headrace.kernel.holding import Flags
from headrace.kernel.idleness import Part, advance_idle_parts
from headrace.kernel.overload import Paces
from headrace.kernel.progress import Progress
from headrace.kernel.standing import Standing
from headrace.kernel.step import Kernel
from headrace.kernel.step_results import Placed, Results
from headrace.kernel.stream_counters import Counters, counters_of
from headrace.pipeline.deployment_diagnosis import query_facts
from headrace.pipeline.manifest import QueryState
from headrace.pipeline.statement_counts import StatementCounter, choose_probes
from headrace.pipeline.time_jumps import Came, Place, TimeJump, follow_time_jump
from headrace.pipeline.timing import Stopwatch
from headrace.planning.plan import Plan
from headrace.rdf.columns import TimedColumns
from headrace.rdf.elements import Element
from headrace.rdf.formats import Format
from headrace.rdf.scopes import Scope
from headrace.rdf.streams import offset, read_stream
from headrace.rdf.terms import Iri, Quad
from headrace.reasoning.tables import Tables

LOG: Final = logging.getLogger("headrace")
"""Where a run in this process says what is not wrong, but should be known."""
_SIZE = "size"


@dataclass(frozen=True, slots=True)
class LateElement:
    """An element that missed a window which had closed before it came."""

    stream: str
    element: Element


@dataclass(frozen=True, slots=True)
class RejectedElement:
    """An element that could not be taken; none if it could not even be read."""

    stream: str
    element: Element | None
    reason: str


@dataclass
class StreamFeed:
    """A stream on its way into the kernel.

    Attributes:
        stream: its IRI.
        max_ahead: how far an element may be ahead; a day in a live run, if it is not set.
        blank_nodes: within what equal labels are the same node.
        asserts_quoted: whether a quoted triple is asserted too.
        clock: the present, in microseconds, in a live run; what came before counts in a replay.
        idle: after how long a silence it no longer holds back others.
        heard: when something came last, by a clock that is never set.
        moved: how far it was moved on because it was silent.
        moved_at: when that was, by a clock that is never set.
        goes_by_arrival: whether its elements have the times of their arrival, as the last one had.
        high: the greatest event time so far.
        size: how many bytes have been read; elements in them are told apart by where they begin.
        lines: how many lines there were in them.
        counters: how many messages and elements have come, and what became of them.
        least: the least event time so far.
        reason: why the first rejected element was rejected.
        jump: the element that is far ahead of those before it, in a replay.
    """

    stream: Iri
    dictionary: Dictionary
    reject: Callable[[RejectedElement], None]
    max_ahead: int | None = None
    blank_nodes: BlankNodes = BlankNodes.ELEMENT
    asserts_quoted: bool = False
    clock: Callable[[], int] | None = None
    idle: int | None = None
    heard: int | None = None
    moved: int | None = None
    moved_at: int | None = None
    goes_by_arrival: bool = False
    high: int | None = None
    size: int = 0
    lines: int = 0
    counters: Counters = field(default_factory=Counters)
    least: int | None = None
    reason: str | None = None
    pending: list[pl.DataFrame] = field(default_factory=list)
    jump: TimeJump | None = None
    _came: list[Came] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin to count statements."""
        self.counter = StatementCounter(self.dictionary.seed, self.dictionary.few_texts)

    def waits(self) -> bool:
        """Whether something has come since the last step."""
        return bool(self.pending)

    @property
    def elements(self) -> int:
        """The number of elements so far."""
        return self.counters.elements

    @property
    def _prefix(self) -> str:
        """Keeps its blank nodes apart from those of other streams."""
        return f"s{xxhash.xxh3_64_hexdigest(self.stream.value.encode())[:8]}"

    def scope(self) -> Scope:
        """The scope of the blank nodes of the next element."""
        name = f"{self._prefix}-e{self.elements}"  # unlike those that begin at a byte
        if self.blank_nodes is BlankNodes.STREAM:
            return Scope(name, labels=self._prefix)
        return Scope(name)

    # -- what comes in ---------------------------------------------------------------------

    def push(self, element: Element, position: int) -> None:
        """Take an element, or a heartbeat."""
        problem = self._gate.reason(element.time, self.high)
        if problem is not None:
            self._refuse_pushed(element, problem)
            return
        if not element.is_heartbeat:
            try:
                statements = [self._encoded(quad) for quad in element.quads]
            except DataError as error:
                self._refuse_pushed(element, str(error))
                return
            rows = [(position, element.time, self.high, *ids) for ids in statements]
            self._add(pl.DataFrame(rows, schema=ARRIVALS, orient="row"))
        self._note_times(position, np.array([element.time]))
        self.high = element.time if self.high is None else max(self.high, element.time)
        self.least = element.time if self.least is None else min(self.least, element.time)
        beat = element.is_heartbeat
        self.counters += Counters(elements=not beat, messages=1, heartbeats=beat)

    def _refuse_pushed(self, element: Element, reason: str) -> None:
        """Count a message of one element, or a heartbeat, as rejected."""
        number = int(not element.is_heartbeat)
        self.counters += Counters(number, 0, number, 1, 0, 1)
        self.refuse(element, reason)

    def push_data(
        self,
        data: bytes,
        form: Format,
        position: int,
        at: Place | None = None,
    ) -> int:
        """Take bytes of a stream, and say how many elements and heartbeats there were.

        Args:
            data: whole elements.
            form: how they are written.
            position: of the first element.
            at: where in which file they stand.
        """
        place = at or Place(self.stream.value, 0, self.size, self.lines + 1)
        problems = list[DataError]()
        read = read_stream(
            data,
            form,
            seed=self.dictionary.seed,
            prefix=self._prefix,
            per_stream=self.blank_nodes is BlankNodes.STREAM,
            name=place.name,
            source_time=place.modified,
            first_byte=offset(place.file, place.byte),
            first_line=place.line,
            options=place.options,
            on_error=problems.append,
        )
        if at is None:
            self.size += len(data)
            self.lines += data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
        for problem in problems:
            self.refuse(None, str(problem))
        self.push_columns(read, position, len(problems), (place, data, form))
        return read.elements.height

    def push_columns(
        self,
        read: TimedColumns,
        position: int,
        problems: int = 0,
        of: tuple[Place, bytes, Format] | None = None,
    ) -> None:
        """Take elements that have been read to columns.

        Args:
            read: what was read.
            position: of the first element.
            problems: how many problems there were in reading.
            of: where it was read, and what.
        """
        times = read.elements[TIME].to_numpy()
        sizes = read.elements[_SIZE].to_numpy()
        if isinstance(read.told, pl.DataFrame):
            self.dictionary.learn(read.told)
        else:
            self.dictionary.learn_texts(read.told)
        gate = self._gate
        taken, highs = gate.passed(times, self.high)
        if not taken.all():
            self._refuse_all(read, taken, highs, gate)
        self.counters += counters_of(
            sizes,
            messages=None if read.messages is None else read.messages.to_numpy(),
            taken=taken,
            unread=read.unread,
            problems=problems,
        )
        places = read.statements[POSITION].to_numpy()
        high = pl.Series(HIGH, highs[places], dtype=pl.Int64)
        if highs.size and int(highs[0]) == NEVER:  # the first of its stream has none before it
            high = high.replace(NEVER, None)
        numbers = pl.Series(POSITION, places + position)
        terms = [read.statements[name] for name in STATEMENT]
        frame = pl.DataFrame([numbers, read.statements[TIME], high, *terms])
        self._add(frame if taken.all() else frame.filter(taken[places]))
        self._note_times(position, times, taken, of)
        if taken.any():
            latest = int(times[taken].max())
            self.high = latest if self.high is None else max(self.high, latest)
            least = int(times[taken].min())
            self.least = least if self.least is None else min(self.least, least)

    def _note_times(
        self,
        position: int,
        times: Times,
        taken: Flags | None = None,
        of: tuple[Place, bytes, Format] | None = None,
    ) -> None:
        """Remember the times of a replay until its late elements are known."""
        if self.clock is None:
            places = np.arange(times.size) if taken is None else np.flatnonzero(taken)
            number = self.counters.messages - self.counters.rejected_messages + 1
            self._came.append(Came(places + position, times[places], self.high, number, of))

    def judge_times(self, late: Times) -> None:
        """Search for a time jump, once the late positions are known."""
        came, self._came = self._came, []
        for each in came:
            flags = np.isin(each.positions, late)
            self.jump = follow_time_jump(self.jump, each.times, each.before, flags, each.where)

    def refuse(self, element: Element | None, reason: str) -> None:
        """Report an element that cannot be taken; none if it cannot even be read."""
        self.reason = self.reason or reason
        self.reject(RejectedElement(self.stream.value, element, reason))

    def _add(self, statements: pl.DataFrame) -> None:
        if self.asserts_quoted:
            statements = with_quoted(statements, self.dictionary.quoted)
        self.pending.append(statements)

    def _encoded(self, quad: Quad) -> tuple[int | None, int, int, int]:
        encode = self.dictionary.encode
        graph = None if quad.graph is None else encode(quad.graph)
        return graph, encode(quad.subject), encode(quad.predicate), encode(quad.object)

    # -- times that cannot be right --------------------------------------------------------

    @property
    def _gate(self) -> Gate:
        return Gate.of(self.max_ahead, None if self.clock is None else self.clock())

    def _refuse_all(self, read: TimedColumns, taken: Flags, highs: Times, gate: Gate) -> None:
        places = read.statements[POSITION].to_numpy()
        lost = read.statements.filter(~taken[places])
        found = dict(self.decoded(lost))
        for place in np.flatnonzero(~taken).tolist():
            element = found.get(place, Element(int(read.elements[TIME][place])))
            high = None if highs[place] == NEVER else int(highs[place])
            self.refuse(element, str(gate.reason(element.time, high)))

    # -- what goes on ----------------------------------------------------------------------

    def arrivals(self, tables: Tables | None = None) -> Arrivals:
        """Return the elements since the last step, with what some tables entail from them."""
        pending, self.pending = self.pending, []
        statements = pl.concat(pending) if pending else ARRIVALS.to_frame()
        if tables is None:
            self.counter.count(statements)
            return Arrivals(statements, self.high)
        statements, elements = with_entailed(statements, tables, self.dictionary)
        self.counter.count(statements)
        return Arrivals(statements, self.high, elements)

    def facts(self) -> StreamFacts:
        """Collect the facts about the stream for notes."""
        tally = replace(self.counter.tally, least=self.least)
        counts = self.counters
        came = counts.elements, counts.late, counts.rejected
        far = None if self.jump is None else self.jump.fact
        return StreamFacts(self.stream.value, (), *came, self.high, self.reason, tally, far)

    def decoded(self, statements: pl.DataFrame) -> Iterator[tuple[int, Element]]:
        """Statements of columns as elements, with their positions."""
        terms = [self.dictionary.terms(statements[name]) for name in STATEMENT]
        quads: dict[int, list[Quad]] = {}
        times: dict[int, int] = {}
        rows = zip(statements[POSITION], statements[TIME], *terms, strict=True)
        for position, time, graph, subject, predicate, object_ in rows:
            quads.setdefault(position, []).append(Quad(subject, predicate, object_, graph))
            times[position] = time
        for position, each in quads.items():
            yield position, Element(times[position], tuple(each))


class InlineRunner:
    """Drives a kernel with what is pushed to its streams."""

    def __init__(
        self,
        kernel: Kernel,
        arrivals: ArrivalTimes | None = None,
        alerts: Alerts | None = None,
        passing: Callable[[], int] | None = None,
    ) -> None:
        """Begin with no streams; with times of arrival, the run is live.

        Durations are measured by `passing`, a clock that is never set; if not given, by the other.
        """
        self.kernel = kernel
        self.alerts = alerts or Alerts(LOG.warning)
        self.arrivals = arrivals
        self.clock = clock = None if arrivals is None else arrivals.now
        self.feeds: dict[Iri, StreamFeed] = {}
        self.late: list[LateElement] = []
        self.rejected: list[RejectedElement] = []
        self._position = 0
        self._owes = False
        self._passing = passing or (lambda: 0 if clock is None else clock())
        self._began = None if clock is None else self._passing()
        self._paces = Paces()
        self.queries: dict[str, QueryState] = {}
        self._placed: dict[str, Placed] = {}
        self.watch = Stopwatch(lambda: self._passing() / SECOND)

    def feed(self, stream: Iri) -> StreamFeed:
        """Return the way into a stream; what its queries declare decides what it takes."""
        if stream not in self.feeds:
            plans = [query.plan for query in self.kernel.queries]
            readers = [plan.semantics for plan in plans if stream in plan.streams]
            idles = [each.idle_of(stream.value) for each in readers]
            semantics = readers[0] if readers else Semantics()  # all of them agree
            self.feeds[stream] = StreamFeed(
                stream,
                self.kernel.around.dictionary,
                self.rejected.append,
                semantics.max_ahead,
                semantics.blank_nodes,
                semantics.assert_quoted,
                None if self.arrivals is None else self.arrivals.latest,
                min((each for each in idles if each is not None), default=None),
            )
            self.feeds[stream].counter.watch(choose_probes(plans, stream.value))
        return self.feeds[stream]

    def register(self, plan: Plan) -> None:
        """Add a query, which sees what comes from now on."""
        self.kernel.register(plan)
        self._count_for_queries()

    def remove(self, name: str) -> None:
        """Let a query go."""
        self.kernel.remove(name)
        self.queries.pop(name, None)
        self._count_for_queries()

    def _count_for_queries(self) -> None:
        """Count what notes about the queries may need."""
        plans = [plan for query in self.kernel.queries for plan in query.plans]
        for stream, feed in self.feeds.items():
            feed.counter.watch(choose_probes(plans, stream.value))

    def facts(self) -> tuple[dict[str, StreamFacts], list[QueryFacts]]:
        """Collect the facts about the streams and the queries for notes."""
        streams = {stream.value: feed.facts() for stream, feed in self.feeds.items()}
        queries = [
            query_facts(Needs(plan), self._state(query, plan))
            for query in self.kernel.queries
            for plan in query.plans
        ]
        return streams, queries

    def _state(self, query: Standing, plan: Plan) -> QueryState:
        known = self.queries.get(plan.name, QueryState("", query.progress))
        alone = (0, 0) if len(query.plans) == 1 else (None, 0)
        offered, outside = self._placed.get(query.name, alone)
        return replace(
            known,
            progress=query.progress,
            failure=query.failure,
            offered=offered,
            outside=outside,
        )

    def counters(self) -> dict[str, Counters]:
        """What has become of the elements of each stream."""
        return {stream.value: feed.counters for stream, feed in self.feeds.items()}

    def push(self, feed: StreamFeed, element: Element) -> None:
        """Take an element, or a heartbeat."""
        feed.heard = None if self.clock is None else self._passing()
        feed.push(element, self._position)
        self._position += 1

    def push_timed(self, feed: StreamFeed, data: bytes) -> None:
        """Take timed N-Quads."""
        self.push_data(feed, data, Format.TIMED_N_QUADS)

    def push_data(
        self,
        feed: StreamFeed,
        data: bytes,
        form: Format,
        at: Place | None = None,
    ) -> None:
        """Take bytes of a stream; if they are of a file, from which place on."""
        feed.heard = None if self.clock is None else self._passing()
        self._position += feed.push_data(data, form, self._position, at)

    def push_columns(self, feed: StreamFeed, read: TimedColumns) -> None:
        """Take elements that have been read."""
        feed.heard = None if self.clock is None else self._passing()
        feed.push_columns(read, self._position)
        self._position += read.elements.height

    def slices(self) -> Iterator[Results]:
        """Evaluate what is due, a bounded number of instants at a time."""
        self._pass_over_idle()
        for results in self._evaluate(ended=False):
            if not self.kernel.is_behind:
                self._keep_pace()
            if self._owes:
                self.forget()
            self._owes = True
            yield results

    def _keep_pace(self) -> None:
        self.kernel.keep_pace(self.watch.lap())
        queries = self.kernel.queries
        paces = {query.plan.name: query.pace for query in queries}
        for warning in self._paces.changes([query.plan for query in queries], paces):
            LOG.warning(warning)

    def forget(self) -> None:
        """Drop what no query needs; not if there is something new, whose terms are in no log yet.

        It is for after the results have been delivered. If it could not be done then, the next
        step does it.
        """
        if not any(feed.waits() for feed in self.feeds.values()):
            self.kernel.forget()
            self._owes = False

    def _batch(self) -> dict[Iri, Arrivals]:
        """What has come since the last step."""
        self._position = 0
        tables = self.kernel.around.tables
        return {stream: feed.arrivals(tables) for stream, feed in self.feeds.items()}

    def _pass_over_idle(self) -> None:
        """Advance streams that go by arrival, and idle ones."""
        if self.clock is None:
            return
        present, now = self.clock(), self._passing()
        for feed in self.feeds.values():
            if feed.goes_by_arrival and feed.high is not None:
                feed.high = max(feed.high, present)
        parts = {self._part(feed, now): feed for feed in self.feeds.values()}
        standings = [
            (plan, query.progress)
            for query in self.kernel.queries
            for plan in query.plans
            if query.failure is None
        ]
        for part, reached in advance_idle_parts(list(parts), standings).items():
            feed = parts[part]
            feed.high = feed.moved = reached
            feed.moved_at = now

    def _part(self, feed: StreamFeed, now: int) -> Part:
        """Describe the silence of a stream."""
        heard = self._began if feed.heard is None else feed.heard
        assert heard is not None, "it has a clock"
        silent = feed.idle is not None and now - heard >= feed.idle and not feed.waits()
        elapsed = now - max(heard, heard if feed.moved_at is None else feed.moved_at)
        return Part(feed.stream, "", feed.high, feed.moved, silent, elapsed)

    def finish(self) -> Iterator[Results]:
        """At the end of the input, evaluate what still holds an element, in slices as well."""
        return self._evaluate(ended=True)

    def _evaluate(self, *, ended: bool) -> Iterator[Results]:
        first = self.kernel.position + 1
        slices = self.kernel.slices(self._batch(), ended=ended)
        while True:
            with self.watch.stage("kernel"):
                results = next(slices, None)
            if results is None:
                return
            yield self._noted(results, first)

    def _judge(self, late: Mapping[Iri, Times], first: int) -> None:
        none = np.empty(0, np.int64)
        for iri, each in self.feeds.items():
            each.judge_times(late.get(iri, none) - first)

    def _noted(self, results: Results, first: int) -> Results:
        self.alerts.hear(self.kernel.contracted())
        for report in results.reports:
            state = self.queries.get(report.query, QueryState("", Progress()))
            self.queries[report.query] = state.having(report)
        for name, (offered, outside) in results.placed.items():
            before = self._placed.get(name, (0, 0))
            self._placed[name] = before[0] + offered, before[1] + outside
        self._judge(results.late_positions, first)
        for stream, statements in results.late.items():
            feed = self.feeds.get(stream)
            if feed is not None:
                feed.counters = feed.counters.with_late(len(results.late_positions[stream]))
                as_came = stated(statements, self.kernel.logs[stream].elements)
                elements = [element for _, element in feed.decoded(as_came)]
                self.late += [LateElement(stream.value, element) for element in elements]
        return results
