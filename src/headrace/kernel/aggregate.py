"""What groups of solutions amount to.

The solutions are sorted by their keys once, so that each group is a run of rows. Counts, and sums
of numbers of one plain kind, are made on columns; everything else by the function table, group by
group. Neither depends on the order of the solutions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import fsum
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from headrace.algebra.expressions import Aggregate, Variable
from headrace.functions.aggregates import aggregate as of_terms
from headrace.functions.errors import ExpressionError, UnreadableValueError
from headrace.functions.value_failures import Cause, Recorder
from headrace.functions.values import is_distribution
from headrace.kernel.budget import first_rows
from headrace.kernel.columns import INSTANT, column
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.expressions import Expressions
from headrace.kernel.solutions import Solutions
from headrace.kernel.values import KIND, NUMBER, Kind, double_texts
from headrace.metering import current
from headrace.rdf.terms import Literal, Term
from headrace.rdf.vocabulary import XSD_DOUBLE, XSD_INTEGER

VALUE: Final = "value"
GROUP: Final = "group"
_LARGEST: Final = 2**53
NUMERIC: Final = ("SUM", "AVG", "MIN", "MAX")

Positions: TypeAlias = npt.NDArray[np.int64]
Doubles: TypeAlias = list[float] | npt.NDArray[np.float64]


def group(
    solutions: Solutions,
    keys: tuple[Variable, ...],
    aggregates: tuple[tuple[Variable, Aggregate], ...],
    instants: Sequence[int],
    expressions: Expressions,
) -> Solutions:
    """Group solutions, and compute the keys and aggregates of each group.

    Without keys there is one group at each instant, also where there is no solution.
    """
    names = [column(key) for key in keys]
    ordered, runs = _in_runs(solutions, names)
    groups = ordered.frame.select(INSTANT, *names)[runs.starts]
    results = [_aggregated(ordered, runs, call, expressions) for _, call in aggregates]
    named = [column(variable) for variable, _ in aggregates]
    groups = groups.with_columns(ids.alias(name) for name, ids in zip(named, results, strict=True))
    if not keys:
        empty = [result_of(call, [], Recorder()) for _, call in aggregates]
        ids = dict(zip(named, expressions.dictionary.encode_all(empty), strict=True))
        every = instants if solutions.keyed else [0] if groups.is_empty() else []
        missing = pl.DataFrame({INSTANT: list(every)}, schema={INSTANT: pl.Int64}).join(
            groups, on=INSTANT, how="anti"
        )
        absent = [pl.lit(value, pl.Int64).alias(name) for name, value in ids.items()]
        groups = pl.concat([groups, missing.with_columns(absent)])
    return solutions.with_frame(groups)


def annotate(
    solutions: Solutions,
    variable: Variable,
    call: Aggregate,
    keys: tuple[Variable, ...],
    expressions: Expressions,
) -> pl.Series:
    """The aggregate of each solution's group, beside the solution."""
    ordered, runs = _in_runs(solutions, [column(key) for key in keys])
    ids = _aggregated(ordered, runs, call, expressions).gather(runs.numbers())
    return ids.gather(np.argsort(runs.order)).alias(column(variable))


# -- groups as runs of rows ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Runs:
    """Where groups begin and end among rows that are sorted by their keys.

    Attributes:
        order: which rows of the solutions stand in which place.
        starts: the first row of each group; none is empty.
    """

    order: Positions
    starts: Positions

    @property
    def lengths(self) -> Positions:
        """How many rows each group has."""
        return np.diff(self.starts, append=self.order.size)

    def numbers(self) -> Positions:
        """The number of each row's group."""
        return np.repeat(np.arange(self.starts.size), self.lengths)


def _in_runs(solutions: Solutions, names: list[str]) -> tuple[Solutions, _Runs]:
    """The solutions sorted by some columns and the instant, and the runs of equal ones."""
    absent = [name for name in names if name not in solutions.frame.columns]
    frame = solutions.frame.with_columns(pl.lit(None, pl.Int64).alias(name) for name in absent)
    on = [*solutions.key, *names]
    if not on:
        starts = np.zeros(min(1, frame.height), dtype=np.int64)
        return solutions, _Runs(np.arange(frame.height), starts)
    order = frame.select(pl.arg_sort_by(on)).to_series().to_numpy().astype(np.int64)
    frame = frame[order]
    changes = np.zeros(frame.height, dtype=np.bool_)
    for name in on:
        changes |= frame[name].ne_missing(frame[name].shift(1)).to_numpy()
    changes[:1] = True
    return solutions.with_frame(frame), _Runs(order, np.flatnonzero(changes))


def _aggregated(
    ordered: Solutions, runs: _Runs, call: Aggregate, expressions: Expressions
) -> pl.Series:
    """Compute the id of the aggregate of each group."""
    dictionary = expressions.dictionary
    if call.argument is None and not call.distinct:
        return integer_ids(pl.Series(runs.lengths), dictionary)
    frame = arguments_of(call, ordered, expressions).with_columns(pl.Series(GROUP, runs.numbers()))
    if call.distinct:
        frame = first_rows(frame, None, "an aggregate")
    members = Members(frame, np.flatnonzero(np.diff(frame[GROUP].to_numpy(), prepend=-1)))
    if call.function == "COUNT":
        counted = frame[VALUE].is_not_null().to_numpy().astype(np.int64)
        return integer_ids(pl.Series(_sums(counted, members.starts)), dictionary)
    return aggregate_runs(call, members, expressions)


def aggregate_runs(call: Aggregate, members: Members, expressions: Expressions) -> pl.Series:
    """Aggregate the values of each group; DISTINCT has been done."""
    quick = _quick(call.function, members, expressions.dictionary)
    if quick is not None:
        return quick
    return _slow(call, members, expressions.dictionary, expressions.context.calls.failures)


@dataclass(frozen=True, slots=True)
class Members:
    """What an aggregate is over: `value`, maybe kinds and numbers, and where groups start."""

    frame: pl.DataFrame
    starts: Positions

    def slices(self) -> list[tuple[int, int]]:
        """Where each group starts and ends."""
        return list(pairwise([*self.starts.tolist(), self.frame.height]))


def arguments_of(call: Aggregate, solutions: Solutions, expressions: Expressions) -> pl.DataFrame:
    """The ids of what is aggregated, and kinds and numbers where the aggregate is of numbers."""
    if call.argument is None:
        return _rows(solutions)
    if call.function in NUMERIC and isinstance(call.argument, Variable):
        return expressions.worth(call.argument, solutions).rename({"id": VALUE})
    ids = expressions.value(call.argument, solutions).alias(VALUE)
    if call.function not in NUMERIC:
        return ids.to_frame()
    return expressions.dictionary.values_of(ids).select(KIND, NUMBER).with_columns(ids)


def _rows(solutions: Solutions) -> pl.DataFrame:
    """What COUNT(DISTINCT *) counts: solutions, which do not bind the blank nodes of a pattern."""
    named = [name for name in solutions.names if not name.startswith("?_:")]
    # As many zeros as there are solutions, even if none of them binds anything.
    return solutions.frame.select(*named, pl.repeat(0, pl.len()).alias(VALUE))


def _sums(numbers: npt.NDArray[np.int64], starts: Positions) -> npt.NDArray[np.int64]:
    return np.add.reduceat(numbers, starts) if starts.size else numbers[:0]


def integer_ids(numbers: pl.Series, dictionary: Dictionary) -> pl.Series:
    """The ids of whole numbers, made once for each of them."""
    distinct = numbers.unique()
    ids = dictionary.encode_texts([f'"{number}"^^<{XSD_INTEGER}>' for number in distinct])
    return numbers.replace_strict(distinct, ids, return_dtype=pl.Int64)


# -- numbers of one kind, on columns ---------------------------------------------------------


def _quick(function: str, members: Members, dictionary: Dictionary) -> pl.Series | None:
    """The aggregate on columns, if every value is a plain number of one kind and none an error."""
    frame = members.frame
    if function not in NUMERIC or frame.is_empty() or frame[NUMBER].null_count():
        return None
    kind = frame[KIND][0]
    if not (frame[KIND] == kind).all():
        return None
    numbers = frame[NUMBER].to_numpy()
    if function in {"MIN", "MAX"}:
        return _extremes(function, numbers, members, dictionary)
    if kind == Kind.INTEGER and function == "SUM" and _is_exact(numbers, members.starts):
        sums = np.add.reduceat(numbers, members.starts).astype(np.int64)
        return integer_ids(pl.Series(sums), dictionary)
    if kind == Kind.DOUBLE:
        return _doubles(function, members, dictionary)
    return None


def _is_exact(numbers: npt.NDArray[np.float64], starts: Positions) -> bool:
    """Whether whole numbers add up exactly as floats: their sums stay below 2^53."""
    return bool((np.add.reduceat(np.abs(numbers), starts) < _LARGEST).all())


def _extremes(
    function: str, numbers: npt.NDArray[np.float64], members: Members, dictionary: Dictionary
) -> pl.Series:
    """The least or greatest term; among equal numbers their texts decide."""
    extreme = np.minimum if function == "MIN" else np.maximum
    best = extreme.reduceat(numbers, members.starts)
    lengths = np.diff(members.starts, append=numbers.size)
    reached = members.frame.select(GROUP, VALUE).filter(numbers == np.repeat(best, lengths))
    if reached.height > best.size:
        reached = reached.unique()
        texts = dictionary.texts(reached[VALUE]).alias("text")
        reached = reached.with_columns(texts).sort("text", descending=function == "MAX")
        reached = reached.unique(GROUP, keep="first", maintain_order=True).sort(GROUP)
    return reached[VALUE]


def _doubles(function: str, members: Members, dictionary: Dictionary) -> pl.Series | None:
    """Exactly rounded sums, which do not depend on the order of their terms."""
    values, slices = members.frame[NUMBER].to_list(), members.slices()
    try:
        sums = [fsum(values[start:end]) for start, end in slices]
    except (OverflowError, ValueError):  # too large on the way, or infinities that cancel out
        return None
    if function == "AVG":
        sums = [total / (end - start) for total, (start, end) in zip(sums, slices, strict=True)]
    return double_ids(sums, dictionary)


def double_ids(numbers: Doubles, dictionary: Dictionary) -> pl.Series:
    """The ids of doubles."""
    texts = double_texts(pl.Series(numbers, dtype=pl.Float64))
    return dictionary.encode_texts(('"' + texts + f'"^^<{XSD_DOUBLE}>').to_list())


# -- anything, by the function table ---------------------------------------------------------


def _slow(
    call: Aggregate, members: Members, dictionary: Dictionary, failures: Recorder
) -> pl.Series:
    terms = dictionary.terms(members.frame[VALUE])
    return dictionary.encode_all(
        [result_of(call, terms[start:end], failures) for start, end in members.slices()]
    )


def result_of(call: Aggregate, terms: list[Term | None], failures: Recorder) -> Term | None:
    """Aggregate the values of one group by the function table; none if that is an error."""
    meter = current()
    meter.step()
    try:
        # DISTINCT has been done on ids.
        found = of_terms(call.function, terms, separator=call.separator)
        if isinstance(found, Literal):
            meter.make_text(len(found.lexical), "an aggregate")
        return found
    except UnreadableValueError:
        _note_unreadable(terms, failures)
    except ExpressionError as error:
        if None not in terms and any(is_distribution(term) for term in terms if term is not None):
            failures.note(Cause.AGGREGATE, call.function, str(error), tuple(terms))
    return None


def _note_unreadable(terms: list[Term | None], failures: Recorder) -> None:
    """Count each value of a group that is neither a distribution nor a number."""
    # What it needs takes as long to load as everything else, and few queries ask for it.
    from headrace.functions.uncertainty.literals import distribution_of  # noqa: PLC0415

    for term in terms:
        try:
            if term is not None:
                distribution_of(term)
        except UnreadableValueError as error:
            failures.note(Cause.VALUE, error.datatype, str(error))
        except ExpressionError:  # a number that no distribution can be
            continue
