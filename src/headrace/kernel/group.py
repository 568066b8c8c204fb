"""Queries of one shape at work as one: what they remember, and what each of them reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl

from headrace.algebra.reporting import Emit, NonEmpty
from headrace.errors import HeadraceError, QueryError
from headrace.kernel.budget import MAX_ROWS, Budget
from headrace.kernel.changing import changes_of_members
from headrace.kernel.columns import INSTANT
from headrace.kernel.evaluation import Around
from headrace.kernel.grid import Times
from headrace.kernel.incremental import Logs, Matched
from headrace.kernel.members import MEMBER
from headrace.kernel.overload import Turn
from headrace.kernel.reports import Report
from headrace.kernel.schedule import Schedule
from headrace.kernel.standing import Standing
from headrace.planning.plan import Plan
from headrace.planning.sharing import Lifted


class Group(Standing):
    """Some queries that differ in constants only, and all that they remember.

    What they remember is the same but for the last answers, which have the number of the member.
    """

    def __init__(self, members: Sequence[Lifted], plan: Plan, like: Standing) -> None:
        """Begin where one of them is."""
        super().__init__(plan)
        self.begin_like(like)
        self.members = members
        self.left: set[int] = set()

    @property
    def names(self) -> tuple[str | None, ...]:
        """The names of the queries; none where one has left."""
        members = enumerate(self.plan.members)
        return tuple(None if number in self.left else name for number, name in members)

    @property
    def name(self) -> str:
        """The first query that has not left."""
        members = enumerate(self.plan.members)
        return next(name for number, name in members if number not in self.left)

    @property
    def plans(self) -> Sequence[Plan]:
        """The queries that are evaluated as one."""
        members = enumerate(self.members)
        return [each.plan for number, each in members if number not in self.left]

    def leave(self, name: str) -> bool:
        """Let a member go; whether too few are left for a group of this size."""
        self.left.add(self.plan.members.index(name))
        return 2 * len(self.left) > len(self.members)

    def answered(self) -> Iterator[tuple[Plan, pl.DataFrame | None]]:
        """Each query with what its next answer is compared with."""
        previous = None if self.previous is None else by_member(self.previous)
        nothing = None if self.previous is None else self.previous.clear().drop(MEMBER)
        for number, member in enumerate(self.members):
            if number not in self.left:
                yield member.plan, None if previous is None else previous.get(number, nothing)

    def told(self, turn: Turn, logs: Logs, around: Around, schedule: Schedule) -> Sequence[Report]:
        """What is reported of each member; nothing if that of one cannot be had with the others."""
        before = self.last
        budget = around.budget
        shared = replace(around, budget=lambda: _for_all(budget(), len(self.members)))
        try:
            report = self.evaluated(turn.evaluated, logs, shared, schedule)
            problem = self.failure or next(iter(report.errors.values()), None)
        except HeadraceError as error:
            problem = error.problem if isinstance(error, QueryError) else str(error)
        except Exception as error:  # noqa: BLE001 - members are evaluated without each other
            problem = f"{type(error).__name__}: {error}"
        self.failure = problem
        if problem is not None:
            self.last = before
            return ()
        return [turn.told(each, stopped=False) for each in self._separate(report)]

    def _emits_changes(
        self, matched: Matched, base: int, around: Around, frames: list[pl.DataFrame]
    ) -> bool:
        if super()._emits_changes(matched, base, around, frames):
            return True
        emit = self.plan.semantics.emit
        if emit is Emit.RSTREAM or not self.plan.matching.is_steady(self.plan.pattern):
            return False
        found = changes_of_members(matched, emit, self.previous, around)
        if found is None:
            return False
        rows, self.previous = found
        texts = self._texts(rows, matched, 0, len(matched.instants), around)
        frames.append(texts.with_columns(pl.col(INSTANT) + base))
        return True

    def _shortened(self, report: Report) -> Report:
        return report  # which evaluations are reported is another question for each member

    def _separate(self, report: Report) -> Iterator[Report]:
        """What is reported of each member."""
        rows = report.rows
        if not rows.is_empty() and not rows[MEMBER].is_sorted():
            report = replace(report, rows=rows.sort(MEMBER, maintain_order=True))
        sparse = self.plan.semantics.non_empty is NonEmpty.ANSWER
        found = _of_answers(report) if sparse else _of_all(report, len(self.members))
        for number, each in found:
            if number not in self.left:
                yield replace(each, query=self.plan.members[number])


def _for_all(budget: Budget, members: int) -> Budget:
    """What several may cost together: no more than one may who has not been told how much."""
    return replace(budget, rows=max(budget.rows, min(members * budget.rows, MAX_ROWS)))


def by_member(rows: pl.DataFrame) -> Mapping[int, pl.DataFrame]:
    """Rows apart by the members whose they are."""
    parts = rows.partition_by(MEMBER, as_dict=True, include_key=False)
    return {int(str(number)): part for (number,), part in parts.items()}


def _of_all(report: Report, members: int) -> Iterator[tuple[int, Report]]:
    """The report of each member, with every instant; rows are in the order of members."""
    rows = report.rows
    if rows.is_empty():
        nothing = replace(report, rows=rows.drop(MEMBER, strict=False))
        yield from ((number, nothing) for number in range(members))
        return
    ends = np.searchsorted(rows[MEMBER].to_numpy(), np.arange(members + 1)).tolist()
    own = rows.drop(MEMBER)
    for number, (start, end) in enumerate(pairwise(ends)):
        yield number, replace(report, rows=own.slice(start, end - start))


def _of_answers(report: Report) -> Iterator[tuple[int, Report]]:
    """The reports of the members that have answers, each with the instants at which it has some."""
    if report.rows.is_empty():
        return
    members, instants = (report.rows[name].to_numpy() for name in (MEMBER, INSTANT))
    others = np.flatnonzero(np.diff(members)) + 1
    begins = np.concatenate(([0], others))
    # Where an instant of a member begins, and how many of the same member have begun before it.
    changes = np.ones(members.size, np.bool_)
    changes[1:] = (members[1:] != members[:-1]) | (instants[1:] != instants[:-1])
    counted = np.cumsum(changes) - 1
    sizes = np.diff(begins, append=members.size)
    places = counted - np.repeat(counted[begins], sizes)
    own = report.rows.drop(MEMBER).with_columns(pl.Series(INSTANT, places, pl.Int64))
    kept = instants[changes]
    edges = [*counted[begins].tolist(), kept.size]
    for number, start, size, (first, after) in zip(
        members[begins].tolist(), begins.tolist(), sizes.tolist(), pairwise(edges), strict=True
    ):
        yield number, _at(report, kept[first:after], own.slice(start, size))


def _at(report: Report, places: Times, rows: pl.DataFrame) -> Report:
    """A report at some of its instants."""
    windows = tuple(
        (name, replace(span, opens=span.opens[places], closes=span.closes[places]))
        for name, span in report.windows
    )
    stretches = {
        number: report.stretches[place]
        for number, place in enumerate(places.tolist())
        if place in report.stretches
    }
    times, seqs = report.times[places], report.seqs[places]
    return Report(report.query, times, seqs, windows, rows, stretches=stretches)
