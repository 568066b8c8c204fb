"""Whether a query is evaluated by what its windows hold, or by what is new in them.

What is new is looked at as it comes where that is less than what windows hold: when a run is live,
and when elements cause instants. When much has come at once, windows are looked at as a whole: then
all that is joined is of one instant.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from headrace.algebra.expressions import Expression
from headrace.algebra.query import Select
from headrace.algebra.reporting import Emit, Every, OnArrival, Strategy
from headrace.algebra.windows import TimeWindow
from headrace.errors import HeadraceError
from headrace.functions.times import date_time
from headrace.kernel.answer import active_data
from headrace.kernel.budget import Budget
from headrace.kernel.consuming import Consumed
from headrace.kernel.contents import Held
from headrace.kernel.data import Data, Quads
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.evaluation import Around, context_of, own_answers
from headrace.kernel.grid import NEVER
from headrace.kernel.incremental import Incremental, Logs, Matched, makes_its_own
from headrace.kernel.instants import Instants
from headrace.kernel.keeping import Asked
from headrace.kernel.matches import Asking, Matches
from headrace.kernel.schedule import Schedule
from headrace.kernel.snapshot import evaluate, holds
from headrace.kernel.solutions import Solutions
from headrace.kernel.surroundings import Surroundings
from headrace.kernel.table import Table
from headrace.kernel.wording import Kept, worded
from headrace.planning.matching import StaticPart
from headrace.planning.plan import Plan
from headrace.rewrite.optimise import PRECOMPUTE

LOG: Final = logging.getLogger("headrace")
_WORTH_IT: Final = 60_000
"""With fewer statements than these, windows are looked at as fast as what is new in them."""
_AT_LEAST: Final = 1_000
"""So many instants that elements cause are evaluated together, if there are."""


class Matching:
    """The matches of a query, where they are kept."""

    def __init__(self, plan: Plan) -> None:
        """Begin with none."""
        self.plan = plan
        self.used: pl.DataFrame | None = None
        self._kept: Incremental | None = None
        self._static: Quads | None = None
        self._failed = False

    @property
    def _given_up(self) -> bool:
        return self._failed or self._asked is Strategy.SNAPSHOT or not self.plan.matching.cores

    @property
    def _asked(self) -> Strategy:
        return self.plan.semantics.strategy

    @property
    def _by_elements(self) -> bool:
        return isinstance(self.plan.semantics.report, OnArrival)

    @property
    def matches(self) -> list[Matches]:
        """The matches of each branch, where they are kept."""
        return [] if self._kept is None else list(self._kept.branches())

    def tell(self, instants: Instants) -> Matched | None:
        """Take note that what holds at some instants has been told; that of the last of them."""
        if self._kept is None:
            return None
        self._kept.tell(instants)
        return self._kept.told

    def follows(self, told: Matched | None) -> bool:
        """Whether some matches are what was told last of those that are kept."""
        return told is not None and self._kept is not None and self._kept.told is told

    def ids(self) -> Iterator[pl.Series]:
        """The terms in all that is kept: some are in no element."""
        for each in self.matches:
            yield from each.ids()

    def look_ahead(self, schedule: Schedule, logs: Logs, around: Around) -> None:
        """Find matches of what has come, before an instant asks for them."""
        if self._given_up or self._by_elements or not self._pays(logs):
            return
        try:
            kept, asking = self._begun(around)
            if not kept.waits(schedule, logs):
                kept.take(schedule, logs, None, asking)
                kept.over(schedule)
        except Exception:  # noqa: BLE001 - who evaluates it will say what is wrong with it
            self._give_up()

    def _pays(self, logs: Logs) -> bool:
        if self._kept is not None or self._asked is Strategy.INCREMENTAL:
            return True
        return self._is_told_again and (sum(log.height for log, _ in logs) >= _WORTH_IT)

    @property
    def _is_told_again(self) -> bool:
        """Whether a match can be of several instants: else most of what is found is never told."""
        report = self.plan.semantics.report
        return not (isinstance(report, Every) and self._frames) or report.period < self._widest

    def held(
        self, instants: Instants, logs: Logs, around: Around, schedule: Schedule
    ) -> Iterator[tuple[int, Held | Matched]]:
        """What it is evaluated by, for runs of instants that begin at a number."""
        if self.plan.consuming is not None:
            consumed = Consumed(self.plan, logs, instants, around, self.used)
            yield 0, consumed
            self.used = consumed.reached
            return
        # Who wants to see what each operator finds has all of them evaluated.
        if around.observe is not None or not self._by_what_is_new(schedule):
            self._kept = None
            yield 0, Held(self.plan, logs, instants)
            return
        start = 0
        for stop in self._cuts(instants):
            run = instants.chosen(slice(start, stop))
            try:
                kept, asking = self._begun(around)
                until = None if run.cuts is None else int(run.cuts[-1])
                kept.take(schedule, logs, until, asking)
                matched = kept.at(run)
            except Exception:
                if self.plan.members:
                    raise  # which of them is at fault is found out first
                # At which instant it is wrong is found out otherwise.
                self._give_up()
                yield start, Held(self.plan, logs, instants.chosen(slice(start, None)))
                return
            yield start, matched
            start = stop
        if self._kept is not None:
            self._kept.over(schedule, int(instants.times[-1]) if len(instants) else NEVER)

    def _by_what_is_new(self, schedule: Schedule) -> bool:
        if self._given_up:
            return False
        if self._by_elements or self._asked is Strategy.INCREMENTAL:
            return True
        return self._kept is not None and self._kept.is_close_behind(schedule, self._widest)

    @property
    def _widest(self) -> int:
        return max((each.width for each in self._frames), default=0)

    @property
    def _frames(self) -> list[TimeWindow]:
        frames = [window.frame for window in self.plan.windows]
        return [each for each in frames if isinstance(each, TimeWindow)]

    def _cuts(self, instants: Instants) -> Iterator[int]:
        """The instants in runs in which time goes on by no more than a window, but for small ones.

        What comes in a run is joined with all that comes in it, whether a window holds both or not.
        """
        number = len(instants)
        if not self._by_elements:
            yield number
            return
        stop = 0
        while stop < number:
            until = np.searchsorted(instants.times, instants.times[stop] + self._widest, "right")
            stop = min(number, max(stop + _AT_LEAST, int(until)))
            yield stop

    def _give_up(self) -> None:
        """Look at whole windows from now on, and say so if that is for a mistake of ours."""
        error = sys.exception()
        if error is not None and not isinstance(error, HeadraceError):
            LOG.warning(
                "'%s' is evaluated by whole windows after a mistake: %r",
                self.plan.name,
                error,
            )
        self._kept, self._failed = None, True

    def _begun(self, around: Around) -> tuple[Incremental, Asking]:
        """The matches so far, and how more are looked for; anew if static data have changed."""
        asking = self._asking(around)
        if self._kept is None or self._static is not around.static:
            self._kept, self._static = Incremental(self.plan, asking), around.static
        return self._kept, asking

    def _asking(self, around: Around) -> Asking:
        data = active_data(self.plan.query.dataset, around.static, around.dictionary)
        surroundings = Surroundings(
            around.dictionary,
            budget=around.budget(),
            context=context_of(self.plan, date_time(0), around.functions, around.failures),
            precomputes=self.plan.applies(PRECOMPUTE),
        )

        # What is kept as tables need not be remembered as solutions too.
        alone = data if data.quads.keeper is None else replace(data, quads=Quads(data.quads.frame))

        def solve(part: StaticPart) -> Solutions:
            elsewhere = _found_elsewhere(part, data, around.dictionary, surroundings.budget)
            return elsewhere or evaluate(part.operator, alone, surroundings)

        def meets(condition: Expression, solutions: Solutions) -> pl.Series:
            return holds(condition, solutions, data, surroundings)

        def word(matches: Table) -> Kept:
            answers = own_answers(self.plan, matches, around)
            return worded(matches, answers, around.dictionary)

        wording = word if self._words else None
        return Asking(around.dictionary, data, surroundings.budget, solve, meets, wording)

    @cached_property
    def _words(self) -> bool:
        """Whether the texts of answers are kept: each is reported several times, if any."""
        form, emits = self.plan.query.form, self.plan.semantics.emit
        rows = isinstance(form, Select) and bool(form.variables) and emits is Emit.RSTREAM
        alone = not self._by_elements and not self.plan.members
        return rows and alone and makes_its_own(self.plan)


def _found_elsewhere(
    part: StaticPart, data: Data, dictionary: Dictionary, budget: Budget
) -> Solutions | None:
    """The solutions of a static part, where tasks find them."""
    if data.quads.keeper is None:
        return None
    asked = Asked(part.operator, data.default, data.named, budget.rows)
    found = data.quads.keeper.solved(asked)
    if found is None:
        return None
    frame, terms = found
    dictionary.learn(terms)
    return Solutions(frame)
