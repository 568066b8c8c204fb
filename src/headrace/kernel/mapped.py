"""Rows of a table that is kept in files, found by the terms of any of its columns.

For each column that is looked up by, the table is kept once more in its order, so that the rows of
a term stand together; for several columns at once, only the order is kept. Where each term begins
is kept too, so that the next process has nothing to compute. Of a table that is too large for that,
a term is found by bisection, which looks at a few places of a file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from headrace.kernel.index import IdIndex
from headrace.kernel.keeping import Keeper, KeptTable

Rows = npt.NDArray[np.int64]
Starts = npt.NDArray[np.int64] | npt.NDArray[np.int32]
Made = tuple[pl.DataFrame, Mapping[str, int]]

_FEW: Final = 2
"""To look rows up pays if they are fewer than one in so many of the table."""
_MANY: Final = 2
"""Where a term has more rows than these, rows are looked up by several columns at once."""
_LARGE: Final = 10_000
"""A table of fewer rows than these is joined as a whole."""
_KEY, _START, _ROW = "key", "start", "row"
_DISTINCT, _DEEPEST = "distinct", "deepest"
BY: Final = "by"
"""What a note calls the column by which a table is in order, as unsigned numbers."""
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class _Runs:
    """Where the rows of each key stand: from one place to before another."""

    index: IdIndex
    starts: Starts

    def of(self, keys: Rows) -> tuple[Rows, Rows]:
        places = self.index.positions(keys)
        known = places >= 0
        places = np.where(known, places, 0)
        begins = self.starts[places].astype(np.int64)
        ends = self.starts[places + 1].astype(np.int64)
        return begins, np.where(known, ends, begins)


@dataclass(frozen=True, slots=True)
class _Bisected:
    """The same by bisection."""

    ordered: npt.NDArray[np.uint64]

    def of(self, keys: Rows) -> tuple[Rows, Rows]:
        wanted, places = np.unique(keys.view(np.uint64), return_inverse=True)
        begins = np.searchsorted(self.ordered, wanted, side="left")
        ends = np.searchsorted(self.ordered, wanted, side="right")
        return begins[places], ends[places]


@dataclass(frozen=True, slots=True)
class _Order:
    """A table in the order of a key.

    Attributes:
        frame: its rows in that order, with its own names; none if they stand in another one.
        rows: where they stand in that other one.
        runs: where each key begins and ends.
    """

    frame: pl.DataFrame | None
    rows: Starts | None
    runs: _Runs | _Bisected

    def found(self, keys: Rows) -> tuple[Rows, Rows]:
        """For each row of the table with one of some keys, which of them, and which row."""
        begins, ends = self.runs.of(keys)
        counts = ends - begins
        ours = np.repeat(np.arange(keys.size), counts)
        turns = np.arange(ours.size) - np.repeat(np.cumsum(counts) - counts, counts)
        places = np.repeat(begins, counts) + turns
        return ours, places if self.rows is None else self.rows[places]


class MappedLookup:
    """A kept table whose rows are found by the terms of any of its columns."""

    def __init__(
        self, keeper: Keeper, key: str, table: KeptTable, names: Mapping[str, str]
    ) -> None:
        """Take a table of ids without unbound ones.

        Args:
            keeper: where orders of the table are kept.
            key: what the table is called there.
            table: the table.
            names: what its columns are called here, by what they are called there.
        """
        # Another table of that name may have its rows in another order.
        self.keeper, self.key = keeper, f"{key} {table.checksum}"
        self.frame = table.frame.rename(dict(names))
        self._own = {here: there for there, here in names.items()}
        self._names = dict(names)
        self._held = [table]
        self._by = table.note.get(BY)
        self._orders: dict[tuple[str, ...], _Order] = {}
        self._distinct: dict[tuple[str, ...], int] = {}

    @cached_property
    def names(self) -> frozenset[str]:
        """Its columns."""
        return frozenset(self.frame.columns)

    def fan_out(self, on: list[str]) -> float:
        """How many rows of it meet one that agrees on some columns, on average."""
        if not on:
            return float(self.frame.height)
        there = tuple(sorted(self._own[each] for each in on))
        if there not in self._distinct:
            table = self._kept(f"distinct {there}", lambda: self._counted(on))
            self._distinct[there] = int(table.note[_DISTINCT])
        return self.frame.height / self._distinct[there]

    def joined(self, found: pl.DataFrame, on: list[str]) -> pl.DataFrame:
        """Some rows with those of the table that agree with them on some columns."""
        table = self.frame
        if not on:
            return found.join(table, how="cross")
        small = table.height < _LARGE or found.height * _FEW > table.height
        if small and not self._is_spilled:
            return found.join(table, on=on, how="inner")
        name = min(on, key=lambda each: self.fan_out([each]))
        if len(on) > 1 and self.fan_out([name]) > _MANY:
            name = ""
            in_turn = sorted(on, key=lambda each: self._own[each])
            order, keys = self._order(in_turn), _mixed(found, in_turn)
        else:
            order, keys = self._order([name]), found[name].to_numpy()
        ours, theirs = order.found(keys)
        table = self.frame if order.frame is None else order.frame
        left, places = found[pl.Series(ours)], pl.Series(theirs)
        others = [each for each in table.columns if each not in on]
        joined = left.hstack(table.select(others)[places]) if others else left
        agreeing = [table[each][places] == left[each] for each in on if each != name]
        return joined.filter(*agreeing) if agreeing else joined

    def meets(self, found: pl.DataFrame, name: str) -> int | None:
        """How many rows of it some others meet in a column; not said of a small table."""
        if self.frame.height < _LARGE:
            return None
        begins, ends = self._order([name]).runs.of(found[name].to_numpy())
        return int((ends - begins).sum())

    # -- what is kept ----------------------------------------------------------------------

    def _counted(self, on: list[str]) -> Made:
        only = self.frame[on[0]] if len(on) == 1 else self.frame.select(on)
        return pl.DataFrame(), {_DISTINCT: max(1, only.n_unique())}

    def _order(self, on: Sequence[str]) -> _Order:
        there = tuple(self._own[each] for each in on)
        if there not in self._orders:
            made = self._of_several(on, there) if len(on) > 1 else self._of_one(on[0], there)
            self._orders[there] = made
        return self._orders[there]

    def _of_one(self, name: str, there: tuple[str, ...]) -> _Order:
        """The table in the order of a column; it may be in that order already."""
        frame: pl.DataFrame | None = None
        if self._by != there[0]:
            by = self._kept(f"by {there}", lambda: (self._sorted(name), {}))
            frame = by.frame.rename(self._names)
        ordered = (self.frame if frame is None else frame)[name].to_numpy()
        if self._is_spilled:
            return _Order(frame, None, _Bisected(ordered.view(np.uint64)))
        return _Order(frame, None, self._runs(there, lambda: ordered))

    def _sorted(self, name: str) -> pl.DataFrame:
        in_order = self.frame.sort(pl.col(name).reinterpret(signed=False))
        return in_order.rename(self._own)

    def _of_several(self, on: Sequence[str], there: tuple[str, ...]) -> _Order:
        """In which order the rows stand by one number made of several columns."""

        def made() -> Made:
            keys = _mixed(self.frame, on)
            rows = np.argsort(keys.view(np.uint64))
            return pl.DataFrame({_ROW: _narrow(rows)}), {}

        def in_order() -> Made:
            return pl.DataFrame({_KEY: ordered()}), {}

        rows = self._kept(f"by {there}", made).frame[_ROW].to_numpy()

        def ordered() -> Rows:
            return np.take(_mixed(self.frame, on), rows)

        if self._is_spilled:
            keys = self._kept(f"every key of {there}", in_order).frame[_KEY].to_numpy()
            return _Order(None, rows, _Bisected(keys.view(np.uint64)))
        return _Order(None, rows, self._runs(there, ordered))

    @property
    def _is_spilled(self) -> bool:
        return self.frame.height > self.keeper.most_in_memory

    def _runs(self, there: tuple[str, ...], ordered: Callable[[], Rows]) -> _Runs:
        """Where each key begins; all of them in order are looked at only to find out."""

        def starts() -> Made:
            every = ordered()
            changes = np.flatnonzero(every[1:] != every[:-1]) + 1
            return pl.DataFrame({_START: _narrow(np.concatenate(([0], changes, [every.size])))}), {}

        def keys() -> Made:
            return pl.DataFrame({_KEY: ordered()[places[:-1]]}), {}

        def buckets() -> Made:
            index = IdIndex(distinct)
            return pl.DataFrame({_START: index.starts}), {_DEEPEST: index.deepest}

        places = self._kept(f"starts of {there}", starts).frame[_START].to_numpy()
        distinct = self._kept(f"keys of {there}", keys).frame[_KEY].to_numpy()
        kept = self._kept(f"buckets of {there}", buckets)
        index = IdIndex.known(distinct, kept.frame[_START].to_numpy(), kept.note[_DEEPEST])
        return _Runs(index, places)

    def _kept(self, what: str, make: Callable[[], Made]) -> KeptTable:
        key = f"{self.key} | {what}"
        found = self.keeper.get(key)
        if found is None:
            found = self.keeper.put(key, *make())
        self._held.append(found)
        return found


def _narrow(numbers: Rows) -> Starts:
    """Numbers of rows in as little room as they need."""
    small = numbers.size < np.iinfo(np.int32).max
    return numbers.astype(np.int32) if small else numbers


def _mixed(frame: pl.DataFrame, names: Sequence[str]) -> Rows:
    """A number for each row, of all terms in some columns; ids are hashes, and spread evenly."""
    found = np.zeros(frame.height, np.uint64)
    for name in names:
        found = found * _ODD + frame[name].to_numpy().view(np.uint64)
    return found.view(np.int64)
