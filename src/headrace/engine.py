"""The engine as its users meet it: streams, static data, queries, and a run."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from headrace.background.config import ServiceConfig
from headrace.deploying import Refreshing, setup_of
from headrace.dialects import Parsed, parse
from headrace.dialects.settings import duration
from headrace.errors import SettingError, nearest
from headrace.fitting import Fitting
from headrace.functions.table import Functions
from headrace.inline import LOG, Counters, InlineRunner, LateElement, RejectedElement, StreamFeed
from headrace.kernel.alerts import Alerts
from headrace.kernel.budget import Budget
from headrace.kernel.data import Quads
from headrace.kernel.evaluation import Around
from headrace.kernel.evaluations import evaluations
from headrace.kernel.overload import Paces, check_live
from headrace.kernel.reports import Report
from headrace.kernel.step import Kernel, Results
from headrace.launching import INTERVAL, Launch, Runner, RunnerKind, runner_kind, work
from headrace.pipeline.batches import Batches
from headrace.pipeline.deployment import open_deployment
from headrace.pipeline.manifest import Manifest, StreamState
from headrace.pipeline.parts import Allowed
from headrace.pipeline.results import Told
from headrace.pipeline.streams import declared
from headrace.planning.plan import Plan, make_plan
from headrace.planning.templates import Templates
from headrace.rdf.terms import Iri
from headrace.registered import Query
from headrace.results.evaluations import Evaluation
from headrace.schemas import Entailing, GivenSchema
from headrace.sinks.memory import ReportSink
from headrace.sources import files_named, interleaved
from headrace.store import Store
from headrace.stream import Stream, name_of, present


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
        clock: Callable[[], int] | None = present,
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
        self._max_rows = max_rows
        self._timeout = timeout
        self._streams: dict[str, Stream] = {}
        self._queries: dict[str, Query] = {}
        self._fitting = Fitting()
        self._templates = Templates()
        self._runner: InlineRunner | None = None
        self._ended = False
        self._undelivered: deque[tuple[Query, Iterator[Evaluation]]] = deque()
        self._at_work: Runner | None = None
        self.alerts = Alerts(LOG.warning)
        self._came: Mapping[str, StreamState] = {}

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
                read it, and closes the window of its last element if all that they read is silent;
                only in a live run, because answers then depend on the clock.
            source: the file, folder or pattern that `run` reads it from, or several.

        Raises:
            SettingError: it is no IRI, or is declared otherwise already, or cannot be idle here.
        """
        iri = name_of(iri)
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
                (source,) if isinstance(source, str) else tuple(source),
            )
        elif delay is not None or idle is not None or source:
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
        self, parsed: Parsed, name: str | None = None, settings: Mapping[str, str] | None = None
    ) -> Query:
        """Register a query that has been parsed, with the settings that are its own."""
        registration = parsed.query.registration
        if name is None:
            name = registration.name if registration else f"q{len(self._queries) + 1}"
        if name in self._queries:
            raise SettingError(f"there is a query '{name}' already; choose another name")
        self.static.check_functions(parsed)
        self.static.check_services(parsed)
        query = Query(name, parsed, settings or {}, self.remove)
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
            self._runner.kernel.register(plan)
        self._queries[name] = query
        self._fitting.add(plan)
        self.static.schemas.is_fixed = True
        return query

    def remove(self, name: str) -> None:
        """Take a query out, after what has come so far: it reports no more.

        Raises:
            SettingError: there is none of that name, or another one reads what it makes.
        """
        if name not in self._queries:
            near = nearest(name, self._queries)
            hint = f"; did you mean '{near}'?" if near else ""
            raise SettingError(f"there is no query '{name}'{hint}")
        plan = self._plan(self._queries[name])
        self._fitting.remove(plan, map(self._plan, self._queries.values()))
        if self._runner is not None:
            self._take_in()
            self._runner.kernel.remove(name)
        self.entailing.remove(name)
        self._queries.pop(name).end()

    def _take_in(self) -> None:
        """Evaluate what has been pushed, if something has."""
        runner = self._runner
        if runner is not None and any(feed.waits() for feed in runner.feeds.values()):
            self.step()

    def _plan(self, query: Query) -> Plan:
        parsed, streams = query.parsed, tuple[Iri, ...]()
        read = {window.stream for window in parsed.query.windows}
        if not all(isinstance(each, Iri) for each in read):  # one is a window on every stream
            streams = tuple(Iri(iri) for iri in self._streams)
        delays = {}
        if "delay" not in self.settings and "delay" not in query.settings:
            # Else what a run is told goes before what a stream declares.
            names = {each.value for each in (*read, *streams) if isinstance(each, Iri)}
            known = ((iri, self._streams[iri].delay) for iri in names if iri in self._streams)
            delays = {iri: delay for iri, delay in known if delay is not None}
        schema = self.static.schemas.of(parsed.query, parsed.source)
        under = "" if schema is None else schema.digest
        make = partial(make_plan, rewriting=self._templates, schema=under)
        return query.planned(
            (streams, tuple(sorted(delays.items())), under),
            lambda: make(parsed.query, query.name, streams, delays, parsed.source),
        )

    # -- the run ---------------------------------------------------------------------------

    @property
    def runner(self) -> InlineRunner:
        """The runner, started when it is first needed."""
        if self._runner is None:
            kernel = Kernel(self.plans(), self.around(), self.live)
            self._runner = InlineRunner(kernel, self._clock, self.alerts)
        return self._runner

    def plans(self) -> list[Plan]:
        """The plans of its queries.

        Raises:
            SettingError: they do not fit together, or one reads a stream that is not declared.
        """
        plans = [self._plan(each) for each in self._queries.values()]
        for plan in plans:
            self._fitting.check_streams(plan, self._streams)
        return plans

    def feed(self, iri: str) -> StreamFeed:
        """The way into a stream."""
        if self._ended:
            raise SettingError("the input has ended with finish(); start again with a new Engine")
        runner = self.runner
        feed = runner.feed(Iri(iri))
        if iri in self._streams and self._streams[iri].idle is not None:
            feed.idle = self._streams[iri].idle
        return feed

    def now(self) -> int:
        """The present, in microseconds."""
        return present() if self._clock is None else self._clock()

    def around(self) -> Around:
        """What its queries share."""
        around = self.static.around(self._max_rows, self._timeout)
        return replace(around, static=self._statements(), tables=self.entailing.tables())

    def refreshing(self) -> Refreshing:
        """The same, with the static data as they are whenever it is asked for."""
        return Refreshing(self.around(), self._statements)

    def _statements(self) -> Quads:
        """The static data, with what follows from them."""
        return self.entailing.with_entailed_statements(self.static.statements)

    def start(self) -> None:
        """Make ready to run, and refuse a query that reads a stream which nobody has declared."""
        for iri in self._streams:
            self.feed(iri)

    def run(
        self,
        *,
        once: bool,
        runner: str | None = None,
        partitions: int = 1,
        master: str | None = None,
        progress: Callable[[str], None] | None = None,
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

        Raises:
            SettingError: it cannot be run so, or a source cannot be read.
        """
        if not any(stream.sources for stream in self._streams.values()):
            raise SettingError("no stream has a source to run from: stream(IRI, source='cars.tnq')")
        if runner is not None or self.checkpoint is not None:
            kind = runner_kind(runner or RunnerKind.INLINE)
            launch = Launch(kind, master, interval=None if once else INTERVAL)
            self._run_deployed(launch, partitions, progress or (lambda _text: None))
            return
        if not once:
            raise SettingError(
                "a run that goes on needs a runner: run(once=False, runner='inline'), or 'spark'"
            )
        sources = {
            iri: [path for source in stream.sources for path in files_named(source)]
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

    def _run_deployed(
        self, launch: Launch, partitions: int, progress: Callable[[str], None]
    ) -> None:
        """Run with what is kept in a checkpoint, which is a temporary one if there is none."""
        sources = {iri: list(map(declared, each.sources)) for iri, each in self._streams.items()}
        self._check_deployable(launch)
        plans, paces = self.plans(), Paces()

        def tell(manifest: Manifest, told: Told) -> None:
            self._came = manifest.streams
            self.alerts.hear(told.contracts)
            for name, state in manifest.queries.items():
                if name in self._queries:
                    self._queries[name].error = state.failure
            known = {name: state.pace for name, state in manifest.queries.items()}
            for warning in paces.changes(plans if self.live else (), known):
                LOG.warning(warning)
            progress(f"{sum(each.elements for each in manifest.streams.values()):,} elements")

        with ExitStack() as stack:
            folder = self.checkpoint or stack.enter_context(TemporaryDirectory(prefix="headrace-"))
            deployment = stack.enter_context(
                open_deployment(Path(folder), self.static.dictionary.seed)
            )
            around = self.refreshing()
            sink = ReportSink(self._deliver)
            setup = setup_of(
                deployment,
                plans,
                sources,
                around,
                sinks={"engine": sink},
                clock=self._clock,
                live=self.live,
                partitions=partitions,
                tables=self.entailing.tables(),
                idles={iri: each.idle for iri, each in self._streams.items() if each.idle},
                allowed=Allowed(
                    deployment.seed,
                    functions=self.static.functions,
                    rows=self._max_rows,
                    seconds=self._timeout,
                ),
            )
            batches = Batches(deployment, setup, tell)
            work(launch, batches, sources, self._begin, progress, progress)
        self._at_work = None
        self._ended = True
        for query in self._queries.values():
            query.end()

    def _begin(self, runner: Runner) -> None:
        self._at_work = runner

    def _check_deployable(self, launch: Launch) -> None:
        if self._runner is not None:
            raise SettingError("elements were pushed, and this run reads from sources: do either")
        if self.live is (launch.interval is None):
            raise SettingError(
                "Engine(live=True) is for a run that goes on, run(once=False), and for no other"
            )

    def stop(self) -> None:
        """End a run that goes on, after the batch that it is working on."""
        if self._at_work is not None:
            self._at_work.stop()

    def step(self) -> None:
        """Evaluate what is due after all that has been pushed."""
        self._refresh()
        results = self.runner.step()
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
        if self.live:
            self.step()  # what is empty is reported up to the watermark
        self._refresh()
        self._ended = True
        self._publish(self.runner.finish())
        for query in self._queries.values():
            query.end()

    def _publish(self, results: Results) -> None:
        for name, reason in results.failed.items():
            self._queries[name].error = reason
        self._deliver(results.reports)

    def _deliver(self, reports: Sequence[Report]) -> None:
        for report in reports:
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
        """How many elements of each stream have come, were late, or were rejected."""
        came = {iri: Counters(*each.counts) for iri, each in self._came.items()}
        pushed = {} if self._runner is None else self._runner.counters()
        return {**dict.fromkeys(self._streams, Counters()), **pushed, **came}

    @property
    def late(self) -> list[LateElement]:
        """The elements that missed a window."""
        return self._runner.late if self._runner else []

    @property
    def rejected(self) -> list[RejectedElement]:
        """What could not be taken, and why."""
        return self._runner.rejected if self._runner else []
