"""What a batch of elements makes due: the kernel, one step at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from headrace.algebra.walk import constants
from headrace.kernel.columns import ARRIVALS, ID, POSITION, STATEMENT
from headrace.kernel.derived import arrivals_of
from headrace.kernel.grid import NEVER, Times
from headrace.kernel.log import Elements, StreamLog
from headrace.kernel.reports import Report
from headrace.kernel.schedule import FOREVER, Reached
from headrace.kernel.standing import Around, Standing, completed
from headrace.planning.network import in_step_order
from headrace.planning.plan import Plan
from headrace.rdf.terms import Iri

_FORGET_FROM = 100_000
"""So many terms may be known before the first look at which of them are still needed."""


@dataclass(frozen=True, slots=True)
class Arrivals:
    """What has come in on a stream.

    Attributes:
        statements: in the order in which they came; positions count from 0 over the whole batch.
        high: how far the stream has come; heartbeats count too.
    """

    statements: pl.DataFrame = field(default_factory=ARRIVALS.to_frame)
    high: int | None = None


@dataclass(frozen=True, slots=True)
class Results:
    """What a step gives.

    Attributes:
        reports: of each query that had something due.
        late: the statements of the elements that missed a window, by stream.
        failed: the queries that have stopped, and why.
    """

    reports: tuple[Report, ...]
    late: Mapping[Iri, pl.DataFrame]
    failed: Mapping[str, str]


class Kernel:
    """Continuous queries at work over the streams of a deployment."""

    def __init__(self, plans: Sequence[Plan], around: Around, live: bool = False) -> None:
        """Begin with empty windows.

        Args:
            plans: the queries.
            around: what they share.
            live: whether empty windows are reported up to the watermark, or only between others.
        """
        self.around = around
        self.live = live
        self.queries: list[Standing] = []
        self._logs: dict[Iri, StreamLog] = {}
        self._position = -1
        self._kept_terms = _FORGET_FROM
        self.queries += map(Standing, plans)
        self._arrange()

    def register(self, plan: Plan) -> None:
        """Add a query, which sees what comes from now on."""
        self.queries.append(Standing(plan, self._position))
        self._arrange()

    def _arrange(self) -> None:
        order = in_step_order([query.plan for query in self.queries])
        self.queries = [self.queries[place] for place in order]
        for query in self.queries:
            for constant in constants(query.plan.query.pattern):
                self.around.dictionary.encode(constant)
            for stream in query.plan.streams:
                self._logs.setdefault(stream, StreamLog())

    def remember(self, stream: Iri, arrivals: Arrivals) -> None:
        """Take back elements of earlier steps: windows hold them, and no progress is made."""
        self._append(stream, arrivals, self._position + 1)

    # -- steps -----------------------------------------------------------------------------

    def step(self, batch: Mapping[Iri, Arrivals]) -> Results:
        """Add what has come in and evaluate every instant that is due."""
        return self._stepped(batch, ended=False)

    def finish(self, batch: Mapping[Iri, Arrivals] | None = None) -> Results:
        """With the last of the input, evaluate every instant whose windows hold an element."""
        return self._stepped(batch or {}, ended=True)

    def _stepped(self, batch: Mapping[Iri, Arrivals], ended: bool) -> Results:
        late: dict[Iri, list[Times]] = {}
        first = self._position + 1
        new = {stream: self._append(stream, arrivals, first) for stream, arrivals in batch.items()}
        reports: list[Report] = []
        failed: dict[str, str] = {}
        for query in self.queries:
            if query.failure is not None:
                self._derive(query, None, new, ended)  # those that read it go on without it
                continue
            self._tell(query, new, ended, late)
            report = self._due(query, ended)
            if report is not None:
                reports.append(report)
            if query.failure is not None:
                failed[query.plan.name] = query.failure
            self._derive(query, report, new, ended)
        missed = {
            stream: self._logs[stream].statements.filter(
                pl.col(POSITION).is_in(np.unique(np.concatenate(found)).tolist())
            )
            for stream, found in late.items()
        }
        self._forget(missed.values())
        return Results(tuple(reports), missed, failed)

    def _append(self, stream: Iri, arrivals: Arrivals, first: int = 0) -> Elements:
        log = self._logs.setdefault(stream, StreamLog())
        statements = arrivals.statements.with_columns(pl.col(POSITION) + first)
        elements = log.append(statements, arrivals.high)
        self._position = max(self._position, int(elements.positions.max(initial=-1)))
        return elements

    def _tell(
        self,
        query: Standing,
        new: Mapping[Iri, Elements],
        ended: bool,
        late: dict[Iri, list[Times]],
    ) -> None:
        """Tell a query what has come in, and collect what is late for it."""
        for number, stream in enumerate(query.plan.streams):
            elements = new.get(stream)
            if elements is not None:
                if query.since >= 0:
                    elements = elements.where(elements.positions > query.since)
                query.saw(number, elements)
        for number, elements, flags in query.settle(self._watermark(query), ended):
            if flags.any():
                late.setdefault(query.plan.streams[number], []).append(elements.positions[flags])

    def _due(self, query: Standing, ended: bool) -> Report | None:
        logs = self._logs_of(query)
        schedule = query.schedule(
            [elements for _, elements in logs],
            Reached(self._watermark(query), ended, self.live),
        )
        if schedule is None:
            return None
        instants, progress = schedule.due()
        query.progress = progress
        return query.evaluated(instants, logs, self.around) if len(instants) else None

    def _logs_of(self, query: Standing) -> list[tuple[StreamLog, Elements]]:
        found = []
        for stream in query.plan.streams:
            log = self._logs[stream]
            elements = log.elements
            if query.since >= 0:
                elements = elements.where(elements.positions > query.since)
            found.append((log, elements))
        return found

    def _watermark(self, query: Standing) -> int | None:
        """How far all of its streams have come; none if one has not begun."""
        found = None
        for stream in query.plan.streams:
            high = self._logs[stream].high
            if high is None:
                return None
            watermark = high - query.plan.delay(stream)
            found = watermark if found is None else min(found, watermark)
        return found

    # -- streams out of streams --------------------------------------------------------------

    def _derive(
        self, query: Standing, report: Report | None, new: dict[Iri, Elements], ended: bool
    ) -> None:
        """Give what a query has emitted to those that read it as a stream."""
        stream = query.plan.stream
        if stream is None or stream not in self._logs:
            return
        statements = ARRIVALS.to_frame()
        if report is not None:
            first, high = self._position + 1, self._logs[stream].high
            statements = arrivals_of(query.plan, report, self.around.dictionary, first, high)
        reached = self._reached(query, ended)
        if reached is None and statements.is_empty():
            return
        new[stream] = self._append(stream, Arrivals(statements, reached))

    def _reached(self, query: Standing, ended: bool) -> int | None:
        """How far a derived stream has come: its next element is not before that."""
        watermark = self._watermark(query)
        schedule = query.schedule(
            [elements for _, elements in self._logs_of(query)],
            Reached(watermark, False, self.live),
        )
        if schedule is None:
            return None
        if ended:
            return query.progress.reported
        failed = query.failure is not None
        until = schedule.released_until if failed else completed(schedule, self.live)
        return until + 1 if until > NEVER else None

    # -- forgetting ------------------------------------------------------------------------

    def _forget(self, also_used: Iterable[pl.DataFrame]) -> None:
        """Drop the elements that no query will ask for, and now and then their terms."""
        for stream, log in self._logs.items():
            log.forget(self.horizon(stream))
        dictionary = self.around.dictionary
        if dictionary.known.height > 2 * self._kept_terms:
            dictionary.forget_all_but(self._used_ids(also_used))
            self._kept_terms = max(_FORGET_FROM, dictionary.known.height)

    def horizon(self, stream: Iri) -> int:
        """The time up to which no query will ask for the elements of a stream."""
        horizons = [
            self._horizon(query, stream)
            for query in self.queries
            if query.failure is None and stream in query.plan.streams
        ]
        return min(horizons, default=FOREVER)

    def _horizon(self, query: Standing, stream: Iri) -> int:
        schedule = query.schedule(
            [elements for _, elements in self._logs_of(query)],
            Reached(self._watermark(query), False, self.live),
        )
        if schedule is None:
            return NEVER
        return schedule.horizon(query.plan.streams.index(stream))

    def _used_ids(self, also_used: Iterable[pl.DataFrame]) -> list[pl.Series]:
        logs = (log.statements for log in self._logs.values())
        frames = [self.around.static.frame, *logs, *also_used]
        used = [frame[name].drop_nulls() for frame in frames for name in STATEMENT]
        for query in self.queries:
            if query.previous is not None:
                names = [name for name in query.previous.columns if name.startswith("?")]
                used += [query.previous[name].drop_nulls() for name in names]
        return [series.rename(ID) for series in used]
