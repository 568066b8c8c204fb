"""EXISTS: rows are cut into pieces at which it is true and pieces at which it is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np

from headrace.execution.operators.unmatched import (
    keep_matches,
    match_pieces,
    remove_matches,
    unite_matches,
)
from headrace.execution.relation.arrays import run_starts
from headrace.execution.relation.coalesce import Pieces, coalesce, key_rows
from headrace.execution.relation.compatible import pair_compatible, share_variables
from headrace.execution.relation.relation import Relation, concat_relations
from headrace.execution.relation.row_budget import SizeCheck, check_rows

FALSE: Final = 0
TRUE: Final = 1
"""The values of a column of truth, which is not one of term ids."""

Pattern: TypeAlias = Callable[[Relation], Relation]
"""Evaluates a pattern in which the variables of the only row of a relation are replaced."""


def mark_exists(
    left: Relation, right: Relation, name: str, instants: int, check: SizeCheck = check_rows
) -> Relation:
    """Add a column that tells whether a compatible right row holds, and cut rows where it changes.

    The pieces of one row are disjoint and cover it.
    """
    return _mark(left, _find_matches(left, right, instants, check), name, instants)


def keep_existing(
    left: Relation, right: Relation, instants: int, check: SizeCheck = check_rows
) -> Relation:
    """Keep left rows while a compatible right row holds."""
    return keep_matches(left, _find_matches(left, right, instants, check), instants)


def keep_missing(
    left: Relation, right: Relation, instants: int, check: SizeCheck = check_rows
) -> Relation:
    """Keep left rows while no compatible right row holds."""
    return remove_matches(left, _find_matches(left, right, instants, check), instants)


def mark_correlated(
    left: Relation, names: list[str], pattern: Pattern, name: str, instants: int
) -> Relation:
    """Mark rows by a pattern that looks at outside variables, evaluated once per distinct values.

    Args:
        left: the rows.
        names: the outside variables.
        pattern: evaluates the substituted pattern at all instants.
        name: the column of truth.
        instants: how many instants the step has.
    """
    key = key_rows(left, names)
    order = np.argsort(key, kind="stable")
    examples = left.select(names).without_intervals().take(order[run_starts(key[order])])
    found = [Relation.empty([name])]
    for number in range(examples.height):
        solutions = pattern(examples.take(np.array([number]))).select([])
        found.append(solutions.with_column(name, np.full(solutions.height, number + 1)))
    keyed = left.select([]).with_column(name, key + 1)
    matches = _find_matches(keyed, concat_relations(found, instants), instants, check_rows)
    return _mark(left, matches, name, instants)


def _find_matches(left: Relation, right: Relation, instants: int, check: SizeCheck) -> Pieces:
    """Return the pieces of left rows at which they have a match, disjoint for each row."""
    right = coalesce(right.select(share_variables(left, right)))
    pairs = pair_compatible(left, right, check=check)
    return unite_matches(match_pieces(pairs.left, pairs.intervals, instants))


def _mark(left: Relation, matches: Pieces, name: str, instants: int) -> Relation:
    """Mark the pieces of rows that have a match, and the rest."""
    true = keep_matches(left, matches, instants)
    false = remove_matches(left, matches, instants)
    marked = [
        true.with_column(name, np.full(true.height, TRUE)),
        false.with_column(name, np.full(false.height, FALSE)),
    ]
    return concat_relations(marked, instants)
