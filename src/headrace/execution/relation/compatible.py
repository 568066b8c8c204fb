"""Pairs of compatible rows: they agree on every variable that both bind, and hold together.

An unbound value is no value to compare. So both sides are split by which of the shared variables
are bound, and each part of one is paired with each part of the other on what both bind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from headrace.execution.relation.arrays import EMPTY, Ids
from headrace.execution.relation.keys import count_keys, number_both, number_rows
from headrace.execution.relation.meeting import RowPairs, find_equal_rows, find_meeting_rows
from headrace.execution.relation.relation import MEMBER, UNBOUND, Relation
from headrace.execution.relation.row_budget import SizeCheck, accumulate, check_rows

_INSTANT: Final = "instant"
"""A column; no variable has its name."""


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairs of rows, and when both hold.

    Attributes:
        left: row numbers of the left side.
        right: row numbers of the right side.
        intervals: first and last instant of each pair; none if both sides hold always.
    """

    left: Ids
    right: Ids
    intervals: tuple[Ids, ...]


def share_variables(left: Relation, right: Relation) -> list[str]:
    """Return the variables that both relations have columns for, and `MEMBER` if both have it."""
    return [name for name in left.variables if name in right.columns]


def pair_compatible(
    left: Relation, right: Relation, *, disjoint: bool = True, check: SizeCheck = check_rows
) -> Pairs:
    """Pair compatible rows that hold together.

    Args:
        left: one side.
        right: the other side.
        disjoint: whether rows without a common bound variable are paired too.
        check: refuses too many pairs, before the pairs are made.
    """
    shared, check = share_variables(left, right), accumulate(check)
    found: list[RowPairs] = [(EMPTY, EMPTY)]
    parts, other_parts = (list(_split_by_bound(each, shared)) for each in (left, right))
    for bound, ours in parts:
        for other_bound, theirs in other_parts:
            on = [name for name in bound if name in other_bound]
            if disjoint or any(name != MEMBER for name in on):
                rows, others = _pair_rows(left, ours, right, theirs, on, check)
                found.append((rows, others))
    rows, others = (np.concatenate(each) for each in zip(*found, strict=True))
    return Pairs(rows, others, _intersect(left, rows, right, others))


def _split_by_bound(relation: Relation, names: Sequence[str]) -> Iterator[tuple[list[str], Ids]]:
    """Split row numbers by which variables they bind."""
    if all(relation.is_bound(name).all() for name in names):
        yield list(names), np.arange(relation.height)
        return
    code = number_rows(
        [relation.is_bound(name).astype(np.int64) for name in names], relation.height
    )
    for each in range(count_keys(code)):
        rows = np.flatnonzero(code == each)
        yield [name for name in names if relation[name][rows[0]] != UNBOUND], rows


def _pair_rows(
    left: Relation, ours: Ids, right: Relation, theirs: Ids, on: Sequence[str], check: SizeCheck
) -> RowPairs:
    """Pair some rows of both sides on variables that all of them bind."""
    one, other = left.select(on).take(ours), right.select(on).take(theirs)
    rows, others = _pair_keyed(one, other, check)
    return ours[rows], theirs[others]


def _pair_keyed(left: Relation, right: Relation, check: SizeCheck) -> RowPairs:
    """Pair rows that are equal in all columns and hold together."""
    if left.has_single_instants and right.has_single_instants:
        left, right = _add_instants(left), _add_instants(right)
    ids, other_ids = list(left.columns.values()), list(right.columns.values())
    ours, theirs = number_both(ids, other_ids, left.height, right.height)
    if left.holds_always or right.holds_always:
        return find_equal_rows(ours, theirs, check)
    return find_meeting_rows((ours, *left.bounds), (theirs, *right.bounds), check)


def _add_instants(relation: Relation) -> Relation:
    """Make the only instant of each row one more column."""
    return relation.with_column(_INSTANT, relation.bounds[0]).without_intervals()


def _intersect(left: Relation, rows: Ids, right: Relation, others: Ids) -> tuple[Ids, ...]:
    """Intersect the intervals of pairs of rows that hold together."""
    ours = tuple(each[rows] for each in left.intervals)
    theirs = tuple(each[others] for each in right.intervals)
    if not ours or not theirs:
        return ours or theirs
    return np.maximum(ours[0], theirs[0]), np.minimum(ours[1], theirs[1])
