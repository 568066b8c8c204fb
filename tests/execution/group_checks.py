"""Checks of aggregates and of emission: one random case each, compared at every instant."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from headrace.execution.aggregates import counts, doubles, extremes, groups, integers, kinds
from headrace.execution.output import changes
from headrace.execution.relation import epochs
from headrace.execution.relation.relation import Relation, concat_relations
from tests.execution import naive
from tests.execution.worlds import draw_instants, draw_relation

INTEGERS = [0, 1, -1, 3, 2**40 + 1, 2**62, -(2**62), 2**63 - 1, -(2**63)]
DOUBLES = [0.0, 0.1, -0.1, 1.0, 1e16, -1e16, 3.25, 1e300, -1e300, 5e-324, 1e-20, 2.5e-310]
SPECIALS = [math.inf, -math.inf, math.nan]
NUMBER = "row number"
KEY, VALUE = "a", "b"


@dataclass
class Case:
    """Rows to group, and what they are worth.

    Each row has a number of its own in a column, so that the oracle finds what belongs to it.
    """

    rows: Relation
    keys: list[str]
    instants: int
    presence: Relation | None

    def compare(
        self,
        grouping: groups.Grouping,
        results: Sequence[Any],
        aggregate: Callable[[list[naive.Row]], object],
    ) -> None:
        """Compare the results of all groups at each instant."""
        plain = grouping.pieces
        assert len(results) == plain.height
        numbered = plain.with_column(NUMBER, np.arange(1, plain.height + 1))
        story = naive.fill(numbered, self.instants)
        members = naive.fill(self.rows, self.instants)
        there = self._fill_presence()
        for at in range(self.instants):
            ours = [(self._key(row), _write(results[row[NUMBER] - 1])) for row in story[at]]
            grouped = {key: list[naive.Row]() for key in there[at]}
            for row in members[at]:
                grouped.setdefault(self._key(row), []).append(row)
            expected = [(key, _write(aggregate(rows))) for key, rows in grouped.items()]
            assert Counter(ours) == Counter(expected), f"at {at}: {ours} instead of {expected}"

    def _key(self, row: naive.Row) -> tuple[int, ...]:
        return tuple(row.get(name, 0) for name in self.keys)

    def _fill_presence(self) -> list[set[tuple[int, ...]]]:
        if self.presence is not None:
            return [
                {self._key(row) for row in bag} for bag in naive.fill(self.presence, self.instants)
            ]
        return [set() if self.keys else {()} for _ in range(self.instants)]


def _write(result: object) -> str:
    """Write a result, so that NaN equals itself and -0.0 equals 0.0."""
    return repr(float(result) + 0.0) if isinstance(result, float) else str(result)


def _draw_case(rng: Random) -> Case:
    instants = draw_instants(rng)
    rows = draw_relation(rng, [KEY, VALUE], instants)
    rows = rows.with_column(NUMBER, np.arange(1, rows.height + 1))
    keys = rng.choice([[], [KEY], [KEY]])
    presence = None
    if keys and rng.random() < 0.3:
        presence = draw_relation(rng, keys, instants, unbound=0)
    return Case(rows, keys, instants, presence)


def _group(case: Case) -> groups.Grouping:
    return groups.form_groups(case.rows, case.keys, case.instants, case.presence)


def check_counts(rng: Random) -> None:
    case = _draw_case(rng)
    grouping = _group(case)
    bound = case.rows.is_bound(VALUE)
    case.compare(grouping, counts.count_rows(grouping).tolist(), len)
    case.compare(
        grouping,
        counts.count_flagged(grouping, bound).tolist(),
        lambda rows: sum(VALUE in row for row in rows),
    )
    case.compare(
        grouping,
        counts.count_distinct(grouping, [case.rows[VALUE]], bound).tolist(),
        lambda rows: len({row[VALUE] for row in rows if VALUE in row}),
    )


def check_integers(rng: Random) -> None:
    case = _draw_case(rng)
    grouping = _group(case)
    values = [rng.choice(INTEGERS) for _ in range(case.rows.height)]
    sums = integers.sum_integers(grouping, np.array(values, np.int64))
    results = sums.tolist() if isinstance(sums, np.ndarray) else list(sums)
    case.compare(grouping, results, lambda rows: sum(values[row[NUMBER] - 1] for row in rows))


def check_distinct_sums(rng: Random) -> None:
    """SUM(DISTINCT): each value once, worth the same wherever it is."""
    case = _draw_case(rng)
    ids = case.rows[VALUE]
    worth = ids % 11
    grouping = _group(case).keep_distinct([ids], case.rows.is_bound(VALUE))
    sums = integers.sum_integers(grouping, worth[grouping.members[groups.ORIGINAL]])
    case.compare(
        grouping,
        list(sums),
        lambda rows: sum({row[VALUE]: row[VALUE] % 11 for row in rows if VALUE in row}.values()),
    )


def check_doubles(rng: Random) -> None:
    case = _draw_case(rng)
    grouping = _group(case)
    pool = DOUBLES + (SPECIALS if rng.random() < 0.4 else [])
    values = [
        rng.choice(pool) if rng.random() < 0.6 else rng.uniform(-1, 1) * 10 ** rng.randint(-9, 9)
        for _ in range(case.rows.height)
    ]
    sums = doubles.sum_doubles(grouping, np.array(values, np.float64))
    case.compare(
        grouping, sums.tolist(), lambda rows: _sum([values[row[NUMBER] - 1] for row in rows])
    )
    averages = doubles.average(sums, counts.count_rows(grouping))
    case.compare(
        grouping,
        averages.tolist(),
        lambda rows: _sum([values[row[NUMBER] - 1] for row in rows]) / max(len(rows), 1),
    )


def _sum(values: list[float]) -> float:
    special = {value for value in values if math.isinf(value)}
    if any(math.isnan(value) for value in values) or len(special) > 1:
        return math.nan
    return special.pop() if special else math.fsum(values)


def check_kinds(rng: Random) -> None:
    """A sum is a double while a double is in it; an error while a bad value is."""
    case = _draw_case(rng)
    grouping = _group(case)
    drawn = [rng.randint(0, 4) for _ in range(case.rows.height)]
    found = kinds.find_highest_kind(grouping, np.array(drawn, np.int64))
    case.compare(
        grouping,
        found.tolist(),
        lambda rows: max((drawn[row[NUMBER] - 1] for row in rows), default=0),
    )
    bad = counts.count_flagged(grouping, np.array(drawn, np.int64) == 0) > 0
    case.compare(
        grouping,
        bad.tolist(),
        lambda rows: any(drawn[row[NUMBER] - 1] == 0 for row in rows),
    )


def check_extremes(rng: Random) -> None:
    case = _draw_case(rng)
    grouping = _group(case)
    rank = case.rows[VALUE] if rng.random() < 0.5 else -case.rows[VALUE]
    chosen = extremes.select_least(grouping, rank, case.rows.is_bound(VALUE))
    found = np.append(rank, 0)[chosen]
    found[chosen < 0] = 0
    case.compare(
        grouping,
        found.tolist(),
        lambda rows: min((int(rank[row[NUMBER] - 1]) for row in rows if VALUE in row), default=0),
    )


def check_members(rng: Random) -> None:
    """GROUP_CONCAT: all rows of each piece."""
    case = _draw_case(rng)
    grouping = _group(case)
    listed: list[list[int]] = [[] for _ in range(grouping.pieces.height)]
    for piece, row in zip(*map(np.ndarray.tolist, groups.list_members(grouping)), strict=True):
        listed[piece].append(row + 1)
    case.compare(grouping, listed, lambda rows: sorted(row[NUMBER] for row in rows))


def check_annotation(rng: Random) -> None:
    """An aggregate beside each row of its group."""
    case = _draw_case(rng)
    grouping = _group(case)
    members, piece = groups.cut_members(grouping)
    annotated = members.with_column("count", counts.count_rows(grouping)[piece])
    expected: naive.Story = []
    for bag in naive.fill(case.rows, case.instants):
        sizes = Counter(tuple(row.get(name, 0) for name in case.keys) for row in bag)
        expected.append(
            [row | {"count": sizes[tuple(row.get(name, 0) for name in case.keys)]} for row in bag]
        )
    naive.assert_equal(annotated, expected)


def check_changes(rng: Random) -> None:
    """ISTREAM, DSTREAM and RSTREAM over several steps, some of whose instants are skipped."""
    instants = draw_instants(rng)
    names = rng.choice([["a"], ["a", "b"], []])
    parts = [draw_relation(rng, names, instants) for _ in range(rng.randint(1, 2))]
    relation = concat_relations(parts, instants)
    story = naive.fill(relation, instants)
    before, previous = changes.Answer.nothing(tuple(names)), list[naive.Row]()
    start = 0
    while start < instants:
        end = rng.randint(start + 1, instants)
        steps = [at for at in range(start, end) if rng.random() < 0.7]
        numbered = epochs.number_evaluated(relation, np.array(steps, np.int64))
        bags = [story[at] for at in steps]
        found = changes.find_changes(numbered, before, len(steps))
        naive.assert_equal(found.insertions(), _subtract(bags, [previous, *bags]))
        naive.assert_equal(found.deletions(), _subtract([previous, *bags][: len(bags)], bags))
        naive.assert_equal(changes.list_answers(numbered, len(steps)), bags)
        before = changes.find_last_answer(numbered, before, len(steps))
        previous, start = bags[-1] if bags else previous, end


def _subtract(left: list[naive.Bag], right: list[naive.Bag]) -> naive.Story:
    """Subtract bags from bags."""
    return [
        [dict(row) for row in (naive.count(one) - naive.count(other)).elements()]
        for one, other in zip(left, right, strict=False)
    ]
