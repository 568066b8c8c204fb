"""MINUS: left rows while no compatible right row shares a bound variable with them."""

from __future__ import annotations

from headrace.execution.operators.unmatched import match_pieces, remove_matches
from headrace.execution.relation.coalesce import coalesce
from headrace.execution.relation.compatible import pair_compatible, share_variables
from headrace.execution.relation.relation import Relation
from headrace.execution.relation.row_budget import SizeCheck, check_rows


def minus(
    left: Relation, right: Relation, instants: int, check: SizeCheck = check_rows
) -> Relation:
    """Remove left rows at the instants at which the right side has a compatible one.

    A pair of rows counts only if both bind one of the variables. This is a matter of each pair,
    and it changes over time: after an OPTIONAL a row may bind a variable at some instants only.
    """
    # Only whether there is a match counts: a thousand right rows of one key become one piece.
    right = coalesce(right.select(share_variables(left, right)))
    pairs = pair_compatible(left, right, disjoint=False, check=check)
    return remove_matches(left, match_pieces(pairs.left, pairs.intervals, instants), instants)
