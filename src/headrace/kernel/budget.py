"""The size that an operator may make, and the meter of its evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import polars as pl

from headrace.errors import LimitError
from headrace.metering import EvaluationLimits, Meter, current, megabytes

MAX_ROWS = EvaluationLimits().rows
_WIDTH = 3
"""Columns of a result whose number is not known beforehand."""
_NUMBER = 8
"""Bytes of an id, or of an instant."""
_FEW: Final = 10_000
"""So many rows need no memory that is worth a look."""
_CHUNK: Final = 250_000
"""Rows that are hashed at once where the memory is short."""
_HASHED_ID: Final = 120
"""Bytes for each row while one column is hashed; measured."""
_HASHED_ROW: Final = 250
"""Bytes for each row while several columns are hashed; measured."""
_LISTED: Final = 48
"""Bytes of a number in a list of Python."""
_SORTED_TEXT: Final = 40
"""Bytes of a text, apart from its characters, while rows are sorted by it."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of each operator of one evaluation.

    Attributes:
        rows: how many rows any one operator may make.
        bytes: how many bytes of columns.
        meter: checks the time of the evaluation.
    """

    rows: int = MAX_ROWS
    bytes: int = EvaluationLimits().bytes
    meter: Meter = field(default_factory=current, compare=False)

    @classmethod
    def current(cls) -> Budget:
        """Return the limits of the evaluation that is under way in this thread."""
        meter = current()
        return cls(meter.limits.rows, meter.limits.bytes, meter)

    def check(self, rows: int, what: str, columns: int = _WIDTH) -> None:
        """Refuse an operator that makes too many rows or bytes, or that comes too late.

        Args:
            rows: how many rows it makes.
            what: the operator, as an error names it.
            columns: how many columns.

        Raises:
            LimitError: saying which operator, how much, and what to do.
        """
        if rows > self.rows:
            raise LimitError(
                "rows",
                f"{what} would make {rows:,} rows, and a query may make {self.rows:,}; "
                "join its patterns on a variable, or filter them first",
            )
        self.check_values(rows * columns, what)

    def check_values(self, values: int, what: str) -> None:
        """Refuse what takes up too much memory, or comes too late.

        Args:
            values: how many ids it has.
            what: the operator, as an error names it.

        Raises:
            LimitError: saying which operator, how much, and what to do.
        """
        size = _NUMBER * values
        if size > self.bytes:
            raise LimitError(
                "bytes",
                f"{what} would take {megabytes(size)}, and a query may make "
                f"{megabytes(self.bytes)}; select fewer variables, or filter first",
            )
        self.meter.check(what, size)


def check_hashing(rows: int, what: str, columns: int = 2) -> None:
    """Refuse to group rows or to find equal ones where the memory has no room for that.

    Args:
        rows: how many rows are hashed.
        what: what is done, for the error.
        columns: how many columns are hashed.

    Raises:
        LimitError: there is no time or memory left.
    """
    if rows > _FEW:
        current().check(what, rows * (_HASHED_ID if columns == 1 else _HASHED_ROW))


def first_rows(
    frame: pl.DataFrame, names: Sequence[str] | None, what: str, *, in_order: bool = True
) -> pl.DataFrame:
    """Keep the first of the rows that agree on some columns.

    Where the memory has no room to hash all rows at once, they are hashed in chunks: few of them
    may be different.

    Args:
        frame: the rows.
        names: the columns; all of them if none.
        what: what is done, for the error.
        in_order: whether their order stays; without, any of the rows that agree may be kept.

    Raises:
        LimitError: there is no time or memory left.
    """
    meter = current()
    if frame.height <= _CHUNK or meter.has_room(_HASHED_ROW * frame.height):
        keep: Literal["first", "any"] = "first" if in_order else "any"
        return frame.unique(subset=names, keep=keep, maintain_order=in_order)
    kept = frame.clear()
    for start in range(0, frame.height, _CHUNK):
        kept = pl.concat([kept, frame[start : start + _CHUNK]])
        meter.check(what, _HASHED_ROW * kept.height)
        kept = kept.unique(subset=names, keep="first", maintain_order=True)
    return kept


def check_listing(values: int, what: str) -> None:
    """Refuse to make lists of ids where the memory has no room for them.

    Args:
        values: how many ids they have together.
        what: what is done, for the error.

    Raises:
        LimitError: there is no time or memory left.
    """
    if values > _FEW:
        current().check(what, values * _LISTED)


def check_sorting(texts: Sequence[pl.Series], what: str) -> None:
    """Refuse to sort rows by texts where the memory has no room for their keys.

    Args:
        texts: the columns.
        what: what is done, for the error.

    Raises:
        LimitError: there is no time or memory left.
    """
    if texts and texts[0].len() > _FEW:
        characters = sum(int(each.str.len_bytes().sum() or 0) for each in texts)
        current().check(what, characters + _SORTED_TEXT * len(texts) * texts[0].len())
