"""Relations: columns of term ids, and for each row the interval of instants at which it holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from headrace.errors import InternalError
from headrace.execution.relation.arrays import EMPTY, Flags, Ids, integers

UNBOUND: Final = 0
"""The id of a variable without a value. No term has it."""
MEMBER: Final = "member"
"""The column with the number, from 1 on, of the query of a group of queries that a row is of. It is
part of every key and no variable."""
TIME_PREFIX: Final = "time of "
"""How the names of columns of times begin. The start of an interval is negated there, so that of
two times the greater one counts everywhere."""
NO_TIME: Final = int(np.iinfo(np.int64).min)
"""The time of a row without one: less than all times."""


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """A bag of rows, each of which holds from one instant to another.

    Equal rows may overlap: then there are several copies of the row. A row that holds at instants
    with a gap between them has several pieces, one for each side of the gap.

    Attributes:
        columns: term ids by name of the variable, `UNBOUND` where a row has no value; and times by
            names that begin with `TIME_PREFIX`, `NO_TIME` where a row has none.
        height: the number of rows, also of a relation without columns.
        first: the first instant at which each row holds; without, all rows hold always.
        last: the last instant at which each row holds, not before its first.
    """

    columns: Mapping[str, Ids]
    height: int
    first: Ids | None = None
    last: Ids | None = None

    def __post_init__(self) -> None:
        """Refuse columns of different heights."""
        arrays = [*self.columns.values(), *self.intervals]
        if len(self.intervals) == 1 or any(each.size != self.height for each in arrays):
            raise InternalError("the columns of a relation have different heights")

    @classmethod
    def empty(cls, names: Iterable[str]) -> Relation:
        """Return a relation without rows."""
        return cls(dict.fromkeys(names, EMPTY), 0)

    @classmethod
    def unit(cls) -> Relation:
        """Return the solution that binds nothing and holds always."""
        return cls({}, 1)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.columns)

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the columns of term ids."""
        return tuple(name for name in self.columns if not is_time(name))

    @property
    def holds_always(self) -> bool:
        """Whether the rows have no intervals."""
        return self.first is None

    @property
    def intervals(self) -> tuple[Ids, ...]:
        """The arrays of first and last instants; none if the rows hold always."""
        return tuple(each for each in (self.first, self.last) if each is not None)

    @property
    def bounds(self) -> tuple[Ids, Ids]:
        """The arrays of first and last instants of rows that have intervals."""
        if self.first is None or self.last is None:
            raise InternalError("a relation that holds always has no intervals")
        return self.first, self.last

    @property
    def has_single_instants(self) -> bool:
        """Whether every row holds at one instant only."""
        return not self.holds_always and np.array_equal(*self.bounds)

    def __getitem__(self, name: str) -> Ids:
        """Return one column; a variable without a column is unbound in all rows."""
        found = self.columns.get(name)
        return np.full(self.height, _absent_value(name), np.int64) if found is None else found

    def is_bound(self, name: str) -> Flags:
        """Flag the rows that have a value of a variable."""
        return np.not_equal(self[name], UNBOUND)

    def take(self, rows: Ids) -> Relation:
        """Return rows by number, as often as they are named."""
        taken = {name: ids[rows] for name, ids in self.columns.items()}
        return Relation(taken, rows.size, *(each[rows] for each in self.intervals))

    def filter(self, wanted: Flags) -> Relation:
        """Return the flagged rows."""
        return self if wanted.all() else self.take(np.flatnonzero(wanted))

    def select(self, names: Sequence[str]) -> Relation:
        """Return some columns. The rows stay, so that equal ones are copies."""
        return replace(self, columns={name: self[name] for name in names})

    def drop(self, names: Iterable[str]) -> Relation:
        """Return the other columns."""
        dropped = frozenset(names)
        return self.select([name for name in self.columns if name not in dropped])

    def rename(self, names: Mapping[str, str]) -> Relation:
        """Return the columns under new names."""
        return replace(
            self, columns={names.get(name, name): ids for name, ids in self.columns.items()}
        )

    def with_column(self, name: str, ids: Ids) -> Relation:
        """Add or replace a column."""
        return replace(self, columns={**self.columns, name: ids})

    def with_intervals(self, first: Ids, last: Ids) -> Relation:
        """Replace the intervals."""
        return replace(self, first=first, last=last)

    def without_intervals(self) -> Relation:
        """Let all rows hold always."""
        return replace(self, first=None, last=None)

    def over(self, instants: int) -> Relation:
        """Write "always" as the interval of all instants of a step.

        This is needed where an operator cuts rows that hold always. Joins do not need it.
        """
        if not self.holds_always:
            return self
        if not instants:
            return Relation.empty(self.names).with_intervals(EMPTY, EMPTY)
        zeros = np.zeros(self.height, np.int64)
        return self.with_intervals(zeros, zeros + (instants - 1))


def is_time(name: str) -> bool:
    """Test whether a column has times instead of term ids."""
    return name.startswith(TIME_PREFIX)


def _absent_value(name: str) -> int:
    """Return the value in rows that lack a column."""
    return NO_TIME if is_time(name) else UNBOUND


def concat_relations(relations: Sequence[Relation], instants: int) -> Relation:
    """Concatenate rows; a column that one relation lacks is unbound in its rows.

    Args:
        relations: at least one.
        instants: how many instants the step has, for relations that hold always beside others.
    """
    if not all(each.holds_always for each in relations):
        relations = [each.over(instants) for each in relations]
    names = dict.fromkeys(name for each in relations for name in each.names)
    columns = {name: np.concatenate([each[name] for each in relations]) for name in names}
    intervals = zip(*(each.intervals for each in relations), strict=True)
    height = sum(each.height for each in relations)
    return Relation(columns, height, *(np.concatenate(arrays) for arrays in intervals))


def relation_of(
    columns: Mapping[str, Sequence[int]], intervals: Sequence[tuple[int, int]] | None = None
) -> Relation:
    """Make a relation of lists.

    >>> relation_of({"a": [7, 8]}, [(0, 3), (2, 2)]).last
    array([3, 2])
    """
    arrays = {name: integers(values) for name, values in columns.items()}
    if intervals is None:
        return Relation(arrays, next(iter(arrays.values())).size)
    bounds = integers(intervals).reshape(-1, 2)
    return Relation(arrays, len(intervals), bounds[:, 0], bounds[:, 1])
