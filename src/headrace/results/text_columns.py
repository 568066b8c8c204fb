"""Columns of typed values made of columns of canonical texts, without making terms.

Only texts with escapes are read as terms, each of which is rare in results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from headrace.rdf.canonical import read_term
from headrace.rdf.terms import Literal, Term, canonical
from headrace.rdf.vocabulary import RDF_LANG_STRING, XSD_STRING
from headrace.results.frames import plain_text, typed_column

_LITERAL: Final = '"'
_TAIL: Final = r'"([^"]*)$'
"""What follows the last quotation mark of a literal: its datatype, its language or nothing."""
_LEXICAL: Final = r'(?s)^"(.*)"[^"]*$'
_IRI: Final = r"(?s)^<((?:[^<].*)?)>$"
"""Quoted triples begin with two of the brackets."""
_ESCAPE: Final = "\\"


def typed_frame(texts: pl.DataFrame) -> pl.DataFrame:
    """Make typed values of canonical texts, with the types of :func:`headrace.results.to_polars`.

    >>> typed_frame(pl.DataFrame({"n": ['"7"^^<http://www.w3.org/2001/XMLSchema#integer>']}))["n"][
    ...     0
    ... ]
    7
    """
    return pl.DataFrame([_typed(column) for column in texts.get_columns()])


def text_frame(columns: Mapping[str, Sequence[Term | None]]) -> pl.DataFrame:
    """Write terms as canonical texts."""
    return pl.DataFrame(
        [
            pl.Series(name, [term and canonical(term) for term in terms], pl.String)
            for name, terms in columns.items()
        ]
    )


def _typed(texts: pl.Series) -> pl.Series:
    return typed_column(_plain_texts(texts), _datatypes(texts))


def _datatypes(texts: pl.Series) -> frozenset[str | None]:
    """Find the datatypes of a column; None stands for terms that are no literals."""
    known = texts.drop_nulls()
    literals = known.filter(known.str.starts_with(_LITERAL))
    found: set[str | None] = {_datatype(tail) for tail in literals.str.extract(_TAIL).unique()}
    return frozenset(found if literals.len() == known.len() else found | {None})


def _datatype(tail: str) -> str:
    """Return the datatype of a literal.

    >>> _datatype(""), _datatype("@en"), _datatype("^^<x:d>")
    ('http://www.w3.org/2001/XMLSchema#string', \
'http://www.w3.org/1999/02/22-rdf-syntax-ns#langString', 'x:d')
    """
    if not tail:
        return XSD_STRING
    if tail.startswith("@"):
        return RDF_LANG_STRING
    typed = read_term(f'""{tail}')
    assert isinstance(typed, Literal), "it is written as one"
    return typed.datatype


def _plain_texts(texts: pl.Series) -> pl.Series:
    """Return lexical forms of literals, IRIs as they are, and other terms in canonical form."""
    frame = texts.to_frame("text")
    text = pl.col("text")
    plain = frame.select(
        pl.when(text.str.starts_with(_LITERAL))
        .then(text.str.extract(_LEXICAL))
        .otherwise(pl.coalesce(text.str.extract(_IRI), text))
    ).to_series()
    escaped = texts.str.contains(_ESCAPE, literal=True).fill_null(value=False)
    if escaped.any():
        made = [plain_text(read_term(each)) for each in texts.filter(escaped)]
        plain = plain.scatter(escaped.arg_true(), made)
    return plain.alias(texts.name)
