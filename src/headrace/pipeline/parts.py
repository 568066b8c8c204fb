"""Queries evaluated in parts: what a task is asked, what it does, and what it answers with.

A part reads the panes of all open windows and keeps the statements whose key falls to it. Panes
never change, so what a worker has read once it may use again: a cache that can be lost at any time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path
from typing import Final
from uuid import uuid4

import polars as pl

from headrace.functions.table import Functions
from headrace.functions.value_failures import Cause, ValueFailure
from headrace.kernel.arrivals import Arrivals
from headrace.kernel.budget import Budget
from headrace.kernel.columns import ID
from headrace.kernel.data import NO_QUADS, Quads
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.evaluation import Around, Outcome
from headrace.kernel.parts import Due, PartFound, found_by_part, owned, used_ids
from headrace.kernel.scan import Share
from headrace.metering import EvaluationLimits, Meter, metered
from headrace.pipeline.decode import Decoding, load
from headrace.pipeline.faults import reach
from headrace.pipeline.intake import united
from headrace.pipeline.manifest import File
from headrace.pipeline.memories import Snapshot, read_snapshot
from headrace.pipeline.panes import Pane, arrivals
from headrace.pipeline.tables import frame_of, read_static, read_tables, write_tables
from headrace.rdf.terms import Iri

_OUTCOME: Final = b"outcome"
_MOST_TERMS: Final = 5_000_000
"""A worker that knows more terms than these begins anew."""


@dataclass(frozen=True)
class Allowed:
    """What the evaluation of a query in a part may use.

    Attributes:
        seed: of the ids.
        static: static data and their terms, in a file; none if there are none.
        functions: the functions that can be called by IRI.
        limits: what one evaluation may use.
    """

    seed: int
    static: Path | None = None
    functions: Functions = field(default_factory=Functions)
    limits: EvaluationLimits = field(default_factory=EvaluationLimits)

    def budget(self) -> Budget:
        """Make the limits of the operators of one evaluation."""
        return Budget(self.limits.rows, self.limits.bytes)


@dataclass(frozen=True)
class PartRequest:
    """What one part is asked.

    Attributes:
        dues: the queries, and when.
        part: which part.
        parts: how many there are.
        panes: what open windows hold.
        snapshots: what they hold besides, by stream.
        decodings: how streams are read.
        memories: where snapshots are.
        answers: where to write what is found.
        allowed: what may be used.
    """

    dues: Sequence[Due]
    part: int
    parts: int
    panes: Sequence[Pane]
    snapshots: Mapping[str, Snapshot]
    decodings: Mapping[str, Decoding]
    memories: Path
    answers: Path
    allowed: Allowed


Answer = Callable[[Sequence[PartRequest]], list[File]]
"""Has requests answered, each by a task; what was found is in files."""


def answer(request: PartRequest) -> File:
    """Evaluate queries for one part, and write the results to a new file."""
    worker = _worker(request.allowed)
    worker.keep(request)
    found = [worker.found(due, request) for due in request.dues]
    reach("part-evaluated")
    name = f"{uuid4().hex}.arrow"
    tables = []
    for each in found:
        failures = [astuple(failure) for failure in each.failures]
        outcome = json.dumps([each.outcome.errors, each.outcome.failed, failures])
        frame = each.frame.to_arrow().replace_schema_metadata({_OUTCOME: outcome.encode()})
        tables += [frame, each.terms.to_arrow()]
    return File(name, write_tables(request.answers / name, tables, durable=False))


def read_answer(directory: Path, file: File) -> list[PartFound]:
    """Read the results of a part, query by query."""
    tables = read_tables(directory / file.name, file.checksum)
    found = []
    for frame, terms in zip(tables[::2], tables[1::2], strict=True):
        errors, failed, failures = json.loads((frame.schema.metadata or {})[_OUTCOME])
        outcome = Outcome(
            tuple((place, text) for place, text in errors),
            None if failed is None else (failed[0], failed[1]),
        )
        plain = frame_of(frame.replace_schema_metadata(None))
        values = tuple(
            ValueFailure(Cause(cause), subject, count, example)
            for cause, subject, count, example in failures
        )
        found.append(PartFound(plain, frame_of(terms), outcome, values))
    return found


# -- in a worker -------------------------------------------------------------------------------

_Key = tuple[str, str, tuple[str, ...], int, int]


class _Worker:
    """What a process that evaluates parts has read and may read again."""

    def __init__(self, allowed: Allowed) -> None:
        self.seed, self.path = allowed.seed, allowed.static
        self.dictionary = Dictionary(allowed.seed)
        self.static = NO_QUADS
        self._held: dict[_Key, Arrivals] = {}
        if allowed.static is not None:
            statements, terms = read_static(allowed.static)
            self.dictionary.learn(terms)
            self.static = Quads(statements)

    def found(self, due: Due, request: PartRequest) -> PartFound:
        share = due.share(request.part, request.parts)
        due = due.of_part(request.part, request.parts)
        allowed = request.allowed
        around = Around(
            self.dictionary, self.static, functions=allowed.functions, budget=allowed.budget
        )
        needed = due.streams()
        streams = {
            stream: self._stream(stream, due, share, request) if stream in needed else Arrivals()
            for stream in due.plan.streams
        }
        with metered(Meter(allowed.limits)):
            return found_by_part(due, share, streams, around)

    def _stream(self, stream: Iri, due: Due, share: Share | None, request: PartRequest) -> Arrivals:
        """What open windows hold of a stream that falls to a part."""
        found = []
        snapshot = request.snapshots.get(stream.value)
        if snapshot is not None:
            key = self._key(snapshot.name, stream, due, share)
            if key not in self._held:
                whole, terms = read_snapshot(request.memories, snapshot)
                self._held[key] = self._owned(key, whole, terms, due, share)
            found.append(self._held[key])
        for pane in request.panes:
            if pane.stream != stream.value:
                continue
            key = self._key(pane.name, stream, due, share)
            if key not in self._held:
                columns = load(pane, request.decodings[pane.stream])
                whole = arrivals(pane, columns)
                self._held[key] = self._owned(key, whole, columns.terms, due, share)
            found.append(self._held[key])
        return united(found, None)

    def _owned(
        self, key: _Key, whole: Arrivals, terms: pl.DataFrame, due: Due, share: Share | None
    ) -> Arrivals:
        statements = owned(whole.statements, due, share)
        if share is not None:
            terms = terms.join(used_ids(statements), on=ID, how="semi")
        self.dictionary.shelve(repr(key), terms)
        return replace(whole, statements=statements)

    def _key(self, name: str, stream: Iri, due: Due, share: Share | None) -> _Key:
        part, parts = (0, 1) if share is None else (share.part, share.parts)
        return name, stream.value, due.partitioning.places, part, parts

    def keep(self, request: PartRequest) -> None:
        """Forget what windows no longer hold."""
        names = {pane.name for pane in request.panes}
        names |= {snapshot.name for snapshot in request.snapshots.values()}
        self._held = {key: each for key, each in self._held.items() if key[0] in names}
        self.dictionary.keep_shelves(set(map(repr, self._held)))
        if self.dictionary.known.height > _MOST_TERMS:
            _workers.clear()


_workers: dict[tuple[int, Path | None], _Worker] = {}


def _worker(allowed: Allowed) -> _Worker:
    key = (allowed.seed, allowed.static)
    if key not in _workers:
        _workers.clear()  # of a deployment that has ended, or of older static data
        _workers[key] = _Worker(allowed)
    return _workers[key]


# -- static data -------------------------------------------------------------------------------


def write_static(path: Path, around: Around) -> None:
    """Write static data and their terms to a file, for parts to read."""
    if path.exists():
        return
    statements = around.static.frame
    terms = around.dictionary.known.join(used_ids(statements), on=ID, how="semi")
    draft = path.with_suffix(".draft")
    draft.unlink(missing_ok=True)
    write_tables(draft, [statements.to_arrow(), terms.to_arrow()], durable=False)
    draft.replace(path)
