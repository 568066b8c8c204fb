"""In which order solutions stand, and which of them are kept: ORDER BY, DISTINCT, LIMIT."""

from __future__ import annotations

import polars as pl

from headrace.algebra.operators import (
    Distinct,
    Operator,
    OrderBy,
    OrderKey,
    Project,
    Reduced,
    Slice,
)
from headrace.functions.ordering import order_key, value_key
from headrace.kernel.budget import check_sorting, first_rows
from headrace.kernel.columns import INSTANT
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.expressions import Expressions
from headrace.kernel.solutions import Solutions, together
from headrace.kernel.values import KIND, NUMBER, Kind
from headrace.metering import current

_RANK = "rank"
_RUN = "run of equals"
_AT = "place"
_TEXT = "text of "
_A_PAIR = 2
_NUMBER = 8
"""Bytes of an id."""
_TEXT_WIDTH = 2
"""Ids that take as much as a reference to a text."""


def ordered(
    solutions: Solutions, keys: tuple[OrderKey, ...], expressions: Expressions
) -> Solutions:
    """The solutions of each instant in the order of the keys; ties in a fixed order too."""
    ranks = [
        _ranks(expressions.value(key.expression, solutions), expressions).alias(
            f"{_RANK}{position}"
        )
        for position, key in enumerate(keys)
    ]
    by = [*solutions.key, *(rank.name for rank in ranks)]
    descending = [*([False] * len(solutions.key)), *(key.descending for key in keys)]
    frame = solutions.frame.with_columns(ranks)
    _check_copy(frame.height, frame.width)
    frame = frame.sort(by, descending=descending, nulls_last=False, maintain_order=True)
    frame = _ties_by_text(frame, by, sorted(solutions.names), expressions.dictionary)
    return solutions.with_frame(frame.drop([rank.name for rank in ranks]))


def _ties_by_text(
    frame: pl.DataFrame, by: list[str], names: list[str], dictionary: Dictionary
) -> pl.DataFrame:
    """Sorted rows, with those that are equal in the order of their terms' texts.

    Ids differ from deployment to deployment, and answers must not.
    """
    keys = frame.select(by)
    changes = keys.select(
        pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift(1)) for name in by)
    ).to_series()
    tied = ~changes | ~changes.shift(-1, fill_value=True)
    if frame.height < _A_PAIR or not tied.any() or not names:
        return frame
    _check_copy(int(tied.sum()), frame.width + _TEXT_WIDTH * len(names))
    numbered = frame.with_columns(changes.cum_sum().alias(_RUN), pl.int_range(pl.len()).alias(_AT))
    rows = numbered.filter(tied)
    sorted_rows = by_text(rows, [_RUN], names, dictionary)
    moved = sorted_rows.with_columns(rows[_AT])
    rest = numbered.filter(~tied)
    return pl.concat([rest, moved]).sort(_AT).drop(_RUN, _AT)


def _check_copy(rows: int, columns: int) -> None:
    """Refuse to copy rows of ids where the memory has no room for them."""
    current().check("the order of solutions", _NUMBER * rows * columns)


def by_text(
    frame: pl.DataFrame, first: list[str], names: list[str], dictionary: Dictionary
) -> pl.DataFrame:
    """Rows sorted by some columns, then by the texts of terms, the unbound first."""
    texts = [dictionary.texts(frame[name]).alias(f"{_TEXT}{name}") for name in names]
    by = [*first, *(text.name for text in texts)]
    if not by:
        return frame
    check_sorting(texts, "the order of solutions")
    ordered = frame.with_columns(texts).sort(by, nulls_last=False, maintain_order=True)
    return ordered.drop([text.name for text in texts])


def _ranks(ids: pl.Series, expressions: Expressions) -> pl.Series:
    """The place of each term in the order of terms; equal values have equal places."""
    distinct = ids.unique()
    quick = _quick_ranks(ids, distinct, expressions.dictionary)
    if quick is not None:
        return quick
    terms = expressions.dictionary.terms(distinct)
    meter = expressions.budget.meter
    keys = [order_key(term) for term in meter.steps(terms)]
    pairs = sorted(zip(keys, terms, distinct, strict=True), key=lambda pair: pair[0])
    places: dict[int | None, int] = {}
    place, before = 0, None
    for _, term, identity in meter.steps(pairs):
        key = value_key(term)
        place, before = (place if key == before else place + 1), key
        places[identity] = place
    return ids.replace_strict(list(places), list(places.values()), return_dtype=pl.Int64)


def _quick_ranks(ids: pl.Series, distinct: pl.Series, dictionary: Dictionary) -> pl.Series | None:
    """The same on columns, if all terms are plain numbers."""
    values = dictionary.values_of(distinct)
    floats = (values[KIND] == Kind.FLOAT).sum()  # equal to others only at their own precision
    if values[NUMBER].null_count() != distinct.null_count() or floats:
        return None
    return dictionary.values_of(ids)[NUMBER]


def distinct(solutions: Solutions) -> Solutions:
    """Every solution of an instant once, in the order in which it first stands."""
    if solutions.has_intervals:
        return solutions.only(solutions.names).once()
    names, frame = [*solutions.key, *solutions.names], solutions.frame
    if not names:
        return solutions.with_frame(frame.head(1))
    if solutions.chances:  # a solution is right if it is so in the likeliest way it came by
        surest = together(solutions.chances).arg_max()
        best = [pl.col(each).get(surest).over(names) for each in solutions.chances]
        frame = frame.with_columns(best)
    return solutions.with_frame(first_rows(frame, names, "distinct"))


def sliced(
    solutions: Solutions, offset: int, limit: int | None, is_ordered: bool, dictionary: Dictionary
) -> Solutions:
    """Some solutions of each instant; without ORDER BY, from a fixed order."""
    frame = solutions.frame
    if not is_ordered:
        frame = by_text(frame, solutions.key, sorted(solutions.names), dictionary)
    if not solutions.keyed:
        return solutions.with_frame(frame.slice(offset, limit))
    numbered = frame.with_columns(pl.int_range(pl.len()).over(INSTANT).alias(_RANK))
    kept = pl.col(_RANK) >= offset
    if limit is not None:
        kept = kept & (pl.col(_RANK) < offset + limit)
    return solutions.with_frame(numbered.filter(kept).drop(_RANK))


def is_ordered(operator: Operator) -> bool:
    """Whether solutions come in an order that their own query asked for; a subquery gives none."""
    while isinstance(operator, Slice | Distinct | Reduced):
        operator = operator.input
    below = operator.input if isinstance(operator, Project) else operator
    return isinstance(below, OrderBy)
