"""Rows that are made when somebody looks at them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, overload

from headrace.results.table import Row

if TYPE_CHECKING:
    import polars as pl


class LazyRows(Sequence[Row]):
    """A sequence of rows whose number is known before their terms are made.

    It is equal to every sequence of the same rows.

    >>> rows = LazyRows(1, lambda: ((None,),))
    >>> len(rows), rows[0], rows == ((None,),)
    (1, (None,), True)
    """

    __slots__ = ("_made", "_make", "_number", "texts")

    def __init__(
        self,
        number: int,
        make: Callable[[], tuple[Row, ...]],
        texts: Callable[[], pl.DataFrame] | None = None,
    ) -> None:
        """Note how they are made.

        Args:
            number: how many rows there are.
            make: makes the rows.
            texts: returns their canonical texts as columns, if there are such.
        """
        self._number = number
        self.texts = texts
        self._make: Callable[[], tuple[Row, ...]] | None = make
        self._made: tuple[Row, ...] = ()

    @property
    def _rows(self) -> tuple[Row, ...]:
        if self._make is not None:
            self._made, self._make = self._make(), None
        return self._made

    def __len__(self) -> int:
        """How many there are."""
        return self._number

    @overload
    def __getitem__(self, place: int) -> Row: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Row, ...]: ...

    def __getitem__(self, place: int | slice) -> Row | tuple[Row, ...]:
        """One of them, or some."""
        return self._rows[place]

    def __iter__(self) -> Iterator[Row]:
        """All of them."""
        return iter(self._rows)

    def __eq__(self, other: object) -> bool:
        """Whether another sequence has the same rows."""
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and self._rows == tuple(other)

    def __hash__(self) -> int:
        """That of a tuple of the same rows."""
        return hash(self._rows)

    def __repr__(self) -> str:
        """The rows."""
        return repr(self._rows)

    def __reduce__(self) -> tuple[type[tuple[Row, ...]], tuple[tuple[Row, ...]]]:
        """Pickle the rows, not how they are made."""
        return tuple, (self._rows,)
