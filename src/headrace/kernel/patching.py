"""A table in order, without some rows and with some others: what follows from it is mended too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from headrace.kernel.table import Ids

_POSITION = "position"
_TURN = "turn"


@dataclass(frozen=True, slots=True)
class Patch:
    """Which rows go, and where others come.

    Attributes:
        height: how many rows there were.
        gone: the places of those that go, in order.
        at: the places before which others come, among those that stay, in order.
    """

    height: int
    gone: Ids
    at: Ids

    def of_column(self, column: Ids, new: Ids) -> Ids:
        """A column of the table, with those of the new rows."""
        return np.insert(np.delete(column, self.gone), self.at, new)

    @property
    def places(self) -> Ids:
        """Where the new rows are."""
        return self.at + np.arange(self.at.size)

    def of_order(self, rows: npt.NDArray[np.int32] | Ids, keys: Ids) -> Ids:
        """The rows of the table in some order, from what that was before.

        Args:
            rows: the places of the rows as they were, in the order of their keys.
            keys: the keys of all rows as they are, as the order has them.
        """
        stays = np.ones(self.height, np.bool_)
        stays[self.gone] = False
        among = np.cumsum(stays) - 1
        moved = among + np.searchsorted(self.at, among, side="right")
        kept = moved[rows[stays[rows]]]
        unsigned = keys.view(np.uint64)
        new = self.places[np.argsort(unsigned[self.places])]
        between = np.searchsorted(unsigned[kept], unsigned[new])
        return np.insert(kept, between, new)


def patch_of(
    table: pl.DataFrame, by: str, come: pl.DataFrame, gone: pl.DataFrame, *, repeated: bool
) -> tuple[Patch, pl.DataFrame] | None:
    """How rows go from a table and others come, and these in order; none if that is not plain.

    Args:
        table: in the order of a column.
        by: the column, whose terms are in order as unsigned numbers.
        come: rows that come; some may be among those that go.
        gone: rows that go.
        repeated: whether a row may be there several times.
    """
    names = table.columns
    key = [*names, _TURN]
    new, old = _turned(come.select(names)), _turned(gone.select(names))
    new, old = new.join(old, on=key, how="anti"), old.join(new, on=key, how="anti")
    old = _turned(old.select(names))  # some of its equals are gone from it
    there = old.join(_equal(table, by, old), on=key, how="inner")[_POSITION]
    if there.len() != old.height:
        return None
    if not repeated:
        again = _equal(table, by, new).filter(~pl.col(_POSITION).is_in(there.implode()))
        if again.height or new.select(names).n_unique() < new.height:
            return None
    leaving = np.sort(there.to_numpy())
    ordered = new.select(names).sort(pl.col(by).reinterpret(signed=False))
    staying = np.delete(table[by].to_numpy().view(np.uint64), leaving)
    at = np.searchsorted(staying, ordered[by].to_numpy().view(np.uint64))
    return Patch(table.height, leaving, at), ordered


def _turned(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with the number of each among its equals."""
    return rows.with_columns(_turn(rows.columns))


def _turn(names: list[str]) -> pl.Expr:
    return pl.int_range(pl.len()).over(names).alias(_TURN)


def _equal(table: pl.DataFrame, by: str, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of a table that are equal to some others, where each stands, and its turn."""
    ordered = table[by].to_numpy().view(np.uint64)
    keys = np.unique(rows[by].to_numpy().view(np.uint64))
    begins = np.searchsorted(ordered, keys, side="left")
    counts = np.searchsorted(ordered, keys, side="right") - begins
    turns = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    places = pl.Series(_POSITION, np.repeat(begins, counts) + turns, pl.Int64)
    near = table[places].with_columns(places)
    near = near.join(rows.select(table.columns).unique(), on=table.columns, how="semi")
    return near.with_columns(_turn(table.columns))
