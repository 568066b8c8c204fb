"""The engine as its users meet it: streams, static data, queries, and a run."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path

from headrace.acceptance import Acceptance, RejectionLimit, Requirements
from headrace.arrival_times import ArrivalTimes, SteadyClock, uptime_clock, wall_clock
from headrace.background.config import ServiceConfig
from headrace.declared_sources import Given, check_sources, given_sources
from headrace.deploying import Refreshing, topics_of
from headrace.diagnosis import Facts, Note, StreamFacts, diagnose, value_notes
from headrace.dialects import Parsed, parse
from headrace.dialects.settings import duration
from headrace.engine_runs import (
    EngineParts,
    RunFollower,
    check_deployable,
    check_read,
    conclude,
    declared_sources,
    files_by_stream,
    run_deployed,
)
from headrace.errors import SettingError, limited_depth, nearest
from headrace.fitting import Fitting
from headrace.functions.table import Functions
from headrace.inline import LOG, InlineRunner, LateElement, RejectedElement, StreamFeed
from headrace.kernel.alerts import Alerts
from headrace.kernel.data import Quads
from headrace.kernel.evaluation import Around
from headrace.kernel.evaluations import evaluations
from headrace.kernel.overload import check_live
from headrace.kernel.reports import Report
from headrace.kernel.step import Kernel
from headrace.kernel.step_results import Results
from headrace.kernel.stream_counters import Counters
from headrace.launching import INTERVAL, Launch, RunnerKind, check_brokers, runner_kind
from headrace.metering import EvaluationLimits
from headrace.pipeline.deployment import open_deployment
from headrace.pipeline.deployment_diagnosis import StaticLookup, notes_by_query
from headrace.pipeline.parts import Allowed
from headrace.pipeline.timing import passing_time
from headrace.planning.plan import Plan, make_plan
from headrace.planning.templates import Templates
from headrace.rdf.terms import Iri
from headrace.registered import Query, note_problems
from headrace.results.evaluations import Evaluation
from headrace.schemas import Entailing, GivenSchema
from headrace.sinks.memory import ReportSink
from headrace.sources import interleaved
from headrace.store import Store
from headrace.stream import Stream, name_of


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
        max_rows: int = EvaluationLimits().rows,
        max_bytes: int = EvaluationLimits().bytes,
        timeout: float | None = None,
        live: bool = False,
        clock: Callable[[], int] | None = wall_clock,
        checkpoint: str | Path | None = None,
        seed: int = 0,
        schema: GivenSchema = None,
    ) -> None:
        """Start with no streams and no queries.

        Args:
            settings: what `--set` takes, for all queries.
            services: which endpoints SERVICE may ask; none, if not given.
            functions: extension functions by IRI.
            max_rows: how many rows any part of an evaluation may make.
            max_bytes: how many bytes any part of an evaluation may make.
            timeout: how many seconds an evaluation may take.
            live: whether empty windows are reported up to the watermark even if nothing follows.
            clock: the present in microseconds, which says in a live run what is too far ahead, and
                whether steps take too long.
            checkpoint: the directory where `run` keeps how far it has come.
            seed: of the ids of terms; with a checkpoint, the seed is that of the checkpoint.
            schema: what queries read their data under: a file, statements, or several of them by
                the names that FROM SCHEMA has for them.

        Raises:
            HeadraceError: the checkpoint cannot be used.
        """
        self.settings = dict(settings or {})
        self.checkpoint = None if checkpoint is None else Path(checkpoint)
        if self.checkpoint is not None:
            with open_deployment(self.checkpoint) as deployment:
                seed = deployment.seed
        self.static = Store(services=services, functions=functions, seed=seed, schema=schema)
        self.entailing = Entailing(self.static.dictionary)
        self.live = live
        self._clock = clock if live else None
        self.limits = EvaluationLimits(max_rows, max_bytes, timeout)
        self._streams: dict[str, Stream] = {}
        self._queries: dict[str, Query] = {}
        self._fitting = Fitting()
        self._templates = Templates()
        self._runner: InlineRunner | None = None
        self._ended = False
        self._undelivered: deque[tuple[Query, Iterator[Evaluation]]] = deque()
        self._followed: RunFollower | None = None
        self._unread: list[Stream] = []
        self._emitted = Counter[str]()
        self.alerts = Alerts(LOG.warning)

    # -- what is declared ------------------------------------------------------------------

    def stream(
        self,
        iri: str,
        *,
        delay: str | None = None,
        idle: str | None = None,
        source: Given = (),
    ) -> Stream:
        """Return a stream by its IRI; declare it if it is new.

        Args:
            iri: its name.
            delay: how far out of order it may be, as in `5s`.
            idle: after how long a silence, by the clock, it no longer holds back the queries that
                read it, and closes the window of its last element if all that they read is silent;
                only in a live run, because answers then depend on the clock.
            source: the file, folder or pattern that `run` reads it from, or several.

        Raises:
            SettingError: it is no IRI, or is declared otherwise already, or cannot be idle here, or
                its source cannot be read.
        """
        iri = name_of(iri)
        sources = given_sources(iri, source)
        if idle is not None and self._clock is None:
            raise SettingError("an idle time-out needs the clock of a live run: Engine(live=True)")
        if self._fitting.makes(iri):
            raise SettingError(f"stream <{iri}> is what a query makes; push to another one")
        if iri not in self._streams:
            self._streams[iri] = Stream(
                self,
                iri,
                None if delay is None else duration(delay),
                None if idle is None else duration(idle),
                sources,
            )
            self._unread += [self._streams[iri]] if sources else []
        elif delay is not None or idle is not None or sources:
            raise SettingError(f"stream <{iri}> is declared already")
        return self._streams[iri]

    def undeclare(self, iri: str) -> None:
        """Forget a stream that no query reads; if one does, a SettingError says which."""
        self._fitting.check_unread(iri, self.plans())
        self._streams.pop(iri, None)

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
        self,
        parsed: Parsed,
        name: str | None = None,
        settings: Mapping[str, str] | None = None,
        registration_id: str = "",
    ) -> Query:
        """Register a query that has been parsed.

        Args:
            parsed: the query.
            name: what it is called; the name in its text if not given.
            settings: those that are its own.
            registration_id: tells it from others that had the same name and text, so that it does
                not go on where one of them was.
        """
        registration = parsed.query.registration
        if name is None:
            name = registration.name if registration else f"q{len(self._queries) + 1}"
        if name in self._queries:
            raise SettingError(f"there is a query '{name}' already; choose another name")
        self.static.check_functions(parsed)
        self.static.check_services(parsed)
        query = Query(name, parsed, settings or {}, self.remove, self._notes_of, registration_id)
        plan = self._plan(query)
        if self._clock is None:
            check_live(plan)
        self._fitting.check_name(plan, self._streams)
        self._fitting.check_schema(plan)
        self._fitting.check_circle(plan, map(self._plan, self._queries.values()))
        if self._runner is not None:
            self._fitting.check_streams(plan, self._streams)
            self._take_in()  # so that it sees nothing of what has come before
        self.entailing.add(plan, self.static.schemas.of(parsed.query, parsed.source))
        if self._runner is not None:
            self._runner.register(plan)
        self._queries[name] = query
        self._fitting.add(plan)
        self.static.schemas.is_fixed = True
        return query

    def remove(self, name: str) -> None:
        """Remove a query after its pending elements are evaluated.

        Raises:
            SettingError: there is none of that name, or another one reads what it makes.
        """
        self.check_removable(name)
        self._fitting.remove(self._plan(self._queries[name]))
        if self._runner is not None:
            self._take_in()
            self._runner.remove(name)
        self.entailing.remove(name)
        self._queries.pop(name).end()

    def check_removable(self, name: str) -> None:
        """Check that a query can be removed, and change nothing.

        Raises:
            SettingError: there is none of that name, or another one reads what it makes.
        """
        if name not in self._queries:
            near = nearest(name, self._queries)
            hint = f"; did you mean '{near}'?" if near else ""
            raise SettingError(f"there is no query '{name}'{hint}")
        plan = self._plan(self._queries[name])
        self._fitting.check_removable(plan, map(self._plan, self._queries.values()))

    def _take_in(self) -> None:
        """Evaluate what has been pushed, if something has."""
        runner = self._runner
        if runner is not None and any(feed.waits() for feed in runner.feeds.values()):
            self.step()

    def _plan(self, query: Query, *, runs: bool = False) -> Plan:
        parsed, streams = query.parsed, tuple[Iri, ...]()
        read = {window.stream for window in parsed.query.windows}
        if not all(isinstance(each, Iri) for each in read):  # one is a window on every stream
            streams = tuple(Iri(iri) for iri in self._streams)
        delays = {}
        if "delay" not in self.settings and "delay" not in query.settings:
            names = {each.value for each in (*read, *streams) if isinstance(each, Iri)}
            own = ((iri, self._streams[iri].delay) for iri in names if iri in self._streams)
            delays = {iri: delay for iri, delay in own if delay is not None}
        schema = self.static.schemas.of(parsed.query, parsed.source)
        under = "" if schema is None else schema.digest
        known = query.expects(self.static.known_predicates(), runs or self._runner is not None)
        make = partial(make_plan, rewriting=self._templates, schema=under, known=known)
        with limited_depth(parsed.source):
            return query.planned(
                (streams, tuple(sorted(delays.items())), under, known),
                lambda: replace(
                    make(parsed.query, query.name, streams, delays, parsed.source),
                    registration_id=query.registration_id,
                ),
            )

    # -- the run ---------------------------------------------------------------------------

    @property
    def runner(self) -> InlineRunner:
        """The runner, started when it is first needed."""
        if self._runner is None:
            kernel = Kernel(self.plans(), self.around(), self.live)
            clock = self._clock
            arrivals = None if clock is None else self._arrivals
            passing = None if clock is None else passing_time(clock, wall_clock)
            self._runner = InlineRunner(kernel, arrivals, self.alerts, passing)
        return self._runner

    def plans(self) -> list[Plan]:
        """Return the plans of its queries.

        Raises:
            SettingError: they do not fit together, or one reads a stream that is not declared.
        """
        plans = [self._plan(each, runs=True) for each in self._queries.values()]
        for plan in plans:
            self._fitting.check_streams(plan, self._streams)
        return plans

    def feed(self, iri: str) -> StreamFeed:
        """Return the way into a stream."""
        if self._ended:
            raise SettingError("the input has ended with finish(); start again with a new Engine")
        runner = self.runner
        feed = runner.feed(Iri(iri))
        if iri in self._streams and self._streams[iri].idle is not None:
            feed.idle = self._streams[iri].idle
        return feed

    def now(self) -> int:
        """The time of what arrives at present, in microseconds; it never goes back."""
        return self._arrivals.now()

    @cached_property
    def _arrivals(self) -> ArrivalTimes:
        clock = wall_clock if self._clock is None else self._clock
        # A clock of the program's own is as the program wants it.
        return ArrivalTimes(SteadyClock(clock, uptime_clock if clock is wall_clock else None))

    def around(self) -> Around:
        """What its queries share."""
        around = self.static.around(self.limits)
        return replace(around, static=self._statements(), tables=self.entailing.tables())

    def refreshing(self) -> Refreshing:
        """The same, with the static data as they are whenever it is asked for."""
        return Refreshing(self.around(), self._statements)

    def _statements(self) -> Quads:
        """The static data, with what follows from them."""
        return self.entailing.with_entailed_statements(self.static.statements)

    def start(self) -> None:
        """Prepare the run, and refuse a query that reads an undeclared stream.

        Raises:
            SettingError: a stream is not declared, or a source of one cannot be read.
            MachineError: no broker of a topic answers.
        """
        sources = declared_sources(self._streams.values())
        check_sources(sources, once=not self.live, inline=None)
        check_brokers(topics_of(sources))
        for iri in self._streams:
            self.feed(iri)

    def run(  # noqa: PLR0913 - each is a choice of its own
        self,
        *,
        once: bool,
        runner: str | None = None,
        partitions: int = 1,
        master: str | None = None,
        progress: Callable[[str], None] | None = None,
        max_rejected: str | int | None = None,
        fail_on_empty: bool = False,
    ) -> None:
        """Read the sources of the streams, and report as windows close.

        Without a runner and without a checkpoint, files are read in this process, and nothing is
        kept. Else what has been read and reported is kept in the checkpoint: after a crash, the
        same program goes on where it stopped.

        Args:
            once: whether the run ends with its input, and closes what holds an element; else it
                goes on until `stop` is called, or Ctrl-C is pressed.
            runner: `spark` or `inline`.
            partitions: in how many parts queries are evaluated that can be.
            master: the Spark to run on; one in this process if not given.
            progress: called now and then with how far it has come.
            max_rejected: how much of each stream may be rejected, as in 10 or "5%".
            fail_on_empty: whether every query has to give a row.

        Raises:
            SettingError: it cannot be run so, or a source cannot be read.
            DataError: too much was rejected, or a query gave no rows.
        """
        if not any(stream.sources for stream in self._streams.values()):
            raise SettingError("no stream has a source to run from: stream(IRI, source='cars.tnq')")
        most = None if max_rejected is None else RejectionLimit.parse(max_rejected)
        requirements, say = Requirements(most, fail_on_empty), progress or (lambda _text: None)
        if runner is not None or self.checkpoint is not None:
            kind = runner_kind(runner or RunnerKind.INLINE)
            launch = Launch(kind, master, interval=None if once else INTERVAL)
            self._run_deployed(launch, partitions, say, requirements)
            return
        if not once:
            raise SettingError(
                "a run that goes on needs a runner: run(once=False, runner='inline'), or 'spark'"
            )
        self._run_files(say, requirements)

    def _run_files(self, progress: Callable[[str], None], requirements: Requirements) -> None:
        """Run over files in this process, and keep nothing."""
        files = files_by_stream(self._streams.values())
        self.start()
        feeds = {iri: self.feed(iri) for iri in files}
        before, known = self.counters, len(self.rejected)
        self._unread = []
        for feed, piece in interleaved(files, feeds):
            piece.push(self.runner, feed)
            self.step()
            progress(f"{sum(each.elements for each in feeds.values()):,} elements")
        self.finish()
        came = {iri: counters.since(before[iri]) for iri, counters in self.counters.items()}
        rows = {name: self._emitted[name] for name in self._queries}
        acceptance = Acceptance({iri: self._streams[iri].sources for iri in files}, requirements)
        acceptance.take_reasons((each.stream, each.reason) for each in self.rejected[known:])
        acceptance.take_counts(came, rows)
        conclude(acceptance, self.notes)

    def _run_deployed(
        self,
        launch: Launch,
        partitions: int,
        progress: Callable[[str], None],
        requirements: Requirements,
    ) -> None:
        """Run with what is kept in a checkpoint, which is a temporary one if there is none."""
        streams = self._streams.values()
        sources = check_deployable(launch, streams, self.live, self._runner is not None)
        plans = self.plans()
        parts = EngineParts(
            plans,
            self.refreshing(),
            self.entailing.tables(),
            ReportSink(self._deliver),
            Allowed(
                self.static.dictionary.seed,
                functions=self.static.functions,
                limits=self.limits,
            ),
            self._clock,
            partitions,
            {each.iri: each.idle for each in streams if each.idle},
        )
        acceptance = Acceptance({each.iri: each.sources for each in streams}, requirements)
        keeping_up = plans if self.live else ()
        follower = RunFollower(self._queries, keeping_up, self.alerts, acceptance, progress)
        self._followed = follower
        run_deployed(launch, parts, self.checkpoint, sources, follower)
        self._end()
        conclude(acceptance, self.notes)

    def stop(self) -> None:
        """End a run that goes on, after the batch that it is working on."""
        if self._followed is not None:
            self._followed.stop()

    def step(self) -> None:
        """Evaluate what is due after all that has been pushed; sources are read by `run` only."""
        check_read(self._unread, self.counters, "step")
        self._refresh()
        for results in self.runner.slices():
            with self.runner.watch.stage("deliver"):
                self._publish(results)
            self._refresh()  # a callback may have added static data, whose terms must be kept
            self.runner.forget()

    def _refresh(self) -> None:
        """Take over static data and queries that have been added since the last step."""
        kernel, statements, tables = self.runner.kernel, self._statements(), self.entailing.tables()
        if kernel.around.static is not statements:
            kernel.around = replace(kernel.around, static=statements)
        if kernel.around.tables is not tables:
            kernel.around = replace(kernel.around, tables=tables)

    def finish(self) -> None:
        """End the input: evaluate every instant whose windows hold an element."""
        check_read(self._unread, self.counters, "finish")
        if self.live:
            self.step()  # what is empty is reported up to the watermark
        self._refresh()
        self._ended = True
        for results in self.runner.finish():
            self._publish(results)
            if self.runner.kernel.is_behind:
                self._refresh()
                self.runner.forget()
        self._end()

    def _end(self) -> None:
        self._ended = True
        for query in self._queries.values():
            query.end()

    def _publish(self, results: Results) -> None:
        note_problems(self._queries, results.failed, self.runner.kernel.value_failures())
        self._deliver(results.reports)

    def _deliver(self, reports: Sequence[Report]) -> None:
        for report in reports:
            self._emitted[report.query] += report.rows.height
            query = self._queries[report.query]
            self._undelivered.append((query, evaluations(report, query.parsed.query.form)))
        # One by one: many wake up the garbage collector. If a callback raises, the others wait.
        while self._undelivered:
            query, found = self._undelivered[0]
            evaluation = next(found, None)
            if evaluation is None:
                self._undelivered.popleft()
            else:
                query.report(evaluation)

    # -- what has become of it ---------------------------------------------------------------
    @property
    def queries(self) -> Mapping[str, Query]:
        """The registered queries by their names."""
        return self._queries

    @property
    def shared(self) -> list[tuple[str, ...]]:
        """The names of the queries that are evaluated as one, as of the last step."""
        standing = self._runner.kernel.queries if self._runner else []
        return [tuple(plan.name for plan in each.plans) for each in standing if each.plan.members]

    @property
    def counters(self) -> Mapping[str, Counters]:
        """The messages and elements of each stream, counted by what became of them."""
        came = {} if self._followed is None else self._followed.counters
        pushed = {} if self._runner is None else self._runner.counters()
        return {**dict.fromkeys(self._streams, Counters()), **pushed, **came}

    @property
    def notes(self) -> Sequence[Note]:
        """The notes on queries without rows, and on streams, so far."""
        if self._followed is not None:
            return self._followed.notes
        streams, queries = self.runner.facts()
        known = {
            iri: replace(streams.get(iri, StreamFacts(iri)), sources=stream.sources)
            for iri, stream in self._streams.items()
        }
        static = StaticLookup(self._statements(), self.static.dictionary)
        found = diagnose(Facts(known, queries, self.live, self._ended, static))
        return (*found, *value_notes(self.runner.kernel.value_failures()))

    def _notes_of(self, name: str) -> Sequence[Note]:
        return notes_by_query(self.notes, [self._plan(self._queries[name])]).get(name, ())

    @property
    def late(self) -> list[LateElement]:
        """The elements that missed a window."""
        return self._runner.late if self._runner else []

    @property
    def rejected(self) -> list[RejectedElement]:
        """What could not be taken, and why."""
        return self._runner.rejected if self._runner else []
