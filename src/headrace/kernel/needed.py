"""Which keys of a local view an evaluation needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from headrace.freshness.scores import Ints
from headrace.kernel.columns import OBJECT, SUBJECT, TIME
from headrace.kernel.data import WindowContents
from headrace.kernel.solutions import Solutions

_TERM: Final = "term"
_WEIGHT: Final = "weight"


@dataclass(frozen=True, slots=True)
class Used:
    """The keys that an evaluation needs.

    Attributes:
        keys: a column of ids for each variable of the key; each row once.
        weight: in how many solutions each is.
        entered: when the newest element in a window happened that has it.
    """

    keys: pl.DataFrame
    weight: Ints
    entered: Ints

    @classmethod
    def of(
        cls, names: list[str], solutions: Solutions, windows: Sequence[WindowContents], now: int
    ) -> Used:
        """The keys of some solutions over what windows hold."""
        counted = solutions.frame.group_by(names, maintain_order=True).len(name=_WEIGHT)
        entered = [_entered(counted[name], windows, now) for name in names]
        times = pl.DataFrame(entered).min_horizontal() if entered else pl.Series([], dtype=pl.Int64)
        return cls(
            counted.select(names),
            counted[_WEIGHT].cast(pl.Int64).to_numpy(),
            np.array(times.to_numpy(), np.int64),
        )

    def ordered(self, identity: Ints) -> Used:
        """The same in an order that depends on what the keys are, and on nothing else."""
        order = np.argsort(identity, kind="stable")
        return Used(self.keys[pl.Series(order)], self.weight[order], self.entered[order])


def _entered(ids: pl.Series, windows: Sequence[WindowContents], now: int) -> pl.Series:
    """When the newest statement happened that has each of some terms; now, if none has."""
    wanted = ids.to_frame(_TERM)
    seen = [
        window.quads.frame.select(pl.col(part).alias(_TERM), TIME)
        for window in windows
        for part in (SUBJECT, OBJECT)
    ]
    if not seen:
        return pl.Series(ids.name, np.full(ids.len(), now), pl.Int64)
    latest = pl.concat(seen).join(wanted.unique(), on=_TERM, how="semi")
    latest = latest.filter(pl.col(TIME) <= now).group_by(_TERM).agg(pl.col(TIME).max())
    found = wanted.join(latest, on=_TERM, how="left", maintain_order="left")
    return found[TIME].fill_null(now).alias(ids.name)
