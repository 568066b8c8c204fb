"""The size that an operator may make, and the meter of its evaluation."""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.errors import LimitError
from headrace.metering import EvaluationLimits, Meter, current, megabytes

MAX_ROWS = EvaluationLimits().rows
_WIDTH = 3
"""Columns of a result whose number is not known beforehand."""
_NUMBER = 8
"""Bytes of an id, or of an instant."""


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
