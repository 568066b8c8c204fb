"""Queries evaluated in parts, seen from the driver: parts are asked, answers are put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from headrace.kernel.dictionary import Dictionary
from headrace.kernel.evaluation import Answered, Around, finished
from headrace.kernel.grid import FOREVER, NEVER
from headrace.kernel.instants import Instants
from headrace.kernel.parts import Due, put_together
from headrace.kernel.standing import Standing
from headrace.pipeline.layout import Layout
from headrace.pipeline.memories import Snapshot
from headrace.pipeline.panes import Pane
from headrace.pipeline.parts import Allowed, PartRequest, read_answer, write_static
from headrace.pipeline.setup import Setup
from headrace.planning.plan import Plan


@dataclass(frozen=True)
class Parts:
    """Queries evaluated in parts, over all that windows may hold.

    Attributes:
        layout: where panes and snapshots are, and where answers go.
        setup: what is run.
        around: what the queries share here.
        version: of the static data in it.
        panes: what windows may hold.
        snapshots: what they may hold besides.
    """

    layout: Layout
    setup: Setup
    around: Around
    version: str
    panes: Sequence[Pane]
    snapshots: Mapping[str, Snapshot]

    def takes(self, plan: Plan) -> bool:
        """Whether a query can be evaluated in parts."""
        return not self.setup.partitionings[plan.name].is_whole

    def read_whole(self) -> set[str]:
        """The streams that some query must see as a whole."""
        whole = [plan for plan in self.setup.plans if not self.takes(plan)]
        return {stream.value for plan in whole for stream in plan.streams}

    def answers(
        self, asked: Sequence[tuple[Standing, Instants]], dictionary: Dictionary
    ) -> list[Answered]:
        """Merge the answers of parts to the answers of queries at some instants."""
        dues = [self._due(query, instants) for query, instants in asked]
        streams = {stream.value for due in dues for stream in due.plan.streams}
        since, until = _stretch([instants for _, instants in asked])
        # What comes after the windows that have closed is looked at when its own do.
        panes = [
            pane for pane in self.panes if pane.stream in streams and pane.may_hold(since, until)
        ]
        allowed = self._allowed()
        requests = [
            PartRequest(
                dues,
                part,
                self.setup.partitions,
                panes,
                self.snapshots,
                self.setup.decodings,
                self.layout.memories,
                self.layout.results,
                allowed,
            )
            for part in range(self.setup.partitions)
        ]
        files = self.setup.answer(requests)
        found = [read_answer(self.layout.results, file) for file in files]
        for parts in found:
            for due, part in zip(dues, parts, strict=True):
                for failure in part.failures:
                    self.around.failures.add(due.plan.name, failure)
        together = [put_together(each, dictionary) for each in zip(*found, strict=True)]
        return [
            self._finished(query, instants, each)
            for (query, instants), each in zip(asked, together, strict=True)
        ]

    def _finished(self, query: Standing, instants: Instants, found: Answered) -> Answered:
        split = self.setup.partitionings[query.plan.name].split
        if split is None:
            return found
        return finished(query.plan, split, instants, found, self.around)

    def _due(self, query: Standing, instants: Instants) -> Due:
        origin = query.progress.origin
        assert origin is not None, "it has instants"
        how = self.setup.partitionings[query.plan.name]
        return Due(query.plan, how, origin, query.since, instants.times, instants.seqs)

    def _allowed(self) -> Allowed:
        assert self.setup.allowed is not None, "queries are evaluated in parts"
        if self.around.static.frame.is_empty():
            return self.setup.allowed
        self.layout.static.mkdir(mode=0o700, exist_ok=True)
        path = self.layout.static / f"{self.version}.arrow"
        write_static(path, self.around)
        return replace(self.setup.allowed, static=path)


def _stretch(asked: Sequence[Instants]) -> tuple[int, int]:
    """From the first opening to the last close of windows at some instants."""
    spans = [span for instants in asked for span in instants.spans]
    since = min(int(span.opens.min(initial=FOREVER)) for span in spans)
    return since, max(int(span.closes.max(initial=NEVER)) for span in spans)
