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
    found = _of_one_kind(texts)
    plain, kinds = (_plain_texts(texts), _datatypes(texts)) if found is None else found
    return typed_column(_without_escapes(plain, texts), kinds)


def _of_one_kind(texts: pl.Series) -> tuple[pl.Series, frozenset[str | None]] | None:
    """Return the plain texts of a column and its datatype if all terms are IRIs or of one type.

    That is almost always so, and takes no search for the end of each literal.
    """
    place = texts.is_not_null().arg_max()
    first: str | None = None if place is None else texts[place]
    if first is None or first.startswith(("<<", "_")):
        return None
    if first.startswith(_LITERAL):
        start, end = _LITERAL, first[first.rindex(_LITERAL) :]
        kind: str | None = _datatype(end[1:])
    else:
        start, end, kind = "<", ">", None
        if texts.str.starts_with("<<").any():
            return None
    if not (texts.str.starts_with(start) & texts.str.ends_with(end)).all():
        return None
    return texts.str.strip_prefix(start).str.strip_suffix(end), frozenset({kind})


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
    return plain.alias(texts.name)


def _without_escapes(plain: pl.Series, texts: pl.Series) -> pl.Series:
    """Replace the plain texts of terms with escapes."""
    escaped = texts.str.contains(_ESCAPE, literal=True).fill_null(value=False)
    if not escaped.any():
        return plain
    made = [plain_text(read_term(each)) for each in texts.filter(escaped)]
    return plain.scatter(escaped.arg_true(), made)
