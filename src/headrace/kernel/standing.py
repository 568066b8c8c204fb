"""A registered query at work: what it remembers from step to step, and how it is evaluated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final, Protocol, TypeVar

import numpy as np
import polars as pl

from headrace.algebra.query import Construct, Describe
from headrace.algebra.reporting import Emit, NonEmpty
from headrace.kernel.alike import alike
from headrace.kernel.answer import active_data
from headrace.kernel.columns import FIRST, INSTANT, LAST
from headrace.kernel.contents import Held
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.element_release import Reached
from headrace.kernel.emission import Answers, changes, changing, emitted
from headrace.kernel.evaluation import (
    Answered,
    Around,
    Outcome,
    data_of,
    evaluate_held,
    label_of,
    lasting_answers,
)
from headrace.kernel.forms import row_texts, statement_texts, table_texts
from headrace.kernel.grid import NEVER, Times
from headrace.kernel.holding import Flags, Rules
from headrace.kernel.incremental import Logs, Matched
from headrace.kernel.instants import Instants, Span
from headrace.kernel.lasting import names_of
from headrace.kernel.log import Elements, StreamLog
from headrace.kernel.members import MEMBER, put_back, table_of, told_apart
from headrace.kernel.order import is_ordered
from headrace.kernel.overload import Pace, Turn
from headrace.kernel.previous import Previous
from headrace.kernel.progress import Progress
from headrace.kernel.remote import Remote
from headrace.kernel.reports import Report
from headrace.kernel.schedule import Schedule
from headrace.kernel.strategy import Matching
from headrace.kernel.table import Table
from headrace.kernel.unexpected import note_unexpected
from headrace.metering import current
from headrace.planning.plan import Plan
from headrace.planning.sharing import Lifted, lifted, parameters_of
from headrace.rdf.terms import Iri

T = TypeVar("T")
_COPIES: Final = 3
"""Answers are copied so many times while they are reported."""
_TEXT: Final = 16
"""Bytes of a text in a column besides its characters."""


class Standing:
    """A query and all that it remembers."""

    def __init__(self, plan: Plan, since: int = -1, progress: Progress | None = None) -> None:
        """Begin with the elements that come after a position."""
        self.plan = plan
        self.since = since
        self.progress = progress or Progress.start(plan)
        self.pace = Pace()
        self.matching = Matching(plan)
        self.last = Previous()
        self.failure: str | None = None
        self.until: int | None = None
        self.horizons: dict[Iri, int] = {}
        self.remote = Remote(plan.contracts, plan.name) if plan.contracts else None
        self._pending: list[tuple[int, Elements]] = []

    def begin_like(self, other: Standing) -> None:
        """Begin where another query is, which has seen the same."""
        self.since, self.progress, self.pace = other.since, other.progress, other.pace
        self._pending = list(other._pending)

    @property
    def previous(self) -> pl.DataFrame | None:
        """What its next answer is compared with."""
        return self.last.answer()

    @previous.setter
    def previous(self, rows: pl.DataFrame | None) -> None:
        self.last = Previous(rows)

    @property
    def name(self) -> str:
        """What it is called; a group has the name of its first query."""
        return self.plan.name

    @cached_property
    def members(self) -> Sequence[Lifted]:
        """The queries that are evaluated as this one: itself, if it may ever be so with others."""
        found = lifted(self.plan)
        return () if found is None else (found,)

    @property
    def plans(self) -> Sequence[Plan]:
        """The queries that are evaluated as this one."""
        return (self.plan,)

    @property
    def waits(self) -> bool:
        """Whether elements have come that are not placed in time yet."""
        return bool(self._pending)

    def answered(self) -> Iterator[tuple[Plan, pl.DataFrame | None]]:
        """Each query that is evaluated as this one, with what its next answer is compared with."""
        yield self.plan, self.previous

    def ids(self, dictionary: Dictionary) -> list[pl.Series]:
        """Collect the ids of the terms that the query remembers."""
        used = list(self.matching.ids())
        parameters = parameters_of(self.plan)
        if parameters is not None:
            terms = table_of(parameters, dictionary)
            used += [terms.frame[name] for name in terms.names]
        if self.remote is not None:
            used += self.remote.ids()
        previous = self.previous
        if previous is not None:
            names = [name for name in previous.columns if name.startswith("?")]
            used += [previous[name].drop_nulls() for name in names]
        return used

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

    def outside(self, stream: int, elements: Elements) -> int:
        """Count the elements of a stream that no window can ever contain."""
        assert self.progress.origin is not None, "t0 is known"
        rules, name = Rules(self.plan, self.progress.origin), self.plan.streams[stream]
        found = np.ones(len(elements), np.bool_)
        for window in self.plan.windows:
            if window.stream == name:
                found &= rules.between(window, elements.times)
        return int(np.count_nonzero(found))

    # -- what is due -----------------------------------------------------------------------

    def schedule(self, logs: Sequence[Elements], reached: Reached) -> Schedule | None:
        """What can be said of its instants now; nothing while its origin is not known.

        While it works on a slice of what is due, that is all there is.
        """
        if self.progress.origin is None:
            return None
        schedule = Schedule(self.plan, self.progress, logs, reached)
        return schedule if self.until is None else schedule.up_to(self.until)

    def with_content(
        self, instants: Instants, logs: Sequence[tuple[StreamLog, Elements]]
    ) -> Instants:
        """Those of some instants at which it is to be evaluated."""
        if self.plan.semantics.non_empty is not NonEmpty.CONTENT:
            return instants
        return instants.chosen(Held(self.plan, logs, instants).sizes() > 0)

    def look_ahead(self, schedule: Schedule, logs: Logs, around: Around) -> None:
        """Find matches of what has come before an instant asks for them."""
        self.matching.look_ahead(schedule, logs, around)

    def told(self, turn: Turn, logs: Logs, around: Around, schedule: Schedule) -> Sequence[Report]:
        """What is reported of the instants that are due."""
        report = self.evaluated(turn.evaluated, logs, around, schedule)
        return [turn.told(report, self.failure is not None)]

    def evaluated(
        self, instants: Instants, logs: Logs, around: Around, schedule: Schedule
    ) -> Report:
        """What it emits at some instants."""
        frames: list[pl.DataFrame] = []
        outcome = Outcome()
        for base, held in self.matching.held(instants, logs, around, schedule):
            if isinstance(held, Matched) and (
                self._emits_texts(held, base, around, frames)
                or self._emits_changes(held, base, around, frames)
            ):
                continue
            emit = self._emitting(frames, held, base, around)
            outcome = outcome.and_then(evaluate_held(held, around, emit, remote=self.remote), base)
            if outcome.failed is not None:
                break
        return self._reported(instants, frames, outcome)

    def _emits_texts(
        self, matched: Matched, base: int, around: Around, frames: list[pl.DataFrame]
    ) -> bool:
        """Take what is reported from what is kept, if it is kept as texts."""
        if self.plan.semantics.emit is not Emit.RSTREAM or not matched.is_whole:
            return False
        try:
            rows = matched.texts(around.budget().rows)
        except Exception as error:  # noqa: BLE001 - what is wrong is found out by evaluating it
            note_unexpected(self.name, error)
            return False
        if rows is None:
            return False
        frames.append(rows.with_columns(pl.col(INSTANT) + base) if base else rows)
        return True

    def _emits_changes(
        self, matched: Matched, base: int, around: Around, frames: list[pl.DataFrame]
    ) -> bool:
        """Find what changes from instant to instant, if each match makes its own answers."""
        if self.plan.semantics.emit is Emit.RSTREAM or not matched.is_whole:
            return False
        number, follows = len(matched.instants), self.matching.follows(self.last.told)
        # Of what only moves nobody sees how much it is, so that it must be allowed as a whole.
        follows = follows and matched.height <= around.budget().rows
        if follows and (moving := matched.moving_rows()) is not None:
            self.last = Previous(None, self.matching.tell(matched.instants), around)
            instants, rows = _changed(moving, number, self.plan.semantics.emit)
            ordered = is_ordered(self.plan.query.pattern)
            texts = table_texts(instants, rows, ordered, around.dictionary)
            frames.append(texts.with_columns(pl.col(INSTANT) + base) if base else texts)
            return True
        try:
            if follows:
                matches = matched.moving()
            else:
                [matches] = matched.found.values()
            nothing = follows and matches.is_empty()
            lasting = matches if nothing else lasting_answers(matched, matches, around)
        except Exception as error:  # noqa: BLE001 - at which instant is found out otherwise
            note_unexpected(self.name, error)
            return False
        if follows and lasting.is_empty():  # nothing begins or ends
            self.last = Previous(None, self.matching.tell(matched.instants), around)
            return True
        before = None if follows else self.previous
        changed, last = changes(lasting, number, self.plan.semantics.emit, before)
        told = self.matching.tell(matched.instants)
        self.last = Previous(None if follows else last, told, around)
        texts = self._texts(changed, matched, 0, number, around)
        frames.append(texts.with_columns(pl.col(INSTANT) + base) if base else texts)
        return True

    def _emitting(
        self, frames: list[pl.DataFrame], held: Held | Matched, base: int, around: Around
    ) -> Callable[[int, int, pl.DataFrame], None]:
        size = sum(map(_size, frames))

        def emit(start: int, stop: int, frame: pl.DataFrame) -> None:
            nonlocal size
            rows, last = self._emitted(frame, stop - start)
            texts = self._texts(rows, held, start, stop, around)
            together = size + _size(texts)
            current().check("the answers of several instants", _COPIES * together)
            size = together
            frames.append(texts.with_columns(pl.col(INSTANT) + base + start))
            self.previous = last

        return emit

    def reported(self, instants: Instants, answers: Answered, around: Around) -> Report:
        """What it emits at some instants, whose answers were found elsewhere."""
        failed = answers.outcome.failed
        number = len(instants) if failed is None else failed[0]
        found = answers.frame.filter(pl.col(INSTANT) < number)
        if number == 0:
            return self._reported(instants, [], answers.outcome)
        rows, self.previous = self._emitted(found, number)
        held = Held(self.plan, (), instants)
        texts = self._texts(rows, held, 0, number, around)
        return self._reported(instants, [texts], answers.outcome)

    def _reported(self, instants: Instants, frames: list[pl.DataFrame], outcome: Outcome) -> Report:
        errors = dict(outcome.errors)
        if outcome.failed is not None:
            place, self.failure = outcome.failed
            errors[place] = self.failure
            instants = instants.chosen(slice(place + 1))
        rows = pl.concat(frames) if frames else pl.DataFrame(schema={INSTANT: pl.Int64})
        qualities = {} if self.remote is None else self.remote.take_qualities(instants)
        report = Report(
            self.plan.name,
            instants.times,
            instants.seqs,
            self._shown(instants),
            rows,
            errors,
            accuracies={place: each.accuracy for place, each in qualities.items()},
            completenesses={place: each.completeness for place, each in qualities.items()},
            stretches=instants.stretches,
        )
        return self._shortened(report)

    def _shortened(self, report: Report) -> Report:
        """Without the evaluations that are not to be reported."""
        return of_answers(report) if self.plan.semantics.non_empty is NonEmpty.ANSWER else report

    def _emitted(
        self, frame: pl.DataFrame, number: int
    ) -> tuple[pl.DataFrame, pl.DataFrame | None]:
        """What is emitted of some answers, and what the next one is compared with."""
        return emitted(Answers(frame, number), self.plan.semantics.emit, self.previous)

    def _texts(
        self,
        rows: pl.DataFrame,
        held: Held | Matched,
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
            everything = data_of([each.quads for each in windows], everything)
        label = label_of(self.plan, held.instants, start)
        number = len(self.plan.members)
        if number:
            rows = put_back(rows, number)
        texts = statement_texts(query.form, rows, everything, dictionary, label)
        return told_apart(texts, number).sort(MEMBER, maintain_order=True) if number else texts

    def _shown(self, instants: Instants) -> tuple[tuple[str, Span], ...]:
        pairs = zip(self.plan.windows, instants.spans, strict=True)
        return tuple((window.name.value, span) for window, span in pairs)


class Elsewhere(Protocol):
    """Where some queries are evaluated, if not here."""

    def takes(self, plan: Plan) -> bool:
        """Whether a query is evaluated there."""

    def answers(
        self, asked: Sequence[tuple[Standing, Instants]], dictionary: Dictionary
    ) -> Sequence[Answered]:
        """The answers of queries at some instants; the dictionary learns their terms."""


def _changed(moving: Table, number: int, emit: Emit) -> tuple[Times, Table]:
    """What is emitted of rows that begin or end at some instants, and at which of them."""
    names = names_of(moving)
    same, example = alike(moving, names)
    instants, which = changing(moving[FIRST], moving[LAST], same, number, emit)
    return instants, moving.only(names).taken(example[which])


def of_answers(report: Report) -> Report:
    """Select the evaluations that emitted something or failed."""
    kept = np.zeros(len(report), np.bool_)
    kept[report.rows[INSTANT].to_numpy()] = True
    kept[list(report.errors)] = True
    places = np.cumsum(kept) - 1
    windows = tuple(
        (name, replace(span, opens=span.opens[kept], closes=span.closes[kept]))
        for name, span in report.windows
    )
    rows = report.rows.clone()
    numbers = pl.Series(INSTANT, places[rows[INSTANT].to_numpy()], dtype=pl.Int64)
    rows.replace_column(rows.get_column_index(INSTANT), numbers)

    def moved(values: dict[int, T]) -> dict[int, T]:
        return {int(places[place]): each for place, each in values.items() if kept[place]}

    return Report(
        report.query,
        report.times[kept],
        report.seqs[kept],
        windows,
        rows,
        {int(places[place]): text for place, text in report.errors.items()},
        accuracies=moved(report.accuracies),
        completenesses=moved(report.completenesses),
        stretches=moved(report.stretches),
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


def _size(texts: pl.DataFrame) -> int:
    """Estimate the bytes of texts, each of which other rows may share."""
    return _TEXT * texts.height * texts.width
