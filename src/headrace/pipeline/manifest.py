"""What has been committed: one manifest for each batch, and one for the end of the input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

from headrace.diagnosis.probes import Probe, Tally
from headrace.errors import DamagedError
from headrace.kernel.overload import Pace
from headrace.kernel.progress import Progress
from headrace.kernel.reports import Report
from headrace.kernel.stream_counters import Counters
from headrace.pipeline.faults import reach
from headrace.pipeline.layout import Layout, create
from headrace.pipeline.memories import Snapshot
from headrace.pipeline.panes import Pane, is_ahead, pane_from, tally_from
from headrace.pipeline.records import read_record, sealed
from headrace.pipeline.time_jumps import TimeJump
from headrace.sinks.base import Mark


@dataclass(frozen=True, slots=True)
class File:
    """A file of the deployment and the checksum of its content."""

    name: str
    checksum: str


@dataclass(frozen=True, slots=True)
class StreamState:
    """How far a stream has come.

    Attributes:
        highs: the greatest event time of each part of its source; none if nothing has come of it.
        elements: how many elements have come.
        late: how many of them missed a window.
        rejected: how many could not be taken.
        lines: how many lines of the files that were read last have been read.
        idle: the parts that were silent for too long, and how far they were moved on.
        messages: how many messages have come.
        heartbeats: how many of them were heartbeats.
        rejected_messages: how many of them could not be taken.
        reason: why the first rejected element was rejected.
        log: the name of the folder of the log that it is read from, if it is read from one.
        tally: what was counted of its statements; none if an older version has read it so far.
        jump: the element that is far ahead of those before it, in a replay.
    """

    highs: Mapping[str, int | None] = field(default_factory=dict)
    elements: int = 0
    late: int = 0
    rejected: int = 0
    lines: Mapping[str, int] = field(default_factory=dict)
    idle: Mapping[str, int] = field(default_factory=dict)
    messages: int = 0
    heartbeats: int = 0
    rejected_messages: int = 0
    reason: str | None = None
    tally: Tally | None = None
    log: str | None = None
    jump: TimeJump | None = None

    @property
    def high(self) -> int | None:
        """The time that all parts of its source have reached."""
        known = [high for high in self.highs.values() if high is not None]
        return min(known) if known and len(known) == len(self.highs) else None

    @property
    def counters(self) -> Counters:
        """The messages and elements so far, counted by what became of them."""
        return Counters(
            self.elements,
            self.late,
            self.rejected,
            self.messages,
            self.heartbeats,
            self.rejected_messages,
        )

    def read_from(self, log: str | None) -> StreamState:
        """Begin anew if the stream was removed and made again with another log."""
        if self.log is not None and self.log != log:
            return StreamState(log=log)
        return replace(self, log=log)

    def with_counts(self, more: Counters) -> StreamState:
        """Add to its counters."""
        return replace(self, **asdict(self.counters + more))

    def reading(self, parts: Iterable[str]) -> StreamState:
        """The same of a source with these parts; what is new among them begins where it stands."""
        return replace(self, highs={**dict.fromkeys(parts, self.high), **self.highs})

    def counting(self, probes: Iterable[Probe]) -> StreamState:
        """Replace the probes of the tally; new ones begin at zero."""
        known = self.tally or Tally(partial=self.elements > 0)
        return replace(self, tally=known.counting(probe.key for probe in probes))


@dataclass(frozen=True, slots=True)
class QueryState:
    """How far a query has come.

    Attributes:
        digest: which query it is.
        progress: which of its instants have been evaluated.
        since: the position after which it sees elements.
        failure: why it has stopped, if it has.
        evaluations: how many there were.
        failed: how many of them failed.
        rows: how much it has emitted.
        skipped: at how many instants it was not evaluated, for want of time.
        pace: how it keeps up with its streams.
        offered: how many elements of its streams it has seen; none if an older version has begun.
        outside: how many of them lie between its windows.
    """

    digest: str
    progress: Progress
    since: int = -1
    failure: str | None = None
    evaluations: int = 0
    failed: int = 0
    rows: int = 0
    skipped: int = 0
    pace: Pace = field(default_factory=Pace)
    offered: int | None = None
    outside: int = 0

    def having(self, report: Report) -> QueryState:
        """The same, with what it has reported counted."""
        return replace(
            self,
            evaluations=self.evaluations + len(report) - len(report.skipped),
            failed=self.failed + len(report.errors),
            rows=self.rows + report.rows.height,
            skipped=self.skipped + len(report.skipped),
        )

    def offering(self, offered: int, outside: int) -> QueryState:
        """Add the elements that the query has seen."""
        known = None if self.offered is None else self.offered + offered
        return replace(self, offered=known, outside=self.outside + outside)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The state of a deployment after a batch.

    Attributes:
        batch: Spark's number of it.
        offsets: a digest of what Spark says the batch has read; none for the end of the input.
        pieces: how many pieces of files have been read.
        position: of the last element.
        streams: how far each has come.
        queries: how far each has come.
        panes: what open windows still need.
        snapshots: what they need besides, in place of many small panes.
        derived: how far the streams have come that queries make.
        memory: what the kernel remembers besides, if anything.
        told: what the batch has to tell, if anything.
        slices: what it has to tell before that, if it was evaluated in slices.
        marks: how far each sink had come before.
        static: which version of the static data was looked at.
        schema: what tells the schema that data were read under from others; none if empty.
        final: whether the input has ended with it.
        is_behind: whether some instants that were due wait for the next batch.
    """

    batch: int
    offsets: str | None = None
    pieces: int = 0
    position: int = -1
    streams: Mapping[str, StreamState] = field(default_factory=dict)
    queries: Mapping[str, QueryState] = field(default_factory=dict)
    panes: tuple[Pane, ...] = ()
    snapshots: Mapping[str, Snapshot] = field(default_factory=dict)
    derived: Mapping[str, int | None] = field(default_factory=dict)
    memory: File | None = None
    told: File | None = None
    slices: tuple[File, ...] = ()
    marks: Mapping[str, Mark] = field(default_factory=dict)
    static: str | None = None
    schema: str = ""
    final: bool = False
    is_behind: bool = False

    @property
    def label(self) -> str:
        """What sinks call the batch."""
        return f"{self.batch}.final" if self.final else str(self.batch)


NOTHING: Final = Manifest(-1)
"""Before the first batch."""


def commit(layout: Layout, manifest: Manifest) -> None:
    """Make a manifest part of the deployment, durably and at most once."""
    reach("manifest")
    create(_path(layout, manifest.label), sealed(_record(manifest)))
    reach("manifest-committed")
    if not layout.committed.exists():
        create(layout.committed, b"")


def read_manifest(layout: Layout, batch: int, final: bool = False) -> Manifest | None:
    """The manifest of a batch, if it was committed.

    Raises:
        MachineError: it is there, and is not what was written.
    """
    path = _path(layout, f"{batch}.final" if final else str(batch))
    if not path.exists():
        return None
    return _manifest(read_record(path))


def _record(manifest: Manifest) -> dict[str, object]:
    """A manifest for JSON: what many queries have in common is written once."""
    members: dict[tuple[object, ...], dict[str, list[object]]] = {}
    for name, each in manifest.queries.items():
        common = tuple(getattr(each, part) for part in _COMMON)
        members.setdefault(common, {})[name] = [getattr(each, part) for part in _OWN]
    queries = [
        {**dict(zip(_COMMON, common, strict=True)), "of": own} for common, own in members.items()
    ]
    parts = {each.name: getattr(manifest, each.name) for each in fields(manifest)}
    return {**parts, "queries": queries}


_COMMON: Final = ("progress", "since", "failure", "pace")
_OWN: Final = ("digest", "evaluations", "failed", "rows", "skipped", "offered", "outside")
"""What queries may have in common, and what is of each."""


def _manifest(parts: dict[str, Any]) -> Manifest:
    parts["streams"] = {iri: _stream(each) for iri, each in parts["streams"].items()}
    parts["queries"] = _queries(parts["queries"])
    parts["snapshots"] = {iri: Snapshot(**each) for iri, each in parts["snapshots"].items()}
    parts["panes"] = tuple(pane_from(each) for each in parts["panes"])
    for name in ("memory", "told"):
        parts[name] = None if parts[name] is None else File(**parts[name])
    parts["slices"] = tuple(File(**each) for each in parts.get("slices", ()))
    return Manifest(**parts)


def _stream(parts: dict[str, Any]) -> StreamState:
    """Read the state of a stream, also as an older version wrote it."""
    if "messages" not in parts:
        parts = {
            **parts,
            "messages": parts["elements"],
            "rejected_messages": parts["rejected"],
        }
    tally, jump = parts.get("tally"), parts.get("jump")
    read = {
        "tally": None if tally is None else tally_from(tally),
        "jump": None if jump is None else TimeJump(**jump),
    }
    return StreamState(**{**parts, **read})


def _queries(found: list[dict[str, Any]] | dict[str, dict[str, Any]]) -> dict[str, QueryState]:
    """Read the states of queries, also as an older version wrote them."""
    if isinstance(found, dict):
        return {name: _query(each) for name, each in found.items()}
    states = {}
    for common in found:
        members = common.pop("of")
        first = _query({**common, "digest": ""})
        for name, own in members.items():
            # An older version has written fewer of them.
            states[name] = replace(first, **dict(zip(_OWN, own, strict=False)))
    return states


def _query(parts: dict[str, Any]) -> QueryState:
    progress = parts["progress"]
    progress["counted"] = tuple(progress["counted"])
    edge = progress.get("edge")
    progress["edge"] = None if edge is None else tuple(edge)
    pace = Pace(**parts.get("pace", {}))
    return QueryState(**{**parts, "progress": Progress(**progress), "pace": pace})


def batches_of(layout: Layout) -> list[int]:
    """The batches that have a manifest, the last one first."""
    names = [path.stem for path in layout.manifests.glob("*.json")]
    return sorted((int(name) for name in names if name.isdigit()), reverse=True)


def latest(layout: Layout) -> Manifest:
    """What was committed last; nothing in a new deployment.

    Raises:
        MachineError: there were commits, and none is there.
    """
    batches = batches_of(layout)
    if not batches:
        check_not_lost(layout)
        return NOTHING
    last = batches[0]
    return read_manifest(layout, last, final=True) or read_manifest(layout, last) or Manifest(last)


def check_not_lost(layout: Layout) -> None:
    """Check that a deployment without manifests never had one.

    Raises:
        DamagedError: batches were committed.
    """
    if layout.committed.exists():
        raise DamagedError(
            f"{layout.manifests} has no manifest, and batches were committed; put it back from a "
            f"backup with all of {layout.directory}, or start in an empty directory"
        )


def _path(layout: Layout, label: str) -> Path:
    return layout.manifests / f"{label}.json"


def sweep(layout: Layout, kept: Sequence[Manifest], *, at_work: bool = False) -> None:
    """Delete what no manifest names any more: what has been told, windows long closed, drafts.

    Files that crashed tasks have left behind go too.

    Args:
        layout: the deployment.
        kept: the latest manifests: more than one, in case the last is lost and its batch is done
            again.
        at_work: whether panes of pieces that are still to be read may be made already.
    """
    reach("sweep")
    snapshots = {each.name for manifest in kept for each in manifest.snapshots.values()}
    memories = {each.memory.name for each in kept if each.memory}
    panes = {pane.name for each in kept for pane in each.panes}
    read = kept[-1].pieces if at_work else None
    _keep(layout.panes, lambda name: name in panes or (read is not None and is_ahead(name, read)))
    _keep(layout.memories, (memories | snapshots).__contains__)
    results = {file.name for each in kept for file in (*each.slices, each.told) if file}
    _keep(layout.results, results.__contains__)
    _keep(layout.manifests, {f"{each.label}.json" for each in kept}.__contains__)


def _keep(directory: Path, is_kept: Callable[[str], bool]) -> None:
    for file in directory.iterdir():
        if not is_kept(file.name) and not file.is_dir():  # which nobody but a user has made
            file.unlink(missing_ok=True)
