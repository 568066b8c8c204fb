"""Where ids stand in a column that grows, each of which is there once.

What is new is put in order by itself; parts of about the same size are put together, so that there
are a few of them. The column itself stays as it is: only numbers are moved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from headrace.kernel.index import IdIndex

Ids = npt.NDArray[np.int64]

_MOST_PARTS: Final = 6
_NOT_MUCH_LARGER: Final = 2


@dataclass(frozen=True, slots=True)
class _Part:
    """Some ids in order, and where each stands; if that is not said, one after the other."""

    ids: Ids
    index: IdIndex
    rows: Ids | None

    def of(self, ids: Ids) -> Ids:
        places = self.index.positions(ids)
        if self.rows is None:
            return places
        return np.where(places >= 0, self.rows[places], -1)


class Places:
    """Where ids stand."""

    def __init__(self, ids: Ids | None = None) -> None:
        """Begin with some ids that stay, in the order of unsigned numbers."""
        some = ids is not None and ids.size > 0
        self._lasting = [_Part(ids, IdIndex(ids), None)] if some and ids is not None else []
        self._parts: list[_Part] = []

    def add(self, ids: Ids, first: int) -> None:
        """Take ids that stand one after the other from a place on."""
        if ids.size == 0:
            return
        rows = np.arange(first, first + ids.size)
        while self._parts and self._goes_with(ids.size):
            before = self._parts.pop()
            assert before.rows is not None, "only what stays has none"
            ids = np.concatenate([before.ids, ids])
            rows = np.concatenate([before.rows, rows])
        order = np.argsort(ids.view(np.uint64), kind="stable")
        ids, rows = ids[order], rows[order]
        self._parts.append(_Part(ids, IdIndex(ids), rows))

    def _goes_with(self, size: int) -> bool:
        small = self._parts[-1].ids.size <= _NOT_MUCH_LARGER * size
        return small or len(self._parts) == _MOST_PARTS

    def forget(self) -> None:
        """Forget all but those that stay."""
        self._parts = []

    def of(self, ids: Ids) -> Ids:
        """Where each of some ids stands; -1 if it is not there.

        >>> places = Places(np.array([3, 5]))
        >>> places.add(np.array([9, 7]), 2)
        >>> places.of(np.array([7, 4, 5])).tolist()
        [3, -1, 1]
        """
        found: Ids | None = None
        for part in (*self._lasting, *self._parts):
            if found is None:
                found = part.of(ids)
                continue
            missing = np.flatnonzero(found < 0)
            if missing.size == 0:
                break
            found[missing] = part.of(ids[missing])
        return np.full(ids.size, -1) if found is None else found
