"""COUNT, also of distinct values; counts of errors and of kinds of numbers.

An error and a kind are counts: a group's sum is an error exactly while the count of its bad values
is above 0, and of type double exactly while it has a double.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.execution.aggregates.groups import Grouping
from headrace.execution.relation.arrays import Flags, Ids


def count_rows(grouping: Grouping) -> Ids:
    """Count the rows of each group: COUNT(*)."""
    return grouping.accumulate(np.ones(grouping.members.height, np.int64))


def count_flagged(grouping: Grouping, flags: Flags) -> Ids:
    """Count the flagged rows of each group: COUNT(?x) of bound ones, errors, infinities."""
    return grouping.accumulate(flags.astype(np.int64))


def count_distinct(grouping: Grouping, columns: Sequence[Ids], wanted: Flags) -> Ids:
    """Count the distinct values of each group.

    Args:
        grouping: the groups.
        columns: one column for COUNT(DISTINCT ?x), all variables for COUNT(DISTINCT *).
        wanted: the rows that count: those with a value.
    """
    return count_rows(grouping.keep_distinct(columns, wanted))
