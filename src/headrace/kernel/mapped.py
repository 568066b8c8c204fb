"""Rows of a table that is kept in files, found by the terms of any of its columns.

A table is in the order of one column. For any other that it is looked up by, or several at once,
the order of its rows is kept, and where each term begins, so that the next process has nothing to
compute. Of a table that is too large for that, a term is found by bisection, which looks at a few
places of a file.
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
from headrace.kernel.patching import Patch
from headrace.kernel.sorted_rows import spread
from headrace.kernel.table import Ids, Table, mixed

Starts = npt.NDArray[np.int64] | npt.NDArray[np.int32]
Made = tuple[pl.DataFrame, Mapping[str, int]]

_MANY: Final = 2
"""Where a term has more rows than these, rows are looked up by several columns at once."""
_LARGE: Final = 10_000
"""Of a table of fewer rows than these it does not pay to say how many of them others meet."""
_KEY, _START, _ROW = "key", "start", "row"
_DISTINCT, _DEEPEST = "distinct", "deepest"
BY: Final = "by"
"""What a note calls the column by which a table is in order, as unsigned numbers."""
_PROBE: Final = Table.of({"a": np.array([1]), "b": np.array([2])})
_MIXED: Final = int(mixed(_PROBE, ["a", "b"])[0])
"""How several columns become one number; orders that were found otherwise are of no use."""


@dataclass(frozen=True, slots=True)
class _Runs:
    """Where the rows of each key stand: from one place to before another."""

    index: IdIndex
    starts: Starts

    def of(self, keys: Ids) -> tuple[Ids, Ids]:
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

    def of(self, keys: Ids) -> tuple[Ids, Ids]:
        wanted, places = np.unique(keys.view(np.uint64), return_inverse=True)
        begins = np.searchsorted(self.ordered, wanted, side="left")
        ends = np.searchsorted(self.ordered, wanted, side="right")
        return begins[places], ends[places]


@dataclass(frozen=True, slots=True)
class _Order:
    """The rows of a table in the order of a key.

    Attributes:
        rows: which row of the table stands where; none if it is in that order.
        runs: where each key begins and ends.
    """

    rows: Starts | None
    runs: _Runs | _Bisected

    def found(self, keys: Ids, allow: Callable[[int], None]) -> tuple[Ids, Ids]:
        """For each row of the table with one of some keys, which of them, and which row."""
        begins, ends = self.runs.of(keys)
        counts = ends - begins
        allow(int(counts.sum()))
        places = spread(begins, counts)
        ours = np.repeat(np.arange(keys.size), counts)
        return ours, places if self.rows is None else self.rows[places].astype(np.int64)


@dataclass(frozen=True, slots=True)
class Mended:
    """What a table was before some rows went and others came.

    Attributes:
        keeper: where its orders are kept.
        key: what it was called there.
        patch: which rows.
    """

    keeper: Keeper
    key: str
    patch: Patch


class MappedLookup:
    """A kept table whose rows are found by the terms of any of its columns."""

    def __init__(
        self,
        keeper: Keeper,
        key: str,
        table: KeptTable,
        names: Mapping[str, str],
        mended: Mended | None = None,
    ) -> None:
        """Take a table of ids without unbound ones.

        Args:
            keeper: where orders of the table are kept.
            key: what the table is called there.
            table: the table.
            names: what its columns are called here, by what they are called there.
            mended: what it was before, whose orders are mended where there are some.
        """
        self.keeper, self.key = keeper, order_key(key, table)
        self._mended = mended
        self.frame = table.frame.rename(dict(names))
        self._own = {here: there for there, here in names.items()}
        self._held = [table]
        self._by = table.note.get(BY)
        self._orders: dict[tuple[str, ...], _Order] = {}
        self._distinct: dict[tuple[str, ...], int] = {}

    @cached_property
    def table(self) -> Table:
        """All of its rows, where they lie."""
        return Table.of_frame(self.frame)

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
            table = self._kept(f"distinct {there}", lambda: self._counted(on, there))
            self._distinct[there] = int(table.note[_DISTINCT])
        return self.frame.height / self._distinct[there]

    def meeting(self, found: Table, on: list[str], allow: Callable[[int], None]) -> tuple[Ids, Ids]:
        """The rows of some matches and those of this table that agree with them on some columns.

        Args:
            found: the matches.
            on: the columns; with none of them, all agree with all.
            allow: is told how many there are before they are taken, and may refuse.
        """
        height = self.frame.height
        if not on:
            allow(found.height * height)
            ours = np.repeat(np.arange(found.height), height)
            return ours, np.tile(np.arange(height), found.height)
        name = min(on, key=lambda each: self.fan_out([each]))
        several = len(on) > 1 and self.fan_out([name]) > _MANY
        by = sorted(on, key=lambda each: self._own[each]) if several else [name]
        ours, theirs = self._order(by).found(mixed(found, by), allow)
        left = on if several else [each for each in on if each != name]
        if not left:
            return ours, theirs
        same = np.ones(ours.size, np.bool_)
        for each in left:
            same &= found[each][ours] == self.table[each][theirs]
        return (ours, theirs) if same.all() else (ours[same], theirs[same])

    def meets(self, found: Table, name: str) -> int | None:
        """How many rows of it some others meet in a column; not said of a small table."""
        if self.frame.height < _LARGE:
            return None
        begins, ends = self._order([name]).runs.of(found[name])
        return int((ends - begins).sum())

    # -- what is kept ----------------------------------------------------------------------

    def _counted(self, on: list[str], there: tuple[str, ...]) -> Made:
        before = self._before(f"distinct {there}")
        if before is not None:  # a few rows make no difference to what it costs to look them up
            return pl.DataFrame(), before.note
        only = self.frame[on[0]] if len(on) == 1 else self.frame.select(on)
        return pl.DataFrame(), {_DISTINCT: max(1, only.n_unique())}

    def _order(self, on: Sequence[str]) -> _Order:
        there = tuple(self._own[each] for each in on)
        if there not in self._orders:
            self._orders[there] = self._in_order(on, there)
        return self._orders[there]

    def _in_order(self, on: Sequence[str], there: tuple[str, ...]) -> _Order:
        """In which order the rows stand by a column, or by one number made of several."""

        def by() -> Made:
            before = self._before(f"by {there}")
            if before is None or self._mended is None:
                found = np.argsort(self._keys(on).view(np.uint64))
            else:
                rows = before.frame[_ROW].to_numpy()
                found = self._mended.patch.of_order(rows, self._keys(on))
            return pl.DataFrame({_ROW: _narrow(found)}), {}

        rows: Starts | None = None
        if there != (self._by,):
            rows = self._kept(f"by {there}", by).frame[_ROW].to_numpy()

        def ordered() -> Ids:
            keys = self._keys(on)
            return keys if rows is None else np.take(keys, rows)

        def every() -> Made:
            return pl.DataFrame({_KEY: ordered()}), {}

        if not self._is_spilled:
            return _Order(rows, self._runs(there, ordered))
        keys = self._keys(on)
        if rows is not None:
            keys = self._kept(f"every key of {there}", every).frame[_KEY].to_numpy()
        return _Order(rows, _Bisected(keys.view(np.uint64)))

    def _keys(self, on: Sequence[str]) -> Ids:
        return mixed(self.table, on)

    @property
    def _is_spilled(self) -> bool:
        return self.frame.height > self.keeper.most_in_memory

    def _runs(self, there: tuple[str, ...], ordered: Callable[[], Ids]) -> _Runs:
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
        key = _kept_as(self.key, what)
        found = self.keeper.get(key)
        if found is None:
            found = self.keeper.put(key, *make())
        self._held.append(found)
        return found

    def _before(self, what: str) -> KeptTable | None:
        """What was kept of the table that this one was before."""
        if self._mended is None:
            return None
        return self._mended.keeper.get(_kept_as(self._mended.key, what))


def order_key(key: str, table: KeptTable) -> str:
    """What orders of a table are kept by: another one of its name may have other rows first."""
    return f"{key} {table.checksum}"


def _kept_as(key: str, what: str) -> str:
    return f"{key} | {_MIXED} | {what}"


def _narrow(numbers: Ids) -> Starts:
    """Numbers of rows in as little room as they need."""
    small = int(numbers.max(initial=0)) <= np.iinfo(np.int32).max
    return numbers.astype(np.int32) if small else numbers
