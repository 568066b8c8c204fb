"""SUM of integers without overflow: as two running sums of 32 bits each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from headrace.execution.aggregates.groups import Grouping
from headrace.execution.relation.arrays import Ids

_HALF: Final = 32
_LOW: Final = (1 << _HALF) - 1
_SAFE: Final = 1 << 30
"""Upper halves below it leave room for what the lower ones carry."""


def sum_integers(grouping: Grouping, values: Ids) -> Sequence[int] | Ids:
    """Sum the integers of each group.

    Args:
        grouping: the groups.
        values: one for each member; 0 where it has none.

    Returns:
        an array, or Python numbers if a sum does not fit an int64.
    """
    low = grouping.accumulate(values & _LOW)
    high = grouping.accumulate(values >> _HALF)
    high, low = high + (low >> _HALF), low & _LOW
    if not high.size or int(np.abs(high).max()) < _SAFE:
        return (high << _HALF) + low
    return [
        (upper << _HALF) + lower for upper, lower in zip(high.tolist(), low.tolist(), strict=True)
    ]
