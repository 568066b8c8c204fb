"""How much an evaluation may cost; going over is an error that names what cost it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from headrace.errors import HeadraceError

MAX_ROWS = 20_000_000


class BudgetError(HeadraceError):
    """An evaluation needs more rows or more time than it may have; only its query stops."""


def _never() -> float:
    return 0.0


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits for one evaluation.

    Attributes:
        rows: how many rows any one operator may make.
        deadline: until when it must be done, by the clock that follows.
        clock: tells the time in seconds.
    """

    rows: int = MAX_ROWS
    deadline: float | None = None
    clock: Callable[[], float] = field(default=_never, compare=False)

    def check(self, rows: int, what: str) -> None:
        """Refuse an operator that makes too many rows, or that comes too late.

        Raises:
            BudgetError: saying which operator, how many rows, and what to do.
        """
        if rows > self.rows:
            raise BudgetError(
                f"{what} would make {rows:,} rows, and a query may make {self.rows:,}; "
                "join its patterns on a variable, or filter them first"
            )
        if self.deadline is not None and self.clock() > self.deadline:
            raise BudgetError(f"the evaluation took too long; it stopped at {what}")
