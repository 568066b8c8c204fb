"""Which tokens are times and terms, looked at once for each distinct token."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from headrace.errors import DataError
from headrace.rdf import ids
from headrace.rdf.columns_tokens import Flags
from headrace.rdf.lines import LineReader
from headrace.rdf.terms import canonical
from headrace.rdf.times import microseconds

Ids = npt.NDArray[np.int64]

SUBJECT: Final = "subject"
PREDICATE: Final = "predicate"
OBJECT: Final = "object"
GRAPH: Final = "graph"
TOKEN: Final = "token"

# Tokens of these forms every reader takes, and each is the canonical text of its term. What is
# no less common but harder to be sure of (other IRIs, languages, escapes) is asked of the reader.
_PART: Final = r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*"
_TAIL: Final = r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/?]|%[0-9A-Fa-f]{2})*"
_AUTHORITY: Final = r"//(?:[A-Za-z0-9.\-]+(?::[0-9]+)?)?"
_PATH: Final = rf"{_AUTHORITY}(?:/{_PART})?|/?[A-Za-z0-9\-._~!$&'()*+,;=:@]{_PART}"
_IRI: Final = rf"<[A-Za-z][A-Za-z0-9+.\-]*:(?:{_PATH})?(?:\?{_TAIL})?(?:#{_TAIL})?>"
_BLANK: Final = r"_:[A-Za-z0-9_](?:[A-Za-z0-9_.\-]*[A-Za-z0-9_\-])?"
_LITERAL: Final = rf'"[^"\\\x00-\x1f\x7f]*"(?:@[a-z]{{2,3}}(?:-[a-z]{{2}})?|\^\^{_IRI})?'
PLAIN: Final = {
    SUBJECT: rf"^(?:{_IRI}|{_BLANK})$",
    PREDICATE: rf"^{_IRI}$",
    OBJECT: rf"^(?:{_IRI}|{_BLANK}|{_LITERAL})$",
    GRAPH: rf"^(?:{_IRI}|{_BLANK})$",
}
DATATYPE_BESIDE_THE_RULE: Final = "tring>"
"""What xsd:string ends with, which is not written, and rdf:langString, which needs a language."""

_CODE: Final = r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}"
_SOME_IRI: Final = rf"<(?:[^\x00-\x20<>\"{{}}|^`\\]|{_CODE})*>"
_SOME_STRING: Final = rf"\"(?:[^\"\\\n\r]|\\[tbnrf\"'\\]|{_CODE})*\""
_SOME_TERM: Final = rf"^(?:{_SOME_IRI}|{_SOME_STRING}(?:@[A-Za-z0-9\-]+|\^\^{_SOME_IRI})?)$"
"""What is one token to every reader, whatever it may think of it."""
_READ_BY_ANOTHER: Final = r"<<|@[A-Za-z0-9\-]*--"
"""A line with one of these goes to the reader of quoted triples, whose rules are others."""
_AT: Final = {
    SUBJECT: "{} <x:p> <x:o> .",
    PREDICATE: "<x:s> {} <x:o> .",
    OBJECT: "<x:s> <x:p> {} .",
    GRAPH: "<x:s> <x:p> <x:o> {} .",
}

_WHOLE: Final = r"^-?[0-9]{1,15}$"
_INSTANT: Final = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?Z?$"
)
"""The most common form of ISO 8601."""
_INSTANT_FORMAT: Final = "%Y-%m-%dT%H:%M:%S%.f"
_MILLISECOND: Final = 1000
_VERY_FEW: Final = 16
_FEW: Final = 256
"""So few tokens are looked at one by one: that is faster than to have them looked at at once."""
_SEEN: Final = defaultdict[tuple[str, int], set[str]](set)
"""Tokens that were found to be plain at a place: those of small steps come again and again."""
_MOST_SEEN: Final = 20_000
_WHOLE_TIME: Final = (
    pl.when(pl.col(TOKEN).str.contains(_WHOLE)).then(pl.col(TOKEN)).cast(pl.Int64) * _MILLISECOND
)


@dataclass(frozen=True, slots=True)
class Terms:
    """What distinct tokens are.

    Attributes:
        texts: the canonical texts of the terms; null for what has to be read with its line.
        ids: their ids; 0 where there is none.
        known: which have a text.
        odd: which have been read, alone, by the reader.
    """

    texts: pl.Series
    ids: Ids
    known: Flags
    odd: Flags


def read_terms(
    tokens: pl.Series, place: str, reader: LineReader, longest: int, seed: int = 0
) -> Terms:
    """The terms of distinct tokens that stand at one place of statements.

    Args:
        tokens: what stands there.
        place: subject, predicate, object or graph.
        reader: who is asked about terms that are not plain.
        longest: how long a literal may be; longer ones are not plain.
        seed: of the ids.
    """
    plain = _plain(tokens, place, longest)
    if plain.all():
        return Terms(tokens, text_ids(tokens, seed), plain, ~plain)
    odd = ~plain & tokens.str.contains(_SOME_TERM).to_numpy()
    read = [_read(token, place, reader) for token in tokens.filter(odd)]
    texts = tokens.set(pl.Series(~plain), None)
    texts = texts.scatter(np.flatnonzero(odd), pl.Series(read, dtype=pl.String))
    known = texts.is_not_null().to_numpy()
    ids = np.zeros(len(tokens), np.int64)
    ids[known] = text_ids(texts.drop_nulls(), seed)
    return Terms(texts, ids, known, odd)


def _plain(tokens: pl.Series, place: str, longest: int) -> Flags:
    """Which tokens are canonical texts of terms that may stand at a place."""
    few = tokens.to_list() if len(tokens) <= _FEW else []
    known = _SEEN[place, longest]
    if few and known.issuperset(few):
        return np.ones(len(few), np.bool_)
    plain = tokens.to_frame(TOKEN).select(_is_plain(place, longest)).to_series().to_numpy()
    if len(known) > _MOST_SEEN:
        known.clear()
    known.update(token for token, flag in zip(few, plain, strict=False) if flag)
    return plain


@cache
def _is_plain(place: str, longest: int) -> pl.Expr:
    """Whether a token is the canonical text of a term that may stand at a place."""
    token = pl.col(TOKEN)
    plain = token.str.contains(PLAIN[place])
    if place != OBJECT:
        return plain
    # A literal has fewer characters than its token has bytes.
    short = token.str.len_bytes() <= longest
    return plain & short & ~token.str.ends_with(DATATYPE_BESIDE_THE_RULE)


def change_reading(tokens: pl.Series) -> Flags:
    """Which tokens make another reader read the line, so that odd tokens may mean other terms."""
    return tokens.str.contains(_READ_BY_ANOTHER).to_numpy()


def _read(token: str, place: str, reader: LineReader) -> str | None:
    try:
        quad = reader.statement(_AT[place].format(token))
    except DataError:
        return None
    return None if quad is None else canonical(getattr(quad, place))


def text_ids(texts: pl.Series, seed: int = 0) -> Ids:
    """The ids of terms that are no quoted triples, by their canonical texts.

    >>> text_ids(pl.Series(["<http://example.org/a>"]))
    array([2104508240554106038])
    """
    return ids.text_ids(texts.cast(pl.Binary).to_list(), seed)


def read_times(tokens: pl.Series) -> pl.Series:
    """The microseconds that distinct tokens stand for; null for what is no time.

    >>> read_times(pl.Series(["1", "-2", "0.5", "1970-01-02", "now"])).to_list()
    [1000, -2000, 500, 86400000000, None]
    """
    if len(tokens) <= _VERY_FEW:
        return pl.Series([_time(token) for token in tokens.to_list()], dtype=pl.Int64)
    found = tokens.to_frame(TOKEN).select(_WHOLE_TIME).to_series()
    if found.has_nulls():
        found = found.zip_with(found.is_not_null(), _instants(tokens))
    if not found.has_nulls():
        return found
    others = [_time(token) for token in tokens.filter(found.is_null())]
    return found.scatter(found.is_null().arg_true(), pl.Series(others, dtype=pl.Int64))


def _instants(tokens: pl.Series) -> pl.Series:
    """The microseconds that tokens in the most common form of ISO 8601 stand for."""
    common = pl.when(pl.col(TOKEN).str.contains(_INSTANT)).then(TOKEN).str.strip_suffix("Z")
    instants = common.str.to_datetime(_INSTANT_FORMAT, time_unit="us", strict=False)
    return tokens.to_frame(TOKEN).select(instants.cast(pl.Int64)).to_series()


def _time(token: str) -> int | None:
    try:
        return microseconds(token)
    except ValueError:
        return None
