"""What matched a triple pattern and may still be joined with, found by any of its columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import numpy as np

from headrace.kernel.grid import NEVER
from headrace.kernel.lasting import END, NO_TURN, TURN, from_on, mostly_over, united
from headrace.kernel.sorted_rows import SortedRows
from headrace.kernel.table import Growing, Ids, Table, mixed

_GROWN: Final = 2
_SMALL: Final = 1_024
"""A stock is put in order when it has grown so many times, and is not small."""


class Indexed:
    """Matches that are found by the terms in some of their columns."""

    def __init__(self, table: Table) -> None:
        """Take some matches."""
        self._growing = Growing(table)
        self._sorted: dict[tuple[str, ...], SortedRows] = {}

    @property
    def table(self) -> Table:
        """All of them."""
        return self._growing.table

    @property
    def height(self) -> int:
        """How many there are."""
        return self.table.height

    def meeting(self, found: Table, on: list[str], allow: Callable[[int], None]) -> tuple[Ids, Ids]:
        """The rows of some matches and those of these that agree with them on some columns.

        Args:
            found: the matches.
            on: the columns; with none of them, all agree with all.
            allow: is told how many there are before they are taken, and may refuse.
        """
        if not on:
            allow(found.height * self.height)
            ours = np.repeat(np.arange(found.height), self.height)
            return ours, np.tile(np.arange(self.height), found.height)
        ours, theirs = self._by(on).rows(mixed(found, on), allow)
        if len(on) == 1:
            return ours, theirs
        # Others may have the same number made of several terms.
        same = np.ones(ours.size, np.bool_)
        for name in on:
            same &= found[name][ours] == self.table[name][theirs]
        return (ours, theirs) if same.all() else (ours[same], theirs[same])

    def counted(self, ids: Ids, name: str) -> tuple[Ids, Ids]:
        """How many of them have each of some terms in a column, and where one stands."""
        return self._by([name]).counted(ids)

    def count(self, ids: Ids, name: str) -> int:
        """How many of them have one of some terms in a column, for each of these."""
        return self._by([name]).count(ids)

    def distinct(self, on: list[str]) -> float:
        """How many different ones there are by some columns."""
        return np.unique(mixed(self.table, on)).size

    def _by(self, on: list[str]) -> SortedRows:
        rows = self._sorted.setdefault(tuple(on), SortedRows())
        if rows.height < self.height:
            rows.add(mixed(self.table.taken(slice(rows.height, None)).only(on), on))
        return rows


class Stock(Indexed):
    """Matches of a pattern, which come and go.

    Those of a step have turns until it is over: so it is told which are new.
    """

    def __init__(self, names: Iterable[str]) -> None:
        """Begin with none; their columns."""
        super().__init__(Table.without_rows(names))
        self._ordered = 0
        self._distinct: dict[tuple[str, ...], tuple[float, int]] = {}
        self._came = 0
        self._floor = NEVER
        self.known = 0

    def add(self, new: Table) -> None:
        """Take what is new in a step."""
        self.known = self.height
        if new.height:
            self._growing.add(new)
            self._came += new.height

    @property
    def new(self) -> Table:
        """What is new in a step; who keeps it keeps its turns when the step is over."""
        new = self.table.taken(slice(self.known, None))
        return new.with_columns({TURN: new[TURN].copy()})

    def settle(self, floor: int) -> None:
        """The step is over: what was new has had its turn, and some of the rest may be over."""
        if self.known < self.height:
            self._growing.fill(TURN, self.known, NO_TURN)
            self.known = self.height
        self._tidy(floor)

    def drop(self, floor: int) -> None:
        """Drop what is over, if that is most of it."""
        self._floor = floor
        if self.height and mostly_over(self.table, floor):
            self._keep(np.flatnonzero(from_on(self.table, floor)))

    def _keep(self, rows: Ids) -> None:
        """Drop all but some rows."""
        to = np.full(self.height, -1)
        to[rows] = np.arange(rows.size)
        self._growing = Growing(self.table.taken(rows))
        self.known = int(np.count_nonzero(rows < self.known))
        for by in self._sorted.values():
            by.keep(to[: by.height], int(np.count_nonzero(to[: by.height] >= 0)))

    def _tidy(self, floor: int) -> None:
        """Now and then drop what is over and put together what is the same."""
        self.drop(floor)
        if self.height > max(_SMALL, _GROWN * self._ordered):
            self._keep(np.flatnonzero(from_on(self.table, floor)))
            table, chosen = united(self.table)
            if chosen is not None:
                self._growing, self._sorted = Growing(table), {}
            self._ordered = self.height

    def distinct(self, on: list[str]) -> float:
        """How many different ones there are by some columns, if as many differ as lately."""
        if self.height == 0:
            return 0
        part, came = self._distinct.get(tuple(on), (0.0, -1))
        if came < 0 or self._came - came > self.height:  # nearly all of them have come since
            part = super().distinct(on) / self.height
            self._distinct[tuple(on)] = part, self._came
        return part * self.height

    def meets(self, found: Table, name: str) -> float:
        """How many of it that are not over some others meet in a column, as far as ends are even.

        Where each term stands is known for joins: to count there is exact, and costs nothing more.
        """
        if self.height == 0:
            return 0.0
        left = int(np.count_nonzero(self.table[END] >= self._floor)) / self.height
        return left * self.count(found[name], name)
