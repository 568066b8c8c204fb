"""What matched a triple pattern and may still be joined with, and what a glance at it says."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from headrace.kernel.lasting import END, from_on, united, without_most
from headrace.kernel.tally import Tally

_GROWN: Final = 2
_SMALL: Final = 1_024
"""A stock is put in order when it has grown so many times, and is not small."""
_MOST_CHUNKS: Final = 8
_ROOMY: Final = 6
"""A glance has room for so many times as many terms, as a power of two."""
_MOST_BITS: Final = 24
_MARKS: Final = 3


_PARTS, _MOST_PARTS = 16, 128
"""What is counted is counted no more in so many parts, as they are over."""
_NONE: Final = np.empty(0, np.int64)


class Stock:
    """Matches of a pattern."""

    def __init__(self) -> None:
        """Begin with none."""
        self.frame: pl.DataFrame | None = None
        self._ordered = 0
        self._distinct: dict[tuple[str, ...], tuple[int, int]] = {}
        self._came = 0
        self._counted: deque[tuple[int, pl.DataFrame]] = deque()
        self._tallies: dict[str, Tally] = {}
        self._glances: dict[str, _Glance] = {}

    @property
    def height(self) -> int:
        """How many there are."""
        return 0 if self.frame is None else self.frame.height

    def add(self, new: pl.DataFrame) -> None:
        """Take more."""
        self.frame = new if self.frame is None else pl.concat([self.frame, new])
        self._came += new.height
        if self._tallies and new.height:
            self._counted.append(_until(new))
            if len(self._counted) > _MOST_PARTS:
                self._counted = deque(_in_pairs(self._counted))
        for name, tally in self._tallies.items():
            tally.add(new[name].to_numpy())
        for name, glance in self._glances.items():
            glance.add(new[name].to_numpy())

    def drop(self, floor: int) -> None:
        """Count what is over no more, and drop it if that is most of it."""
        while self._counted and self._counted[0][0] < floor:
            _, gone = self._counted.popleft()
            for name, tally in self._tallies.items():
                tally.take_away(gone[name].to_numpy())
        if self.frame is not None:
            kept = without_most(self.frame, floor)
            self._glances = self._glances if kept is self.frame else {}
            self.frame = kept

    def tidy(self, floor: int) -> None:
        """Now and then drop what is over and put together what is the same."""
        self.drop(floor)
        if self.frame is None:
            return
        if self.frame.height > max(_SMALL, _GROWN * self._ordered):
            self.frame = united(from_on(self.frame, floor)).rechunk()
            self._ordered = self.frame.height
            self._glances = {}
        elif self.frame.n_chunks() > _MOST_CHUNKS:
            self.frame = self.frame.rechunk()

    def distinct(self, on: list[str]) -> float:
        """How many different ones there are by some columns, as of lately."""
        if self.frame is None or self.height == 0:
            return 0
        if len(on) == 1 and on[0] in self._tallies:
            return self._tallies[on[0]].distinct
        known, came = self._distinct.get(tuple(on), (0, -1))
        if came < 0 or self._came - came > self.height:  # nearly all of them have come since
            known = self.frame.select(on).n_unique()
            self._distinct[tuple(on)] = known, self._came
        return known

    def meets(self, found: pl.DataFrame, name: str) -> float:
        """About how many of it some others meet in a column."""
        if self.frame is None or self.height == 0:
            return 0.0
        if not self._tallies:
            self._counted = deque(map(_until, _by_end(self.frame)))
        tally = self._tallies.get(name)
        if tally is None or tally.is_full:
            counted = [frame[name].to_numpy() for _, frame in self._counted]
            tally = self._tallies[name] = Tally(np.concatenate([_NONE, *counted]))
        return float(tally.of(found[name].to_numpy()).sum())

    def fitting(self, found: pl.DataFrame, on: list[str]) -> pl.DataFrame:
        """Those of some matches that may agree with one of these on some columns."""
        if self.frame is None or self.height == 0:
            return found.clear()
        if self.height < _SMALL or not on:
            return found
        flags = np.ones(found.height, np.bool_)
        for name in on:
            if name not in self._glances or self._glances[name].is_full:
                self._glances[name] = _Glance.of(self.frame[name].to_numpy())
            flags &= self._glances[name].may_have(found[name].to_numpy())
        return found if flags.all() else found.filter(pl.Series(flags))


def _until(frame: pl.DataFrame) -> tuple[int, pl.DataFrame]:
    """Matches, and the moment after which all of them are over."""
    return int(frame[END].to_numpy().max()), frame


def _by_end(frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Matches in parts that are over one after the other."""
    ordered = frame.sort(END)
    size = -(-frame.height // _PARTS)
    for start in range(0, frame.height, size):
        yield ordered[start : start + size]


def _in_pairs(parts: Iterable[tuple[int, pl.DataFrame]]) -> Iterator[tuple[int, pl.DataFrame]]:
    """Half as many parts of matches."""
    every = list(parts)
    for place in range(0, len(every), 2):
        yield _until(pl.concat([frame for _, frame in every[place : place + 2]], rechunk=True))


@dataclass(frozen=True, slots=True)
class Counts:
    """How often each term stands in a column that does not change."""

    ids: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int64]

    @classmethod
    def of(cls, terms: pl.Series) -> Counts:
        """Count the terms of a column."""
        return cls(*np.unique(terms.to_numpy(), return_counts=True))

    def meets(self, ids: npt.NDArray[np.int64]) -> float:
        """How often all of some terms stand there."""
        if self.ids.size == 0:
            return 0.0
        places = np.minimum(np.searchsorted(self.ids, ids), self.ids.size - 1)
        return float(self.numbers[places[self.ids[places] == ids]].sum())


@dataclass(slots=True)
class _Glance:
    """Which terms a column has for sure not: ids are hashes, and parts of each leave marks.

    Attributes:
        bits: how many bits of an id say where a mark is.
        marks: those that were left.
        number: how many terms have left theirs.
    """

    bits: int
    marks: npt.NDArray[np.bool_] = field(repr=False)
    number: int = 0

    @classmethod
    def of(cls, ids: npt.NDArray[np.int64]) -> _Glance:
        bits = min(int(ids.size).bit_length() + _ROOMY, _MOST_BITS)
        made = cls(bits, np.zeros(1 << bits, np.bool_))
        made.add(ids)
        return made

    @property
    def is_full(self) -> bool:
        """Whether it has so many marks that a larger one would say more."""
        return self.bits < _MOST_BITS and self.number.bit_length() + _ROOMY > self.bits + 1

    def _places(self, ids: npt.NDArray[np.int64]) -> Iterator[npt.NDArray[np.uint64]]:
        hashes = np.ascontiguousarray(ids).view(np.uint64)
        mask = np.uint64((1 << self.bits) - 1)
        for part in range(_MARKS):
            yield (hashes >> np.uint64(part * (64 - self.bits) // (_MARKS - 1))) & mask

    def add(self, ids: npt.NDArray[np.int64]) -> None:
        for places in self._places(ids):
            self.marks[places] = True
        self.number += ids.size

    def may_have(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        found = np.ones(ids.size, np.bool_)
        for places in self._places(ids):
            found &= self.marks[places]
        return found
