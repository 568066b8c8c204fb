"""Whether a query keeps up with its streams, and which of its instants are skipped if not.

Nothing here reads a clock: how long a batch has taken is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from headrace.algebra.reporting import OnClose, Semantics, Skip
from headrace.errors import SettingError
from headrace.kernel.columns import INSTANT
from headrace.kernel.grid import Times
from headrace.kernel.holding import Flags
from headrace.kernel.instants import Instants
from headrace.kernel.reports import Report
from headrace.planning.plan import Plan

MOST: Final = 64
"""At least one of so many due instants is evaluated."""
RECOVERED: Final = 4
"""The part of what a batch may take, below which more instants are evaluated again: if twice as
many take twice as long, that is still far from too long."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How a query keeps up; a value that is written down with its progress.

    Attributes:
        stride: of so many instants that are due in the next step one is evaluated.
        overloaded: whether batches take too long for it.
        until: the last instant that was due.
    """

    stride: int = 1
    overloaded: bool = False
    until: int | None = None

    def after(self, due: Times, took: int | None, semantics: Semantics) -> Pace:
        """The pace after a batch: half as many instants if it took too long, or twice as many.

        It took too long if several instants were due in it, and it took longer than the time that
        they cover and than anyone's patience. A batch in which none was due says nothing.

        Args:
            due: the instants that were due in it.
            took: how many microseconds it has taken; none if that is not known.
            semantics: of the query.
        """
        if due.size == 0:
            return self
        last = int(due[-1])
        covered = last - (int(due[0]) if self.until is None else self.until)
        limit = max(covered, patience(semantics))
        stride, overloaded = self.stride, self.overloaded
        if took is not None and took > limit and due.size > 1:
            stride, overloaded = min(2 * stride, MOST) if may_skip(semantics) else 1, True
        elif took is not None and RECOVERED * took < limit:
            stride = max(stride // 2, 1)
            overloaded = stride > 1
        return Pace(stride, overloaded, last)

    def allowed(self, semantics: Semantics) -> Pace:
        """The pace of a query that may have been told to skip no more."""
        keeps = self.stride == 1 or may_skip(semantics)
        return self if keeps else Pace(until=self.until)

    def chosen(self, number: int) -> Flags | None:
        """Which of some due instants are evaluated: the last, and every so many before it.

        >>> Pace(stride=3).chosen(5).tolist()
        [False, True, False, False, True]
        """
        if self.stride == 1 or number <= 1:
            return None
        chosen: Flags = np.arange(number - 1, -1, -1) % self.stride == 0
        return chosen


def may_skip(semantics: Semantics) -> bool:
    """Whether instants may be skipped: not if the query has been given a frequency."""
    return isinstance(semantics.overload, Skip) and isinstance(semantics.report, OnClose)


def patience(semantics: Semantics) -> int:
    """How long a batch may always take, in microseconds."""
    return (semantics.overload if isinstance(semantics.overload, Skip) else Skip()).patience


def check_live(plan: Plan) -> None:
    """Refuse settings that need a clock in a run without one.

    Raises:
        SettingError: saying what it needs.
    """
    if isinstance(plan.semantics.overload, Skip):
        raise SettingError(
            f"'{plan.name}' has overload=skip, which needs the clock of a live run: leave out "
            "--once, or say Engine(live=True)"
        )
    if plan.semantics.idle is not None or plan.semantics.stream_idles:
        raise SettingError(
            f"'{plan.name}' has an idle time-out, which needs the clock of a live run: leave out "
            "--once, or say Engine(live=True)"
        )


class Paces:
    """How queries have kept up so far, to tell what has changed."""

    def __init__(self) -> None:
        """Begin with queries that keep up."""
        self._known: dict[str, Pace] = {}

    def changes(self, plans: Iterable[Plan], paces: Mapping[str, Pace]) -> Iterator[str]:
        """What the user should know of what has changed since the last look, each once."""
        for plan in plans:
            before, after = self._known.get(plan.name, Pace()), paces.get(plan.name, Pace())
            self._known[plan.name] = after
            told = warning(plan, before, after)
            if told is not None:
                yield told


def warning(plan: Plan, before: Pace, after: Pace) -> str | None:
    """What the user should know of a change; nothing if there is none.

    Args:
        plan: the query.
        before: its pace before a batch.
        after: and after it.
    """
    if (before.stride, before.overloaded) == (after.stride, after.overloaded):
        return None
    if not after.overloaded:
        return f"query {_name(plan)} keeps up again: every instant is evaluated"
    if after.stride < before.stride:
        return (
            f"query {_name(plan)} can keep up with more: one of {after.stride} due instants is "
            "evaluated"
        )
    problem = f"query {_name(plan)} cannot keep up with its streams"
    if may_skip(plan.semantics):
        return (
            f"{problem}: one of {after.stride} due instants is evaluated, and the others are "
            "reported as skipped"
        )
    if not isinstance(plan.semantics.report, OnClose):
        return f"{problem}: its answers are late, and none is skipped: it says when they are due"
    return f"{problem}: its answers are late; --set overload=skip skips some instead"


def _name(plan: Plan) -> str:
    others = len(plan.members) - 1
    return f"'{plan.name}' with {others:,} more like it" if others > 0 else f"'{plan.name}'"


@dataclass(frozen=True, slots=True)
class Turn:
    """The instants of a query that are due in a step.

    Attributes:
        instants: all of them.
        chosen: at which of them it is evaluated; none if at all.
    """

    instants: Instants
    chosen: Flags | None = None

    @property
    def evaluated(self) -> Instants:
        """The instants at which it is evaluated."""
        return self.instants if self.chosen is None else self.instants.chosen(self.chosen)

    def told(self, report: Report, stopped: bool) -> Report:
        """Return the reports of all of them.

        Args:
            report: what came of those at which it was evaluated, or of some of these.
            stopped: whether the query has stopped with the last of them.
        """
        if self.chosen is None:
            return report
        numbers = {
            instant: place
            for place, instant in enumerate(_pairs(self.instants.times, self.instants.seqs))
        }
        places = np.array([numbers[each] for each in _pairs(report.times, report.seqs)], np.int64)
        told = ~self.chosen
        told[places] = True
        if stopped:
            told[places[-1] + 1 :] = False
        moved = (np.cumsum(told) - 1)[places]
        every = self.instants.chosen(told)
        names = [name for name, _ in report.windows]
        rows = pl.Series(INSTANT, moved[report.rows[INSTANT].to_numpy()], dtype=pl.Int64)
        return Report(
            report.query,
            every.times,
            every.seqs,
            tuple(zip(names, every.spans, strict=True)),
            report.rows.with_columns(rows),
            {int(moved[place]): text for place, text in report.errors.items()},
            frozenset(np.flatnonzero(~self.chosen[told]).tolist()),
            {int(moved[place]): each for place, each in report.accuracies.items()},
            {int(moved[place]): each for place, each in report.completenesses.items()},
            every.stretches,
        )


def _pairs(times: Times, seqs: Times) -> list[tuple[int, int]]:
    return list(zip(times.tolist(), seqs.tolist(), strict=True))
