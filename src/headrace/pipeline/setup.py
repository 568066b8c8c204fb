"""What a pipeline runs: queries, how their streams are read, and where their answers go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import Final, Protocol

from headrace.diagnosis import Note
from headrace.kernel.arriving import Gate
from headrace.kernel.evaluation import Around
from headrace.kernel.fair_share import FairShare
from headrace.pipeline.decode import Decoding
from headrace.pipeline.manifest import Manifest
from headrace.pipeline.parts import Allowed, Answer, answer
from headrace.pipeline.results import Told
from headrace.planning.partitioning import Partitioning, partitioning
from headrace.planning.plan import Plan
from headrace.planning.sharing import lifted
from headrace.sinks.base import Mark, Sink


class Outlet(Protocol):
    """Where late or rejected elements go, with the same promises as a sink."""

    name: str

    def mark(self) -> Mark:
        """How far it has come."""

    def recover(self, mark: Mark) -> None:
        """Begin at a mark: whatever was written after it is gone."""

    def write(self, label: str, told: Told) -> None:
        """Write what a batch has to tell, durably."""


@dataclass(frozen=True)
class Setup:
    """What a pipeline runs.

    Attributes:
        plans: the queries.
        decodings: how the elements of each stream are read.
        around: what the queries share, and the version of the static data in it; looked at before
            each batch.
        gate: what keeps elements out whose times cannot be right, by stream.
        sinks: where results go, by what they are called.
        outlets: where late and rejected elements go.
        live: whether empty windows are reported up to the watermark.
        partitions: in how many parts queries are evaluated that can be.
        allowed: what the evaluation in a part may use.
        answer: has the parts evaluated.
        clock: seconds of a clock that never goes back; says how long batches take, and silences.
        idles: after how many microseconds of silence streams are idle, by their IRIs.
        clock: seconds of a clock that never goes back; says how long batches take.
        sources: the names of what each stream is read from, for notes.
        logs: the names of the folders of the logs that streams are read from, by their IRIs.
        notes: adds notes about what has been committed, besides those that diagnosis finds.
        share: divides the time of a live batch among the queries; in a replay there is none.
    """

    plans: Sequence[Plan]
    decodings: Mapping[str, Decoding]
    around: Callable[[], tuple[str, Around]]
    gate: Callable[[str], Gate]
    sinks: Mapping[str, Sink] = field(default_factory=dict)
    outlets: Sequence[Outlet] = ()
    live: bool = False
    partitions: int = 1
    allowed: Allowed | None = None
    answer: Answer = lambda requests: [answer(each) for each in requests]
    clock: Callable[[], float] = perf_counter
    idles: Mapping[str, int] = field(default_factory=dict)
    sources: Mapping[str, Sequence[str]] = field(default_factory=dict)
    logs: Mapping[str, str] = field(default_factory=dict)
    notes: Callable[[Manifest], Iterable[Note]] = lambda _manifest: ()
    share: FairShare | None = None

    @cached_property
    def schema(self) -> str:
        """What tells the schema of the queries from others; all have the same, or none."""
        return next((plan.schema for plan in self.plans if plan.schema), "")

    @cached_property
    def partitionings(self) -> Mapping[str, Partitioning]:
        """How each query is evaluated in parts, by its name; not if it is one with many others."""
        made = [plan.stream for plan in self.plans if plan.stream is not None]
        shapes = {each.plan.name: each.shape for each in map(lifted, self.plans) if each}
        numbers = Counter(shapes.values())
        found = {}
        for plan in self.plans:
            others = numbers[shapes[plan.name]] - 1 if plan.name in shapes else 0
            if others < _MANY:
                found[plan.name] = partitioning(plan, made)
            else:
                reason = f"it is evaluated as one with {others:,} others"
                found[plan.name] = Partitioning(None, reason=reason)
        return found


_MANY: Final = 16
"""Queries with so many others of their shape cost less as one than each in parts."""
