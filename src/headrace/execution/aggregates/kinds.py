"""The kind of a sum: the highest kind of number among the values that are in it."""

from __future__ import annotations

import numpy as np

from headrace.execution.aggregates.counts import count_flagged
from headrace.execution.aggregates.groups import Grouping
from headrace.execution.relation.arrays import Ids


def find_highest_kind(grouping: Grouping, kinds: Ids) -> Ids:
    """Return the highest kind among the members of each piece, 0 if it has none.

    Each kind is counted by itself: the kind of a sum goes back when its last double leaves.

    Args:
        grouping: the groups.
        kinds: a small number for the kind of each row's value, rising in the order of promotion
            from 1 on; 0 where there is no number.
    """
    highest = np.zeros(grouping.live.size, np.int64)
    for kind in np.unique(kinds).tolist():  # a handful: integer, decimal, float, double
        if kind:
            highest[count_flagged(grouping, kinds == kind) > 0] = kind
    return highest
