"""Groups of solutions that hold from one instant to another: aggregates at their change points.

Counts, sums, averages and extremes of plain numbers follow from what begins and ends. For all else
the members of each piece of a group are listed, and aggregated as if the piece were an instant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from headrace.algebra.expressions import Aggregate, Variable
from headrace.execution.aggregates.counts import count_distinct, count_flagged, count_rows
from headrace.execution.aggregates.doubles import average, sum_doubles
from headrace.execution.aggregates.extremes import select_least
from headrace.execution.aggregates.groups import ORIGINAL, Grouping, form_groups, list_members
from headrace.execution.aggregates.integers import sum_integers
from headrace.execution.relation.arrays import Ids, run_starts
from headrace.execution.relation.keys import number_rows
from headrace.execution.relation.relation import UNBOUND, Relation
from headrace.functions.arithmetic import quotient_of
from headrace.functions.numerals import Kind as NumberKind
from headrace.functions.numerals import Number
from headrace.functions.value_failures import Recorder
from headrace.functions.values import literal_of
from headrace.kernel.aggregate import (
    GROUP,
    NUMERIC,
    VALUE,
    Members,
    aggregate_runs,
    arguments_of,
    double_ids,
    integer_ids,
    result_of,
)
from headrace.kernel.columns import FIRST, INSTANT, LAST, column
from headrace.kernel.expressions import Expressions
from headrace.kernel.interval_rows import ids_of, intervals_of
from headrace.kernel.solutions import Solutions
from headrace.kernel.values import KIND, NUMBER, Kind

_TEXT: Final = "text"


def group_with_intervals(
    solutions: Solutions,
    keys: tuple[Variable, ...],
    aggregates: tuple[tuple[Variable, Aggregate], ...],
    instants: Sequence[int],
    expressions: Expressions,
) -> Solutions:
    """Group solutions with intervals: a row for each stretch in which a group does not change.

    Without keys there is one group at each instant, also where there is no solution.
    """
    names = [column(key) for key in keys]
    columns = {name: _ids(solutions, name) for name in names}
    relation = Relation(columns, solutions.height, *intervals_of(solutions.frame))
    grouping = form_groups(relation, names, len(instants))
    groups = _Groups(solutions, grouping, expressions)
    found = [
        pl.Series(FIRST, grouping.pieces.bounds[0]),
        pl.Series(LAST, grouping.pieces.bounds[1]),
    ]
    found += [_series(name, grouping.pieces[name]) for name in names]
    found += [groups.aggregated(call).alias(column(variable)) for variable, call in aggregates]
    return Solutions(pl.DataFrame(found), keyed=True, identified_by=frozenset({INSTANT, *names}))


def _ids(solutions: Solutions, name: str) -> Ids:
    if name not in solutions.frame.columns:
        return np.full(solutions.height, UNBOUND, np.int64)
    return ids_of(solutions.frame[name])


def _series(name: str, ids: Ids) -> pl.Series:
    found = pl.Series(name, ids)
    unbound = found == UNBOUND
    return found.set(unbound, None) if unbound.any() else found


@dataclass(frozen=True, slots=True)
class _Groups:
    """Groups of solutions.

    Attributes:
        solutions: the members of all groups.
        grouping: when each group lives and changes.
        expressions: evaluates what is aggregated.
    """

    solutions: Solutions
    grouping: Grouping
    expressions: Expressions

    def aggregated(self, call: Aggregate) -> pl.Series:
        """Compute the id of an aggregate for each piece of a group."""
        found = self._of_members(call)
        is_empty = pl.Series(count_rows(self.grouping) == 0)
        if not is_empty.any():
            return found
        nothing = result_of(call, [], Recorder())
        return found.set(is_empty, self.expressions.dictionary.encode_all([nothing])[0])

    def _of_members(self, call: Aggregate) -> pl.Series:
        grouping, dictionary = self.grouping, self.expressions.dictionary
        if call.argument is None and not call.distinct:
            return integer_ids(pl.Series(count_rows(grouping)), dictionary)
        values = arguments_of(call, self.solutions, self.expressions)
        if call.function == "COUNT":
            return integer_ids(pl.Series(self._counted(call, values)), dictionary)
        quick = self._of_numbers(call, values)
        return self._listed(call, values) if quick is None else quick

    def _counted(self, call: Aggregate, values: pl.DataFrame) -> Ids:
        bound = values[VALUE].is_not_null().to_numpy()
        if not call.distinct:
            return count_flagged(self.grouping, bound)
        columns = [ids_of(values[name]) for name in values.columns]
        return count_distinct(self.grouping, columns, bound)

    # -- plain numbers of one kind -------------------------------------------------------------

    def _of_numbers(self, call: Aggregate, values: pl.DataFrame) -> pl.Series | None:
        """Aggregate plain numbers of one kind; None if they are not, or if there are none."""
        if call.function not in NUMERIC or values.is_empty() or values[NUMBER].null_count():
            return None
        kind = values[KIND][0]
        if not (values[KIND] == kind).all():
            return None
        if call.function in {"MIN", "MAX"}:
            return self._extremes(call.function, values)
        grouping, numbers = self.grouping, values[NUMBER].to_numpy()
        if call.distinct:
            every = np.ones(values.height, np.bool_)
            grouping = grouping.keep_distinct([values[VALUE].to_numpy()], every)
            numbers = numbers[grouping.members[ORIGINAL]]
        counts = count_rows(grouping)
        if kind == Kind.INTEGER:
            return self._integers(call.function, grouping, numbers, counts)
        if kind != Kind.DOUBLE:
            return None
        sums = sum_doubles(grouping, numbers)
        if not np.isfinite(sums).all():
            return None
        found = average(sums, counts) if call.function == "AVG" else sums
        return double_ids(found, self.expressions.dictionary)

    def _integers(
        self, function: str, grouping: Grouping, numbers: npt.NDArray[np.float64], counts: Ids
    ) -> pl.Series:
        sums = sum_integers(grouping, numbers.astype(np.int64))
        dictionary = self.expressions.dictionary
        if function == "SUM":
            return integer_ids(pl.Series(sums), dictionary)
        pairs = list(zip(list(sums), np.maximum(counts, 1).tolist(), strict=True))
        distinct = list(dict.fromkeys(pairs))
        terms = [
            literal_of(
                quotient_of(
                    Number(NumberKind.INTEGER, int(total)), Number(NumberKind.INTEGER, count)
                )
            )
            for total, count in distinct
        ]
        ids = dict(zip(distinct, dictionary.encode_all(terms), strict=True))
        return pl.Series([ids[pair] for pair in pairs], dtype=pl.Int64)

    def _extremes(self, function: str, values: pl.DataFrame) -> pl.Series:
        """The least or greatest term; among equal numbers their texts decide."""
        distinct = values.select(VALUE, NUMBER).unique()
        if distinct[NUMBER].n_unique() < distinct.height:
            texts = self.expressions.dictionary.texts(distinct[VALUE]).alias(_TEXT)
            distinct = distinct.with_columns(texts).sort(NUMBER, _TEXT)
        else:
            distinct = distinct.sort(NUMBER)
        if function == "MAX":
            distinct = distinct.reverse()
        ranks = pl.Series(np.arange(distinct.height))
        rank = values[VALUE].replace_strict(distinct[VALUE], ranks).to_numpy()
        row = select_least(self.grouping, rank, np.ones(values.height, np.bool_))
        return values[VALUE].gather(pl.Series(np.maximum(row, 0)))

    # -- anything ------------------------------------------------------------------------------

    def _listed(self, call: Aggregate, values: pl.DataFrame) -> pl.Series:
        """Aggregate the members of each piece one by one."""
        pieces = self.grouping.pieces.height
        piece, row = list_members(self.grouping)
        if call.distinct:
            ids = ids_of(values[VALUE])[row]
            once = _first_of_each(number_rows([piece, ids], piece.size))
            piece, row = piece[once], row[once]
        members = values[row].with_columns(pl.Series(GROUP, piece))
        starts = run_starts(piece) if piece.size else piece
        found = aggregate_runs(call, Members(members, starts), self.expressions)
        every = pl.repeat(None, pieces, dtype=pl.Int64, eager=True)
        return every.scatter(pl.Series(piece[starts]), found) if starts.size else every


def _first_of_each(numbers: Ids) -> Ids:
    """The positions at which each number stands first, in order."""
    _, first = np.unique(numbers, return_index=True)
    return np.sort(first)
