"""Terms that are at hand, and known only once somebody asks what they are.

Most terms of a stream are joined by their ids and never shown. To put each of them in order with
all others costs more than to evaluate a query over them. What must be known of all of them is that
no two have the same id: only ids that stand on several shelves need a look for that.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import numpy.typing as npt
import polars as pl

from headrace.kernel.columns import ID, TEXT
from headrace.kernel.values import KIND, Kind


class Shelves:
    """Terms by the pane that they came with."""

    def __init__(self) -> None:
        """Begin with none."""
        self._terms: dict[str, tuple[npt.NDArray[np.int64], pl.DataFrame]] = {}

    @property
    def is_empty(self) -> bool:
        """Whether nothing is at hand."""
        return not self._terms

    def put(self, name: str, terms: pl.DataFrame) -> tuple[str, str] | None:
        """Take the terms of a pane, each of which has an id of its own there.

        Returns:
            Two different terms with the same id, if there are: then nothing is taken.
        """
        if name in self._terms:
            return None
        ordered = terms.sort(ID)
        ids = ordered[ID].to_numpy()
        for others, there in self._terms.values():
            places, shared = _places(others, ids)
            ours = ordered[TEXT].gather(pl.Series(shared))
            theirs = there[TEXT].gather(pl.Series(places[shared]))
            differing = (ours != theirs).arg_true()
            if differing.len():
                return ours[differing[0]], theirs[differing[0]]
        self._terms[name] = ids, ordered
        return None

    def keep(self, names: Collection[str]) -> None:
        """Forget all panes but some."""
        self._terms = {name: each for name, each in self._terms.items() if name in names}

    def find(self, ids: pl.Series) -> pl.DataFrame:
        """Those of some terms that are at hand, each once."""
        array = ids.to_numpy()
        found = []
        for known, terms in self._terms.values():
            places, there = _places(known, array)
            found.append(terms[pl.Series(places[there])])
        return pl.concat(found).unique(ID)


def has_quoted(terms: pl.DataFrame) -> bool:
    """Whether some terms are quoted triples, whose parts patterns look into."""
    return KIND not in terms.columns or bool((terms[KIND] == Kind.QUOTED).any())


def _places(
    known: npt.NDArray[np.int64], ids: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Where ids stand among known ones in order, and which of them are there at all."""
    if known.size == 0:
        return np.zeros(ids.size, np.int64), np.empty(0, np.int64)
    places = np.minimum(np.searchsorted(known, ids), known.size - 1)
    return places, np.flatnonzero(known[places] == ids)
