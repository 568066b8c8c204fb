"""OPTIONAL: the join, and left rows alone while none of their pairs passes the condition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from headrace.execution.operators.join import merge_pairs
from headrace.execution.operators.unmatched import match_pieces, remove_matches
from headrace.execution.relation.compatible import pair_compatible
from headrace.execution.relation.relation import Relation, concat_relations
from headrace.execution.relation.row_budget import SizeCheck, check_rows

Condition: TypeAlias = Callable[[Relation], Relation]
"""Keeps pairs, or pieces of pairs. It may cut rows (EXISTS) and expand them (NOW, RAND), and
leaves columns that it does not know."""

LEFT_ROW: Final = "row of the left side"
"""The column of a pair with the number of its left row."""


def optional(
    left: Relation,
    right: Relation,
    instants: int,
    condition: Condition | None = None,
    check: SizeCheck = check_rows,
) -> Relation:
    """Extend left rows by compatible right rows where there are any.

    Only pairs that pass the condition are matches of their left row.

    Args:
        left: the rows to extend.
        right: what they are extended by.
        instants: how many instants the step has.
        condition: keeps the pairs that pass it.
        check: refuses too many pairs, before the pairs are made.
    """
    pairs = pair_compatible(left, right, check=check)
    merged = merge_pairs(left, right, pairs).with_column(LEFT_ROW, pairs.left)
    kept = merged if condition is None else condition(merged)
    matches = match_pieces(kept[LEFT_ROW], kept.intervals, instants)
    alone = remove_matches(left, matches, instants)
    return concat_relations([kept.drop([LEFT_ROW]), alone], instants)
