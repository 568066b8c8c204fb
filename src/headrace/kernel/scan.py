"""Which stream triples match a pattern, and in which windows."""

from __future__ import annotations

import polars as pl

from headrace.algebra.expressions import TriplePattern, Variable
from headrace.errors import InternalError
from headrace.kernel.columns import (
    FIRST,
    GRAPH,
    INSTANT,
    LAST,
    OBJECT,
    PREDICATE,
    SUBJECT,
    column,
)
from headrace.rdf.ids import term_id
from headrace.rdf.terms import BlankNode, Iri, Literal


def scan(
    contents: pl.DataFrame, pattern: TriplePattern, instants: range, seed: int
) -> pl.DataFrame:
    """The solutions of a triple pattern at each instant; equal triples of a window are one."""
    conditions = [pl.col(GRAPH).is_null()]
    places: dict[str, str] = {}
    for place, term in (
        (SUBJECT, pattern.subject),
        (PREDICATE, pattern.predicate),
        (OBJECT, pattern.object),
    ):
        match term:
            case Variable() if (name := column(term)) in places:
                conditions.append(pl.col(place) == pl.col(places[name]))
            case Variable():
                places[name] = place
            case Iri() | BlankNode() | Literal():
                conditions.append(pl.col(place) == term_id(term, seed))
            case _:
                raise InternalError(f"a plan with the pattern term {term}")
    matches = contents.filter(*conditions).select(FIRST, LAST, **places)
    return at_instants(matches, instants).unique()


def at_instants(matches: pl.DataFrame, instants: range) -> pl.DataFrame:
    """Matches repeated for each of the instants between their first and their last."""
    first, last = instants[0], instants[-1]
    return (
        matches.filter(pl.col(FIRST) <= last, pl.col(LAST) >= first)
        .with_columns(
            pl.int_ranges(
                pl.col(FIRST).clip(lower_bound=first),
                pl.col(LAST).clip(upper_bound=last) + 1,
                instants.step,
                dtype=pl.Int64,
            ).alias(INSTANT)
        )
        .drop(FIRST, LAST)
        .explode(INSTANT)
    )
