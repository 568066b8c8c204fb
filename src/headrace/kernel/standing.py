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
from headrace.kernel.columns import INSTANT, column
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
from headrace.kernel.overload import Pace
from headrace.kernel.progress import Progress
from headrace.kernel.reports import Report
from headrace.kernel.scan import Share
from headrace.kernel.schedule import Reached, Schedule
from headrace.kernel.snapshot import CallService, Observe, Surroundings, evaluate, no_service
from headrace.kernel.solutions import Solutions, complete
from headrace.planning.plan import Plan
from headrace.planning.splitting import Split
from headrace.rewrite.optimise import PRECOMPUTE


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
        observe: told what each operator of a query has found.
    """

    dictionary: Dictionary
    static: Quads
    service: CallService = no_service
    functions: Functions = field(default_factory=Functions)
    budget: Callable[[], Budget] = Budget
    observe: Observe | None = None


class Standing:
    """A query and all that it remembers."""

    def __init__(self, plan: Plan, since: int = -1, progress: Progress | None = None) -> None:
        """Begin with the elements that come after a position."""
        self.plan = plan
        self.since = since
        self.progress = progress or Progress.start(plan)
        self.pace = Pace()
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

    def with_content(
        self, instants: Instants, logs: Sequence[tuple[StreamLog, Elements]]
    ) -> Instants:
        """Those of some instants at which it is to be evaluated."""
        if self.plan.semantics.non_empty is not NonEmpty.CONTENT:
            return instants
        return instants.chosen(Held.at(self.plan, logs, instants).sizes() > 0)

    def evaluated(
        self,
        instants: Instants,
        logs: Sequence[tuple[StreamLog, Elements]],
        around: Around,
    ) -> Report:
        """What it emits at some instants."""
        held = Held.at(self.plan, logs, instants)
        frames: list[pl.DataFrame] = []

        def emit(start: int, stop: int, frame: pl.DataFrame) -> None:
            rows, last = self._emitted(frame, stop - start)
            texts = self._texts(rows, held, start, stop, around)
            frames.append(texts.with_columns(pl.col(INSTANT) + start))
            self.previous = last

        outcome = evaluate_held(held, around, emit)
        return self._reported(instants, frames, outcome)

    def reported(self, instants: Instants, answers: Answered, around: Around) -> Report:
        """What it emits at some instants, whose answers were found elsewhere."""
        failed = answers.outcome.failed
        number = len(instants) if failed is None else failed[0]
        found = answers.frame.filter(pl.col(INSTANT) < number)
        if number == 0:
            return self._reported(instants, [], answers.outcome)
        rows, self.previous = self._emitted(found, number)
        held = Held(self.plan, (), instants, ())
        texts = self._texts(rows, held, 0, number, around)
        return self._reported(instants, [texts], answers.outcome)

    def _reported(self, instants: Instants, frames: list[pl.DataFrame], outcome: Outcome) -> Report:
        errors = dict(outcome.errors)
        if outcome.failed is not None:
            place, self.failure = outcome.failed
            errors[place] = self.failure
            instants = instants.chosen(slice(place + 1))
        rows = pl.concat(frames) if frames else pl.DataFrame(schema={INSTANT: pl.Int64})
        report = Report(
            self.plan.name, instants.times, instants.seqs, self._shown(instants), rows, errors
        )
        if self.plan.semantics.non_empty is NonEmpty.ANSWER:
            return _of_answers(report)
        return report

    def _emitted(
        self, frame: pl.DataFrame, number: int
    ) -> tuple[pl.DataFrame, pl.DataFrame | None]:
        """What is emitted of some answers, and what the next one is compared with."""
        return emitted(Answers(frame, number), self.plan.semantics.emit, self.previous)

    def _texts(
        self,
        rows: pl.DataFrame,
        held: Held,
        start: int,
        stop: int,
        around: Around,
    ) -> pl.DataFrame:
        """What is emitted at a run of instants, as texts."""
        query, dictionary = self.plan.query, around.dictionary
        if not isinstance(query.form, Construct | Describe):
            return row_texts(rows, is_ordered(query.pattern), dictionary)
        everything = active_data(query.dataset, around.static, dictionary)
        if isinstance(query.form, Describe):  # only this looks at the data again
            windows = held.windows(start, stop)
            everything = _data([each.quads for each in windows], everything)
        label = _label(self.plan, held.instants, start)
        return statement_texts(query.form, rows, everything, dictionary, label)

    def _shown(self, instants: Instants) -> tuple[tuple[str, Span], ...]:
        pairs = zip(self.plan.windows, instants.spans, strict=True)
        return tuple((window.name.value, span) for window, span in pairs)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What went wrong at some instants.

    Attributes:
        errors: where there is no answer, and why.
        failed: the instant at which the query had to stop, and why.
    """

    errors: tuple[tuple[int, str], ...] = ()
    failed: tuple[int, str] | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """Answers at some instants: `instant` and ids, and what went wrong."""

    frame: pl.DataFrame
    outcome: Outcome


def evaluate_held(
    held: Held,
    around: Around,
    publish: Callable[[int, int, pl.DataFrame], None],
    share: Share | None = None,
) -> Outcome:
    """Evaluate a query at all instants, a run of them at a time.

    Args:
        held: what its windows hold, and when.
        around: what it shares with others.
        publish: takes the answers of each run, from one number to before another.
        share: the part of the solutions that is looked for.
    """
    evaluation = _Evaluation(held, around, publish, share)
    for start, stop in held.blocks():
        failed = evaluation.run(start, stop)
        if failed is not None:
            return Outcome(tuple(evaluation.errors.items()), failed)
    return Outcome(tuple(evaluation.errors.items()))


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """A query being evaluated at some instants."""

    held: Held
    around: Around
    publish: Callable[[int, int, pl.DataFrame], None]
    share: Share | None
    errors: dict[int, str] = field(default_factory=dict)

    def run(self, start: int, stop: int) -> tuple[int, str] | None:
        """Evaluate a run of instants; where one stops the query, which, and why.

        A run that fails is evaluated in parts: what the first instants give is reported, and what
        a budget allows to each does not depend on how many are evaluated at once.
        """
        alone = stop - start == 1
        failure = ""
        if alone or not self.held.plan.asks_services:
            try:
                self.publish(start, stop, self._answers(start, stop))
            except InstantError as error:
                self.errors[start] = str(error)
                return None
            except HeadraceError as error:
                failure = error.problem if isinstance(error, QueryError) else str(error)
            except Exception as error:  # noqa: BLE001 - a bug must not stop the other queries
                failure = f"{type(error).__name__}: {error}"
            else:
                return None
            if alone:
                return start, failure
        middle = (start + stop) // 2
        return self.run(start, middle) or self.run(middle, stop)

    def _answers(self, start: int, stop: int) -> pl.DataFrame:
        """The answers at a run of instants, which are numbered from 0."""
        plan, around = self.held.plan, self.around
        windows = self.held.windows(start, stop)
        static = active_data(plan.query.dataset, around.static, around.dictionary)
        pairs = zip(plan.windows, windows, strict=True)
        seen = [contents.quads for window, contents in pairs if window.in_default_graph]
        surroundings = self._surroundings(start, stop, windows)
        found = evaluate(plan.pattern, _data(seen, static), surroundings)
        return answer_frame(plan.query, found, range(stop - start), around.dictionary)

    def _surroundings(
        self, start: int, stop: int, windows: tuple[WindowContents, ...]
    ) -> Surroundings:
        plan, around, times = self.held.plan, self.around, self.held.instants.times
        return Surroundings(
            around.dictionary,
            range(stop - start),
            around.budget(),
            EvaluationContext(date_time(int(times[start])), functions=around.functions),
            lambda number: date_time(int(times[start + number])),
            _label(plan, self.held.instants, start),
            around.service,
            windows,
            plan.streams,
            self.share,
            plan.applies(PRECOMPUTE),
            around.observe,
        )


def finished(
    plan: Plan, split: Split, instants: Instants, found: Answered, around: Around
) -> Answered:
    """What a query makes of what parts of it found below a cut."""
    number = len(instants) if found.outcome.failed is None else found.outcome.failed[0]
    rows = found.frame.filter(pl.col(INSTANT) < number)
    evaluation = _Evaluation(Held(plan, (), instants, ()), around, lambda *_: None, None)
    surroundings = evaluation._surroundings(0, len(instants), ())
    names = [column(variable) for variable in split.hole.variables]
    given = {id(split.hole): Solutions(complete(rows, names), keyed=True)}
    try:
        answer = evaluate(split.above, Data(), replace(surroundings, given=given))
        frame = answer_frame(plan.query, answer, range(len(instants)), around.dictionary)
    except HeadraceError as error:
        failure = error.problem if isinstance(error, QueryError) else str(error)
        return Answered(rows.clear(), Outcome(found.outcome.errors, (0, failure)))
    return Answered(frame.filter(pl.col(INSTANT) < number), found.outcome)


def _label(plan: Plan, instants: Instants, start: int) -> Callable[[int], bytes]:
    """What tells an instant from any other; instants are numbered from a start."""

    def label(number: int) -> bytes:
        place = start + number
        return f"{plan.name} {instants.times[place]} {instants.seqs[place]}".encode()

    return label


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
