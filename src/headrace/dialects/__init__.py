"""The languages: every dialect's text becomes one value of the algebra."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from headrace.algebra.query import Query
from headrace.algebra.walk import depth
from headrace.dialects.cqels import Cqels
from headrace.dialects.csparql import CSparql, SparqlStream
from headrace.dialects.detection import detect
from headrace.dialects.parsing import parse_tree
from headrace.dialects.profiles import PROFILES, Profile
from headrace.dialects.rspql import RspQl
from headrace.dialects.settings import profile_name
from headrace.dialects.sparql import Sparql
from headrace.dialects.text import check_characters, guard, unescaped
from headrace.dialects.translate.terms import Note
from headrace.errors import SettingError, Source, TooLargeError, listing, nearest

DIALECTS: Final = {
    "sparql": Sparql,
    "csparql": CSparql,
    "cqels": Cqels,
    "rspql": RspQl,
    "sparkwave": CSparql,
    "sparqlstream": SparqlStream,
}
EXTENSIONS: Final = {
    ".csparql": "csparql",
    ".cqels": "cqels",
    ".rspql": "rspql",
    ".rspqlstar": "rspql",
    ".sparkwave": "sparkwave",
}
"""Which dialect a file is in by its extension; others are detected from their text."""
MAX_ALGEBRA_DEPTH: Final = 300


@dataclass(frozen=True, slots=True)
class Parsed:
    """A query with what is known of its text: dialect, profile, remarks about it, and prefixes."""

    query: Query
    dialect: str
    profile: Profile
    source: Source
    notes: tuple[Note, ...] = ()
    prefixes: Mapping[str, str] = field(default_factory=dict)


def parse(
    text: str,
    dialect: str | None = None,
    *,
    name: str | None = None,
    base: str | None = None,
    settings: Mapping[str, str] | None = None,
) -> Parsed:
    """Translate a query of any dialect into the algebra, or raise a QueryError that says where.

    Args:
        text: the query.
        dialect: its dialect; detected from the text if not given.
        name: what errors call it, such as its file.
        base: what relative IRIs are resolved against before a BASE; kept as written if not given.
        settings: `--set` settings of the run, which go before the dialect's profile.
    """
    given = Source(text, name)
    check_characters(given)
    guard(given)
    source = unescaped(given)
    if source is not given:
        guard(source)  # an escape may stand for a bracket
    chosen = detect(source.text) if dialect is None else _known(dialect)
    settings = settings or {}
    profile = PROFILES[profile_name(settings) or chosen]
    translator = DIALECTS[chosen](source, profile, settings)
    translator.base = base
    try:
        query = translator.translate(parse_tree(source, translator.grammar))
    except RecursionError:
        raise TooLargeError("the query nests too deeply", source) from None
    if depth(query.pattern) > MAX_ALGEBRA_DEPTH:
        raise TooLargeError(
            f"the query needs more than {MAX_ALGEBRA_DEPTH} steps one after the other", source
        )
    notes = tuple(translator.notes)
    return Parsed(query, chosen, profile, source, notes, translator.prefixes)


def _known(dialect: str) -> str:
    if dialect not in DIALECTS:
        near = nearest(dialect, DIALECTS)
        raise SettingError(
            f"unknown dialect '{dialect}'; "
            + (f"did you mean '{near}'?" if near else f"dialects are {listing(DIALECTS, 'and')}")
        )
    return dialect
