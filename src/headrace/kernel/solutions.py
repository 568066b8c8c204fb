"""Solutions as columns: one of term ids for each variable, and the instants they hold at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import polars as pl

from headrace.algebra.expressions import Variable
from headrace.kernel.budget import Budget, first_rows
from headrace.kernel.columns import CHANCE, FIRST, INSTANT, LAST, STAMP, column
from headrace.kernel.interval_rows import coalesced_rows, count_solutions, single_instant_rows
from headrace.planning.limits import Limit

_MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Solutions:
    """A multiset of solutions.

    Attributes:
        frame: `instant`, or `first` and `last` where a row holds at several instants, and a column
            of term ids for each variable; null is unbound. Kinds and numbers that a scan brought
            along may stand beside; no operator depends on them.
        keyed: whether they differ from instant to instant. What is the same at every instant is
            computed and joined only once, and its `instant` says nothing.
        identified_by: columns on which no two rows agree, where some are known. If `instant` is one
            of them, no two rows of the same instant agree on the others.
        met: conditions on a number that they are known to meet, because they were found by it.
        repeated: whether the rows are a set of which some may be there twice. It is a set only as
            long as it has all its columns, so repeats are removed before a column is dropped.
    """

    frame: pl.DataFrame
    keyed: bool = False
    identified_by: frozenset[str] | None = None
    met: tuple[Limit, ...] = ()
    repeated: bool = False

    @property
    def names(self) -> list[str]:
        """The columns of variables; there may be columns of their values beside them."""
        return [name for name in self.frame.columns if name.startswith("?")]

    @property
    def stamps(self) -> list[str]:
        """The columns that are carried along: stream times of variables, and chances."""
        return [name for name in self.frame.columns if name.startswith((STAMP, CHANCE))]

    @property
    def chances(self) -> list[str]:
        """The columns that say how likely the remote data of a solution are fresh."""
        return [name for name in self.frame.columns if name.startswith(CHANCE)]

    @property
    def has_intervals(self) -> bool:
        """Whether each row holds from one instant to another."""
        return INSTANT not in self.frame.columns

    @property
    def key(self) -> list[str]:
        """What is part of every key besides variables, where rows hold at single instants."""
        return [INSTANT] if self.keyed else []

    @property
    def height(self) -> int:
        """How many rows there are."""
        return self.frame.height

    @property
    def solution_count(self) -> int:
        """How many solutions there are, over all instants."""
        return count_solutions(self.frame) if self.has_intervals else self.height

    def has(self, variable: Variable) -> bool:
        """Whether there is a column for a variable."""
        return column(variable) in self.frame.columns

    def with_frame(self, frame: pl.DataFrame) -> Solutions:
        """Other solutions of the same instants."""
        return Solutions(frame, self.keyed)

    @property
    def is_set(self) -> bool:
        """True if no two solutions are equal, except for repeats that are still to be removed."""
        return self.repeated or self.identified_by is not None

    def without_repeats(self) -> Solutions:
        """Remove duplicate rows of a column that asks for it."""
        if not self.repeated:
            return self
        return replace(self.once(), identified_by=frozenset({INSTANT, *self.names}), met=self.met)

    def only(self, names: Sequence[str]) -> Solutions:
        """Select some columns, unbound where there were none."""
        if self.repeated:
            return self.without_repeats().only(names)
        told_apart = self.identified_by
        if told_apart is not None and not told_apart <= {INSTANT, *names}:
            told_apart = None
        return Solutions(complete(self.frame, names), self.keyed, told_apart)

    def once(self) -> Solutions:
        """Each solution of an instant once."""
        if self.has_intervals:
            return self.with_frame(coalesced_rows(self.frame, self.names))
        key = [INSTANT, *self.names]
        return self.with_frame(
            first_rows(self.frame, key, "solutions without repeats", in_order=False)
        )

    def filtered(self, kept: pl.Series) -> Solutions:
        """The solutions for which a condition holds; one that is an error does not."""
        return replace(self, frame=self.frame.filter(kept.fill_null(value=False)))

    def with_intervals(self, instants: Sequence[int]) -> Solutions:
        """The same solutions, each from one instant to another."""
        if self.has_intervals:
            return self
        numbers = self.frame[INSTANT]
        first, last = numbers, numbers
        if not self.keyed:
            first, last = numbers * 0 + instants[0], numbers * 0 + instants[-1]
        frame = self.frame.drop(INSTANT).insert_column(0, last.alias(LAST))
        return replace(self, frame=frame.insert_column(0, first.alias(FIRST)), keyed=True)

    def at_no_instant(self) -> Solutions:
        """The same rows without their intervals.

        It is for expressions that do not depend on the instant: others have to be computed after
        :meth:`expanded`.
        """
        if not self.has_intervals:
            return self
        zeros = pl.Series(INSTANT, [0], pl.Int64).new_from_index(0, self.height)
        return Solutions(self.frame.drop(FIRST, LAST).insert_column(0, zeros))

    def expanded(self, instants: Sequence[int]) -> Solutions:
        """The same solutions, repeated at each instant."""
        if self.has_intervals:
            Budget.current().check(
                self.solution_count, "solutions at each instant", self.frame.width
            )
            return replace(self, frame=single_instant_rows(self.frame))
        if self.keyed:
            return self
        every = pl.DataFrame({INSTANT: list(instants)}, schema={INSTANT: pl.Int64})
        rows = every.height * self.height
        Budget.current().check(rows, "solutions at each instant", self.frame.width)
        return Solutions(every.join(self.frame.drop(INSTANT), how="cross"), keyed=True)


def together(chances: Sequence[str]) -> pl.Expr:
    """How likely all remote data of a solution are fresh, from 0 to 1."""
    return pl.fold(
        pl.lit(1.0),
        lambda found, each: found * (each.fill_null(_MILLION) / _MILLION),
        [pl.col(each) for each in chances],
    )


def unit() -> Solutions:
    """The one solution that binds nothing."""
    return Solutions(pl.DataFrame({INSTANT: [0]}, schema={INSTANT: pl.Int64}))


def nothing(names: Iterable[str] = ()) -> Solutions:
    """No solution at all."""
    return Solutions(pl.DataFrame(schema=dict.fromkeys((INSTANT, *names), pl.Int64)))


def complete(frame: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    """A frame with all of these columns, unbound where it had none, in this order."""
    present = frame.columns
    times = [INSTANT] if INSTANT in present else [FIRST, LAST]
    names = list(names)
    if all(name in present for name in names):
        return pl.DataFrame([frame[name] for name in (*times, *names)])
    return frame.select(
        *times,
        *(
            pl.col(name) if name in present else pl.lit(None, pl.Int64).alias(name)
            for name in names
        ),
    )
