"""What `headrace run` does: sources in, results out, here or on Spark."""

from __future__ import annotations

import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final, Protocol

from headrace.background.config import ServiceConfig
from headrace.deploying import received, setup_of, version_of
from headrace.dialects import Parsed
from headrace.engine import Engine
from headrace.errors import SettingError
from headrace.inline import Counters
from headrace.pipeline.batches import Batches, Tell
from headrace.pipeline.deployment import Deployment, open_deployment
from headrace.pipeline.local import LocalRunner
from headrace.pipeline.manifest import Manifest
from headrace.pipeline.outlets import LateFile, RejectedFile
from headrace.pipeline.parts import Allowed
from headrace.pipeline.results import Told
from headrace.pipeline.setup import Setup
from headrace.pipeline.streams import KAFKA, LOG, RATE, Declared, Sources, declared, files_of
from headrace.sinks.opening import open_sinks

if TYPE_CHECKING:
    from headrace.spark.session import SparkSession

INTERVAL: Final = 0.2
"""Seconds from batch to batch in a run that does not end."""


class RunnerKind(StrEnum):
    """Where a run takes place."""

    SPARK = "spark"
    INLINE = "inline"


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be run.

    Attributes:
        queries: the queries, parsed.
        streams: the sources of each stream.
        static: files of the default graph and of named graphs.
        settings: what `--set` takes.
        services: which endpoints SERVICE may ask.
        timeout: how many seconds an evaluation may take.
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
    """

    queries: Sequence[Parsed]
    streams: Mapping[str, Sequence[str]]
    static: Sequence[tuple[str | None, Path]] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    services: ServiceConfig | None = None
    timeout: float | None = None
    outs: Sequence[str] = ("-",)
    late: Path | None = None
    rejected: Path | None = None
    checkpoint: Path | None = None
    once: bool = True
    runner: RunnerKind = RunnerKind.SPARK
    master: str | None = None
    partitions: int = 1
    pieces: int = 16
    interval: float = INTERVAL


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run, and of those that it went on with.

    Attributes:
        evaluations: how many there were.
        failed: how many of them failed.
        counters: of each stream.
        stopped: the queries that stopped, and why.
        reasons: why the first elements could not be taken, in this run.
        ended: whether the input has ended.
    """

    evaluations: int
    failed: int
    counters: Mapping[str, Counters]
    stopped: Mapping[str, str]
    reasons: Sequence[str] = ()
    ended: bool = True


class _Runner(Protocol):
    def run(self) -> Manifest: ...

    def stop(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Voice:
    """How a run speaks to its user.

    Attributes:
        note: tells what is not wrong, but should be known.
        show: shows results on the terminal.
        tell: hears of each batch.
    """

    note: Callable[[str], None]
    show: Callable[[str], object]
    tell: Tell = lambda _manifest, _told: None


_SHOWN: Final = 3


def run_job(job: Job, voice: Voice) -> Outcome:
    """Run a job until its input ends, or until it is stopped.

    Raises:
        HeadraceError: a query, an option or a file is wrong, or the run failed.
    """
    _check_outputs(job)
    with ExitStack() as stack:
        directory = job.checkpoint or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="headrace-"))
        )
        sources = {iri: [declared(each) for each in given] for iri, given in job.streams.items()}
        _check_sources(job, sources)
        deployment = stack.enter_context(open_deployment(directory))
        engine = prepared(job, deployment.seed)
        for note in notes(job, engine):
            voice.note(note)
        reasons: list[str] = []

        def hear(manifest: Manifest, told: Told) -> None:
            if len(reasons) < _SHOWN:
                reasons.extend(told.rejected["reason"].head(_SHOWN - len(reasons)))
            voice.tell(manifest, told)

        setup = _setup(job, engine, deployment, voice, stack)
        batches = Batches(deployment, setup, hear)
        for note in batches.notes:
            voice.note(note)
        places = stack.enter_context(received(sources, deployment))
        runner = _runner(job, batches, places, directory, stack)
        with _stopping(runner):
            last = runner.run()
    return _outcome(last, engine, reasons)


def prepared(job: Job, seed: int = 0) -> Engine:
    """An engine with all that a job declares: whatever is wrong with it is said here.

    Raises:
        HeadraceError: a query, an option or a file is wrong.
    """
    engine = Engine(
        settings=job.settings,
        services=job.services,
        timeout=job.timeout,
        live=not job.once,
        seed=seed,
    )
    for iri in job.streams:
        engine.stream(iri)
    for number, parsed in enumerate(job.queries, 1):
        engine.register_parsed(parsed, _name_of(parsed, number, job.queries))
    for graph, path in job.static:
        for problem in engine.static.load(path, graph):
            raise problem
    engine.plans()
    return engine


def notes(job: Job, engine: Engine) -> Iterator[str]:
    """What is not wrong, but almost never meant."""
    for parsed in job.queries:
        yield from (f"{note.text}\n{note.at}".rstrip() for note in parsed.notes)
        dataset = parsed.query.dataset
        for graph in (*dataset.default, *dataset.named):
            if not engine.static.has_graph(graph.value):
                yield (
                    f"FROM <{graph.value}> names no static graph: load it with "
                    f"--static {graph.value}=FILE"
                )


def _setup(
    job: Job, engine: Engine, deployment: Deployment, voice: Voice, stack: ExitStack
) -> Setup:
    plans = engine.plans()
    forms = {plan.name: plan.query.form for plan in plans}
    sinks = open_sinks(job.outs or ["-"], forms, show=voice.show, deployment=deployment.id)
    for sink in sinks.values():
        stack.callback(sink.close)
    outlets = [LateFile(job.late)] if job.late else []
    outlets += [RejectedFile(job.rejected)] if job.rejected else []
    for outlet in outlets:
        stack.callback(outlet.close)
    around = engine.around()
    version = version_of(around.static)
    return setup_of(
        deployment,
        plans,
        {iri: [declared(each) for each in given] for iri, given in job.streams.items()},
        lambda: (version, around),
        sinks=sinks,
        outlets=outlets,
        clock=None if job.once else _now,
        live=not job.once,
        partitions=job.partitions,
        allowed=Allowed(deployment.seed, functions=engine.static.functions, seconds=job.timeout),
    )


def _now() -> int:
    return time.time_ns() // 1000


def _check_outputs(job: Job) -> None:
    files = [*job.outs, *map(str, filter(None, (job.late, job.rejected)))]
    named = [each for each in files if each != "-"]
    if len(set(named)) < len(named):
        raise SettingError("--out, --late and --rejected need a file each")


def _check_sources(job: Job, sources: Mapping[str, Sequence[Declared]]) -> None:
    for iri, given in sources.items():
        if len({each.rule for each in given}) > 1:
            raise SettingError(f"the sources of <{iri}> differ in where their times stand")
        for each in given:
            if each.kind == "file":
                files_of(each.place, there=job.once)
            elif each.kind == LOG and not Path(each.place).is_dir():
                raise SettingError(f"there is no folder '{each.place}' with a log in it")
            elif each.kind == RATE and job.once:
                raise SettingError(f"'{each.place}' has no end: leave out --once")
            elif each.kind == KAFKA and job.runner is RunnerKind.INLINE:
                raise SettingError(f"'{each.place}' is read on Spark only: leave out --runner")


def _runner(
    job: Job, batches: Batches, sources: Sources, directory: Path, stack: ExitStack
) -> _Runner:
    interval = None if job.once else job.interval
    if job.runner is RunnerKind.INLINE:
        return LocalRunner(batches, sources, job.pieces, interval)
    from headrace.spark.run import Pace, Runner  # noqa: PLC0415

    spark = stack.enter_context(_session(job, directory))
    return Runner(spark, batches, sources, Pace(job.pieces, interval))


@contextmanager
def _session(job: Job, directory: Path) -> Iterator[SparkSession]:
    """A session that is stopped afterwards, unless it was there before."""
    from headrace.spark.session import active, start  # noqa: PLC0415

    running = active()
    if running is not None:
        yield running
        return
    session = start(master=job.master, log=directory / "spark.log")
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def _stopping(runner: _Runner) -> Iterator[None]:
    """Let the first Ctrl-C, or a polite kill, end a run after its batch; the next ends it now."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kinds = (signal.SIGINT, signal.SIGTERM)
    before = {kind: signal.getsignal(kind) for kind in kinds}

    def stop(_kind: int, _frame: FrameType | None) -> None:
        for each in kinds:
            signal.signal(each, before[each])
        # A handler must not wait: the thread that it interrupts may hold what it would wait for.
        threading.Thread(target=runner.stop, daemon=True).start()

    try:
        for each in kinds:
            signal.signal(each, stop)
        yield
    finally:
        for each in kinds:
            signal.signal(each, before[each])


def _outcome(last: Manifest, engine: Engine, reasons: Sequence[str]) -> Outcome:
    states = {name: last.queries[name] for name in engine.queries if name in last.queries}
    return Outcome(
        sum(each.evaluations for each in states.values()),
        sum(each.failed for each in states.values()),
        {
            iri: Counters(each.elements, each.late, each.rejected)
            for iri, each in last.streams.items()
        },
        {name: each.failure for name, each in states.items() if each.failure},
        reasons,
        last.final,
    )


def _name_of(parsed: Parsed, number: int, every: Sequence[Parsed]) -> str:
    """The name a query gives itself, else that of its file."""
    if parsed.query.registration is not None:
        return parsed.query.registration.name
    source = parsed.source.name or ""
    stem = Path(source).stem if source not in {"query", "standard input", ""} else ""
    named = [Path(each.source.name or "").stem for each in every]
    return stem if stem and named.count(stem) == 1 else f"q{number}"
