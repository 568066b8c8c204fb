"""Rows of a large table that a few others are joined with, without a look at the rest of it."""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from headrace.kernel.index import IdIndex

_FEW: Final = 2
"""To look rows up pays if they are fewer than one in so many of the table."""
_MANY: Final = 2
"""Where a term has more rows than these, rows are looked up by several columns at once."""
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)
_LARGE: Final = 10_000
"""A table of fewer rows than these is joined as a whole."""


class _Column:
    """Where each term of a column stands in a table that is put in its order."""

    def __init__(self, frame: pl.DataFrame, name: str) -> None:
        keys = frame[name].reinterpret(signed=False)
        self.frame = frame if keys.is_sorted() else frame.sort(keys)
        ordered = self.frame[name].to_numpy()
        changes = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
        self._starts = np.concatenate(([0], changes, [ordered.size]))
        self._index = IdIndex(ordered[self._starts[:-1]])
        self.distinct = self._starts.size - 1

    def meets(self, ids: npt.NDArray[np.int64]) -> int:
        """How many rows of the table have one of some terms, for each of them."""
        places = self._index.positions(ids)
        places = places[places >= 0]
        return int((self._starts[places + 1] - self._starts[places]).sum())

    def rows(self, ids: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], pl.Series]:
        """For each row of the table with one of some terms, which of them, and which row."""
        ours, places = _spread(self._index.positions(ids), self._starts)
        return ours, pl.Series(places)


class _Columns:
    """Where the terms of several columns stand in a table, by one number made of all of them.

    Others may have the same number, so that who looks there compares the terms.
    """

    def __init__(self, frame: pl.DataFrame, names: list[str]) -> None:
        keys = _mixed(frame, names)
        self._order = np.argsort(keys.view(np.uint64))
        ordered = keys[self._order]
        changes = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
        self._starts = np.concatenate(([0], changes, [ordered.size]))
        self._index = IdIndex(ordered[self._starts[:-1]])

    def rows(self, keys: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], pl.Series]:
        """For each row of the table with one of some numbers, which of them, and which row."""
        ours, places = _spread(self._index.positions(keys), self._starts)
        return ours, pl.Series(self._order[places])


def _mixed(frame: pl.DataFrame, names: list[str]) -> npt.NDArray[np.int64]:
    """A number for each row, of all terms in some columns; ids are hashes, and spread evenly."""
    mixed = np.zeros(frame.height, np.uint64)
    for name in names:
        mixed = mixed * _ODD + frame[name].to_numpy().view(np.uint64)
    return mixed.view(np.int64)


def _spread(
    places: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """All rows of the runs at some places: whose each is, and where; -1 is no place."""
    known = np.flatnonzero(places >= 0)
    begins = starts[places[known]]
    counts = starts[places[known] + 1] - begins
    ours = np.repeat(known, counts)
    turns = np.arange(ours.size) - np.repeat(np.cumsum(counts) - counts, counts)
    return ours, np.repeat(begins, counts) + turns


class Lookup:
    """A table whose rows are found by the terms of any of its columns."""

    def __init__(self, frame: pl.DataFrame) -> None:
        """Take a table of ids without unbound ones."""
        self.frame = frame
        self._columns: dict[str, _Column] = {}
        self._several: dict[tuple[str, ...], _Columns] = {}
        self._distinct: dict[tuple[str, ...], int] = {}

    @cached_property
    def names(self) -> frozenset[str]:
        """Its columns."""
        return frozenset(self.frame.columns)

    def fan_out(self, on: list[str]) -> float:
        """How many rows of it meet one that agrees on some columns, on average."""
        if not on:
            return float(self.frame.height)
        key = tuple(on)
        if key not in self._distinct:
            only = self.frame[on[0]] if len(on) == 1 else self.frame.select(on)
            self._distinct[key] = max(1, only.n_unique())
        return self.frame.height / self._distinct[key]

    def joined(self, found: pl.DataFrame, on: list[str]) -> pl.DataFrame:
        """Some rows with those of the table that agree with them on some columns."""
        table = self.frame
        if not on:
            return found.join(table, how="cross")
        if table.height < _LARGE or found.height * _FEW > table.height:
            return found.join(table, on=on, how="inner")
        name = min(on, key=lambda each: self.fan_out([each]))
        if len(on) > 1 and self.fan_out([name]) > _MANY:
            name = ""
            ours, theirs = self._by_several(on).rows(_mixed(found, on))
        else:
            column = self._column(name)
            table = column.frame
            ours, theirs = column.rows(found[name].to_numpy())
        left = found[pl.Series(ours)]
        others = [each for each in table.columns if each not in on]
        joined = left.hstack(table.select(others)[theirs]) if others else left
        agreeing = [table[each][theirs] == left[each] for each in on if each != name]
        return joined.filter(*agreeing) if agreeing else joined

    def meets(self, found: pl.DataFrame, name: str) -> int | None:
        """How many rows of it some others meet in a column; not said of a small table."""
        if self.frame.height < _LARGE:
            return None
        return self._column(name).meets(found[name].to_numpy())

    def _by_several(self, on: list[str]) -> _Columns:
        if tuple(on) not in self._several:
            self._several[tuple(on)] = _Columns(self.frame, on)
        return self._several[tuple(on)]

    def _column(self, name: str) -> _Column:
        if name not in self._columns:
            self._columns[name] = _Column(self.frame, name)
        return self._columns[name]
