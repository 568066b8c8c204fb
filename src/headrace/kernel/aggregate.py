"""What the groups of each instant amount to."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from headrace.algebra.expressions import Aggregate, Variable
from headrace.errors import InternalError
from headrace.kernel.columns import INSTANT, column
from headrace.kernel.dictionary import Dictionary


def annotate(
    solutions: pl.DataFrame,
    variable: Variable,
    aggregate: Aggregate,
    keys: Iterable[Variable],
) -> pl.DataFrame:
    """Every solution with the aggregate of its group, as a plain number."""
    names = [column(key) for key in keys if column(key) in solutions.columns]
    number = _expression(aggregate, solutions).over(INSTANT, *names)
    return solutions.with_columns(number.cast(pl.Int64).alias(column(variable)))


def group(
    solutions: pl.DataFrame,
    keys: tuple[Variable, ...],
    aggregates: tuple[tuple[Variable, Aggregate], ...],
    instants: range,
) -> pl.DataFrame:
    """A solution for each group, with its aggregates as plain numbers.

    Without keys there is one group at each instant, also where there is no solution.
    """
    names = [column(key) for key in keys]
    absent = [name for name in names if name not in solutions.columns]
    complete = solutions.with_columns(pl.lit(None, pl.Int64).alias(name) for name in absent)
    numbers = [
        _expression(aggregate, complete).cast(pl.Int64).alias(column(variable))
        for variable, aggregate in aggregates
    ]
    grouped = complete.group_by(INSTANT, *names).agg(numbers)
    if names:
        return grouped
    every = pl.DataFrame({INSTANT: list(instants)}, schema={INSTANT: pl.Int64})
    return every.join(grouped, on=INSTANT, how="left").with_columns(
        pl.col(column(variable)).fill_null(0) for variable, _ in aggregates
    )


def intern(
    solutions: pl.DataFrame, variables: Iterable[Variable], dictionary: Dictionary
) -> pl.DataFrame:
    """Solutions with plain numbers replaced by the ids of their literals."""
    return solutions.with_columns(
        dictionary.integers(solutions[column(variable)]).alias(column(variable))
        for variable in variables
    )


def _expression(aggregate: Aggregate, solutions: pl.DataFrame) -> pl.Expr:
    match aggregate:
        case Aggregate("COUNT", None, False):
            return pl.len()
        case Aggregate("COUNT", Variable() as argument, distinct):
            if column(argument) not in solutions.columns:
                return pl.lit(None, pl.Int64).count()
            values = pl.col(column(argument))
            return values.drop_nulls().n_unique() if distinct else values.count()
        case _:
            raise InternalError(f"a plan with the aggregate {aggregate}")
