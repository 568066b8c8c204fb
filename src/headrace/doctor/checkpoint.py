"""Checks and repairs of a checkpoint: its identity, its progress, its damage and the remedies.

A manifest is whole if all that it names is there as it was written. A run can go on from a whole
manifest only. If the last one is not whole and the one before is, `repair` takes the last batch
back: what was written of it is set aside, and the next run does the batch again, to the same end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import xxhash

from headrace.doctor import Finding, Status, is_ready, render
from headrace.doctor.ingest_logs import examine_logs, logs_in, repair_logs
from headrace.doctor.source_log_repair import rebuilt, write_log
from headrace.durable import sync_directory
from headrace.errors import DamagedError, DataError, HeadraceError, MachineError, SettingError
from headrace.kernel.grid import NEVER
from headrace.pipeline.deployment import LOCK, is_in_use, read_identity
from headrace.pipeline.layout import Layout
from headrace.pipeline.manifest import (
    NOTHING,
    Manifest,
    QueryState,
    StreamState,
    batches_of,
    check_not_lost,
    read_manifest,
)
from headrace.pipeline.panes import Pane
from headrace.pipeline.pieces import Piece, read_pieces
from headrace.pipeline.records import read_record
from headrace.pipeline.settled import settled_marks
from headrace.pipeline.sparklog import (
    done,
    metadata_of,
    offsets_problem,
    planned,
    records,
    spark_problems,
)
from headrace.pipeline.tables import IDENTITY, home_of, read_tables
from headrace.rdf.times import iso_text
from headrace.sinks.base import Mark

if TYPE_CHECKING:
    from rich.console import Console

ASIDE: Final = "taken-back"
"""The folder of files that a repair has replaced, so that they can be examined."""
ANEW: Final = "put the file back from a copy, or start again in a new directory"
_NOTHING: Final = "nothing is damaged"
_KAFKA: Final = "kafka://"


@dataclass(frozen=True, slots=True)
class State:
    """A manifest, or what is left of it.

    Attributes:
        batch: its batch.
        final: whether it is that of the end of the input.
        manifest: what it says, if it can be read.
        problems: why a run cannot go on from it.
        lost: the panes that a run makes again from their sources.
    """

    batch: int
    final: bool
    manifest: Manifest | None
    problems: Sequence[str]
    lost: Sequence[str] = ()

    @property
    def label(self) -> str:
        """What its file is called."""
        return f"{self.batch}.final" if self.final else str(self.batch)


def main(directory: Path, console: Console | None = None, mend: bool = False) -> int:
    """Print what there is to say of a checkpoint; the exit status is 1 if a run cannot go on.

    Args:
        directory: the checkpoint.
        console: where to print.
        mend: whether to repair it first, if it needs it.

    Raises:
        SettingError: it cannot be repaired.
    """
    from rich.console import Console  # noqa: PLC0415  # as for the machine

    console = console or Console()
    if mend:
        console.print(repair(directory), highlight=False, markup=False, soft_wrap=True)
    findings = list(examine(directory))
    for finding in findings:
        render(finding, console)
    return 0 if is_ready(findings) else 1


def examine(directory: Path) -> Iterator[Finding]:
    """Look at a checkpoint, and change nothing."""
    layout = Layout(directory.resolve())
    identity = _identity(layout)
    yield identity
    if identity.status is Status.FAIL:
        return
    if is_in_use(layout):
        yield Finding(
            "in use",
            Status.WARN,
            "a run or a server is running here",
            "check again after it has stopped: a file that it is writing may look damaged",
        )
    if (layout.directory / LOCK).is_dir():
        detail = f"{layout.directory / LOCK} is a folder, and has to be a file"
        yield Finding("lock", Status.FAIL, detail, "move it out of the way")
    command = f"`headrace doctor --checkpoint {directory} --repair`"
    yield from examine_logs(logs_in(layout.logs), layout.source_log, command)
    topics = _unsealed(layout.topics)
    if topics is not None:
        yield Finding("damage", Status.FAIL, topics, ANEW)
    states = _states(layout)
    if not states:
        yield from _without_batches(layout)
        return
    yield _of_last(states)
    for problem in states[0].problems:
        yield Finding("damage", Status.FAIL, problem, _remedy(layout, states))
    unsettled = _unsettled(layout)
    if unsettled is not None:
        yield Finding("damage", Status.FAIL, unsettled, _remedy(layout, states))
    for pane in states[0].lost:
        detail = f"{pane} is lost or damaged; it is made again from its source"
        yield Finding("pane", Status.OK, detail)
    known = states[0].manifest
    if known is not None:
        yield from _of_log(layout, known.pieces)
        yield from (_of_stream(iri, each) for iri, each in known.streams.items())
        yield from (_of_query(name, each) for name, each in known.queries.items())
    yield from _of_spark(layout, states[0])


def repair(directory: Path, aside: Path | None = None) -> str:
    """Take back the last batch, if it is damaged and that is safe; what was done, a line each.

    Args:
        directory: the checkpoint.
        aside: where damaged files are stored as they were; a folder of the checkpoint if not given.

    Raises:
        SettingError: there is nothing that it is safe to do; the message says what else helps.
    """
    layout = Layout(directory.resolve())
    identity = _identity(layout)
    if identity.status is Status.FAIL:
        raise SettingError(f"{identity.detail}; {identity.remedy}")
    if is_in_use(layout):
        raise SettingError(f"{directory} is in use by a run; stop it first")
    aside = aside or layout.directory / ASIDE
    done = list(repair_logs(logs_in(layout.logs), layout.source_log, aside))
    damage = [each.detail for each in examine(directory) if each.status is Status.FAIL]
    if not damage:
        return "\n".join(done) or _NOTHING
    states = _states(layout)
    pieces = _rebuilt_log(layout, states)
    if pieces is not None:
        done += [f"damage: {each}" for each in damage]
        if layout.source_log.exists():
            kept = _set_aside(layout, layout.source_log, aside)
            done.append(f"{layout.source_log} is moved to {kept}")
        write_log(layout.source_log, pieces)
        done.append(f"{layout.source_log} is written anew from what the last batches have read")
        rest = repair(directory, aside)
        return "\n".join(done if rest == _NOTHING else [*done, rest])
    reason = _not_mendable(layout, states)
    if reason is not None:
        raise SettingError(f"this cannot be repaired: {'; '.join(damage)}; {reason}; {ANEW}")
    whole = next(state for state in states if not state.problems)
    moved = list(_to_take_back(layout, states, whole))
    done += [f"damage: {each}" for each in damage]
    for path in moved:
        kept = _set_aside(layout, path, aside)
        done.append(f"{path} is moved to {kept}")
    if layout.spark.is_dir() and not _is_json(metadata_of(layout)):
        # Spark only wants to know its query again, and there is one query here.
        metadata_of(layout).write_text(json.dumps({"id": str(uuid4())}))
        done.append(f"{metadata_of(layout)} is written anew")
    done.append(f"the next run goes on after batch {whole.label}, and comes to the same results")
    return "\n".join(done)


def _to_take_back(layout: Layout, states: Sequence[State], whole: State) -> Iterator[Path]:
    """List the files that go further than the last whole batch."""
    for state in states[: states.index(whole)]:
        path = layout.manifests / f"{state.label}.json"
        if path.exists():
            yield path
    yield from _beyond(layout, whole)
    if _unsettled(layout) is not None:  # the last batch is then published again, as after a crash
        yield layout.settled


def _beyond(layout: Layout, whole: State) -> Iterator[Path]:
    """What Spark has written down that is damaged, or goes further than a manifest."""
    assert whole.manifest is not None, "it is whole"
    for batch, path in done(layout).items():
        if batch > whole.batch or (batch == whole.batch and records(path) is None):
            yield path
    for batch, path in planned(layout).items():
        next_one = batch == whole.batch + 1
        if batch > whole.batch + 1 or (
            next_one and offsets_problem(layout, batch, whole.manifest) is not None
        ):
            yield path


def _set_aside(layout: Layout, path: Path, aside: Path) -> Path:
    """Move a file; where it is then."""
    kept = free_name(aside / path.relative_to(layout.directory))
    kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.replace(kept)
    sync_directory(path.parent)
    return kept


def free_name(path: Path) -> Path:
    """Return a name that no file has: that of an earlier repair stays as it is."""
    others = (path.with_name(f"{path.name}.{number}") for number in count(1))
    return next(each for each in chain((path,), others) if not each.exists())


# -- what is there -------------------------------------------------------------------------------


def _without_batches(layout: Layout) -> Iterator[Finding]:
    """Report a checkpoint that has no batch: it is new, or has lost all of them."""
    try:
        check_not_lost(layout)
    except DamagedError as error:
        detail, _, remedy = str(error).partition("; ")
        yield Finding("damage", Status.FAIL, detail, remedy)
        return
    yield Finding("batches", Status.OK, "none yet: a run begins with its first batch")
    yield from _of_spark(layout, None)


def _identity(layout: Layout) -> Finding:
    if not home_of(layout.directory).exists():
        problem = f"there is no directory {layout.directory}"
        return Finding("identity", Status.FAIL, problem, "name the one of the run or the server")
    if not layout.identity.exists():
        problem = f"{layout.directory} has no {IDENTITY}: it is no checkpoint, or has lost it"
        below = sorted(layout.directory.glob(f"*/{IDENTITY}"))
        advice = f"there is one in it: look at {below[0].parent}" if below else ANEW
        return Finding("identity", Status.FAIL, problem, advice)
    try:
        found = read_identity(layout.identity)
    except MachineError as error:
        return Finding("identity", Status.FAIL, _problem(error), ANEW)
    detail = f"deployment {found.id}, made by Headrace {found.version}"
    return Finding("identity", Status.OK, detail)


def _states(layout: Layout) -> list[State]:
    """Every manifest, the last one first."""
    states = []
    for batch in batches_of(layout):
        if (layout.manifests / f"{batch}.final.json").exists():
            states.append(_state(layout, batch, final=True))
        states.append(_state(layout, batch, final=False))
    return states


def _state(layout: Layout, batch: int, final: bool) -> State:
    try:
        manifest = read_manifest(layout, batch, final)
    except MachineError as error:
        return State(batch, final, None, [_problem(error)])
    if manifest is None:
        return State(batch, final, None, [f"there is no manifest of batch {batch}"])
    settled = None if _unsettled(layout) else settled_marks(layout, manifest)
    needed = manifest if settled is None else replace(manifest, told=None, slices=(), marks=settled)
    checks: list[Callable[[], object]] = [
        *_files(layout, needed),
        partial(_check_log, layout, manifest.pieces),
    ]
    problems = [problem for check in checks if (problem := _tried(check)) is not None]
    problems += [_short(name, mark) for name, mark in needed.marks.items() if _short(name, mark)]
    lost = []
    for pane in manifest.panes:
        if _tried(partial(read_tables, layout.panes / pane.name, pane.checksum)):
            gone = _tried(partial(_check_source, pane))
            lost += [] if gone else [str(layout.panes / pane.name)]
            problems += [gone] if gone else []
    if planned(layout):
        problem = offsets_problem(layout, batch, manifest)
        path = layout.spark / "offsets" / str(batch)
        problems += [] if problem is None else [f"{path} is damaged: {problem}"]
    return State(batch, final, manifest, problems, lost)


def _unsettled(layout: Layout) -> str | None:
    """What is wrong with what the last run has said when it ended well, if something is."""
    return _unsealed(layout.settled)


def _unsealed(path: Path) -> str | None:
    """What is wrong with a record, if it is there and something is."""
    return _tried(partial(read_record, path)) if path.exists() else None


def _files(layout: Layout, manifest: Manifest) -> Iterator[Callable[[], object]]:
    """Reads each file that a manifest cannot do without."""
    for folder, file in (
        (layout.memories, manifest.memory),
        (layout.results, manifest.told),
        *((layout.results, each) for each in manifest.slices),
        *((layout.memories, each) for each in manifest.snapshots.values()),
    ):
        if file is not None:
            yield partial(read_tables, folder / file.name, file.checksum)


def _tried(check: Callable[[], object]) -> str | None:
    """What is wrong, if something is."""
    try:
        check()
    except HeadraceError as error:
        return _problem(error)
    return None


def _problem(error: HeadraceError) -> str:
    """What an error says, without the advice to do what is being done."""
    return str(error).partition("; `headrace doctor")[0]


def _check_log(layout: Layout, committed: int) -> None:
    read_pieces(layout.source_log).check(layout.source_log, committed)


def _check_source(pane: Pane) -> None:
    if pane.piece is None:
        raise DataError("is lost, and came from a source that cannot be read again", pane.name)
    if xxhash.xxh3_64_hexdigest(pane.piece.content()) != pane.source:
        raise DataError("has changed since it was read, and a pane of it is lost", pane.piece.path)


def _short(name: str, mark: Mark) -> str:
    """What is missing of a sink that is a file or a directory."""
    path = Path(name)
    if isinstance(mark, int) and path.is_absolute():
        size = path.stat().st_size if path.exists() else 0
        return f"{path} has {size} bytes, and the run had written {mark}" if size < mark else ""
    if isinstance(mark, str) and path.is_absolute():
        label, _, count = mark.rpartition("/")
        batch, ended, _ = label.partition(".")
        last = f"part-{batch:0>10}" + ("_final" if ended else "")
        parts = sum(each.stem <= last for each in path.glob("part-*.parquet"))
        missing = parts < int(count)
        return f"{path} has {parts} parts, and the run had written {count}" if missing else ""
    return ""


# -- what to say ---------------------------------------------------------------------------------


def _of_last(states: Sequence[State]) -> Finding:
    """How far it has come, and whether a run can go on from there."""
    last = states[0]
    if last.problems:
        return Finding("batches", Status.FAIL, f"batch {last.label} is the last, and not whole")
    if last.final:
        return Finding(
            "batches", Status.OK, f"batch {last.batch} was the last: the input has ended"
        )
    return Finding("batches", Status.OK, f"batch {last.batch} is the last: a run goes on after it")


def _of_log(layout: Layout, committed: int) -> Iterator[Finding]:
    """Report a damaged end of the source log that no batch has relied on."""
    try:
        found = read_pieces(layout.source_log)
    except MachineError:  # reported as damage of the last batch
        return
    if found.damage is not None and found.count >= committed:
        detail = f"{_problem(found.damage)}; the next run cuts it there and looks for more again"
        yield Finding("source log", Status.OK, detail)


def _of_stream(iri: str, state: StreamState) -> Finding:
    reached = "nowhere yet" if state.high is None else iso_text(state.high)
    counted = state.counters.text()
    return Finding("stream", Status.OK, f"<{iri}> has reached {reached}: {counted}")


def _of_query(name: str, state: QueryState) -> Finding:
    reported, released = state.progress.reported, state.progress.released
    last = released if reported is None else reported
    unknown = not state.evaluations or last == NEVER
    reached = "not been evaluated yet" if unknown else f"reached {iso_text(last)}"
    counted = f"{state.evaluations:,} evaluations, {state.failed:,} failed, {state.rows:,} rows"
    counted += f", {state.skipped:,} instants skipped" if state.skipped else ""
    if state.failure is not None:
        remedy = (
            "change the query, or on a server remove it and register it corrected: it then begins "
            "anew with what comes from now on"
        )
        return Finding("query", Status.WARN, f"'{name}' has stopped: {state.failure}", remedy)
    return Finding("query", Status.OK, f"'{name}' has {reached}: {counted}")


def _of_spark(layout: Layout, state: State | None) -> list[Finding]:
    """What keeps Spark from going on, besides what keeps everyone."""
    if not layout.spark.is_dir() or (state is not None and state.manifest is None):
        return []
    last = NOTHING if state is None or state.manifest is None else state.manifest
    problems = [f"{path} is damaged: {problem}" for path, problem in spark_problems(layout, last)]
    known = () if state is None else state.problems
    remedy = _remedy(layout, [] if state is None else _states(layout))
    return [
        Finding("Spark", Status.FAIL, problem, remedy)
        for problem in problems
        if problem not in known
    ]


def _rebuilt_log(layout: Layout, states: Sequence[State]) -> list[Piece] | None:
    """Rebuild the source log, if it is why no batch is whole and that is possible."""
    manifests = [each.manifest for each in states if each.manifest is not None]
    if not manifests or any(not each.problems for each in states):
        return None
    newest = max(each.pieces for each in manifests)
    if _tried(partial(_check_log, layout, newest)) is None:
        return None
    try:
        return rebuilt(layout.source_log, manifests)
    except MachineError:  # another version has written it
        return None


def _remedy(layout: Layout, states: Sequence[State]) -> str:
    if _rebuilt_log(layout, states) is not None:
        home = home_of(layout.directory)
        return (
            f"`headrace doctor --checkpoint {home} --repair` writes {layout.source_log.name} anew "
            "from what the last batches have read"
        )
    if _not_mendable(layout, states) is not None:
        return ANEW
    whole = next(state for state in states if not state.problems)
    home = home_of(layout.directory)
    return (
        f"`headrace doctor --checkpoint {home} --repair`: the next run then goes on "
        f"after batch {whole.label}, and comes to the same results"
    )


def _not_mendable(layout: Layout, states: Sequence[State]) -> str | None:
    """Why nothing can be taken back, if so."""
    if _unsealed(layout.topics) is not None:
        return "nothing else has the order of the topics"
    if (layout.directory / LOCK).is_dir():
        return "it cannot be locked"
    whole = next((state for state in states if not state.problems), None)
    if whole is None or whole.manifest is None:
        return "no batch is whole"
    if layout.spark.is_dir() and not planned(layout):
        return f"{layout.spark} is lost; without Spark (--runner inline) the run goes on"
    taken = whole is not states[0] or whole.batch < max(done(layout), default=-1)
    sent = any(name.startswith(_KAFKA) for name in whole.manifest.marks)
    if taken and sent and offsets_problem(layout, whole.batch + 1, whole.manifest) is not None:
        return "what was sent to Kafka cannot be taken back, and the plan of that batch is lost"
    return None


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_bytes())
    except (OSError, ValueError):
        return False
    return True
