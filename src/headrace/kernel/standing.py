"""A registered query at work: what it remembers from step to step, and how it is evaluated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from headrace.algebra.query import Construct, Describe
from headrace.algebra.reporting import NonEmpty
from headrace.errors import HeadraceError, QueryError
from headrace.functions.evaluate import EvaluationContext
from headrace.functions.table import Functions
from headrace.functions.times import date_time
from headrace.kernel.answer import active_data
from headrace.kernel.budget import Budget
from headrace.kernel.columns import INSTANT
from headrace.kernel.contents import Held
from headrace.kernel.data import Data, Quads, WindowContents, united
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.emission import Answers, emitted
from headrace.kernel.forms import answer_frame, row_texts, statement_texts
from headrace.kernel.grid import NEVER
from headrace.kernel.holding import Flags, Rules
from headrace.kernel.instants import Instants, Span
from headrace.kernel.log import Elements, StreamLog
from headrace.kernel.order import is_ordered
from headrace.kernel.progress import Progress
from headrace.kernel.reports import Report
from headrace.kernel.schedule import Reached, Schedule
from headrace.kernel.snapshot import CallService, Surroundings, evaluate, no_service
from headrace.planning.plan import Plan


class InstantError(HeadraceError):
    """An evaluation failed and the next one may not; the query goes on."""


@dataclass(frozen=True)
class Around:
    """What all queries of a deployment share.

    Attributes:
        dictionary: the terms.
        static: the statements that are the same at every instant.
        service: how remote endpoints are asked.
        functions: the functions that can be called by IRI.
        budget: makes what one evaluation may cost.
    """

    dictionary: Dictionary
    static: Quads
    service: CallService = no_service
    functions: Functions = field(default_factory=Functions)
    budget: Callable[[], Budget] = Budget


class Standing:
    """A query and all that it remembers."""

    def __init__(self, plan: Plan, since: int = -1, progress: Progress | None = None) -> None:
        """Begin with the elements that come after a position."""
        self.plan = plan
        self.since = since
        self.progress = progress or Progress.start(plan)
        self.previous: pl.DataFrame | None = None
        self.failure: str | None = None
        self._pending: list[tuple[int, Elements]] = []

    # -- what comes in ---------------------------------------------------------------------

    def saw(self, stream: int, elements: Elements) -> None:
        """Take note of new elements of one of its streams."""
        delay = self.plan.delay(self.plan.streams[stream])
        self.progress = self.progress.saw_times(elements, delay)
        if len(elements):
            self._pending.append((stream, elements))

    def settle(self, watermark: int | None, ended: bool) -> list[tuple[int, Elements, Flags]]:
        """Place the new elements in time; which of them are late, by stream."""
        self.progress = self.progress.with_origin(watermark, ended)
        if self.progress.origin is None:
            return []
        rules = Rules(self.plan, self.progress.origin)
        pending, self._pending = self._pending, []
        judged = []
        for stream, elements in pending:
            late = np.zeros(len(elements), np.bool_)
            name = self.plan.streams[stream]
            for window in self.plan.windows:
                if window.stream != name:
                    continue
                late |= rules.late(window, elements, self.plan.delay(name))
                held = rules.held(window, elements, self.plan.delay(name))
                if held is not None:
                    self.progress = self.progress.holds(*held)
            judged.append((stream, elements, late))
        return judged

    # -- what is due -----------------------------------------------------------------------

    def schedule(self, logs: Sequence[Elements], reached: Reached) -> Schedule | None:
        """What can be said of its instants now; nothing while its origin is not known."""
        if self.progress.origin is None:
            return None
        return Schedule(self.plan, self.progress, logs, reached)

    def evaluated(
        self,
        instants: Instants,
        logs: Sequence[tuple[StreamLog, Elements]],
        around: Around,
    ) -> Report:
        """What it emits at some instants."""
        held = Held.at(self.plan, logs, instants)
        if self.plan.semantics.non_empty is NonEmpty.CONTENT:
            instants = instants.chosen(held.sizes() > 0)
            held = Held.at(self.plan, logs, instants)
        frames: list[pl.DataFrame] = []
        errors: dict[int, str] = {}
        for start, stop in held.blocks():
            failed = self._block(held, start, stop, around, frames, errors)
            if failed is not None:
                instants = instants.chosen(slice(failed + 1))
                break
        rows = pl.concat(frames) if frames else pl.DataFrame(schema={INSTANT: pl.Int64})
        report = Report(
            self.plan.name, instants.times, instants.seqs, self._shown(instants), rows, errors
        )
        if self.plan.semantics.non_empty is NonEmpty.ANSWER:
            return _of_answers(report)
        return report

    def _block(
        self,
        held: Held,
        start: int,
        stop: int,
        around: Around,
        frames: list[pl.DataFrame],
        errors: dict[int, str],
    ) -> int | None:
        """Evaluate a run of instants; where one stops the query, which.

        A run that fails is evaluated in parts: what the first instants give is reported, and what
        a budget allows to each does not depend on how many are evaluated at once.
        """
        alone = stop - start == 1
        if alone or not self.plan.asks_services:
            try:
                rows = self._pass(held, start, stop, around)
            except InstantError as error:
                errors[start] = str(error)
                return None
            except HeadraceError as error:
                self.failure = error.problem if isinstance(error, QueryError) else str(error)
            except Exception as error:  # noqa: BLE001 - a bug must not stop the other queries
                self.failure = f"{type(error).__name__}: {error}"
            else:
                frames.append(rows.with_columns(pl.col(INSTANT) + start))
                return None
            if alone:
                errors[start] = str(self.failure)
                return start
            self.failure = None
        middle = (start + stop) // 2
        failed = self._block(held, start, middle, around, frames, errors)
        if failed is not None:
            return failed
        return self._block(held, middle, stop, around, frames, errors)

    def _pass(self, held: Held, start: int, stop: int, around: Around) -> pl.DataFrame:
        query, dictionary = self.plan.query, around.dictionary
        instants = held.instants.chosen(slice(start, stop))
        windows = held.windows(start, stop)
        numbers = range(stop - start)
        static = active_data(query.dataset, around.static, dictionary)
        surroundings = self._surroundings(instants, windows, around)
        data = _data([each.quads for each in self._in_default(windows)], static)
        found = evaluate(query.pattern, data, surroundings)
        frame = answer_frame(query, found, numbers, dictionary)
        rows, self.previous = emitted(
            Answers(frame, len(numbers)), self.plan.semantics.emit, self.previous
        )
        if isinstance(query.form, Construct | Describe):
            everything = _data([each.quads for each in windows], static)
            return statement_texts(query.form, rows, everything, dictionary, surroundings.label)
        return row_texts(rows, is_ordered(query.pattern), dictionary)

    def _in_default(self, windows: tuple[WindowContents, ...]) -> list[WindowContents]:
        pairs = zip(self.plan.windows, windows, strict=True)
        return [contents for window, contents in pairs if window.in_default_graph]

    def _surroundings(
        self, instants: Instants, windows: tuple[WindowContents, ...], around: Around
    ) -> Surroundings:
        def label(number: int) -> bytes:
            return f"{self.plan.name} {instants.times[number]} {instants.seqs[number]}".encode()

        now = date_time(int(instants.times[0]))
        return Surroundings(
            around.dictionary,
            range(len(instants)),
            around.budget(),
            EvaluationContext(now, functions=around.functions),
            lambda number: date_time(int(instants.times[number])),
            label,
            around.service,
            windows,
            self.plan.streams,
        )

    def _shown(self, instants: Instants) -> tuple[tuple[str, Span], ...]:
        pairs = zip(self.plan.windows, instants.spans, strict=True)
        return tuple((window.name.value, span) for window, span in pairs)


def _data(contents: list[Quads], static: Data) -> Data:
    """What patterns outside any WINDOW see: static data, and windows in the default graph."""
    if not contents:
        return static
    below = None if static.quads.frame.is_empty() else static
    return Data(united(contents), beneath=below)


def _of_answers(report: Report) -> Report:
    """Only the evaluations at which something was emitted, or went wrong."""
    kept = np.zeros(len(report), np.bool_)
    kept[report.rows[INSTANT].unique().to_numpy()] = True
    kept[list(report.errors)] = True
    places = np.cumsum(kept) - 1
    windows = tuple(
        (name, replace(span, opens=span.opens[kept], closes=span.closes[kept]))
        for name, span in report.windows
    )
    numbers = pl.Series(INSTANT, places[report.rows[INSTANT].to_numpy()], dtype=pl.Int64)
    return Report(
        report.query,
        report.times[kept],
        report.seqs[kept],
        windows,
        report.rows.with_columns(numbers),
        {int(places[place]): text for place, text in report.errors.items()},
    )


def completed(schedule: Schedule, live: bool) -> int:
    """The moment up to which all its instants have been reported."""
    progress = schedule.progress
    if schedule.by_arrival:
        return NEVER if progress.reported is None else progress.reported - 1
    if live or not schedule.on_grid or progress.first is None:
        return schedule.released_until
    return min(
        schedule.released_until,
        progress.first - 1 if progress.reported is None else progress.reported,
    )
