"""MIN, MAX and SAMPLE: for each piece of a group the row that comes first in an order."""

from __future__ import annotations

import numpy as np

from headrace.execution.aggregates.groups import Grouping
from headrace.execution.relation.arrays import Flags, Ids


def select_least(grouping: Grouping, rank: Ids, wanted: Flags) -> Ids:
    """Return for each piece the number of the row with the least rank, -1 if there is none.

    Args:
        grouping: the groups.
        rank: the place of each row's value in the order; for MAX in the reverse order, for SAMPLE
            any order that does not depend on where a step begins. Equal values may share a rank.
        wanted: the rows that count: those with a value.
    """
    height = grouping.members.height
    order = np.argsort(rank, kind="stable")
    places = np.empty(height, np.int64)
    places[order] = np.arange(height)
    return grouping.slots.find_least(places, np.flatnonzero(wanted))[grouping.live]
