"""Join: the compatible unions of rows that hold together, at the instants of both."""

from __future__ import annotations

import numpy as np

from headrace.execution.relation.arrays import Ids
from headrace.execution.relation.compatible import Pairs, pair_compatible
from headrace.execution.relation.relation import UNBOUND, Relation, is_time
from headrace.execution.relation.row_budget import SizeCheck, check_rows


def join(left: Relation, right: Relation, check: SizeCheck = check_rows) -> Relation:
    """Join two relations on the variables that both bind; of two times the later one counts."""
    return merge_pairs(left, right, pair_compatible(left, right, check=check))


def merge_pairs(left: Relation, right: Relation, pairs: Pairs) -> Relation:
    """Merge pairs of rows: each variable has the value of the side that binds it."""
    names = dict.fromkeys((*left.names, *right.names))
    columns = {name: _merge_column(name, left, right, pairs) for name in names}
    return Relation(columns, pairs.left.size, *pairs.intervals)


def _merge_column(name: str, left: Relation, right: Relation, pairs: Pairs) -> Ids:
    """Merge one column of pairs of rows."""
    if name not in right.columns:
        return left[name][pairs.left]
    if name not in left.columns:
        return right[name][pairs.right]
    ours, theirs = left[name][pairs.left], right[name][pairs.right]
    return np.maximum(ours, theirs) if is_time(name) else np.where(ours == UNBOUND, theirs, ours)
