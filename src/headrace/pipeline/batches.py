"""What happens to each batch, in this order: decode, step, commit, publish, sweep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final
from uuid import uuid4

import polars as pl

from headrace.errors import HeadraceError, MachineError, SettingError
from headrace.kernel.grid import NEVER
from headrace.kernel.memory import Memory, QueryMemory, memory_of, recall
from headrace.kernel.standing import Around
from headrace.kernel.step import Arrivals, Kernel, Results
from headrace.pipeline.decode import load, remade
from headrace.pipeline.deployment import Deployment
from headrace.pipeline.faults import reach
from headrace.pipeline.intake import batch_of, late_rows, taken_in, united
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
from headrace.pipeline.setup import Outlet, Setup
from headrace.pipeline.together import Parts
from headrace.planning.plan import Plan
from headrace.rdf.terms import Iri
from headrace.sinks.base import Sink

_MOST_PANES: Final = 25
"""With more open panes than these, a stream's windows are written to one file instead."""
Tell = Callable[[Manifest, Told], None]


class Batches:
    """A deployment at work. Whatever fails, the manifests say where to go on."""

    def __init__(self, deployment: Deployment, setup: Setup, tell: Tell | None = None) -> None:
        """Begin where the deployment has stopped.

        Args:
            deployment: where to work.
            setup: what to run.
            tell: called with each batch that has been published.
        """
        self.deployment = deployment
        self.layout = deployment.layout
        self.setup = setup
        self.failure: HeadraceError | None = None
        self._tell = tell or (lambda _manifest, _told: None)
        self._kernel: tuple[str, Kernel] | None = None
        self._recent: list[Manifest] = []
        self._published: str | None = None
        self.notes = self._open()

    # -- going on ----------------------------------------------------------------------------

    def _open(self) -> list[str]:
        """Take up what was committed last, and publish it if that may not have been done."""
        last = latest(self.layout)
        if last.batch >= 0 and not last.streams:
            raise MachineError(f"{self.layout.manifests} has no manifest of batch {last.batch}")
        before = read_manifest(self.layout, last.batch) if last.final else None
        before = before or read_manifest(self.layout, last.batch - 1)
        self._recent = [each for each in (before, last) if each is not None and each.batch >= 0]
        sweep(self.layout, self._recent)
        for name, sink in self._marked():
            sink.recover(last.marks.get(name))
        if last.batch >= 0:
            self._publish(last, self._told(last))
        return list(_changes(last, self.setup.plans)) if last.batch >= 0 else []

    def _marked(self) -> list[tuple[str, Sink | Outlet]]:
        outlets = [(outlet.name, outlet) for outlet in self.setup.outlets]
        return [*self.setup.sinks.items(), *outlets]

    def last(self) -> Manifest:
        """What was committed last."""
        return self._recent[-1] if self._recent else NOTHING

    # -- batches -----------------------------------------------------------------------------

    def process(self, batch: int, offsets: str, decode: Callable[[], Iterable[Pane]]) -> None:
        """Do what a batch asks for, once: if it was committed before, only publish it again.

        Args:
            batch: its number.
            offsets: a digest of what it reads.
            decode: reads it.
        """
        try:
            manifest = read_manifest(self.layout, batch)
            if manifest is None:
                previous = self._previous(batch)
                panes = list(decode())
                reach("decoded")
                manifest, told = self._computed(previous, offsets, panes)
                self._commit(manifest)
            else:
                if manifest.offsets != offsets:
                    raise MachineError(
                        f"{self.layout.directory} is damaged: Spark's checkpoint and the manifest "
                        f"of batch {batch} are of different input; start again in a new directory"
                    )
                told = self._told(manifest)
            self._publish(manifest, told)
            sweep(self.layout, self._recent)
        except HeadraceError as error:
            self.failure = error  # Spark would turn it into text
            raise

    def finish(self) -> Manifest:
        """Close the windows that the input has left open, once."""
        last = self.last()
        if last.final or last.batch < 0:
            return last
        reach("final")
        version, around = self.setup.around()
        kernel = self._kernel_after(last, around)
        self._kernel = None
        self._parts(kernel, version, last.panes, last.snapshots)
        ended = replace(last, offsets=None, memory=None, final=True)
        manifest, told = self._after(ended, kernel, kernel.finish(), REJECTED.to_frame())
        manifest = replace(manifest, panes=(), snapshots={})
        self._commit(manifest)
        self._publish(manifest, told)
        return manifest

    def _previous(self, batch: int) -> Manifest:
        last = self.last()
        if last.final and last.batch == batch - 1:
            raise SettingError(
                f"{self.layout.directory} has reported the end of its input, and now there is "
                "more; run it again from the start in a new directory"
            )
        if last.batch != batch - 1:
            raise MachineError(
                f"{self.layout.manifests} has no manifest of batch {batch - 1}, which Spark says "
                "was committed; start again in a new directory"
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
        self, previous: Manifest, offsets: str, panes: Sequence[Pane]
    ) -> tuple[Manifest, Told]:
        version, around = self.setup.around()
        kernel = self._kernel_after(previous, around)
        self._kernel = None  # if the step fails, the next attempt begins with the manifest again
        base = kernel.position + 1
        streams = {iri: previous.streams.get(iri, StreamState()) for iri in self.setup.decodings}
        intake = taken_in(panes, streams, base, self._loaded, self.setup.gate)
        panes = (*previous.panes, *(pane for pane, _ in intake.panes))
        parts = self._parts(kernel, version, panes, previous.snapshots)
        whole = None if parts is None else parts.read_whole()
        for pane, columns in intake.panes:
            if whole is None or pane.stream in whole:
                around.dictionary.learn(columns.terms)
        batch = batch_of(intake, base, whole)
        results = kernel.step({Iri(iri): each for iri, each in batch.items()})
        reach("stepped")
        manifest = Manifest(
            previous.batch + 1,
            offsets,
            previous.pieces + sum(pane.piece is not None for pane, _ in intake.panes),
            streams=intake.streams,
            queries=previous.queries,
            panes=panes,
            snapshots=previous.snapshots,
            static=version,
        )
        return self._after(manifest, kernel, results, intake.rejected)

    def _after(
        self, manifest: Manifest, kernel: Kernel, results: Results, rejected: pl.DataFrame
    ) -> tuple[Manifest, Told]:
        """The manifest and what is told, once a step has been made."""
        late = {iri.value: found.tolist() for iri, found in results.late_positions.items()}
        told = Told(results.reports, late_rows(late, manifest.panes, self._whole), rejected)
        manifest = replace(
            manifest,
            position=kernel.position,
            streams=_with_late(manifest.streams, late),
            queries=_query_states(manifest.queries, kernel, results),
        )
        manifest = replace(manifest, told=self._written(told))
        reach("results-written")
        if not manifest.final:
            manifest = self._remembered(manifest, kernel)
            self._kernel = (manifest.label, kernel)
        reach("memory-written")
        return manifest, told

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

    def _loaded(self, pane: Pane) -> Columns:
        return load(pane, self.setup.decodings[pane.stream])

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
        if manifest.told is None:
            return Told()
        return read_told(self.layout.results / manifest.told.name, manifest.told.checksum)

    # -- the kernel --------------------------------------------------------------------------

    def _kernel_after(self, manifest: Manifest, around: Around) -> Kernel:
        """The kernel as it was after a batch: the one at hand, or one that has read it all."""
        if self._kernel is not None and self._kernel[0] == manifest.label:
            kernel = self._kernel[1]
            kernel.around = around
            return kernel
        kernel = Kernel(self.setup.plans, around, self.setup.live)
        recall(kernel, self._memory(manifest), self._held(manifest, around))
        return kernel

    def _memory(self, manifest: Manifest) -> Memory:
        digests = {plan.name: plan.digest for plan in self.setup.plans}
        queries = {
            name: QueryMemory(each.progress, each.since, each.failure)
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
            log = kernel.logs.get(Iri(iri))
            many = len(own) > _MOST_PANES and horizon > NEVER
            if many and log is not None and len(log.elements):
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

    def _publish(self, manifest: Manifest, told: Told) -> None:
        """Give what a batch has to tell to every sink, once in this process."""
        if self._published == manifest.label:
            return
        reach("publish")
        for sink in self.setup.sinks.values():
            sink.write(manifest.label, told.reports)
        reach("sink-written")
        for outlet in self.setup.outlets:
            outlet.write(manifest.label, told)
        self._published = manifest.label
        self._tell(manifest, told)
        reach("published")


def _with_late(
    streams: Mapping[str, StreamState], late: Mapping[str, Sequence[int]]
) -> dict[str, StreamState]:
    return {
        iri: replace(state, late=state.late + len(late.get(iri, ())))
        for iri, state in streams.items()
    }


def _query_states(
    before: Mapping[str, QueryState], kernel: Kernel, results: Results
) -> dict[str, QueryState]:
    reports = {report.query: report for report in results.reports}
    states = {}
    for query in kernel.queries:
        name, digest = query.plan.name, query.plan.digest
        known = before.get(name)
        state = QueryState(digest, query.progress)
        if known is not None and known.digest == digest:
            state = known
        report = reports.get(name)
        states[name] = replace(
            state,
            progress=query.progress,
            since=query.since,
            failure=query.failure,
            evaluations=state.evaluations + (0 if report is None else len(report)),
            failed=state.failed + (0 if report is None else len(report.errors)),
            rows=state.rows + (0 if report is None else report.rows.height),
        )
    return states


def _changes(last: Manifest, plans: Sequence[Plan]) -> Iterator[str]:
    """What is different from the last run, for the user to know."""
    known = {name: state.digest for name, state in last.queries.items()}
    for plan in plans:
        if plan.name not in known:
            yield f"query '{plan.name}' is new: it sees what comes from now on"
        elif known[plan.name] != plan.digest:
            yield f"query '{plan.name}' has changed: it begins anew with what comes from now on"
    names = {plan.name for plan in plans}
    for name in known:
        if name not in names:
            yield f"query '{name}' is no longer run: what it remembered is forgotten"
