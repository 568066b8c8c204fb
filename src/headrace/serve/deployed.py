"""The deployment at work in a thread of its own: what changes it, it does between two batches."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from headrace.deploying import setup_of
from headrace.dialects import Parsed, parse
from headrace.engine import Engine
from headrace.errors import HeadraceError, MachineError
from headrace.kernel.fair_share import FairShare
from headrace.launching import Launch, Runner, RunnerKind, work
from headrace.pipeline.batches import Batches
from headrace.pipeline.deployment import Deployment, open_deployment
from headrace.pipeline.following import LogFollower
from headrace.pipeline.local import LocalRunner
from headrace.pipeline.manifest import Manifest
from headrace.pipeline.metrics import Figures, figures_of
from headrace.pipeline.parts import Allowed
from headrace.pipeline.pieces import SourceLog
from headrace.pipeline.results import Told
from headrace.pipeline.streams import LOG, Declared, Sources
from headrace.planning.plan import Plan
from headrace.serve.alerted import Alerted
from headrace.serve.arriving import rule_of
from headrace.serve.catalogue import QueryEntry
from headrace.serve.place import Place
from headrace.serve.retained import SINK, Retained, Spoken
from headrace.serve.settings import Settings
from headrace.serve.stall_reporter import LOGGER, StalledError, StallReporter
from headrace.timed_waits import wait_for_event

if TYPE_CHECKING:
    from headrace.spark.session import SparkSession

_PIECES: Final = 16
_MOST_FILES: Final = 1_000
"""Of so many files, it is looked up whether they are still there."""
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 10.0
_PROBATION: Final = 10.0
"""Spark does not say that it has nothing to do: without a failure for so long, it goes on."""
T = TypeVar("T")
Needed: TypeAlias = Callable[[Path], bool]
"""Whether a file of the log of a stream may still be read."""


class Deployed:
    """Runs the queries of a catalogue over the logs of its streams."""

    def __init__(
        self,
        settings: Settings,
        place: Place,
        prune: Callable[[Needed], None],
    ) -> None:
        """Make ready.

        Args:
            settings: what the server was told.
            place: where things are kept.
            prune: told after each batch how to ask which files of logs may still be read.

        Raises:
            HeadraceError: the deployment cannot be opened, or is in use.
        """
        self.settings = settings
        self.place = place
        self.figures = Figures()
        self.stall = StallReporter()
        self.began = time.monotonic()
        self.changes: deque[tuple[int, str, int]] = deque(maxlen=1_000)
        self.alerted = Alerted()
        # It outlives the deployment, which is opened again at every change of the queries.
        self._share = FairShare(settings.limits.batch_seconds, time.monotonic)
        self._prune = prune
        # The lock of the deployment keeps other servers out of everything else too.
        self._deployment: Deployment = open_deployment(place.deployment)
        try:
            self.catalogue = place.open_catalogue()
        except BaseException:
            self._deployment.close()
            raise
        self._commands: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        self._guard = threading.Lock()
        self._wake = threading.Event()
        self._closing = False
        self._is_at_work = False
        self._work_began = 0.0
        self._has_failed_at_work = False
        self._is_whole = False
        self._runner: Runner | None = None
        self._log: SourceLog | None = None
        self._follower = LogFollower(self._deployment.layout.source_log)
        self._followed = 0
        self._read: dict[str, int] = {}
        self._session: SparkSession | None = None
        self.retained: Retained | None = None
        self.spoken: dict[str, Spoken] = {}
        self.parsed: dict[str, Parsed] = {}
        self.broken: dict[str, str] = {}
        self.readers: Mapping[str, list[str]] = {}
        self.digests: Mapping[str, str] = {}
        self.ready = threading.Event()
        self.engine = self._engine()
        self._thread = threading.Thread(target=self._run, name="deployment", daemon=True)

    @property
    def seed(self) -> int:
        """Of the ids of terms."""
        return self._deployment.seed

    @property
    def problem(self) -> str | None:
        """Why the deployment is not at work, with the remedy; none if it is."""
        on_spark = self.settings.runner is not RunnerKind.INLINE
        if on_spark and self._is_at_work and time.monotonic() - self._work_began > _PROBATION:
            self._note_success()
        return self.stall.problem

    def _engine(self) -> Engine:
        engine = Engine(
            settings=self.settings.settings,
            services=self.settings.services,
            max_rows=self.settings.limits.rows,
            max_bytes=self.settings.limits.bytes,
            timeout=self.settings.limits.seconds,
            live=True,
            clock=self.settings.clock,
            seed=self._deployment.seed,
        )
        engine.static.schemas.declare(self.settings.schemas, self.settings.static, ())
        return engine

    def start(self, retained: Retained) -> None:
        """Register what the catalogue has, and begin; what cannot be run any more is said."""
        self.retained = retained
        for stream in self.catalogue.streams.values():
            self.engine.stream(stream.iri, delay=stream.delay)
        for query in self.catalogue.queries.values():
            try:
                if query.paused:
                    self.parsed[query.name] = self.parse(query.text, query.dialect, query.settings)
                else:
                    self.register(query)
            except HeadraceError as error:
                self.broken[query.name] = str(error)
        self._thread.start()

    # -- what changes it -----------------------------------------------------------------------

    def submit(self, command: Callable[[], T]) -> Future[T]:
        """Have something done between two batches."""
        done: Future[T] = Future()
        with self._guard:
            if self._closing:
                done.set_exception(MachineError("the server is stopping"))
                return done
            self._commands.append((command, done))
            runner = self._runner
        self._wake.set()
        if runner is not None:
            runner.stop()
        return done

    def register(self, entry: QueryEntry, parsed: Parsed | None = None) -> None:
        """Let a query run from the next batch on; in the thread, or before it starts.

        Args:
            entry: the query.
            parsed: its text, if it has been parsed.

        Raises:
            HeadraceError: it cannot be run, and nothing has changed.
        """
        if parsed is None:
            parsed = self.parse(entry.text, entry.dialect, entry.settings)
        query = self.engine.register_parsed(
            parsed, entry.name, entry.settings, entry.registration_id
        )
        try:
            self.engine.plans()
        except HeadraceError:
            query.remove()
            raise
        self.broken.pop(entry.name, None)
        self.parsed[entry.name] = parsed
        self.spoken[entry.name] = Spoken(parsed.query.form, str(parsed.query.semantics.emit))
        self._note_plans(self.engine.plans())

    def check_removable(self, name: str) -> None:
        """Check that a query can be unregistered, and change nothing.

        Raises:
            SettingError: another one reads what it makes.
        """
        if name not in self.broken:
            self.engine.check_removable(name)

    def unregister(self, name: str) -> None:
        """Let a query go.

        Raises:
            SettingError: another one reads what it makes.
        """
        if self.broken.pop(name, None) is None:
            self.engine.remove(name)
        self.spoken.pop(name, None)
        self.alerted.forget(name)
        self._note_plans(self.engine.plans())

    def _note_plans(self, plans: Sequence[Plan]) -> None:
        """Store who reads which stream, and the digests of plans, for other threads."""
        readers: dict[str, list[str]] = {}
        for plan in plans:
            for stream in plan.streams:
                readers.setdefault(stream.value, []).append(plan.name)
        self.readers = readers
        self.digests = {plan.name: plan.digest for plan in plans}

    def parse(self, text: str, dialect: str | None, settings: Mapping[str, str]) -> Parsed:
        """A query with the settings of the server and its own."""
        return parse(text, dialect, settings={**self.settings.settings, **settings})

    def _needed(self, manifest: Manifest) -> Needed:
        """What of the logs has not been read for good, or may be read again."""
        for piece in self._follower.pieces(self._followed, manifest.pieces):
            self._read[piece.path] = piece.stop
        self._followed = manifest.pieces
        if len(self._read) > _MOST_FILES:
            self._read = {path: end for path, end in self._read.items() if Path(path).exists()}
        held = {pane.piece.path for pane in manifest.panes if pane.piece is not None}

        def is_needed(path: Path) -> bool:
            name = str(path)
            return self._read.get(name, 0) < path.stat().st_size or name in held

        return is_needed

    # -- at work -------------------------------------------------------------------------------

    def _run(self) -> None:
        wait = _FIRST_WAIT
        while not self._closing:
            with self._guard:
                asked = len(self._commands)
                self._wake.clear()
            try:
                self._work()
            except Exception as error:  # noqa: BLE001 - it is reported, and the work tried again
                self._has_failed_at_work |= self._is_at_work
                self._is_whole = False
                self._runner = None
                self.stall.fail(error)
                # What was asked for since may be what helps, such as to remove a query.
                if not self._fail_commands(asked):
                    wait_for_event(self._wake, wait)
                wait = min(2 * wait, _LONGEST_WAIT)
            else:
                wait = _FIRST_WAIT
                self._obey()
            finally:
                self._is_at_work = False

    def _work(self) -> None:
        """Run until something is to be changed."""
        sources = {
            each.iri: [Declared(LOG, str(self.place.log_of(each)), rule_of(each.time))]
            for each in self.catalogue.streams.values()
        }
        batches = self._opened(sources)
        last = batches.last()
        self._hear(last, Told(notes=batches.diagnose(last, ended=False)))
        if not self._has_failed_at_work:
            self.stall.clear()
        self.ready.set()
        self._is_at_work, self._work_began = True, time.monotonic()
        if self.settings.runner is RunnerKind.INLINE:
            if self._log is None:
                self._log = SourceLog(batches.layout.source_log, batches.last().pieces)
            places = Sources({iri: [each.place for each in of] for iri, of in sources.items()})
            runner = LocalRunner(
                batches, places, _PIECES, self.settings.interval, self._log, self._note_success
            )
            self._begin(runner)
            runner.run()
            batches.settle()
        else:
            if self._session is None:  # it stays, whatever is registered
                from headrace.spark.session import start  # noqa: PLC0415 - it takes time to load

                log = batches.layout.directory / "spark.log"
                self._session = start(master=self.settings.master, log=log)
            launch = Launch(
                self.settings.runner, self.settings.master, _PIECES, self.settings.interval
            )
            work(launch, batches, sources, self._begin, LOGGER.info, LOGGER.info)
        self._runner = None

    def _opened(self, sources: Mapping[str, list[Declared]]) -> Batches:
        assert self.retained is not None, "it has been started"
        engine, deployment = self.engine, self._deployment
        plans = engine.plans()
        self._note_plans(plans)
        setup = setup_of(
            deployment,
            plans,
            sources,
            engine.refreshing(),
            sinks={SINK: self.retained},
            clock=self.settings.clock,
            live=True,
            share=self._share,
            tables=engine.entailing.tables(),
            allowed=Allowed(
                deployment.seed,
                functions=engine.static.functions,
                limits=engine.limits,
            ),
        )
        # A query that was removed has no results; nothing else would make room for it again.
        batches = Batches(deployment, setup, self._hear, forgets=True)
        if not self._is_whole:
            batches.prepare()
            self._is_whole = True
        return batches

    def _note_success(self) -> None:
        """Take it that the deployment goes on: a batch is published, or there is none to do."""
        self._has_failed_at_work = False
        self.stall.clear()

    def _begin(self, runner: Runner) -> None:
        with self._guard:
            self._runner = runner
            waits = bool(self._commands) or self._closing
            self._wake.clear()
        if waits:
            runner.stop()

    def _obey(self) -> None:
        """Do what was asked for since."""
        while True:
            with self._guard:
                if not self._commands:
                    return
                command, done = self._commands.popleft()
            if not done.set_running_or_notify_cancel():
                continue
            try:
                done.set_result(command())
            except Exception as error:  # noqa: BLE001 - who asked is told
                done.set_exception(error)

    def _fail_commands(self, number: int | None = None) -> bool:
        """Refuse the first commands, or all of them; whether others wait."""
        with self._guard:
            number = len(self._commands) if number is None else number
            refused = [self._commands.popleft() for _ in range(min(number, len(self._commands)))]
            others_wait = bool(self._commands)
        for _, done in refused:
            done.set_exception(StalledError(f"the deployment cannot go on: {self.stall.problem}"))
        return others_wait

    def _hear(self, manifest: Manifest, told: Told) -> None:
        layout = self._deployment.layout
        before = self.figures.rerouted
        self._log_stopped(manifest)
        self.figures = figures_of(layout, manifest, told)
        self.alerted.hear(told.contracts)
        for name, number in self.figures.rerouted.items():
            if number > before.get(name, 0):
                self.changes.append((self.settings.clock() // 1000, name, number))
        if self._is_at_work:
            self._note_success()
        self._prune(self._needed(manifest))

    def _log_stopped(self, manifest: Manifest) -> None:
        """Log the queries that have stopped since the batch before."""
        before = self.figures.manifest.queries
        for name, state in manifest.queries.items():
            known = before.get(name)
            if state.failure is not None and (known is None or known.failure != state.failure):
                LOGGER.warning("query '%s' has stopped: %s", name, state.failure)

    def close(self) -> None:
        """End after the batch that is being worked on."""
        with self._guard:
            self._closing = True
            runner = self._runner
        self._wake.set()
        if runner is not None:
            runner.stop()
        if self._thread.ident is not None:  # it was begun
            self._thread.join()
        self._deployment.close()  # a session of Spark ends with this process
        self._fail_commands()
