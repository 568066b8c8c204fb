"""The uncertainty functions on columns: the common families at once, others one by one.

A column of operands has a code for each row, and two numbers that say the rest; what needs more
numbers than two stands on a shelf, by its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from headrace.functions.errors import ExpressionError
from headrace.functions.uncertainty.comparing import (
    between,
    less,
    less_normal,
    less_uniform,
    normal_less_uniform,
)
from headrace.functions.uncertainty.families import (
    BEYOND_DOUBLES,
    Distribution,
    Normal,
    Point,
    Uniform,
)
from headrace.functions.uncertainty.pieces import Column
from headrace.functions.uncertainty.sums import added, subtracted
from headrace.rdf.vocabulary import RSPU

NONE: Final = 0
"""An error: there is no value."""
NUMBER: Final = 1
"""A plain number."""
POINT: Final = 2
"""A distribution that is exact."""
NORMAL: Final = 3
UNIFORM: Final = 4
OTHER: Final = 5
"""Any other distribution, by its place on the shelf."""

Codes: TypeAlias = npt.NDArray[np.int8]
Flags: TypeAlias = npt.NDArray[np.bool_]


@dataclass
class Shelf:
    """Distributions that need more than two numbers, each once."""

    distributions: list[Distribution] = field(default_factory=list)
    places: dict[Distribution, int] = field(default_factory=dict)

    def put(self, distribution: Distribution) -> int:
        """Where a distribution stands."""
        place = self.places.setdefault(distribution, len(self.distributions))
        if place == len(self.distributions):
            self.distributions.append(distribution)
        return place


@dataclass(frozen=True, slots=True)
class Operands:
    """A column of numbers and distributions."""

    codes: Codes
    first: Column
    second: Column

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.codes)

    @classmethod
    def none(cls, height: int) -> Operands:
        """A column of errors."""
        return cls(np.zeros(height, np.int8), np.zeros(height), np.zeros(height))

    @classmethod
    def numbers(cls, numbers: Column, there: Flags) -> Operands:
        """A column of plain numbers; what is none of them is an error."""
        there = there & np.isfinite(numbers)
        numbers = np.where(there, numbers, 0.0)
        return cls(np.where(there, NUMBER, NONE).astype(np.int8), numbers, np.zeros(len(numbers)))

    @classmethod
    def limits(cls, numbers: Column, there: Flags) -> Operands:
        """Read a column of limits: plain numbers, possibly infinite."""
        there = there & ~np.isnan(numbers)
        numbers = np.where(there, numbers, 0.0)
        return cls(np.where(there, NUMBER, NONE).astype(np.int8), numbers, np.zeros(len(numbers)))

    def at(self, rows: npt.NDArray[np.intp] | Flags) -> Operands:
        """Some of the rows."""
        return Operands(self.codes[rows], self.first[rows], self.second[rows])

    def put(self, row: int, value: Distribution | float, shelf: Shelf) -> None:
        """Say what stands in a row."""
        match value:
            case Normal(one, other):
                self._set(row, NORMAL, float(one), float(other))
            case Uniform(one, other):
                self._set(row, UNIFORM, float(one), float(other))
            case Point(one):
                self._set(row, POINT, float(one), 0.0)
            case float():
                self._set(row, NUMBER, value, 0.0)
            case _:
                self._set(row, OTHER, float(shelf.put(value)), 0.0)

    def _set(self, row: int, code: int, first: float, second: float) -> None:
        self.codes[row], self.first[row], self.second[row] = code, first, second

    def value(self, row: int, shelf: Shelf) -> Distribution | None:
        """What stands in a row; a number is a distribution that is exact."""
        first, second = float(self.first[row]), float(self.second[row])
        match self.codes[row]:
            case 0:
                return None
            case 3:
                return Normal(first, second)
            case 4:
                return Uniform(first, second)
            case 5:
                return shelf.distributions[int(first)]
            case _:
                return Point(first)

    def frame(self, place: int) -> list[pl.Series]:
        """The columns by which rows are the same."""
        parts: tuple[npt.NDArray[Any], ...] = (self.codes, self.first, self.second)
        return [pl.Series(f"{place}.{number}", part) for number, part in enumerate(parts)]

    def both(self, code: int, other: Operands, code_of_other: int) -> Flags:
        """Where this and another are of two families."""
        return np.asarray((self.codes == code) & (other.codes == code_of_other))

    @property
    def exact(self) -> Flags:
        """Where a value is known exactly."""
        return np.asarray((self.codes == NUMBER) | (self.codes == POINT))

    @property
    def there(self) -> Flags:
        """Where there is a value."""
        return np.asarray(self.codes != NONE)


Vectorised: TypeAlias = Callable[[Sequence[Operands], Shelf], Operands]


def _normal(column: Operands) -> Normal:
    return Normal(column.first, column.second)


def _uniform(column: Operands) -> Uniform:
    return Uniform(column.first, column.second)


def _one_by_one(
    rows: Flags,
    arguments: Sequence[Operands],
    shelf: Shelf,
    function: Callable[..., Distribution | float],
    found: Operands,
) -> None:
    """Fill some rows of a result by the function on distributions."""
    for row in np.flatnonzero(rows).tolist():
        values = [argument.value(row, shelf) for argument in arguments]
        try:
            value = function(*values)
        except (ExpressionError, *BEYOND_DOUBLES):
            continue
        if not isinstance(value, float) or isfinite(value):
            found.put(row, value, shelf)


# -- probabilities -----------------------------------------------------------------------------


def _compared(
    arguments: Sequence[Operands], shelf: Shelf, *, swapped: bool, or_equal: bool
) -> Operands:
    one, other = reversed(arguments) if swapped else arguments
    found = np.zeros(len(one))
    rest = one.there & other.there
    there = rest.copy()
    ways: tuple[tuple[Flags, Callable[[Any, Any], Column]], ...] = (
        (one.exact & other.exact, np.less_equal if or_equal else np.less),
        (one.exact & (other.codes == NORMAL), lambda a, b: b.above(a)),
        (one.exact & (other.codes == UNIFORM), lambda a, b: b.above(a)),
        ((one.codes == NORMAL) & other.exact, lambda a, b: a.below(b)),
        ((one.codes == UNIFORM) & other.exact, lambda a, b: a.below(b)),
        (one.both(NORMAL, other, NORMAL), less_normal),
        (one.both(UNIFORM, other, UNIFORM), less_uniform),
        (one.both(NORMAL, other, UNIFORM), normal_less_uniform),
        (one.both(UNIFORM, other, NORMAL), lambda a, b: 1 - normal_less_uniform(b, a)),
    )
    for rows, compute in ways:
        if rows.any():
            found[rows] = compute(_typed(one.at(rows)), _typed(other.at(rows)))
            rest &= ~rows
    result = Operands.numbers(np.clip(found, 0.0, 1.0), there & ~rest)
    if rest.any():
        test = _less_or_equal if or_equal else less
        _one_by_one(rest, (one, other), shelf, test, result)
    return result


def _less_or_equal(one: Distribution, other: Distribution) -> float:
    return less(one, other, or_equal=True)


def _typed(column: Operands) -> Normal | Uniform | Column:
    """Rows of one family as one distribution of columns; those that are exact as numbers."""
    match column.codes[0]:
        case 3:
            return _normal(column)
        case 4:
            return _uniform(column)
        case _:
            return column.first


def _between(arguments: Sequence[Operands], shelf: Shelf) -> Operands:
    value, low, high = arguments
    rest = value.there & low.there & high.there
    found, there = np.zeros(len(value)), rest.copy()
    for code in (NORMAL, UNIFORM):
        rows = (value.codes == code) & low.exact & high.exact
        if rows.any():
            family = _typed(value.at(rows))
            assert isinstance(family, Normal | Uniform), "rows are of one family"
            found[rows] = _within(family, low.first[rows], high.first[rows])
            rest &= ~rows
    result = Operands.numbers(np.clip(found, 0.0, 1.0), there & ~rest)
    _one_by_one(rest, arguments, shelf, between, result)
    return result


def _within(value: Normal | Uniform, low: Column, high: Column) -> Column:
    left, right = value.below(low), value.above(high)
    by_left, by_right = value.below(high) - left, value.above(low) - right
    return np.where(low < high, np.where(left > right, by_right, by_left), 0.0)


# -- sums --------------------------------------------------------------------------------------


def _sum(arguments: Sequence[Operands], shelf: Shelf, *, sign: int) -> Operands:
    one, other = arguments
    found = Operands.none(len(one))
    numbers = one.both(NUMBER, other, NUMBER)
    normal = one.both(NORMAL, other, NORMAL)
    moved_normal, moved_uniform = (
        ((one.codes == code) & other.exact) | (one.exact & (other.codes == code) & (sign > 0))
        for code in (NORMAL, UNIFORM)
    )
    quick = numbers | normal | moved_normal
    first = one.first + sign * other.first
    # What is exact has no second number, so that of a shifted normal distribution stays.
    second = one.second + other.second
    found.first[quick], found.second[quick] = first[quick], second[quick]
    by = np.where(one.exact, one.first, sign * other.first)
    ours = np.where(one.exact, other.first, one.first), one.second + other.second
    found.first[moved_uniform] = (ours[0] + by)[moved_uniform]
    found.second[moved_uniform] = (ours[1] + by)[moved_uniform]
    found.codes[numbers] = NUMBER
    found.codes[normal | moved_normal] = NORMAL
    found.codes[moved_uniform] = UNIFORM
    quick |= moved_uniform
    _drop_wrong(found, quick)
    rest = one.there & other.there & ~quick
    _one_by_one(rest, arguments, shelf, added if sign > 0 else subtracted, found)
    return found


def _drop_wrong(found: Operands, rows: Flags) -> None:
    """Sums that went beyond what a double can hold, or so far that they have no width left."""
    finite = np.isfinite(found.first) & np.isfinite(found.second)
    wide = (found.codes != UNIFORM) | (found.first < found.second)
    found.codes[rows & ~(finite & wide)] = NONE
    wrong = found.codes == NONE
    found.first[wrong], found.second[wrong] = 0.0, 0.0


# -- moments -----------------------------------------------------------------------------------


def _mean(arguments: Sequence[Operands], shelf: Shelf) -> Operands:
    (one,) = arguments
    quick = one.exact | (one.codes == NORMAL) | (one.codes == UNIFORM)
    middle = np.where(one.codes == UNIFORM, _uniform(one).mean, one.first)
    found = Operands.numbers(middle, quick)
    _one_by_one(one.there & ~quick, arguments, shelf, lambda each: float(each.mean), found)
    return found


def _variance(arguments: Sequence[Operands], shelf: Shelf) -> Operands:
    (one,) = arguments
    quick = one.exact | (one.codes == NORMAL) | (one.codes == UNIFORM)
    spread = np.where(one.codes == UNIFORM, _uniform(one).variance, one.second)
    spread = np.where(np.isfinite(one.first), spread, np.nan)
    found = Operands.numbers(spread, quick)
    _one_by_one(one.there & ~quick, arguments, shelf, lambda each: float(each.variance), found)
    return found


def _comparison(*, swapped: bool, or_equal: bool) -> Vectorised:
    return lambda arguments, shelf: _compared(arguments, shelf, swapped=swapped, or_equal=or_equal)


def _quietly(function: Vectorised) -> Vectorised:
    """A function that says nothing of numbers that grow too large: they are errors in the end."""

    def quiet(arguments: Sequence[Operands], shelf: Shelf) -> Operands:
        with np.errstate(all="ignore"):
            return function(arguments, shelf)

    return quiet


_VECTORISED: Final[dict[tuple[str, int], Vectorised]] = {
    (RSPU + "add", 2): lambda arguments, shelf: _sum(arguments, shelf, sign=1),
    (RSPU + "subtract", 2): lambda arguments, shelf: _sum(arguments, shelf, sign=-1),
    (RSPU + "lessThan", 2): _comparison(swapped=False, or_equal=False),
    (RSPU + "lessThanOrEqual", 2): _comparison(swapped=False, or_equal=True),
    (RSPU + "greaterThan", 2): _comparison(swapped=True, or_equal=False),
    (RSPU + "greaterThanOrEqual", 2): _comparison(swapped=True, or_equal=True),
    (RSPU + "between", 3): _between,
    (RSPU + "mean", 1): _mean,
    (RSPU + "variance", 1): _variance,
}
VECTORISED: Final = {key: _quietly(function) for key, function in _VECTORISED.items()}
"""The functions on columns, by IRI and number of arguments; all others work on terms."""
