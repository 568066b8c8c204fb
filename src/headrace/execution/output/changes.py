"""RSTREAM, ISTREAM and DSTREAM: what is emitted at each evaluated instant.

What is new at an instant is the net of the beginnings at it and the ends at the instant before,
against the last answer there was. A row that ends and begins again at once is not new.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headrace.execution.relation.arrays import Ids, run_starts, sum_runs
from headrace.execution.relation.coalesce import Pieces, key_rows, net_changes, take_pieces
from headrace.execution.relation.pieces import expand
from headrace.execution.relation.relation import Relation, concat_relations
from headrace.execution.relation.row_budget import SizeCheck, check_rows


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """An answer at one instant.

    Attributes:
        rows: different rows, without intervals.
        counts: how many copies of each there are.
    """

    rows: Relation
    counts: Ids

    @classmethod
    def nothing(cls, names: tuple[str, ...] = ()) -> Answer:
        """Return the answer before the first instant."""
        return cls(Relation.empty(names), np.empty(0, np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """How the copies of rows change from one evaluated instant to the next.

    Attributes:
        rows: rows at single instants, by row and instant.
        net: how many copies are more than at the instant before; negative if less, never 0.
    """

    rows: Relation
    net: Ids

    def insertions(self) -> Relation:
        """Return the rows that ISTREAM emits, once for each copy."""
        return self._repeat(np.maximum(self.net, 0))

    def deletions(self) -> Relation:
        """Return the rows that DSTREAM emits, once for each copy."""
        return self._repeat(np.maximum(-self.net, 0))

    def _repeat(self, copies: Ids) -> Relation:
        """Repeat rows, in the order of instants."""
        rows = np.repeat(np.arange(copies.size), copies)
        instant, _ = self.rows.bounds
        return self.rows.take(rows[np.argsort(instant[rows], kind="stable")])


def find_changes(answers: Relation, before: Answer, instants: int) -> Changes:
    """Net the beginnings and ends of rows.

    Args:
        answers: projected rows; only instants that are evaluated are numbered.
        before: the answer at the last evaluated instant before these.
        instants: how many instants there are.
    """
    if not instants:
        nothing = Relation.empty(answers.names).over(0)
        return Changes(nothing, np.empty(0, np.int64))
    answers = answers.over(instants)
    first, last = answers.bounds
    rows = concat_relations([before.rows.over(1), answers], instants)
    old = before.rows.height
    row = np.concatenate([np.arange(rows.height), np.arange(old, rows.height)])
    instant = np.concatenate([np.zeros(old, np.int64), first, last + 1])
    ones = np.ones(answers.height, np.int64)
    weights = np.concatenate([-before.counts, ones, -ones])
    changed, net = net_changes(key_rows(rows)[row], instant, weights)
    within = instant[changed] < instants
    changed, net = changed[within], net[within]
    found = Pieces(row[changed], instant[changed], instant[changed])
    return Changes(take_pieces(rows, found), net)


def find_last_answer(answers: Relation, before: Answer, instants: int) -> Answer:
    """Return the answer at the last evaluated instant; the one before, if there was none."""
    if not instants:
        return before
    answers = answers.over(instants)
    rows = answers.filter(answers.bounds[1] == instants - 1).without_intervals()
    key = key_rows(rows)
    order = np.argsort(key, kind="stable")
    starts = run_starts(key[order])
    return Answer(rows.take(order[starts]), sum_runs(np.ones(rows.height, np.int64), starts))


def list_answers(answers: Relation, instants: int, check: SizeCheck = check_rows) -> Relation:
    """Return the rows that RSTREAM emits, in the order of instants."""
    single = expand(answers, instants, "the answer", check)
    instant, _ = single.bounds
    return single.take(np.argsort(instant, kind="stable"))
