"""Answers as data frames, for work in Polars, pandas and Arrow.

A column whose terms all have one plain type has that type: whole numbers, floats, truth values.
Numbers of several kinds, and decimals, are floats. Any other column is text: IRIs as they are,
literals by their lexical form.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Final

import polars as pl

from headrace.rdf.terms import BlankNode, Iri, Literal, QuotedTriple, Term, canonical
from headrace.rdf.vocabulary import XSD_BOOLEAN, XSD_DECIMAL, XSD_DOUBLE, XSD_FLOAT, XSD_INTEGER
from headrace.results.table import Row, Table

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_TYPES: Final[dict[str, type[pl.DataType]]] = {
    XSD_INTEGER: pl.Int64,
    XSD_DOUBLE: pl.Float64,
    XSD_FLOAT: pl.Float64,
    XSD_BOOLEAN: pl.Boolean,
}


_NUMBERS: Final[frozenset[str | None]] = frozenset(
    {XSD_INTEGER, XSD_DECIMAL, XSD_DOUBLE, XSD_FLOAT}
)


def to_polars(table: Table) -> pl.DataFrame:
    """A Polars frame with a column for each variable; unbound is null."""
    return pl.DataFrame([_column(name, terms) for name, terms in table.columns().items()])


def to_arrow(table: Table) -> pa.Table:
    """The same as an Arrow table."""
    return to_polars(table).to_arrow()


def to_pandas(table: Table) -> pd.DataFrame:
    """The same as a pandas frame."""
    return to_polars(table).to_pandas()


def _column(name: str, terms: Row) -> pl.Series:
    plain = [None if term is None else plain_text(term) for term in terms]
    kinds = {term.datatype if isinstance(term, Literal) else None for term in terms if term}
    return typed_column(pl.Series(name, plain, pl.String), kinds)


def typed_column(texts: pl.Series, kinds: AbstractSet[str | None]) -> pl.Series:
    """Give a column of plain texts the type of its terms, if they have one.

    Args:
        texts: the plain text of each term; null where it is unbound.
        kinds: the datatypes of the terms; None stands for terms that are no literals.
    """
    wanted = _TYPES.get(next(iter(kinds)) or "") if len(kinds) == 1 else None
    if kinds and kinds <= _NUMBERS and wanted is None:
        wanted = pl.Float64
    if wanted is None:
        return texts
    if wanted is pl.Boolean:
        return texts.replace_strict(
            {"true": True, "1": True, "false": False, "0": False}, default=None
        )
    typed = texts.cast(wanted, strict=False)
    # A number that the type cannot hold must not become null: then all of them stay text.
    return typed if typed.null_count() == texts.null_count() else texts


def plain_text(term: Term) -> str:
    """Return the lexical form of a literal, an IRI as it is, or the canonical text of a term."""
    match term:
        case Iri(value):
            return value
        case Literal(lexical):
            return lexical
        case BlankNode() | QuotedTriple():
            return canonical(term)
