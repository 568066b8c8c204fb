"""What groups of solutions amount to.

Counts, and sums of numbers of one plain kind, are made on columns; everything else by the
function table, group by group. Neither depends on the order of the solutions.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import fsum
from typing import Final

import polars as pl

from headrace.algebra.expressions import Aggregate, Variable
from headrace.functions.aggregates import aggregate as of_terms
from headrace.functions.errors import ExpressionError
from headrace.kernel.columns import INSTANT, column
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.expressions import Expressions
from headrace.kernel.solutions import Solutions
from headrace.kernel.values import KIND, NUMBER, Kind, double_texts
from headrace.rdf.terms import Literal, Term
from headrace.rdf.vocabulary import XSD_DOUBLE, XSD_INTEGER

_VALUE: Final = "value"
_GROUP: Final = "group"
_LARGEST: Final = 2**53
_NUMERIC: Final = ("SUM", "AVG", "MIN", "MAX")


def group(
    solutions: Solutions,
    keys: tuple[Variable, ...],
    aggregates: tuple[tuple[Variable, Aggregate], ...],
    instants: Sequence[int],
    expressions: Expressions,
) -> Solutions:
    """A solution for each group: its keys and its aggregates.

    Without keys there is one group at each instant, also where there is no solution.
    """
    names = [column(key) for key in keys]
    frame = _with_columns(solutions.frame, names)
    groups = frame.select(*solutions.key, *names).unique(maintain_order=True)
    if not keys:
        groups = _every(solutions, instants)
    elif not solutions.keyed:
        groups = groups.with_columns(pl.lit(0, pl.Int64).alias(INSTANT)).select(INSTANT, *names)
    groups = groups.with_row_index(_GROUP)
    numbered = _numbered(frame, groups, [*solutions.key, *names])
    for variable, call in aggregates:
        ids = _aggregated(solutions, numbered, groups.height, call, expressions)
        groups = groups.with_columns(ids.alias(column(variable)))
    return solutions.with_frame(groups.drop(_GROUP))


def annotate(
    solutions: Solutions,
    variable: Variable,
    call: Aggregate,
    keys: tuple[Variable, ...],
    expressions: Expressions,
) -> pl.Series:
    """The aggregate of each solution's group, beside the solution."""
    names = [column(key) for key in keys]
    frame = _with_columns(solutions.frame, names)
    on = [*solutions.key, *names]
    if on:
        groups = frame.select(on).unique(maintain_order=True).with_row_index(_GROUP)
    else:
        groups = frame.select(INSTANT).head(1).with_row_index(_GROUP)
    numbered = _numbered(frame, groups, on)
    ids = _aggregated(solutions, numbered, groups.height, call, expressions)
    return ids.gather(numbered).alias(column(variable))


def _with_columns(frame: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    absent = [name for name in names if name not in frame.columns]
    return frame.with_columns(pl.lit(None, pl.Int64).alias(name) for name in absent)


def _every(solutions: Solutions, instants: Sequence[int]) -> pl.DataFrame:
    every = list(instants) if solutions.keyed else [0]
    return pl.DataFrame({INSTANT: every}, schema={INSTANT: pl.Int64})


def _numbered(frame: pl.DataFrame, groups: pl.DataFrame, on: list[str]) -> pl.Series:
    """The number of each row's group."""
    if not on:
        return pl.repeat(0, frame.height, dtype=pl.UInt32, eager=True)
    found = frame.select(on).join(
        groups.select(_GROUP, *on), on=on, how="left", nulls_equal=True, maintain_order="left"
    )
    return found[_GROUP]


def _aggregated(
    solutions: Solutions,
    numbered: pl.Series,
    groups: int,
    call: Aggregate,
    expressions: Expressions,
) -> pl.Series:
    """The id of the aggregate of each group."""
    dictionary = expressions.dictionary
    if call.argument is None:
        counted = _rows(solutions, call.distinct).with_columns(numbered.alias(_GROUP))
        if call.distinct:
            counted = counted.unique()
        return _integers(_counts(counted, groups), dictionary)
    frame = _arguments(call, solutions, expressions).with_columns(numbered.alias(_GROUP))
    if call.distinct:
        frame = frame.unique(maintain_order=True)
    if call.function == "COUNT":
        return _integers(_counts(frame.drop_nulls(_VALUE), groups), dictionary)
    quick = _quick(call.function, frame, groups, dictionary)
    return quick if quick is not None else _slow(call, frame, groups, dictionary)


def _arguments(call: Aggregate, solutions: Solutions, expressions: Expressions) -> pl.DataFrame:
    """What an aggregate is over: ids, and kinds and numbers where it works with them."""
    if call.function in _NUMERIC and isinstance(call.argument, Variable):
        return expressions.worth(call.argument, solutions).rename({"id": _VALUE})
    assert call.argument is not None, "COUNT(*) has been done"
    ids = expressions.value(call.argument, solutions).alias(_VALUE)
    if call.function not in _NUMERIC:
        return ids.to_frame()
    return expressions.dictionary.values_of(ids).select(KIND, NUMBER).with_columns(ids)


def _rows(solutions: Solutions, distinct: bool) -> pl.DataFrame:
    """What COUNT(*) counts: solutions, which do not bind the blank nodes of a pattern."""
    named = [name for name in solutions.names if not name.startswith("?_:")]
    return solutions.frame.select(INSTANT, *(named if distinct else ()))


def _counts(frame: pl.DataFrame, groups: int) -> pl.Series:
    found = frame.group_by(_GROUP).len(name="number")
    every = pl.DataFrame({_GROUP: range(groups)}, schema={_GROUP: pl.UInt32})
    joined = every.join(found, on=_GROUP, how="left", maintain_order="left")
    return joined["number"].fill_null(0).cast(pl.Int64)


def _integers(numbers: pl.Series, dictionary: Dictionary) -> pl.Series:
    """The ids of whole numbers, made once for each of them."""
    distinct = numbers.unique()
    ids = dictionary.encode_texts([f'"{number}"^^<{XSD_INTEGER}>' for number in distinct])
    return numbers.replace_strict(distinct, ids, return_dtype=pl.Int64)


# -- numbers of one kind, on columns ---------------------------------------------------------


def _quick(
    function: str, frame: pl.DataFrame, groups: int, dictionary: Dictionary
) -> pl.Series | None:
    """The aggregate on columns, if every value is a plain number of one kind and none an error."""
    if function not in _NUMERIC or frame.is_empty() or frame[NUMBER].null_count():
        return None
    kinds = frame[KIND].unique()
    if len(kinds) != 1:
        return None
    every = pl.DataFrame({_GROUP: range(groups)}, schema={_GROUP: pl.UInt32})
    numbers = frame.select(_GROUP, _VALUE, NUMBER)
    if function in {"MIN", "MAX"}:
        return _extremes(function, numbers, every, dictionary)
    if function == "SUM" and kinds[0] == Kind.INTEGER:
        sums = numbers.group_by(_GROUP).agg(
            pl.col(NUMBER).sum(), pl.col(NUMBER).abs().sum().alias("size")
        )
        # Sums of whole numbers are exact as floats while they stay below 2^53.
        if (sums["size"] < _LARGEST).all():
            joined = every.join(sums, on=_GROUP, how="left", maintain_order="left")
            return _integers(joined[NUMBER].fill_null(0).cast(pl.Int64), dictionary)
    if kinds[0] == Kind.DOUBLE:
        return _doubles(function, numbers, every, dictionary)
    return None


def _extremes(
    function: str, numbers: pl.DataFrame, every: pl.DataFrame, dictionary: Dictionary
) -> pl.Series:
    """The least or greatest term; among equal numbers their texts decide."""
    best = pl.col(NUMBER).min() if function == "MIN" else pl.col(NUMBER).max()
    reached = numbers.filter(pl.col(NUMBER) == best.over(_GROUP)).unique()
    if reached[_GROUP].n_unique() < reached.height:
        texts = dictionary.texts(reached[_VALUE])
        reached = reached.with_columns(texts.alias("text")).sort(
            "text", descending=function == "MAX"
        )
    found = reached.group_by(_GROUP, maintain_order=True).first()
    return every.join(found, on=_GROUP, how="left", maintain_order="left")[_VALUE]


def _doubles(
    function: str, numbers: pl.DataFrame, every: pl.DataFrame, dictionary: Dictionary
) -> pl.Series | None:
    """Exactly rounded sums, which do not depend on the order of their terms."""
    ordered = numbers.select(_GROUP, NUMBER).sort(_GROUP)
    runs = ordered[_GROUP].rle().struct.unnest()
    values, ends = ordered[NUMBER].to_list(), runs["len"].cum_sum().to_list()
    try:
        sums = [fsum(values[start:end]) for start, end in pairwise([0, *ends])]
    except (OverflowError, ValueError):  # too large on the way, or infinities that cancel out
        return None
    results = pl.Series(sums) / runs["len"] if function == "AVG" else pl.Series(sums)
    ids = dictionary.encode_texts([f'"{text}"^^<{XSD_DOUBLE}>' for text in double_texts(results)])
    found = pl.DataFrame({_GROUP: runs["value"], _VALUE: ids})
    joined = every.join(found, on=_GROUP, how="left", maintain_order="left")
    zero = dictionary.encode(Literal("0", XSD_INTEGER))
    return joined[_VALUE].fill_null(zero)


# -- anything, by the function table ---------------------------------------------------------


def _slow(call: Aggregate, frame: pl.DataFrame, groups: int, dictionary: Dictionary) -> pl.Series:
    members: list[list[Term | None]] = [[] for _ in range(groups)]
    for number, term in zip(frame[_GROUP], dictionary.terms(frame[_VALUE]), strict=True):
        members[number].append(term)
    return dictionary.encode_all([_result(call, terms) for terms in members])


def _result(call: Aggregate, terms: list[Term | None]) -> Term | None:
    try:
        # DISTINCT has been done on ids.
        return of_terms(call.function, terms, separator=call.separator)
    except ExpressionError:
        return None
