"""What happens to each batch, in this order: decode, step, commit, publish, sweep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final
from uuid import uuid4

import polars as pl

from headrace.diagnosis import Note, value_notes
from headrace.errors import MachineError, SettingError
from headrace.functions.value_failures import FailuresByQuery
from headrace.kernel.arrivals import Arrivals
from headrace.kernel.evaluation import Around
from headrace.kernel.grid import NEVER
from headrace.kernel.log import StreamLog
from headrace.kernel.memory import Memory, QueryMemory, memory_of, recall
from headrace.kernel.remote import Contracted
from headrace.kernel.reports import Report, SlicedReports
from headrace.kernel.routes import changes_of
from headrace.kernel.step import Kernel
from headrace.kernel.step_results import Results
from headrace.pipeline.changes import changes, check_known, known_reports
from headrace.pipeline.decode import load, remade
from headrace.pipeline.deployment import Deployment
from headrace.pipeline.deployment_diagnosis import DeploymentDiagnosis, notes_by_query
from headrace.pipeline.faults import reach
from headrace.pipeline.idleness_timer import IdlenessTimer
from headrace.pipeline.intake import (
    batch_of,
    follow_time_jumps,
    late_rows,
    taken_in,
    united,
)
from headrace.pipeline.manifest import (
    NOTHING,
    File,
    Manifest,
    QueryState,
    StreamState,
    commit,
    latest,
    read_manifest,
    sweep,
)
from headrace.pipeline.memories import (
    Snapshot,
    read_memory,
    read_snapshot,
    write_memory,
    write_snapshot,
)
from headrace.pipeline.panes import Columns, Pane, arrivals
from headrace.pipeline.results import REJECTED, Told, read_told, write_told
from headrace.pipeline.settled import settle, settled_marks
from headrace.pipeline.setup import Outlet, Setup
from headrace.pipeline.state_updates import count_late, update_query_states
from headrace.pipeline.tables import damaged, unusable
from headrace.pipeline.timing import Stopwatch
from headrace.pipeline.together import Parts
from headrace.rdf.terms import Iri
from headrace.sinks.base import NoteSink, Sink

_MOST_PANES: Final = 25
"""With more open panes than these, a stream's windows are written to one file instead."""
Tell = Callable[[Manifest, Told], None]


@dataclass(frozen=True, slots=True)
class _Evaluated:
    """What a step of the kernel gives.

    Attributes:
        reports: those of its last slice.
        late: which elements were late, by stream.
        queries: how far each query has come.
        slices: the files of the slices before.
        is_behind: whether some instants that are due wait for the next batch.
    """

    reports: Sequence[Report]
    late: Mapping[str, Sequence[int]]
    queries: Mapping[str, QueryState]
    slices: tuple[File, ...]
    is_behind: bool


class Batches:
    """A deployment at work. Whatever fails, the manifests say where to go on."""

    def __init__(
        self,
        deployment: Deployment,
        setup: Setup,
        tell: Tell | None = None,
        *,
        forgets: bool = False,
    ) -> None:
        """Begin where the deployment has stopped.

        Args:
            deployment: where to work.
            setup: what to run.
            tell: called with each batch that has been published.
            forgets: whether what queries have reported that are gone may be dropped; else a
                deployment with such reports cannot go on.
        """
        self.deployment = deployment
        self.layout = deployment.layout
        self.setup = setup
        self._watch = Stopwatch(setup.clock)
        self._idleness = IdlenessTimer(setup)
        self._tell = tell or (lambda _manifest, _told: None)
        self._failures = FailuresByQuery()
        self._kernel: tuple[str, Kernel] | None = None
        self._contracted: Mapping[str, Contracted] = {}
        self._recent: list[Manifest] = []
        self._published: str | None = None
        self._at_hand: dict[str, Columns] = {}
        self._diagnosis = DeploymentDiagnosis(setup)
        self._forgets = forgets
        self.notes = self._open()

    # -- going on ----------------------------------------------------------------------------

    def _open(self) -> list[str]:
        """Take up what was committed last, and publish it if that may not have been done."""
        last = latest(self.layout)
        if last.batch >= 0 and last == Manifest(last.batch):  # no batch leaves so little
            raise MachineError(f"{self.layout.manifests} has no manifest of batch {last.batch}")
        before = self._before(last)
        self._recent = [each for each in (before, last) if each is not None and each.batch >= 0]
        sweep(self.layout, self._recent)
        settled = settled_marks(self.layout, last)
        # Before sinks are cut: what cannot be read cannot be told again.
        told = Told() if settled is not None else self._told(last)
        if self._forgets:
            told = replace(told, reports=known_reports(told, last, self.setup.plans))
        check_known(told, last, self.setup.plans)
        for name, sink in self._marked():
            sink.recover((last.marks if settled is None else settled).get(name))
        if settled is not None:
            self._published = last.label
            self._tell(last, told)
        elif last.batch >= 0:
            self._publish(last, told)
        return list(changes(last, self.setup)) if last.batch >= 0 else []

    def prepare(self) -> None:
        """Restore the kernel ahead of the first batch, so that damage is found before it.

        Raises:
            MachineError: a file that the next batch needs is not what was written.
        """
        last = self.last()
        _, around = self.setup.around()
        self._kernel = (last.label, self._kernel_after(last, around))

    def _before(self, last: Manifest) -> Manifest | None:
        """The manifest before the last; without it, a run goes on all the same."""
        try:
            return read_manifest(self.layout, last.batch if last.final else last.batch - 1)
        except MachineError:
            return None

    def _marked(self) -> list[tuple[str, Sink | Outlet]]:
        outlets = [(outlet.name, outlet) for outlet in self.setup.outlets]
        return [*self.setup.sinks.items(), *outlets]

    def last(self) -> Manifest:
        """What was committed last."""
        return self._recent[-1] if self._recent else NOTHING

    def _before_last(self) -> Manifest:
        """Return the manifest before the last one."""
        return self._recent[-2] if len(self._recent) > 1 else NOTHING

    @property
    def is_due_without_input(self) -> bool:
        """True if a batch without input would evaluate instants, or advance an idle stream."""
        last = self.last()
        if last.batch < 0 or last.final:
            return False
        return last.is_behind or self._idleness.is_due(last)

    # -- batches -----------------------------------------------------------------------------

    def process(
        self,
        batch: int,
        offsets: str,
        decode: Callable[[], Iterable[Pane]],
        partitions: Mapping[str, Sequence[str]] | None = None,
        *,
        reads_all: bool = False,
    ) -> None:
        """Do what a batch asks for, once: if it was committed before, only publish it again.

        Args:
            batch: its number.
            offsets: a digest of what it reads.
            decode: reads it.
            partitions: the parts of streams that have several; one of which nothing has come yet
                holds its stream back.
            reads_all: whether nothing that was found is left for later batches, so that streams of
                which it has nothing may be idle.
        """
        self._watch.start()
        self._at_hand = {}
        try:
            manifest = read_manifest(self.layout, batch)
            if manifest is None:
                previous = self._previous(batch)
                with self._watch.stage("decode"):
                    panes = list(decode())
                reach("decoded")
                computed = self._computed(
                    previous, offsets, panes, partitions or {}, reads_all=reads_all
                )
                manifest, told = computed
                with self._watch.stage("commit"):
                    self._commit(manifest)
            else:
                if manifest.offsets != offsets:
                    raise damaged(
                        self.layout.spark / "offsets" / str(batch),
                        f"it and {self.layout.manifests / f'{batch}.json'} are of different input",
                    )
                told = self._told(manifest)
            self._publish(manifest, told)
            self._idleness.record_advances(self._before_last().streams, manifest.streams)
            sweep(self.layout, self._recent, at_work=True)
            if self._kernel is not None:
                # Static data may have been added by who was told, and have terms to be kept.
                _, self._kernel[1].around = self.setup.around()
                self._kernel[1].forget()
        except OSError as error:
            raise unusable(self.layout.directory, error) from error

    def finish(self) -> Manifest:
        """Close the windows that the input has left open, once.

        Where no element has come there is none to close, and the input may still begin.
        """
        last = self.last()
        if last.final or last.position < 0:
            return last
        reach("final")
        version, around = self.setup.around()
        kernel = self._kernel_after(last, around)
        self._kernel = None
        self._parts(kernel, version, last.panes, last.snapshots)
        ended = replace(last, offsets=None, memory=None, final=True)
        self._watch.start()
        evaluated = self._evaluated(kernel, kernel.slices({}, ended=True), last.queries)
        manifest, told = self._after(ended, kernel, evaluated, REJECTED.to_frame())
        manifest = replace(manifest, panes=(), snapshots={})
        self._commit(manifest)
        self._publish(manifest, told)
        return manifest

    def diagnose(self, manifest: Manifest, *, ended: bool) -> tuple[Note, ...]:
        """Make the notes that are true after a batch."""
        kernel = None if self._kernel is None else self._kernel[1]
        around = self.setup.around()[1] if kernel is None else kernel.around
        found = self._diagnosis.of(manifest, around, ended=ended)
        return (*found, *value_notes(self._failures.by_query()))

    def settle(self) -> None:
        """Say that all that was committed has been published, because the run ends well."""
        last = self.last()
        if last.batch >= 0 and self._published == last.label:
            settle(self.layout, last, {name: sink.mark() for name, sink in self._marked()})

    def _previous(self, batch: int) -> Manifest:
        last = self.last()
        if last.final and last.batch == batch - 1:
            raise SettingError(
                f"{self.layout.directory} has reported the end of its input, and now there is "
                "more; run it again from the start in a new directory"
            )
        if last.batch != batch - 1:
            raise damaged(
                self.layout.manifests,
                f"batch {last.batch} is its last, and Spark goes on with batch {batch}",
            )
        return last

    def _commit(self, manifest: Manifest) -> None:
        marked = replace(
            manifest,
            marks={name: sink.mark() for name, sink in self._marked()},
        )
        commit(self.layout, marked)
        self._recent = [*self._recent[-1:], marked]

    # -- computing ---------------------------------------------------------------------------

    def _computed(
        self,
        previous: Manifest,
        offsets: str,
        panes: Sequence[Pane],
        partitions: Mapping[str, Sequence[str]],
        *,
        reads_all: bool,
    ) -> tuple[Manifest, Told]:
        version, around = self.setup.around()
        kernel = self._kernel_after(previous, around)
        self._kernel = None  # if the step fails, the next attempt begins with the manifest again
        self._check_order(previous, panes)
        base = kernel.position + 1
        streams = {
            iri: previous.streams.get(iri, StreamState())
            .read_from(self.setup.logs.get(iri))
            .reading(partitions.get(iri, ()))
            .counting(decoding.probes)
            for iri, decoding in self.setup.decodings.items()
        }
        with self._watch.stage("exchange"):
            # Of a stream that is no longer read, pieces may have been found before.
            read = [pane for pane in panes if pane.stream in streams]
            intake = taken_in(read, streams, base, self._loaded, self.setup.gate)
            self._idleness.record_input(read)
            if reads_all:
                intake = replace(intake, streams=self._idleness.advance(previous, intake.streams))
        pieces = previous.pieces + sum(pane.piece is not None for pane in panes)
        panes = (*previous.panes, *(pane for pane, _ in intake.panes))
        parts = self._parts(kernel, version, panes, previous.snapshots)
        whole = None if parts is None else parts.read_whole()
        with self._watch.stage("exchange"):
            for pane, columns in intake.panes:
                if whole is None or pane.stream in whole:
                    around.dictionary.learn(columns.terms)
            batch = batch_of(intake, base, whole)
        slices = kernel.slices({Iri(iri): each for iri, each in batch.items()})
        evaluated = self._evaluated(kernel, slices, previous.queries)
        reach("stepped")
        manifest = Manifest(
            previous.batch + 1,
            offsets,
            pieces,
            streams=intake.streams,
            panes=panes,
            snapshots=previous.snapshots,
            static=version,
            schema=self.setup.schema,
        )
        jumped = follow_time_jumps(intake, evaluated.late, self.setup.gate)
        manifest = replace(manifest, streams=jumped)
        return self._after(manifest, kernel, evaluated, intake.rejected)

    def _evaluated(
        self, kernel: Kernel, slices: Iterator[Results], queries: Mapping[str, QueryState]
    ) -> _Evaluated:
        """Evaluate what is due while there is time, and write all slices of it but the last."""
        late: dict[str, list[int]] = {}
        files: list[File] = []
        share = kernel.share
        if share is not None:
            share.begin()
        while True:
            with self._watch.stage("kernel"):
                results = next(slices)
            is_last = not kernel.is_behind or (share is not None and share.is_used_up)
            if is_last:
                kernel.keep_pace(self._watch.lap())
            queries = update_query_states(queries, kernel, results)
            for iri, found in results.late_positions.items():
                late.setdefault(iri.value, []).extend(found.tolist())
            if is_last:
                return _Evaluated(results.reports, late, queries, tuple(files), kernel.is_behind)
            with self._watch.stage("commit"):
                file = self._written(Told(results.reports))
            reach("results-written")
            files += [] if file is None else [file]
            kernel.forget()

    def _check_order(self, previous: Manifest, panes: Sequence[Pane]) -> None:
        """Refuse to read a piece twice or never, whatever Spark says."""
        found = sorted(pane.piece.ordinal for pane in panes if pane.piece is not None)
        if found != list(range(previous.pieces, previous.pieces + len(found))):
            raise damaged(
                self.layout.spark / "offsets" / str(previous.batch + 1),
                f"the batch begins with piece {found[0]}, and {previous.pieces} were read",
            )

    def _after(
        self, manifest: Manifest, kernel: Kernel, evaluated: _Evaluated, rejected: pl.DataFrame
    ) -> tuple[Manifest, Told]:
        """Make the manifest and the results after a step."""
        late = evaluated.late
        told = Told(evaluated.reports, late_rows(late, manifest.panes, self._whole), rejected)
        self._contracted = kernel.contracted()
        manifest = replace(
            manifest,
            position=kernel.position,
            streams=count_late(manifest.streams, late),
            queries=evaluated.queries,
            slices=evaluated.slices,
            is_behind=evaluated.is_behind,
        )
        with self._watch.stage("commit"):
            manifest = replace(manifest, told=self._written(told))
            reach("results-written")
            if not manifest.final:
                manifest = self._remembered(manifest, kernel)
                self._kernel = (manifest.label, kernel)
        reach("memory-written")
        return manifest, self._with_slices(manifest, told)

    def _parts(
        self,
        kernel: Kernel,
        version: str,
        panes: Sequence[Pane],
        snapshots: Mapping[str, Snapshot],
    ) -> Parts | None:
        """Let a kernel have queries evaluated in parts, over all that windows may hold."""
        if self.setup.partitions == 1 or self.setup.allowed is None:
            return None
        around = kernel.around
        kernel.elsewhere = Parts(self.layout, self.setup, around, version, panes, snapshots)
        return kernel.elsewhere

    def keep(self, name: str, columns: Columns) -> None:
        """Take what a pane of the next batch holds, so that its file need not be read."""
        self._at_hand[name] = columns

    def _loaded(self, pane: Pane) -> Columns:
        at_hand = self._at_hand.pop(pane.name, None)
        return load(pane, self.setup.decodings[pane.stream]) if at_hand is None else at_hand

    def _whole(self, pane: Pane) -> Columns:
        """All that was in a pane, also what no query asks for."""
        decoding = self.setup.decodings[pane.stream]
        return remade(pane, decoding.complete) if pane.filtered else load(pane, decoding)

    def _written(self, told: Told) -> File | None:
        if told.is_nothing:
            return None
        name = f"{uuid4().hex}.arrow"
        return File(name, write_told(self.layout.results / name, told))

    def _told(self, manifest: Manifest) -> Told:
        told = Told() if manifest.told is None else self._read(manifest.told)
        return self._with_slices(manifest, told)

    def _with_slices(self, manifest: Manifest, told: Told) -> Told:
        """Put the slices that were written before what is told last."""
        if not manifest.slices:
            return told
        readers = [partial(self._reports, file) for file in manifest.slices]
        return replace(told, reports=SlicedReports([*readers, lambda: told.reports]))

    def _read(self, file: File) -> Told:
        return read_told(self.layout.results / file.name, file.checksum)

    def _reports(self, file: File) -> Sequence[Report]:
        return self._read(file).reports

    # -- the kernel --------------------------------------------------------------------------

    def _kernel_after(self, manifest: Manifest, around: Around) -> Kernel:
        """Restore the kernel after a batch: the present one, or one that reads all panes again."""
        self._failures = around.failures
        if self._kernel is not None and self._kernel[0] == manifest.label:
            kernel = self._kernel[1]
            kernel.around = around
            return kernel
        kernel = Kernel(self.setup.plans, around, self.setup.live, self.setup.share)
        recall(kernel, self._memory(manifest), self._held(manifest, around))
        return kernel

    def _memory(self, manifest: Manifest) -> Memory:
        digests = {plan.name: plan.digest for plan in self.setup.plans}
        queries = {
            name: QueryMemory(each.progress, each.since, each.failure, pace=each.pace)
            for name, each in manifest.queries.items()
            if digests.get(name) == each.digest
        }
        found = manifest.memory
        path = None if found is None else self.layout.memories / found.name
        checksum = "" if found is None else found.checksum
        return read_memory(path, checksum, queries, manifest.derived, manifest.position)

    def _held(self, manifest: Manifest, around: Around) -> dict[Iri, Arrivals]:
        """What open windows hold of the streams."""
        parts: dict[str, list[Arrivals]] = {iri: [] for iri in manifest.streams}
        for iri, snapshot in manifest.snapshots.items():
            found, terms = read_snapshot(self.layout.memories, snapshot)
            around.dictionary.learn(terms)
            parts[iri].append(found)
        for pane in manifest.panes:
            if pane.stream in self.setup.decodings:
                columns = self._loaded(pane)
                around.dictionary.learn(columns.terms)
                parts[pane.stream].append(arrivals(pane, columns))
        return {
            Iri(iri): united(each, manifest.streams[iri].high)
            for iri, each in parts.items()
            if iri in self.setup.decodings
        }

    def _whole_log(self, kernel: Kernel, iri: str, manifest: Manifest) -> StreamLog:
        """What is kept of a stream; where only parts read its statements, the kernel has none."""
        parts = kernel.elsewhere
        if not isinstance(parts, Parts) or iri in parts.read_whole():
            return kernel.logs[Iri(iri)]
        held = self._held(manifest, kernel.around)[Iri(iri)]
        log = StreamLog()
        log.append(held.statements, held.high, held.elements)
        return log

    def _remembered(self, manifest: Manifest, kernel: Kernel) -> Manifest:
        """The manifest with all that the next step needs, and no more."""
        memory = memory_of(kernel)
        file = write_memory(self.layout.memories, memory)
        panes, snapshots = list[Pane](), dict[str, Snapshot]()
        for iri in manifest.streams:
            horizon = kernel.horizon(Iri(iri))
            own = [
                pane
                for pane in manifest.panes
                if pane.stream == iri and pane.counted and pane.high is not None
                if pane.high > horizon
            ]
            kept = manifest.snapshots.get(iri)
            if kept is not None and kept.last <= horizon:
                kept = None
            if len(own) > _MOST_PANES and horizon > NEVER:
                held = replace(
                    manifest,
                    streams={iri: manifest.streams[iri]},
                    panes=tuple(own),
                    snapshots={} if kept is None else {iri: kept},
                )
                log = self._whole_log(kernel, iri, held)
                kept, own = write_snapshot(self.layout.memories, log, kernel.around.dictionary), []
            panes += own
            snapshots |= {} if kept is None else {iri: kept}
        return replace(
            manifest,
            panes=tuple(panes),
            snapshots=snapshots,
            memory=None if file is None else File(*file),
            derived={iri: each.high for iri, each in memory.derived.items()},
        )

    # -- telling -----------------------------------------------------------------------------

    def _rerouted(self) -> dict[str, int]:
        queries = () if self._kernel is None else self._kernel[1].queries
        return {query.plan.name: changes_of(query.matching.matches) for query in queries}

    def _publish(self, manifest: Manifest, told: Told) -> None:
        """Publish the results of a batch to every sink, once in this process."""
        if self._published == manifest.label:
            return
        reach("publish")
        notes: tuple[Note, ...] = ()
        if self.setup.live or manifest.final:
            notes = self.diagnose(manifest, ended=manifest.final)
        with self._watch.stage("sink"):
            for sink in self.setup.sinks.values():
                sink.write(manifest.label, told.reports)
                if manifest.final and isinstance(sink, NoteSink):
                    sink.write_notes(manifest.label, notes_by_query(notes, self.setup.plans))
            reach("sink-written")
            for outlet in self.setup.outlets:
                outlet.write(manifest.label, told)
        self._published = manifest.label
        own = replace(
            told,
            spent=self._watch.spent,
            rerouted=self._rerouted(),
            contracts=self._contracted,
            failures=self._failures.by_query(),
            notes=notes,
        )
        self._tell(manifest, own)
        reach("published")
