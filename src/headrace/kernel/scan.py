"""Which statements match a triple pattern, and at which instants."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from headrace.algebra.expressions import PatternTerm, TriplePattern, Variable
from headrace.kernel.columns import (
    FIRST,
    GRAPH,
    ID,
    INSTANT,
    LAST,
    OBJECT,
    PREDICATE,
    SUBJECT,
    column,
    kind_of,
    number_of,
)
from headrace.kernel.data import Data, EachNamedGraph
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.solutions import Solutions
from headrace.kernel.values import KIND, NUMBER
from headrace.rdf.terms import BlankNode, Iri, Literal, QuotedTriple


@dataclass(slots=True)
class _Places:
    """Where the variables of a pattern stand, and what the rest of it asks of a statement."""

    within: str = ""
    columns: dict[str, str] = field(default_factory=dict)
    conditions: list[pl.Expr] = field(default_factory=list)
    quoted: list[tuple[str, TriplePattern]] = field(default_factory=list)

    def add(self, place: str, term: PatternTerm, dictionary: Dictionary) -> None:
        match term:
            case Variable():
                self.bind(place, column(term))
            case Iri() | BlankNode() | Literal() | QuotedTriple():
                self.conditions.append(pl.col(place) == dictionary.encode(term))
            case TriplePattern():
                hidden = f"{self.within} quoted {place}"
                self.columns[hidden] = place
                self.quoted.append((hidden, term))

    def bind(self, place: str, name: str) -> None:
        if name in self.columns:
            self.conditions.append(pl.col(place) == pl.col(self.columns[name]))
        else:
            self.columns[name] = place


def scan(
    data: Data,
    pattern: TriplePattern,
    dictionary: Dictionary,
    valued: frozenset[Variable] = frozenset(),
) -> Solutions:
    """The solutions of a triple pattern; equal triples of a graph are one.

    Kinds and numbers of the variables that are valued come along where they are at hand.
    """
    places = _Places()
    for place, term in _parts(pattern):
        if place != PREDICATE or not isinstance(term, Iri):
            places.add(place, term, dictionary)
    if isinstance(data.active, EachNamedGraph):
        places.bind(GRAPH, column(data.active.variable))
    predicate = pattern.predicate
    fixed = dictionary.encode(predicate) if isinstance(predicate, Iri) else None
    if fixed is not None and pattern.object in valued and data.quads.is_indexed:
        name = column(pattern.object)
        places.columns |= {kind_of(name): KIND, number_of(name): NUMBER}
        statements = data.quads.with_values(fixed, dictionary)
    else:
        statements = data.quads.with_predicate(fixed)
    matches = statements.filter(*data.conditions(), *places.conditions)
    found = at_instants(matches, places.columns, data.quads.instants, data.merges)
    for hidden, quoted in places.quoted:
        found = unquoted(found, hidden, quoted, dictionary)
    identified = None
    if fixed is not None and isinstance(pattern.subject, Variable) and not places.quoted:
        functional = data.quads.is_functional(fixed)
        identified = frozenset({column(pattern.subject)}) if functional else None
    return Solutions(found, data.quads.keyed, identified)


def _parts(pattern: TriplePattern) -> tuple[tuple[str, PatternTerm], ...]:
    return (SUBJECT, pattern.subject), (PREDICATE, pattern.predicate), (OBJECT, pattern.object)


def at_instants(
    matches: pl.DataFrame, columns: dict[str, str], instants: range | None, merge: bool = False
) -> pl.DataFrame:
    """Columns of matches with the instant they hold at, at each one from first to last."""
    if instants is None:
        found = matches.with_columns(pl.lit(0, pl.Int64).alias(INSTANT)).select(INSTANT, **columns)
        return found.unique() if merge else found
    first, last = (instants[0], instants[-1]) if instants else (0, -1)
    # The windows that hold a triple may overlap those that hold it again: it counts once.
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
        .explode(INSTANT)
        .select(INSTANT, **columns)
        .unique()
    )


def unquoted(
    found: pl.DataFrame, hidden: str, pattern: TriplePattern, dictionary: Dictionary
) -> pl.DataFrame:
    """Solutions in which a column holds quoted triples that match a pattern."""
    places = _Places(hidden)
    for place, term in _parts(pattern):
        places.add(place, term, dictionary)
    triples = dictionary.quoted.filter(*places.conditions).select(
        pl.col(ID).alias(hidden), **places.columns
    )
    shared = [name for name in places.columns if name in found.columns]
    joined = found.join(triples, on=[hidden, *shared], how="inner").drop(hidden)
    for deeper, quoted in places.quoted:
        joined = unquoted(joined, deeper, quoted, dictionary)
    return joined
