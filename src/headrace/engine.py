"""The engine as its users meet it: streams, static data, queries, and a run."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from headrace.algebra.operators import Service
from headrace.background.config import ServiceConfig
from headrace.background.errors import ServiceError
from headrace.dialects import Parsed, parse
from headrace.dialects.settings import duration
from headrace.errors import DataError, SettingError, listing, nearest
from headrace.functions.table import Functions
from headrace.inline import (
    Counters,
    InlineRunner,
    LateElement,
    RejectedElement,
    StreamFeed,
    check_readers,
)
from headrace.kernel.budget import Budget
from headrace.kernel.data import Quads
from headrace.kernel.evaluations import evaluations
from headrace.kernel.solutions import Solutions
from headrace.kernel.standing import Around, InstantError
from headrace.kernel.step import Kernel, Results
from headrace.pipeline.streams import declared, files_of
from headrace.planning.network import in_step_order
from headrace.planning.plan import Plan, make_plan
from headrace.rdf.elements import Element
from headrace.rdf.formats import format_of_media_type
from headrace.rdf.reading import read
from headrace.rdf.terms import Iri, Quad
from headrace.rdf.timed import scoped
from headrace.rdf.times import microseconds
from headrace.registered import Query
from headrace.results.evaluations import Evaluation
from headrace.sources import interleaved
from headrace.store import Store

Moment = int | float | str | datetime
"""A time: milliseconds since the epoch, ISO 8601, or a datetime."""


def _now() -> int:
    return time.time_ns() // 1000


class Stream:
    """A stream that elements are pushed to."""

    def __init__(
        self,
        engine: Engine,
        iri: str,
        delay: int | None,
        idle: int | None,
        sources: tuple[str, ...],
    ) -> None:
        """Belong to an engine."""
        self._engine = engine
        self.iri = iri
        self.delay = delay
        self.idle = idle
        self.sources = sources

    def push(
        self,
        data: str | bytes | Quad | Iterable[Quad],
        *,
        at: Moment | None = None,
        syntax: str = "application/n-quads",
    ) -> None:
        """Add an element: RDF text, or statements, and when it happened.

        Args:
            data: what the element says.
            at: its event time; a number is milliseconds since the epoch, and none is now.
            syntax: the media type of a text.

        Raises:
            DataError: the text cannot be read.
        """
        feed = self._feed()
        if isinstance(data, str | bytes):
            form = format_of_media_type(syntax)
            quads = tuple(read(data, form, name=self.iri, scope=feed.scope()))
        else:
            given = (data,) if isinstance(data, Quad) else tuple(data)
            if not all(isinstance(quad, Quad) for quad in given):
                raise DataError(f"expected text or Quads, found {data!r}", self.iri)
            quads = tuple(scoped(quad, feed.scope()) for quad in given)
        if not quads:
            raise DataError("an element has at least one statement", self.iri)
        time = self._engine.now() if at is None else microseconds_of(at)
        self._engine.runner.push(feed, Element(time, quads))

    def heartbeat(self, *, at: Moment) -> None:
        """Say that time has come this far, without an element."""
        self._engine.runner.push(self._feed(), Element(microseconds_of(at)))

    def feed_timed(self, data: str | bytes) -> None:
        """Add the elements of timed N-Quads."""
        text = data.encode() if isinstance(data, str) else data
        self._engine.runner.push_timed(self._feed(), text)

    async def send(
        self,
        data: str | bytes | Quad | Iterable[Quad],
        *,
        at: Moment | None = None,
        syntax: str = "application/n-quads",
    ) -> None:
        """Add an element, evaluate what it makes due, and let other tasks run."""
        self.push(data, at=at, syntax=syntax)
        self._engine.step()
        await asyncio.sleep(0)

    def _feed(self) -> StreamFeed:
        return self._engine.feed(self.iri)


class Engine:
    """Continuous queries over streams, in this process.

    >>> engine = Engine()
    >>> stream = engine.stream("http://example.org/s")
    >>> text = "SELECT ?s FROM STREAM <http://example.org/s> [RANGE 10s STEP 5s] { ?s ?p ?o }"
    >>> query = engine.register(text)
    >>> stream.push("<x:a> <x:b> <x:c> .", at=1_000)
    >>> engine.finish()
    >>> [(each.at, [str(term) for term in each.rows[0]]) for each in query.results()]
    [(5000000, ['<x:a>']), (10000000, ['<x:a>'])]
    """

    def __init__(  # noqa: PLR0913 - each is a choice of its own
        self,
        *,
        settings: Mapping[str, str] | None = None,
        services: ServiceConfig | None = None,
        functions: Functions | None = None,
        max_rows: int = Budget().rows,
        timeout: float | None = None,
        live: bool = False,
        clock: Callable[[], int] | None = _now,
        seed: int = 0,
    ) -> None:
        """Start with no streams and no queries.

        Args:
            settings: what `--set` takes, for all queries.
            services: which endpoints SERVICE may ask; none, if not given.
            functions: extension functions by IRI.
            max_rows: how many rows any part of an evaluation may make.
            timeout: how many seconds an evaluation may take.
            live: whether empty windows are reported up to the watermark even if nothing follows.
            clock: the present in microseconds, which says in a live run what is too far ahead.
            seed: of the ids of terms.
        """
        self.settings = dict(settings or {})
        self.static = Store(services=services, functions=functions, seed=seed)
        self.live = live
        self._clock = clock if live else None
        self._max_rows = max_rows
        self._timeout = timeout
        self._streams: dict[str, Stream] = {}
        self._queries: dict[str, Query] = {}
        self._runner: InlineRunner | None = None
        self._ended = False
        self._undelivered: deque[tuple[Query, Evaluation]] = deque()

    # -- what is declared ------------------------------------------------------------------

    def stream(
        self,
        iri: str,
        *,
        delay: str | None = None,
        idle: str | None = None,
        source: str | Iterable[str] = (),
    ) -> Stream:
        """A stream by its IRI, declared if it is new.

        Args:
            iri: its name.
            delay: how far out of order it may be, as in `5s`.
            idle: after how long a silence, by the clock, it no longer holds back the queries that
                read it; only in a live run, because answers then depend on the clock.
            source: the file, folder or pattern that `run` reads it from, or several.

        Raises:
            SettingError: it is declared already, and otherwise; or it cannot be idle here.
        """
        iri = iri.removeprefix("<").removesuffix(">")
        if idle is not None and self._clock is None:
            raise SettingError("an idle time-out needs the clock of a live run: Engine(live=True)")
        if any(self._plan(each).stream == Iri(iri) for each in self._queries.values()):
            raise SettingError(f"stream <{iri}> is what a query makes; push to another one")
        if iri not in self._streams:
            self._streams[iri] = Stream(
                self,
                iri,
                None if delay is None else duration(delay),
                None if idle is None else duration(idle),
                (source,) if isinstance(source, str) else tuple(source),
            )
        elif delay is not None or idle is not None or source:
            raise SettingError(f"stream <{iri}> is declared already")
        return self._streams[iri]

    def register(
        self,
        text: str,
        *,
        name: str | None = None,
        dialect: str | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> Query:
        """Register a continuous query.

        Args:
            text: the query, in any dialect.
            name: what to call it; else the name it is registered with in its text.
            dialect: its dialect; detected if not given.
            settings: `--set` settings for it alone, which go before those of the engine.

        Raises:
            QueryError: the query is wrong or cannot be run; it says where.
        """
        parsed = parse(text, dialect, name=name, settings={**self.settings, **(settings or {})})
        return self.register_parsed(parsed, name, settings)

    def register_parsed(
        self, parsed: Parsed, name: str | None = None, settings: Mapping[str, str] | None = None
    ) -> Query:
        """Register a query that has been parsed, with the settings that are its own."""
        registration = parsed.query.registration
        if name is None:
            name = registration.name if registration else f"q{len(self._queries) + 1}"
        if name in self._queries:
            raise SettingError(f"there is a query '{name}' already; choose another name")
        self.static.check_functions(parsed)
        query = Query(name, parsed, settings or {})
        plan = self._plan(query)
        plans = [*map(self._plan, self._queries.values()), plan]
        self._check_names(plan)
        in_step_order(plans)
        if self._runner is not None:
            check_readers(plans)
            self._check_streams(plans)
            self.step()  # so that it sees nothing of what has come before
            self._runner.kernel.register(plan)
        self._queries[name] = query
        return query

    def _check_names(self, plan: Plan) -> None:
        """Refuse a query that would be a stream which there is already."""
        if plan.stream is None:
            return
        iri = plan.stream.value
        makers = [
            each.name for each in self._queries.values() if self._plan(each).stream == plan.stream
        ]
        if iri in self._streams or makers:
            by = f"by '{makers[0]}'" if makers else "as a stream of its own"
            raise SettingError(
                f"'{plan.name}' makes stream <{iri}>, which is declared {by} already"
            )

    def _plan(self, query: Query) -> Plan:
        parsed = query.parsed
        streams = tuple(Iri(iri) for iri in self._streams)
        delays = {iri: each.delay for iri, each in self._streams.items() if each.delay is not None}
        if "delay" in {**self.settings, **query.settings}:
            delays = {}  # what a run is told goes before what a stream declares
        return make_plan(parsed.query, query.name, streams, delays, parsed.source)

    # -- the run ---------------------------------------------------------------------------

    @property
    def runner(self) -> InlineRunner:
        """The runner, started when it is first needed."""
        if self._runner is None:
            kernel = Kernel(self.plans(), self.around(), self.live)
            self._runner = InlineRunner(kernel, self._clock)
        return self._runner

    def plans(self) -> list[Plan]:
        """The plans of its queries.

        Raises:
            SettingError: they do not fit together, or one reads a stream that is not declared.
        """
        plans = [self._plan(each) for each in self._queries.values()]
        check_readers(plans)
        self._check_streams(plans)
        return plans

    def feed(self, iri: str) -> StreamFeed:
        """The way into a stream."""
        if self._ended:
            raise SettingError("the input has ended with finish(); start again with a new Engine")
        runner = self.runner
        feed = runner.feed(Iri(iri), [query.plan for query in runner.kernel.queries])
        if iri in self._streams:
            feed.idle = self._streams[iri].idle
        return feed

    def now(self) -> int:
        """The present, in microseconds."""
        return _now() if self._clock is None else self._clock()

    def _check_streams(self, plans: list[Plan]) -> None:
        """Refuse a query that would wait for ever for a stream that nobody has declared."""
        made = {plan.stream.value for plan in plans if plan.stream is not None}
        for plan in plans:
            for name, _ in plan.semantics.stream_delays:
                if name not in self._streams and name not in made:
                    declared = _names([*self._streams, *made])
                    raise SettingError(f"'delay.{name}': no such stream; declared are {declared}")
            for stream in plan.streams:
                if stream.value not in self._streams and stream.value not in made:
                    known = [*self._streams, *made]
                    near = nearest(stream.value, known)
                    hint = f"did you mean <{near}>?" if near else f"declared are {_names(known)}"
                    problem = f"'{plan.name}' reads <{stream.value}>, which is no declared stream"
                    raise SettingError(f"{problem}; {hint}")

    def around(self) -> Around:
        """What its queries share."""
        services = self.static.services()

        def ask(service: Service, solutions: Solutions) -> Solutions:
            try:
                return services(service, solutions)
            except ServiceError as error:
                raise InstantError(str(error)) from error

        def budget() -> Budget:
            deadline = None if self._timeout is None else time.monotonic() + self._timeout
            return Budget(self._max_rows, deadline, time.monotonic)

        return Around(
            self.static.dictionary, Quads(self.static.quads), ask, self.static.functions, budget
        )

    def start(self) -> None:
        """Make ready to run, and refuse a query that reads a stream which nobody has declared."""
        for iri in self._streams:
            self.feed(iri)

    def run(self, *, once: bool, progress: Callable[[str], None] | None = None) -> None:
        """Read the sources of the streams to their end, and close what holds an element.

        Args:
            once: whether the run ends with its input; in this process it does.
            progress: called now and then with how far it has come.

        Raises:
            SettingError: it should not end, or a source cannot be read.
        """
        if not once:
            raise SettingError("in this process a run ends with its input: run(once=True)")
        sources = {
            iri: [path for source in stream.sources for path in _files(source)]
            for iri, stream in self._streams.items()
            if stream.sources
        }
        self.start()
        feeds = {iri: self.feed(iri) for iri in sources}
        for feed, piece in interleaved(sources, feeds):
            piece.push(self.runner, feed)
            self.step()
            if progress is not None:
                progress(f"{sum(each.elements for each in feeds.values()):,} elements")
        self.finish()

    def step(self) -> None:
        """Evaluate what is due after all that has been pushed."""
        self._refresh()
        self._publish(self.runner.step())

    def _refresh(self) -> None:
        """Take over static data that have been added since the last step."""
        kernel = self.runner.kernel
        if kernel.around.static.frame is not self.static.quads:
            kernel.around = replace(kernel.around, static=Quads(self.static.quads))

    def finish(self) -> None:
        """End the input: evaluate every instant whose windows hold an element."""
        if self.live:
            self.step()  # what is empty is reported up to the watermark
        self._refresh()
        self._ended = True
        self._publish(self.runner.finish())
        for query in self._queries.values():
            query.end()

    def _publish(self, results: Results) -> None:
        for report in results.reports:
            query = self._queries[report.query]
            found = evaluations(report, query.parsed.query.form)
            self._undelivered += ((query, evaluation) for evaluation in found)
        for name, reason in results.failed.items():
            self._queries[name].error = reason
        while self._undelivered:
            query, evaluation = self._undelivered.popleft()
            query.report(evaluation)  # if a callback raises, the others come with the next step

    # -- what has become of it ---------------------------------------------------------------

    @property
    def queries(self) -> Mapping[str, Query]:
        """The registered queries by their names."""
        return self._queries

    @property
    def counters(self) -> Mapping[str, Counters]:
        """How many elements of each stream have come, were late, or were rejected."""
        feeds = self._runner.feeds if self._runner else {}
        came = {stream.value: feed.counters for stream, feed in feeds.items()}
        return {**dict.fromkeys(self._streams, Counters()), **came}

    @property
    def late(self) -> list[LateElement]:
        """The elements that missed a window."""
        return self._runner.late if self._runner else []

    @property
    def rejected(self) -> list[RejectedElement]:
        """What could not be taken, and why."""
        return self._runner.rejected if self._runner else []


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def microseconds_of(at: Moment) -> int:
    """A time in microseconds.

    >>> microseconds_of(1500), microseconds_of("1970-01-01T00:00:01.5Z"), microseconds_of(0.5)
    (1500000, 1500000, 500)
    """
    match at:
        case datetime():
            moment = at if at.tzinfo else at.replace(tzinfo=UTC)
            return (moment - _EPOCH) // timedelta(microseconds=1)
        case int():
            return at * 1000
        case float():
            return round(at * 1000)
        case str():
            try:
                return microseconds(at)
            except ValueError as error:
                raise DataError(str(error)) from None


def _files(source: str) -> list[Path]:
    found = declared(source)
    if found.kind != "file":
        raise SettingError(f"in this process streams are read from files, not from '{source}'")
    return files_of(found.place)


def _names(iris: Iterable[str]) -> str:
    shown = [f"<{iri}>" for iri in iris]
    return listing(shown, "and") if shown else "none"
