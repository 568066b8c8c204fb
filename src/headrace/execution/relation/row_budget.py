"""The check of a size that an operator is about to make, before it makes anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from headrace.errors import LimitError
from headrace.metering import current

SizeCheck: TypeAlias = Callable[[int, str], None]
"""Takes the number of rows and the operator as an error names it; raises `LimitError`."""

_NUMBER: Final = 8
"""Bytes of an id or an instant."""
_WIDTH: Final = 4
"""Numbers for each pair of rows: both row numbers, first and last instant."""


def check_rows(rows: int, operator: str) -> None:
    """Refuse more rows than the evaluation of this thread may make, or bytes or time.

    Args:
        rows: how many rows the operator would make.
        operator: its name, for the error.

    Raises:
        LimitError: they are too many, or there is no time or memory left.
    """
    meter = current()
    if rows > meter.limits.rows:
        raise LimitError(
            "rows",
            f"{operator} would make {rows:,} rows, and a query may make {meter.limits.rows:,}; "
            "join its patterns on a variable, or filter them first",
        )
    meter.check(operator, rows * _WIDTH * _NUMBER)


def accumulate(check: SizeCheck) -> SizeCheck:
    """Check the sum of all sizes so far instead of each: parts of one operator make one result."""
    total = 0

    def added(rows: int, operator: str) -> None:
        nonlocal total
        total += rows
        check(total, operator)

    return added
