"""What has come in on a stream and may still be asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from headrace.kernel.columns import ARRIVALS, HIGH, POSITION, TIME
from headrace.kernel.grid import NEVER, Times


@dataclass(frozen=True)
class Elements:
    """Elements of a stream in the order in which they came, a place in each array for each.

    Attributes:
        positions: which elements they are.
        times: when they happened.
        highs: the greatest event time of the stream before each; `NEVER` if it was the first.
        sizes: how many statements each has.
    """

    positions: Times
    times: Times
    highs: Times
    sizes: Times

    @classmethod
    def of(cls, statements: pl.DataFrame) -> Elements:
        """The elements that some statements are of; those of an element stand together."""
        positions = statements[POSITION].to_numpy()
        starts = np.flatnonzero(np.diff(positions, prepend=-1))
        high = statements[HIGH]
        highs = (high.fill_null(NEVER) if high.null_count() else high).to_numpy()
        return cls(
            positions[starts],
            statements[TIME].to_numpy()[starts],
            highs[starts],
            np.diff(starts, append=positions.size),
        )

    def __len__(self) -> int:
        """How many there are."""
        return self.positions.size

    @cached_property
    def in_order(self) -> bool:
        """Whether none happened before one that came earlier."""
        return bool(np.all(self.times[:-1] <= self.times[1:]))

    @property
    def last_position(self) -> int:
        """That of the last of them; -1 if there is none."""
        return int(self.positions[-1]) if self.positions.size else -1

    def until(self, time: int) -> int:
        """How many of them happened at a moment or before it."""
        if "in_order" in self.__dict__ and self.in_order:
            return int(self.times.searchsorted(time, "right"))
        return int(np.count_nonzero(self.times <= time))

    def known_to_follow(self, before: Elements, new: Elements) -> Elements:
        """The same, made of some elements and new ones: what is known of both need not be seen."""
        if "in_order" in before.__dict__:
            joined = len(new) == 0 or before.times[-1] <= new.times[0]
            self.__dict__["in_order"] = before.in_order and bool(joined) and new.in_order
        return self

    def all_in_time(self, delay: int) -> bool:
        """Whether none came when the watermark of its stream had passed it."""
        return bool(np.all(self.times >= self.highs - delay))

    def where(self, kept: npt.NDArray[np.bool_] | Times | slice) -> Elements:
        """Some of them."""
        return Elements(self.positions[kept], self.times[kept], self.highs[kept], self.sizes[kept])

    def places(self, positions: Times) -> tuple[Times, npt.NDArray[np.bool_]]:
        """Where the elements with some positions stand, and which of them are here at all."""
        low, high = int(self.positions[0]), int(self.positions[-1])
        if high - low + 1 == len(self):  # without gaps, a subtraction says it
            known = (positions >= low) & (positions <= high)
            return np.clip(positions - low, 0, len(self) - 1), known
        places = np.minimum(np.searchsorted(self.positions, positions), len(self) - 1)
        return places, self.positions[places] == positions

    def moved(self, by: int) -> Elements:
        """The same, so many positions later."""
        return replace(self, positions=self.positions + by)

    def arrays(self) -> tuple[Times, Times, Times, Times]:
        """All there is of them."""
        return self.positions, self.times, self.highs, self.sizes


_WORTH_IT: Final = 8
"""Elements are dropped when they are one in so many: all that stay are copied."""
_FEW: Final = 32
_MOST_RECENT: Final = 1_024
"""When so many parts have come, they are put with what came before: few, if that is not more."""
NO_ELEMENTS = Elements.of(ARRIVALS.to_frame())


class _Growing:
    """Elements with room for more, so that adding a few does not copy all of them."""

    def __init__(self, elements: Elements) -> None:
        self.elements = elements
        self._room = np.empty((4, 0), np.int64)

    def add(self, more: Elements) -> None:
        """Add elements that came after the others; who has those keeps them as they were."""
        known, number = len(self.elements), len(self.elements) + len(more)
        if known == 0:
            self.elements = more  # there may never be others
            return
        if number > self._room.shape[1]:
            self._room = np.empty((4, 2 * number), np.int64)
            self._put(self.elements, 0)
        self._put(more, known)
        before, self.elements = self.elements, Elements(*self._room[:, :number])
        self.elements.known_to_follow(before, more)

    def _put(self, elements: Elements, place: int) -> None:
        for row, array in zip(self._room, elements.arrays(), strict=True):
            row[place : place + array.size] = array


class StreamLog:
    """The elements of a stream that some query may still need, and how far the stream has come."""

    def __init__(self) -> None:
        """Begin before the first element."""
        self.high: int | None = None
        self._settled = ARRIVALS.to_frame()
        self._recent: list[pl.DataFrame] = []
        self.height = 0
        self._growing = _Growing(NO_ELEMENTS)

    @property
    def elements(self) -> Elements:
        """All elements, also those without a statement that some query may ask for."""
        return self._growing.elements

    @property
    def statements(self) -> pl.DataFrame:
        """The statements of all elements, in one piece: to take rows of several is slow."""
        if self._recent:
            self._settle(pl.concat([self._settled, *self._recent]))
        return self._settled

    def between(self, first: int, last: int) -> list[pl.DataFrame]:
        """The statements of the elements from a position to another, in pieces."""
        found = list[pl.DataFrame]()
        for frame in chain(reversed(self._recent), [self._settled]):
            positions = frame[POSITION].to_numpy()
            start, stop = positions.searchsorted(first), positions.searchsorted(last, "right")
            if start < stop:
                found.append(
                    frame[int(start) : int(stop)] if stop - start < frame.height else frame
                )
            if start:  # all others came before
                break
        return found[::-1]

    def _settle(self, statements: pl.DataFrame) -> None:
        self._settled, self._recent = statements.rechunk(), []
        self.height = statements.height

    def _add(self, statements: pl.DataFrame) -> None:
        """Add statements; those that came lately are put with the others when they are many."""
        self._recent.append(statements)
        self.height += statements.height
        recent = self.height - self._settled.height
        if len(self._recent) > (_FEW if recent * _WORTH_IT > self.height else _MOST_RECENT):
            self._settle(pl.concat([self._settled, *self._recent]))

    def append(
        self, statements: pl.DataFrame, high: int | None, elements: Elements | None = None
    ) -> Elements:
        """Add what has come in, and how far the stream has come with it.

        Args:
            statements: those that some query may ask for.
            high: the greatest event time.
            elements: all elements, where not all of their statements are given.
        """
        if high is not None:
            self.high = high if self.high is None else max(self.high, high)
        new = Elements.of(statements) if elements is None else elements
        if len(new) == 0:
            return NO_ELEMENTS
        if not statements.is_empty():
            self._add(statements)
        self._growing.add(new)
        return new

    def forget(self, until: int) -> None:
        """Drop the elements that happened at a moment or before it, once they are worth it."""
        gone = self.elements.until(until)
        if gone * _WORTH_IT < len(self.elements) or gone == 0:
            return
        self._settle(self.statements.filter(pl.col(TIME) > until))
        self._growing = _Growing(self.elements.where(self.elements.times > until))
