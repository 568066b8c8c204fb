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
)
from headrace.functions.ordering import order_key, value_key
from headrace.kernel.columns import INSTANT
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.expressions import Expressions
from headrace.kernel.solutions import Solutions
from headrace.kernel.values import NUMBER

_RANK = "rank"


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
    by = [*solutions.key, *(rank.name for rank in ranks), *sorted(solutions.names)]
    descending = [
        *([False] * len(solutions.key)),
        *(key.descending for key in keys),
        *([False] * len(solutions.names)),
    ]
    frame = solutions.frame.with_columns(ranks)
    frame = frame.sort(by, descending=descending, nulls_last=False, maintain_order=True)
    return solutions.with_frame(frame.drop([rank.name for rank in ranks]))


def _ranks(ids: pl.Series, expressions: Expressions) -> pl.Series:
    """The place of each term in the order of terms; equal values have equal places."""
    distinct = ids.unique()
    quick = _quick_ranks(ids, distinct, expressions.dictionary)
    if quick is not None:
        return quick
    terms = expressions.dictionary.terms(distinct)
    pairs = sorted(zip(terms, distinct, strict=True), key=lambda pair: order_key(pair[0]))
    places: dict[int | None, int] = {}
    place, before = 0, None
    for term, identity in pairs:
        key = value_key(term)
        place, before = (place if key == before else place + 1), key
        places[identity] = place
    return ids.replace_strict(list(places), list(places.values()), return_dtype=pl.Int64)


def _quick_ranks(ids: pl.Series, distinct: pl.Series, dictionary: Dictionary) -> pl.Series | None:
    """The same on columns, if all terms are plain numbers."""
    values = dictionary.values_of(distinct)
    if values[NUMBER].null_count() != distinct.null_count():
        return None
    return dictionary.values_of(ids)[NUMBER]


def distinct(solutions: Solutions) -> Solutions:
    """Every solution of an instant once, in the order in which it first stands."""
    names = [*solutions.key, *solutions.names]
    if not names:
        return solutions.with_frame(solutions.frame.head(1))
    return solutions.with_frame(solutions.frame.unique(subset=names, maintain_order=True))


def sliced(solutions: Solutions, offset: int, limit: int | None, is_ordered: bool) -> Solutions:
    """Some solutions of each instant; without ORDER BY, from a fixed order."""
    frame = solutions.frame
    if not is_ordered:
        frame = frame.sort([*solutions.key, *sorted(solutions.names)] or [INSTANT])
    if not solutions.keyed:
        return solutions.with_frame(frame.slice(offset, limit))
    numbered = frame.with_columns(pl.int_range(pl.len()).over(INSTANT).alias(_RANK))
    kept = pl.col(_RANK) >= offset
    if limit is not None:
        kept = kept & (pl.col(_RANK) < offset + limit)
    return solutions.with_frame(numbered.filter(kept).drop(_RANK))


def is_ordered(operator: Operator) -> bool:
    """Whether the solutions of an operator come in an order that the query asked for."""
    match operator:
        case OrderBy():
            return True
        case Project(source) | Distinct(source) | Reduced(source):
            return is_ordered(source)
        case _:
            return False
