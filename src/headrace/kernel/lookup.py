"""Rows of a large table that a few others are joined with, without a look at the rest of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from headrace.kernel.index import IdIndex
from headrace.kernel.sorted_rows import spread
from headrace.kernel.table import Ids, Table, mixed

_MANY: Final = 2
"""Where a term has more rows than these, rows are looked up by several columns at once."""
_LARGE: Final = 10_000
"""Of a table of fewer rows than these it does not pay to say how many of them others meet."""


class _Rows:
    """Where each key stands in a table that does not change."""

    def __init__(self, keys: Ids) -> None:
        unsigned = keys.view(np.uint64)
        in_order = bool((unsigned[:-1] <= unsigned[1:]).all())
        self._order = None if in_order else _small(np.argsort(unsigned))
        ordered = keys if self._order is None else keys[self._order]
        changes = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
        self._starts = _small(np.concatenate(([0], changes, [ordered.size])))
        self._index = IdIndex(ordered[self._starts[:-1]])
        self.distinct = self._starts.size - 1

    def count(self, keys: Ids) -> int:
        """How many rows have one of some keys, for each of them."""
        places = self._index.positions(keys)
        places = places[places >= 0]
        return int((self._starts[places + 1] - self._starts[places]).sum())

    def rows(self, keys: Ids, allow: Callable[[int], None]) -> tuple[Ids, Ids]:
        """For each row with one of some keys, which of these, and which row."""
        places = self._index.positions(keys)
        known = np.flatnonzero(places >= 0)
        first = self._starts[places[known]].astype(np.int64)
        counts = self._starts[places[known] + 1] - first
        allow(int(counts.sum()))
        theirs = spread(first, counts)
        return np.repeat(known, counts), theirs if self._order is None else self._order[theirs]


def _small(numbers: Ids) -> Ids:
    """The same in half the room, where that is enough: a large table has several of these."""
    fits = int(numbers.max(initial=0)) <= np.iinfo(np.int32).max
    return numbers.astype(np.int32) if fits else numbers


class Lookup:
    """A table whose rows are found by the terms of any of its columns."""

    def __init__(self, frame: pl.DataFrame) -> None:
        """Take a table of ids without unbound ones."""
        self.frame = frame
        self._rows: dict[tuple[str, ...], _Rows] = {}
        self._distinct: dict[tuple[str, ...], int] = {}

    @cached_property
    def names(self) -> frozenset[str]:
        """Its columns."""
        return frozenset(self.frame.columns)

    @cached_property
    def table(self) -> Table:
        """All of its rows."""
        return Table.of_frame(self.frame.rechunk())

    def fan_out(self, on: list[str]) -> float:
        """How many rows of it meet one that agrees on some columns, on average."""
        if not on:
            return float(self.frame.height)
        key = tuple(on)
        if key not in self._distinct:
            only = self.frame[on[0]] if len(on) == 1 else self.frame.select(on)
            self._distinct[key] = max(1, only.n_unique())
        return self.frame.height / self._distinct[key]

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
        by = on if several else [name]
        ours, theirs = self._by(by).rows(mixed(found, by), allow)
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
        return self._by([name]).count(found[name])

    def _by(self, on: list[str]) -> _Rows:
        key = tuple(on)
        if key not in self._rows:
            self._rows[key] = _Rows(mixed(self.table, on))
        return self._rows[key]
