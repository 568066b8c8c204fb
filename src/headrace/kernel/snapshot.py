"""What a pattern evaluates to over the contents of windows, at many instants in one pass."""

from __future__ import annotations

from functools import reduce

import polars as pl

from headrace.algebra.expressions import TriplePattern
from headrace.algebra.operators import Annotate, Bgp, Distinct, Group, Operator, Project
from headrace.errors import InternalError
from headrace.kernel.aggregate import annotate, group, intern
from headrace.kernel.columns import INSTANT, column
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.join import join
from headrace.kernel.scan import scan


def evaluate(
    operator: Operator, contents: pl.DataFrame, instants: range, dictionary: Dictionary
) -> pl.DataFrame:
    """The solutions at each instant: `instant`, and a column of term ids for each variable."""
    match operator:
        case Bgp(patterns):
            return reduce(
                join,
                [
                    scan(contents, pattern, instants, dictionary.seed)
                    for pattern in patterns
                    if isinstance(pattern, TriplePattern)
                ],
            )
        case Annotate(source, annotations):
            solutions = evaluate(source, contents, instants, dictionary)
            # All clauses read the same solutions: none sees the variable of another.
            numbers = [
                annotate(solutions, each.variable, each.aggregate, each.keys)[column(each.variable)]
                for each in annotations
            ]
            variables = [each.variable for each in annotations]
            return intern(solutions.with_columns(numbers), variables, dictionary)
        case Group(source, keys, aggregates):
            solutions = evaluate(source, contents, instants, dictionary)
            grouped = group(solutions, keys, aggregates, instants)
            return intern(grouped, [variable for variable, _ in aggregates], dictionary)
        case Project(source, variables):
            solutions = evaluate(source, contents, instants, dictionary)
            names = [column(variable) for variable in variables]
            return solutions.select(
                INSTANT,
                *(
                    pl.col(name)
                    if name in solutions.columns
                    else pl.lit(None, pl.Int64).alias(name)
                    for name in names
                ),
            )
        case Distinct(source):
            return evaluate(source, contents, instants, dictionary).unique()
        case _:
            raise InternalError(f"a plan with {type(operator).__name__}, which it cannot hold")
