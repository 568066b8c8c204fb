"""What `headrace run` does: sources in, results out, here or on Spark."""

from __future__ import annotations

import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from headrace.acceptance import Acceptance, Requirements
from headrace.arrival_times import wall_clock
from headrace.background.config import ServiceConfig
from headrace.declared_sources import check_sources
from headrace.deploying import setup_of
from headrace.diagnosis import Code, Note, NoteReporter
from headrace.dialects import Parsed
from headrace.engine import Engine
from headrace.errors import (
    HeadraceError,
    InternalError,
    SettingError,
    counted,
    with_limit_option,
)
from headrace.kernel.alerts import Alerts
from headrace.kernel.data import Quads
from headrace.kernel.evaluation import Around
from headrace.kernel.fair_share import FairShare
from headrace.kernel.overload import Paces
from headrace.kernel.stream_counters import Counters
from headrace.launching import INTERVAL, Launch, Runner, RunnerKind, work
from headrace.metering import MEMORY, RunLimits
from headrace.pipeline.batches import Batches, Tell
from headrace.pipeline.deployment import Deployment, open_deployment
from headrace.pipeline.keeper import MOST_IN_MEMORY, Cache
from headrace.pipeline.kept import MOST_BYTES
from headrace.pipeline.layout import Layout
from headrace.pipeline.manifest import Manifest
from headrace.pipeline.metrics import Watch, figures_of, measuring
from headrace.pipeline.missing_sources import is_absence
from headrace.pipeline.outlets import LateFile, RejectedFile
from headrace.pipeline.parts import Allowed
from headrace.pipeline.predicate_sample import sample_predicates
from headrace.pipeline.results import Told
from headrace.pipeline.setup import Setup
from headrace.pipeline.static import StaticData, StaticFile, StaticFiles
from headrace.pipeline.streams import Declared, declared
from headrace.pipeline.tables import unusable
from headrace.planning.plan import Plan
from headrace.rdf.formats import format_of_path
from headrace.sinks.opening import open_sinks
from headrace.timed_waits import wait_for_event


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be run.

    Attributes:
        queries: the queries, parsed.
        streams: the sources of each stream.
        static: files of the default graph and of named graphs.
        settings: what `--set` takes.
        services: which endpoints SERVICE may ask.
        limits: what an evaluation may use, and the process.
        outs: where results go.
        late: where late elements go.
        rejected: where rejected elements go.
        checkpoint: where the run is kept; one that was interrupted goes on.
        once: whether it ends with its input.
        runner: where it takes place.
        master: the Spark to run on; one in this process if not given.
        partitions: in how many parts queries are evaluated that can be.
        pieces: how many pieces of files a batch takes; no limit if zero.
        interval: seconds from batch to batch, in a run that does not end.
        metrics: where metrics can be seen: files, or ports of this machine.
        schemas: files of the schema that queries read their data under, and of those that FROM
            SCHEMA names.
        static_cache: where static data are kept, and what follows from them; with the run if not
            given.
        static_bytes: how much of it.
        static_in_memory: static tables of more rows than these are looked up on disk.
        requirements: what the run has to achieve, so that it has not failed.
    """

    queries: Sequence[Parsed]
    streams: Mapping[str, Sequence[str]]
    static: Sequence[tuple[str | None, Path]] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    services: ServiceConfig | None = None
    limits: RunLimits = field(default_factory=RunLimits)
    outs: Sequence[str] = ("-",)
    late: Path | None = None
    rejected: Path | None = None
    checkpoint: Path | None = None
    once: bool = True
    runner: RunnerKind = RunnerKind.SPARK
    master: str | None = None
    partitions: int = 1
    pieces: int = 8
    interval: float = INTERVAL
    metrics: Sequence[str] = ()
    schemas: Sequence[tuple[str | None, Path]] = ()
    static_cache: Path | None = None
    static_bytes: int = MOST_BYTES
    static_in_memory: int = MOST_IN_MEMORY
    requirements: Requirements = field(default_factory=Requirements)

    def cache(self, own: Path) -> Cache:
        """Where static data are kept, if not in a folder of the run's own."""
        return Cache(
            self.static_cache or own, self.static_bytes, most_in_memory=self.static_in_memory
        )

    def sources(self) -> dict[str, list[Declared]]:
        """What each stream is read from."""
        return {iri: list(map(declared, given)) for iri, given in self.streams.items()}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run, and of those that it went on with.

    Attributes:
        evaluations: how many there were.
        failed: how many of them failed.
        counters: of each stream.
        stopped: the queries that stopped, and why.
        reasons: why the first elements could not be taken, in this run.
        ended: whether it ended by itself: not if it was stopped.
        skipped: how many due instants were skipped.
        errors: why it has failed, apart from queries that stopped and from notes.
        is_all_rejected: whether input was read, and none of it was accepted.
        notes: why queries have given no rows, and what else should be known.
    """

    evaluations: int
    failed: int
    counters: Mapping[str, Counters]
    stopped: Mapping[str, str]
    reasons: Sequence[str] = ()
    ended: bool = True
    skipped: int = 0
    errors: Sequence[str] = ()
    is_all_rejected: bool = False
    notes: Sequence[Note] = ()

    @property
    def has_failed(self) -> bool:
        """True if a query has stopped, or the run has not met its requirements."""
        return bool(self.stopped or self.errors) or self.is_all_rejected


@dataclass(frozen=True, slots=True)
class Voice:
    """How a run speaks to its user.

    Attributes:
        note: tells what is not wrong, but should be known.
        show: shows results on the terminal.
        tell: hears of each batch, and what it has to tell.
        watch: hears of each batch how the run stands.
        phase: tells what is being waited for.
        report: shows a note about what the run has found, while it goes on.
    """

    note: Callable[[str], None]
    show: Callable[[str], object]
    tell: Tell = lambda _manifest, _told: None
    watch: Watch = lambda _figures: None
    phase: Callable[[str], None] = lambda _text: None
    report: Callable[[Note], object] = lambda _note: None


_LOOK: Final = 0.5
"""Seconds from one look at the notes of a live run to the next."""
_GRACE: Final = 5.0
"""A note of a live run is shown once it has been true for so many seconds."""


def run_job(job: Job, voice: Voice) -> Outcome:
    """Run a job until its input ends, or until it is stopped.

    Raises:
        HeadraceError: a query, an option or a file is wrong, or the run failed.
    """
    _check_outputs(job)
    with _explained(job), MEMORY.limited(job.limits.memory), ExitStack() as stack:
        directory = job.checkpoint or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="headrace-"))
        )
        sources = job.sources()
        _check_sources(job, sources)
        seed = None if job.static_cache is None else job.cache(job.static_cache).seed()
        deployment = stack.enter_context(open_deployment(directory, seed))
        engine = prepared(job, deployment.seed)
        stack.callback(engine.static.close)
        static = StaticFiles(
            [StaticFile(path, graph) for graph, path in job.static],
            job.cache(deployment.layout.static),
            deployment.seed,
        )
        watchers = stack.enter_context(measuring(job.metrics, voice.note))
        plans = () if job.once else engine.plans()  # only a live run has to keep up
        hearing = _Hearing(deployment.layout, voice, watchers, plans)
        around = _Around(engine, static, voice.note)
        setup = _setup(job, engine, deployment, around, voice, stack)
        batches = Batches(deployment, setup, hearing)
        hearing.acceptance = acceptance = Acceptance(job.streams, job.requirements, batches.last())
        for note in (*engine.static.schemas.notes, *batches.notes):
            voice.note(note)

        def ready(runner: Runner) -> None:
            if not job.once:
                hearing.stop = runner.stop
            static.encode, static.tasks = runner.encode, runner.tasks
            for note in notes(job):
                voice.note(note)

        if not job.once:  # at the end of any run, the notes are part of the conclusion
            hearing.notes = batches.diagnose(batches.last(), ended=False)
            stack.enter_context(_reporting_notes(hearing, voice, sources))
        launch = Launch(job.runner, job.master, job.pieces, None if job.once else job.interval)
        last, stopped = work(launch, batches, sources, ready, voice.note, voice.phase)
        acceptance.take_manifest(last)
        for note in acceptance.notes():
            voice.note(note)
        ended = last.final or not stopped
        found = batches.diagnose(last, ended=ended and job.once)
    return _outcome(last, engine, acceptance, found, ended=ended)


class _Hearing:
    """Hears of each batch, and passes on what others want to know of it."""

    def __init__(
        self,
        layout: Layout,
        voice: Voice,
        watchers: Sequence[Watch],
        plans: Sequence[Plan],
    ) -> None:
        self.acceptance: Acceptance | None = None  # what is told before is of an earlier run
        self.stop: Callable[[], None] | None = None
        self._paces = Paces()
        self._alerts = Alerts(voice.note)
        self.notes: Sequence[Note] = ()
        self._plans = plans
        self._layout = layout
        self._voice = voice
        self._watchers = [*watchers, voice.watch]

    def __call__(self, manifest: Manifest, told: Told) -> None:
        if self.acceptance is not None:
            self._judge(self.acceptance, manifest, told)
        paces = {name: state.pace for name, state in manifest.queries.items()}
        for warning in self._paces.changes(self._plans, paces):
            self._voice.note(warning)
        self._alerts.hear(told.contracts)
        self.notes = told.notes
        self._voice.tell(manifest, told)
        now = told if self.acceptance else replace(told, spent={}, rerouted={})
        figures = figures_of(self._layout, manifest, now)
        for watch in self._watchers:
            watch(figures)

    def _judge(self, acceptance: Acceptance, manifest: Manifest, told: Told) -> None:
        """End a live run of which too much is rejected."""
        acceptance.take_reasons(told.rejected.select("stream", "reason").iter_rows())
        acceptance.take_manifest(manifest)
        if self.stop is not None and any(acceptance.check_limits(ended=False)):
            # Not here: the runner waits for the batch that has just called.
            threading.Thread(target=self.stop, name="end the run", daemon=True).start()


@contextmanager
def _reporting_notes(
    hearing: _Hearing, voice: Voice, sources: Mapping[str, Sequence[Declared]]
) -> Iterator[None]:
    """Report the notes of a live run once they have been true for a while, also if it is idle."""
    ended = threading.Event()
    reporter = NoteReporter(voice.report, time.monotonic, _GRACE)

    def report() -> None:
        while not wait_for_event(ended, _LOOK):
            reporter.update(note for note in hearing.notes if not is_absence(note, sources))

    thread = threading.Thread(target=report, name="report notes", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def _explained(job: Job) -> Iterator[None]:
    """Say of whatever else goes wrong who must act, instead of where in the code it happened."""
    try:
        yield
    except HeadraceError:
        raise
    except OSError as error:
        raise unusable(job.checkpoint or Path(tempfile.gettempdir()), error) from error
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}, line {place.lineno}"
        raise InternalError(
            f"a mistake of Headrace, please report it: {type(error).__name__}: {error} ({where}); "
            "what was committed is kept, and the same command goes on from there"
        ) from error


def prepared(job: Job, seed: int = 0) -> Engine:
    """Build the engine of a job, and refuse whatever is wrong with it.

    Raises:
        HeadraceError: a query, an option or a file is wrong.
    """
    engine = Engine(
        settings=job.settings,
        services=job.services,
        max_rows=job.limits.rows,
        max_bytes=job.limits.bytes,
        timeout=job.limits.seconds,
        live=not job.once,
        seed=seed,
    )
    if job.static:
        engine.static.expect(sample_predicates(job.static))
    queries = (parsed.query for parsed in job.queries)
    engine.static.schemas.declare(job.schemas, job.static, queries)
    for iri in job.streams:
        engine.stream(iri)
    for number, parsed in enumerate(job.queries, 1):
        engine.register_parsed(parsed, _name_of(parsed, number, job.queries))
    engine.plans()
    return engine


class _Around:
    """What queries share, with the static data as they are when a batch begins."""

    def __init__(self, engine: Engine, static: StaticFiles, note: Callable[[str], None]) -> None:
        self._around = engine.around()
        self._entailing = engine.entailing
        self._static = static
        self._note = note
        self._version = ""
        self._problem: str | None = None
        self._unkept: str | None = None

    def __call__(self) -> tuple[str, Around]:
        found = self._static.current()
        if self._static.problem != self._problem:
            self._problem = self._static.problem
            self._note(self._problem or "static data can be read again")
        unkept = self._static.cache.tables.problem
        if unkept is not None and unkept != self._unkept:
            self._note(unkept)
        self._unkept = unkept
        if found.version != self._version:
            if self._version:
                self._note(f"static data have changed: {found.quads.height:,} statements now")
            lasting = self._around.dictionary.adopt(found.terms)
            static = self._under_schema(found) or found.statements(lasting=lasting)
            self._around = replace(self._around, static=static)
            self._version = found.version
        tables = self._around.tables
        under = "" if tables is None else f"-{tables.digest}"
        return f"{self._version}{under}", self._around

    def _under_schema(self, found: StaticData) -> Quads | None:
        """Static data with what follows from them under a schema, if there is one."""
        tables = self._around.tables
        entailed = self._entailing.with_entailed(found.quads)
        if entailed is found.quads:
            return None
        if tables is None or found.keeper is None:
            return Quads(entailed)
        keeper = found.keeper.under(tables.digest)
        if self._version:
            keeper.follow(self._around.static)
        return Quads(entailed, keeper=keeper)


def notes(job: Job) -> Iterator[str]:
    """Find texts in queries that are valid and almost never meant."""
    for parsed in job.queries:
        said = [note for note in parsed.notes if not note.is_reading]
        yield from (f"{note.text}\n{note.at}".rstrip() for note in said)


def _setup(
    job: Job,
    engine: Engine,
    deployment: Deployment,
    around: _Around,
    voice: Voice,
    stack: ExitStack,
) -> Setup:
    plans = engine.plans()
    forms = {plan.name: plan.query.form for plan in plans}
    sinks = open_sinks(job.outs or ["-"], forms, show=voice.show, deployment=deployment.id)
    for sink in sinks.values():
        stack.callback(sink.close)
    outlets: list[LateFile | RejectedFile] = [LateFile(job.late)] if job.late else []
    outlets += [RejectedFile(job.rejected)] if job.rejected else []
    for outlet in outlets:
        stack.callback(outlet.close)
    return setup_of(
        deployment,
        plans,
        job.sources(),
        around,
        sinks=sinks,
        outlets=outlets,
        clock=None if job.once else wall_clock,
        live=not job.once,
        share=None if job.once else FairShare(job.limits.batch_seconds, time.monotonic),
        partitions=job.partitions,
        tables=engine.entailing.tables(),
        allowed=Allowed(deployment.seed, functions=engine.static.functions, limits=engine.limits),
    )


def _check_outputs(job: Job) -> None:
    files = [*job.outs, *map(str, filter(None, (job.late, job.rejected)))]
    named = [each for each in files if each != "-"]
    if len(set(named)) < len(named):
        raise SettingError("--out, --late and --rejected need a file each")
    for place in job.metrics:
        if not place.isdecimal() and not Path(place).absolute().parent.is_dir():
            raise SettingError(f"there is no folder '{Path(place).parent}' for --metrics {place}")


def _check_sources(job: Job, sources: Mapping[str, Sequence[Declared]]) -> None:
    for _, path in job.static:
        format_of_path(path)
        if not path.is_file():
            raise SettingError(f"cannot read {path}: there is no such file")
    check_sources(sources, once=job.once, inline=job.runner is RunnerKind.INLINE)


def _outcome(
    last: Manifest,
    engine: Engine,
    acceptance: Acceptance,
    notes: Sequence[Note],
    *,
    ended: bool,
) -> Outcome:
    states = {name: last.queries[name] for name in engine.queries if name in last.queries}
    return Outcome(
        sum(each.evaluations for each in states.values()),
        sum(each.failed for each in states.values()),
        {iri: each.counters for iri, each in last.streams.items()},
        {name: each.failure for name, each in states.items() if each.failure},
        acceptance.reasons,
        ended,
        sum(each.skipped for each in states.values()),
        list(acceptance.errors(notes)),
        acceptance.is_all_rejected,
        notes,
    )


def _name_of(parsed: Parsed, number: int, every: Sequence[Parsed]) -> str:
    """The name a query gives itself, else that of its file."""
    if parsed.query.registration is not None:
        return parsed.query.registration.name
    source = parsed.source.name or ""
    stem = Path(source).stem if source not in {"query", "standard input", ""} else ""
    named = [Path(each.source.name or "").stem for each in every]
    return stem if stem and named.count(stem) == 1 else f"q{number}"


_LATE: Final = frozenset({Code.ALL_LATE, Code.MOSTLY_LATE, Code.TIME_FAR_AHEAD})
"""Notes that say why elements are late, and which delay waits for them."""


def conclusion(outcome: Outcome, job: Job, *, quiet: bool = False) -> Iterator[str]:
    """Write the summary of a run; of the notes only errors if it is quiet."""
    if not outcome.ended:
        yield "stopped; the same command goes on" if job.checkpoint else "stopped"
    failed = f", {outcome.failed:,} of them failed" if outcome.failed else ""
    skipped = f", {counted(outcome.skipped, 'instant')} skipped" if outcome.skipped else ""
    yield f"{counted(outcome.evaluations, 'evaluation')}{failed}{skipped}"
    late = rejected = 0
    for iri in job.streams:
        counters = outcome.counters.get(iri, Counters())
        late, rejected = late + counters.late, rejected + counters.rejected
        yield f"<{iri}>: {counters.text()}"
    if late and not any(note.code in _LATE for note in outcome.notes):
        listed = "" if job.late else ", --late FILE lists them"
        yield f"late elements: a longer delay waits for them, as in --set delay=5s{listed}"
    # What stands in an error is not said twice.
    reasons = [each for each in outcome.reasons if not any(each in e for e in outcome.errors)]
    yield from (f"rejected: {reason}" for reason in reasons)
    more = rejected - len(outcome.reasons)
    if more and outcome.reasons:
        label, where = "and" if reasons else "rejected:", "; --rejected FILE has them all"
        yield f"{label} {more:,} more{'' if job.rejected else where}"
    for name, reason in outcome.stopped.items():
        yield f"query '{name}' stopped: {with_limit_option(reason)}"
    for note in outcome.notes:
        if note.is_error or not quiet:
            yield f"{'error' if note.is_error else 'note'}: {note.text}"
