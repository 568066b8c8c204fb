"""How many evaluations a refresh serves: the arithmetic of window-based maintenance.

Times are whole numbers of one unit, such as microseconds. Everything works on columns: one number
for each mapping.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from headrace.freshness.policies import Sliding

Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]

NEVER_CHANGES: Final = 2**60
"""The change interval of what does not change: no time of a stream is that far away."""


def possibly_stale(best_before: Ints, now: int) -> Flags:
    """Which mappings may have changed: those whose best-before time has come.

    >>> possibly_stale(np.array([7, 9, 8]), 8).tolist()
    [True, False, True]
    """
    return best_before <= now


def remaining_life(entered: Ints, window: Sliding, now: int) -> Ints:
    """In how many evaluations, this one included, a mapping is used: L = ceil((t_i + w - t) / b).

    Args:
        entered: when the newest element happened that is compatible with each mapping.
        window: the window it is in.
        now: the time of the evaluation.

    >>> remaining_life(np.array([6, 8, 8]), Sliding(3, 1), 8).tolist()
    [1, 3, 3]
    """
    return -((now - entered - window.width) // window.slide)


def renewed(best_before: Ints, interval: Ints, now: int | Ints) -> Ints:
    """Until when a mapping is expected to be fresh if it is refreshed now.

    It is tau + k * I for the least k >= 1 that puts it after now.

    >>> renewed(np.array([7, 6, 8, 2]), np.array([5, 5, 1, 3]), 8).tolist()
    [12, 11, 9, 11]
    """
    steps: Ints = np.maximum(1, (now - best_before) // interval + 1)
    return best_before + steps * interval


def validity(fresh_until: Ints, window: Sliding, now: int) -> Ints:
    """In how many evaluations a mapping stays fresh that is refreshed now: V.

    >>> validity(np.array([12, 11, 9]), Sliding(3, 1), 8).tolist()
    [4, 3, 1]
    """
    return -((now - fresh_until) // window.slide)


def scores(life: Ints, valid: Ints, window: Sliding) -> Ints:
    """How many evaluations a refresh serves: min(L, V); V alone where windows do not overlap.

    >>> scores(np.array([1, 3, 3]), np.array([4, 3, 1]), Sliding(3, 1)).tolist()
    [1, 3, 1]
    """
    return valid if window.tumbles else np.minimum(life, valid)
