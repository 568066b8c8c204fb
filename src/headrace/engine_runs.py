"""Runs of an engine over the sources of its streams."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from headrace.acceptance import Acceptance
from headrace.declared_sources import check_sources
from headrace.deploying import Refreshing, setup_of
from headrace.diagnosis import Note, Severity
from headrace.errors import DataError, SettingError
from headrace.inline import LOG
from headrace.kernel.alerts import Alerts
from headrace.kernel.fair_share import FairShare
from headrace.kernel.overload import Paces
from headrace.kernel.stream_counters import Counters
from headrace.launching import Launch, Runner, RunnerKind, work
from headrace.metering import BATCH_SECONDS
from headrace.pipeline.batches import Batches
from headrace.pipeline.deployment import open_deployment
from headrace.pipeline.manifest import Manifest
from headrace.pipeline.parts import Allowed
from headrace.pipeline.results import Told
from headrace.pipeline.streams import Declared, declared
from headrace.planning.plan import Plan
from headrace.reasoning.tables import Tables
from headrace.registered import Query, note_problems
from headrace.sinks.base import Sink
from headrace.sources import files_named
from headrace.stream import Stream


def declared_sources(streams: Iterable[Stream]) -> dict[str, list[Declared]]:
    """Return the sources of each stream; none for one that only takes pushes."""
    return {stream.iri: list(map(declared, stream.sources)) for stream in streams}


def files_by_stream(streams: Iterable[Stream]) -> dict[str, list[Path]]:
    """List the files of each stream that has a source.

    Raises:
        SettingError: a source is none of files, or cannot be read.
    """
    read = [stream for stream in streams if stream.sources]
    check_sources(declared_sources(read), once=True, inline=True)
    return {each.iri: [path for of in each.sources for path in files_named(of)] for each in read}


def check_deployable(
    launch: Launch, streams: Iterable[Stream], live: bool, pushed: bool
) -> dict[str, list[Declared]]:
    """Refuse sources that a run with a checkpoint cannot read; return them otherwise.

    Raises:
        SettingError: naming the stream, or what to say instead.
    """
    streams = list(streams)
    if pushed:
        raise SettingError("elements were pushed, and this run reads from sources: do one of both")
    if live is (launch.interval is None):
        raise SettingError(
            "Engine(live=True) needs run(once=False), and run(once=False) needs Engine(live=True)"
        )
    sources = declared_sources(streams)
    inline = launch.runner is RunnerKind.INLINE
    check_sources(sources, once=launch.interval is None, inline=inline)
    return sources


class RunFollower:
    """Observes the batches of a run: failures, contracts, pace and rejections."""

    def __init__(
        self,
        queries: Mapping[str, Query],
        plans: Sequence[Plan],
        alerts: Alerts,
        acceptance: Acceptance,
        progress: Callable[[str], None],
    ) -> None:
        """Observe no batch yet.

        Args:
            queries: by their names.
            plans: those that have to keep up with the clock.
            alerts: takes what is said of contracts with endpoints.
            acceptance: takes what is rejected.
            progress: called with how far the run has come.
        """
        self._queries = queries
        self._plans = plans
        self._alerts = alerts
        self._paces = Paces()
        self.acceptance = acceptance
        self.progress = progress
        self.runner: Runner | None = None
        self._stopping = False
        self.last: Manifest | None = None
        self.notes: Sequence[Note] = ()

    def begin(self, runner: Runner) -> None:
        """Remember the runner of the following batches."""
        self.runner = runner
        if self._stopping:  # the wish came while it was being started
            runner.stop()

    def stop(self) -> None:
        """End the run after its batch, or as soon as it begins."""
        self._stopping = True
        if self.runner is not None:
            self.runner.stop()

    @property
    def counters(self) -> dict[str, Counters]:
        """The counters of each stream after the last batch."""
        streams = {} if self.last is None else self.last.streams
        return {iri: state.counters for iri, state in streams.items()}

    def __call__(self, manifest: Manifest, told: Told) -> None:
        """Record a batch."""
        self._alerts.hear(told.contracts)
        errors = {name: state.failure for name, state in manifest.queries.items()}
        note_problems(self._queries, errors, told.failures)
        known = {name: state.pace for name, state in manifest.queries.items()}
        for warning in self._paces.changes(self._plans, known):
            LOG.warning(warning)
        self.last, self.notes = manifest, told.notes
        if self.runner is not None:  # else it is the last batch of an earlier run
            self.progress(f"{sum(each.elements for each in manifest.streams.values()):,} elements")
            self.acceptance.take_reasons(told.rejected.select("stream", "reason").iter_rows())
            self.acceptance.take_manifest(manifest)
            if self._plans and any(self.acceptance.check_limits(ended=False)):
                # Not here: the runner waits for the batch that has just called.
                threading.Thread(target=self.runner.stop, daemon=True).start()


@dataclass(frozen=True, slots=True)
class EngineParts:
    """The parts of an engine that a run with a checkpoint needs.

    Attributes:
        plans: its queries.
        around: what they share.
        tables: what follows from statements, where they have a schema.
        sink: takes their results.
        allowed: what their evaluation may use, and the seed of the ids.
        clock: the present in microseconds, in a live run.
        partitions: in how many parts queries are evaluated that can be.
        idles: after how long a silence a stream no longer holds back others, by its IRI.
    """

    plans: Sequence[Plan]
    around: Refreshing
    tables: Tables | None
    sink: Sink
    allowed: Allowed
    clock: Callable[[], int] | None
    partitions: int
    idles: Mapping[str, int]


def run_deployed(
    launch: Launch,
    parts: EngineParts,
    checkpoint: Path | None,
    sources: Mapping[str, Sequence[Declared]],
    follower: RunFollower,
) -> None:
    """Run until the input ends, or until it is stopped.

    Args:
        launch: where and how.
        parts: what the engine brings.
        checkpoint: where it is kept; without one, in a temporary folder.
        sources: what each stream is read from.
        follower: follows the batches.
    """
    with ExitStack() as stack:
        folder = checkpoint or stack.enter_context(TemporaryDirectory(prefix="headrace-"))
        deployment = stack.enter_context(open_deployment(Path(folder), parts.allowed.seed))
        setup = setup_of(
            deployment,
            parts.plans,
            sources,
            parts.around,
            sinks={"engine": parts.sink},
            clock=parts.clock,
            live=launch.interval is not None,
            partitions=parts.partitions,
            tables=parts.tables,
            idles=parts.idles,
            allowed=replace(parts.allowed, seed=deployment.seed),
            share=None if launch.interval is None else FairShare(BATCH_SECONDS, monotonic),
        )
        batches = Batches(deployment, setup, follower)
        follower.acceptance.begin(batches.last())
        progress = follower.progress
        last, stopped = work(launch, batches, sources, follower.begin, LOG.warning, progress)
        follower.acceptance.take_manifest(last)
        ended = launch.interval is None and (last.final or not stopped)
        follower.notes = batches.diagnose(last, ended=ended)
    follower.runner = None


def conclude(acceptance: Acceptance, notes: Sequence[Note]) -> None:
    """Report the notes and errors of a run that has ended.

    Args:
        acceptance: what was read and rejected, and what the run had to achieve.
        notes: why queries have given no rows, and what else should be known.

    Raises:
        DataError: the run has not achieved what it had to.
    """
    noted = [note.text for note in notes if note.severity is not Severity.INFO]
    for text in (*noted, *acceptance.find_rejected_streams(notes), *acceptance.notes()):
        LOG.warning(text)
    problems = list(acceptance.check_requirements())
    if problems:
        raise DataError("\n".join(problems))


def check_read(streams: Iterable[Stream], came: Mapping[str, Counters], called: str) -> None:
    """Refuse to evaluate if a source has neither been read nor replaced by pushes.

    Raises:
        SettingError: naming the stream and its source.
    """
    for stream in streams:
        if stream.sources and not came[stream.iri].messages:
            named = [each for each in map(declared, stream.sources) if each.kind == "file"]
            check_sources({stream.iri: named}, once=True, inline=None)
            raise SettingError(
                f"stream <{stream.iri}> has a source, '{stream.sources[0]}', which {called}() does "
                "not read: call run(once=True) instead"
            )
