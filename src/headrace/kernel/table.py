"""Columns of numbers side by side, for what is small and changes often.

A data frame does much more, and each call of it costs as much as thousands of rows do here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

Ids: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]

_ODD: Final = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of the same height, which nobody changes; all of them are bound.

    Attributes:
        columns: by name.
        height: how many rows there are.
    """

    columns: Mapping[str, Ids]
    height: int

    @classmethod
    def of(cls, columns: Mapping[str, Ids]) -> Table:
        """A table of at least one column."""
        return cls(columns, next(iter(columns.values())).size)

    @classmethod
    def without_rows(cls, names: Iterable[str]) -> Table:
        """A table that has no rows."""
        return cls({name: np.empty(0, np.int64) for name in names}, 0)

    @classmethod
    def of_frame(cls, frame: pl.DataFrame) -> Table:
        """The same as a data frame, none of whose terms is unbound."""
        return cls({name: frame[name].to_numpy() for name in frame.columns}, frame.height)

    def __getitem__(self, name: str) -> Ids:
        """One column."""
        return self.columns[name]

    def taken(self, rows: Ids | slice) -> Table:
        """Some rows, by their numbers."""
        chosen = {name: each[rows] for name, each in self.columns.items()}
        height = rows.size if isinstance(rows, np.ndarray) else len(range(self.height)[rows])
        return Table(chosen, height)

    def where(self, kept: Flags) -> Table:
        """Those rows for which it is said."""
        return self if kept.all() else self.taken(np.flatnonzero(kept))

    def only(self, names: Iterable[str]) -> Table:
        """Some columns, in an order."""
        return Table({name: self.columns[name] for name in names}, self.height)

    def but(self, *names: str) -> Table:
        """All columns except some."""
        kept = {name: each for name, each in self.columns.items() if name not in names}
        return Table(kept, self.height)

    def with_columns(self, columns: Mapping[str, Ids]) -> Table:
        """The same with more columns, or with others in place of some."""
        return Table({**self.columns, **columns}, self.height)

    def frame(self) -> pl.DataFrame:
        """The same as a data frame."""
        return pl.DataFrame([pl.Series(name, each) for name, each in self.columns.items()])


def stacked(tables: Sequence[Table]) -> Table:
    """Tables with the same columns, one below the other."""
    first, *others = tables
    if not others:
        return first
    names = first.columns
    columns = {name: np.concatenate([each.columns[name] for each in tables]) for name in names}
    return Table(columns, sum(each.height for each in tables))


def mixed(table: Table, names: Sequence[str]) -> Ids:
    """A number for each row, of all terms in some columns; ids are hashes, and spread evenly."""
    if len(names) == 1:
        return table.columns[names[0]]
    found = np.zeros(table.height, np.uint64)
    for name in names:
        found = found * _ODD + table.columns[name].view(np.uint64)
    return found.view(np.int64)


class Growing:
    """A table with room for more rows, so that adding a few does not copy all of them."""

    def __init__(self, table: Table) -> None:
        """Begin with some rows."""
        self.table = table
        self._room: Mapping[str, Ids] = {}

    def add(self, more: Table) -> None:
        """Add rows below the others; who has the table of before keeps it as it was."""
        known, number = self.table.height, self.table.height + more.height
        if known == 0:
            self.table = more
            return
        if not self._room or number > next(iter(self._room.values())).size:
            self._room = {name: np.empty(2 * number, np.int64) for name in more.columns}
            for name, room in self._room.items():
                room[:known] = self.table.columns[name]
        for name, room in self._room.items():
            room[known:number] = more.columns[name]
        self.table = Table({name: room[:number] for name, room in self._room.items()}, number)

    def fill(self, name: str, first: int, number: int) -> None:
        """Put a number into a column, from a row on."""
        if not self._room:  # the columns may be somebody else's
            filled = self.table.columns[name].copy()
            filled[first:] = number
            self.table = self.table.with_columns({name: filled})
        else:
            self._room[name][first : self.table.height] = number
