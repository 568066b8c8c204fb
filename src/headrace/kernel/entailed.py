"""What follows from statements in columns, put beside them: in their element, graph and time."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from headrace.kernel.columns import (
    ID,
    OBJECT,
    POSITION,
    PREDICATE,
    STATEMENT,
    SUBJECT,
    TERMS,
    TEXT,
)
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.log import Elements
from headrace.kernel.values import KIND, Kind
from headrace.reasoning.tables import Entailed, Flags, Ids, IsLiteral, Tables

_TERM_PLACES: Final = (SUBJECT, PREDICATE, OBJECT)


def entailed(
    statements: pl.DataFrame, tables: Tables, is_literal: IsLiteral, place: str | None = None
) -> pl.DataFrame:
    """The statements that follow from others and are not among them, each once.

    What follows has all that its cause has besides the triple: its graph, its element, its time.

    Args:
        statements: columns of ids, and whatever they have besides.
        tables: what follows.
        is_literal: says which terms are literals.
        place: the column that says which element a statement is of, if there are elements; what
            is stated in one may follow in another.
    """
    found = tables.entailed(*_terms(statements), is_literal)
    if len(found) == 0:
        return statements.clear()
    if place is not None and _is_new(statements, found, tables, place):
        return _made(statements, found)
    return _once(statements, found, tables, place)


def _terms(statements: pl.DataFrame) -> tuple[Ids, Ids, Ids]:
    subjects, predicates, objects = (statements[name].to_numpy() for name in _TERM_PLACES)
    return subjects, predicates, objects


def _made(statements: pl.DataFrame, found: Entailed) -> pl.DataFrame:
    """All that was found, with what its causes have besides the triple."""
    causes = pl.Series(found.rows)
    terms = dict(zip(_TERM_PLACES, (found.subjects, found.predicates, found.objects), strict=True))
    return pl.DataFrame(
        [
            pl.Series(name, terms[name]) if name in terms else statements[name].gather(causes)
            for name in statements.columns
        ]
    )


def _once(
    statements: pl.DataFrame, found: Entailed, tables: Tables, place: str | None
) -> pl.DataFrame:
    """What follows from statements, each once, without what they state."""
    key = [*STATEMENT] if place is None else [place, *STATEMENT]
    once = _made(statements, found).unique(subset=key, keep="first", maintain_order=True)
    stated = statements.select(key).filter(
        np.isin(statements[PREDICATE].to_numpy(), tables.brought)
    )
    return once.join(stated, on=key, how="anti", nulls_equal=True, maintain_order="left")


def _is_new(statements: pl.DataFrame, found: Entailed, tables: Tables, place: str) -> bool:
    """Whether all that was found is there once, and is not stated.

    From one statement that is an element of its own nothing follows in two ways, nor what it
    states.
    """
    if tables.recursive:
        return False
    places = statements[place].to_numpy()
    subjects, _, objects = _terms(statements)
    round_ = (subjects[found.rows] == objects[found.rows]).any()
    return not round_ and bool((places[1:] > places[:-1]).all())


def beside(statements: pl.DataFrame, more: pl.DataFrame, place: str) -> pl.DataFrame:
    """Statements with others of the same elements, each after those that its element has stated.

    Args:
        statements: in the order of their elements.
        more: what follows from them.
        place: the column that says which element a statement is of.
    """
    if more.is_empty():
        return statements
    both = pl.concat([statements, more])
    # Stable, and of two parts that are almost in order: that is quick.
    order = np.argsort(both[place].to_numpy(), kind="stable")
    return both[order]


def all_entailed(statements: pl.DataFrame, tables: Tables, dictionary: Dictionary) -> pl.DataFrame:
    """Statements that are of no element, with what follows from them; the dictionary learns it."""
    more = entailed(statements, tables, literals_of(dictionary))
    learn(tables, more, dictionary)
    return pl.concat([statements, more])


def with_entailed(
    statements: pl.DataFrame, tables: Tables, dictionary: Dictionary
) -> tuple[pl.DataFrame, Elements]:
    """Statements of elements with what follows from them, and the elements as they were stated."""
    elements = Elements.of(statements)
    found = tables.entailed(*_terms(statements), literals_of(dictionary))
    if len(found) == 0:
        return statements, elements
    if _is_new(statements, found, tables, POSITION):
        _learn_found(tables, found, dictionary)
        return _beside_causes(statements, found), elements
    more = _once(statements, found, tables, POSITION)
    learn(tables, more, dictionary)
    return beside(statements, more, POSITION), elements


def _beside_causes(statements: pl.DataFrame, found: Entailed) -> pl.DataFrame:
    """Statements that are elements of their own, each with what follows from it after it."""
    rows = np.concatenate([np.arange(statements.height), found.rows])
    order = np.argsort(rows, kind="stable")
    causes = pl.Series(rows[order])
    both = zip(_terms(statements), (found.subjects, found.predicates, found.objects), strict=True)
    terms = {
        name: pl.Series(name, np.concatenate(each)[order])
        for name, each in zip(_TERM_PLACES, both, strict=True)
    }
    columns = (terms.get(each.name) for each in statements.get_columns())
    pairs = zip(columns, statements.get_columns(), strict=True)
    return pl.DataFrame([old.gather(causes) if new is None else new for new, old in pairs])


def stated(statements: pl.DataFrame, elements: Elements) -> pl.DataFrame:
    """Statements of elements without what follows from them, which stands after them."""
    positions = statements[POSITION].to_numpy()
    if positions.size == 0 or len(elements) == 0:
        return statements
    starts = np.searchsorted(positions, positions)
    places, known = elements.places(positions)
    kept = ~known | (np.arange(positions.size) - starts < elements.sizes[places])
    return statements.filter(kept)


def learn(tables: Tables, more: pl.DataFrame, dictionary: Dictionary) -> None:
    """Have a dictionary know the terms that entailed statements bring."""
    if not more.is_empty():
        dictionary.learn(terms_of(tables, more))


def _learn_found(tables: Tables, found: Entailed, dictionary: Dictionary) -> None:
    used = {*np.unique(found.predicates).tolist(), *np.unique(found.objects).tolist()}
    dictionary.learn_texts({each: tables.texts[each] for each in used if each in tables.texts})


def terms_of(tables: Tables, more: pl.DataFrame) -> pl.DataFrame:
    """The terms that entailed statements bring; of them, those of the schema."""
    used = np.unique(np.concatenate([more[name].to_numpy() for name in (PREDICATE, OBJECT)]))
    brought = used[np.isin(used, tables.known)].tolist()
    columns = {ID: brought, TEXT: [tables.texts[each] for each in brought]}
    return pl.DataFrame(columns, schema=TERMS)


def literals_of(dictionary: Dictionary) -> IsLiteral:
    """Which terms of a dictionary are literals."""

    def is_literal(ids: Ids) -> Flags:
        kinds = dictionary.values_of(pl.Series(ID, ids))[KIND].to_numpy()
        return kinds > Kind.QUOTED

    return is_literal


def literals_among(terms: pl.DataFrame) -> IsLiteral:
    """Which of some terms are literals, by their texts."""

    def is_literal(ids: Ids) -> Flags:
        literal = terms.filter(pl.col(TEXT).str.starts_with('"'))[ID]
        return np.isin(ids, literal.to_numpy())

    return is_literal
