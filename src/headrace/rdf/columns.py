"""Timed N-Quads as columns of ids, many lines at a time.

The meaning is that of :func:`headrace.rdf.timed.read_timed`, to the last error message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from headrace.errors import DataError
from headrace.rdf.canonical import read_term
from headrace.rdf.columns_few import FewLines
from headrace.rdf.columns_lines import (
    ID,
    START,
    STATEMENT,
    TEXT,
    TIME,
    Reading,
    distinct_terms,
    few_rows,
    in_id_order,
    no_graphs,
)
from headrace.rdf.columns_terms import GRAPH, OBJECT, PREDICATE, SUBJECT, text_ids
from headrace.rdf.columns_tokens import Flags
from headrace.rdf.ids import term_id
from headrace.rdf.lines import line_starts, with_newlines
from headrace.rdf.options import DEFAULT_OPTIONS, OnError, ReadOptions, report
from headrace.rdf.terms import BlankNode, QuotedTriple, Term, canonical

POSITION: Final = "position"
SIZE: Final = "size"

_SCOPED: Final = (GRAPH, SUBJECT, OBJECT)
"""Where a blank node may stand."""
_SCOPE: Final = "scope"
_STEM: Final = "stem"
_NEW: Final = "new"
_FEW: Final = 256
"""So few terms are looked at one by one."""


@dataclass(frozen=True)
class TimedColumns:
    """What a part of a stream says, as columns.

    Attributes:
        statements: for each the position of its element among all elements and heartbeats, the
            time in microseconds, and the ids of its terms; a null graph is the default graph.
        elements: the time of each element or heartbeat, and how many statements it has.
        told: the terms: the id and the canonical text of each, once; not of the parts of quoted
            triples. If they are few and none of them is a quoted triple, the texts by their ids.
        messages: the number of the message of each element or heartbeat; without it, each of them
            is a message of its own.
        unread: how many messages could not be read at all.
    """

    statements: pl.DataFrame
    elements: pl.DataFrame
    told: pl.DataFrame | Mapping[int, str]
    messages: pl.Series | None = None
    unread: int = 0

    @cached_property
    def terms(self) -> pl.DataFrame:
        """The id and the text of each term."""
        return self.told if isinstance(self.told, pl.DataFrame) else in_id_order(self.told)


def read_timed_columns(  # noqa: PLR0913 - all but the first have a default
    data: bytes,
    *,
    seed: int = 0,
    prefix: str = "",
    per_stream: bool = False,
    name: str | None = None,
    options: ReadOptions = DEFAULT_OPTIONS,
    on_error: OnError = None,
    first_byte: int = 0,
    first_line: int = 1,
) -> TimedColumns:
    r"""Read the elements of a stream, in the order of its lines.

    >>> found = read_timed_columns(b"1.5\t<x:a> <x:b> _:c .\n2\n")
    >>> found.elements.rows()
    [(1500, 1), (2000, 0)]
    >>> found.terms["text"].sort().to_list()
    ['<x:a>', '<x:b>', '_:0.c']

    Args:
        data: characters in UTF-8.
        seed: of the ids.
        prefix: put before the labels of blank nodes, with a dot, unless it is empty.
        per_stream: whether a label means the same node in all elements; else each element has
            its own nodes, named after the byte at which its first line begins.
        name: what the stream is called in errors.
        options: star mode and limits; the limit on size is for each line.
        on_error: who is told of each bad line; the others are still read.
        first_byte: where the text begins in what it is a part of.
        first_line: the number of its first line there, for errors.

    Raises:
        DataError: at the first bad line, if there is no ``on_error``; or two terms have one id.
    """
    text = with_newlines(data)
    unread = 0

    def tell(error: DataError) -> None:
        nonlocal unread
        unread += 1
        report(error, on_error)

    reading = Reading(name, options, tell, seed)
    few = reading.few(text)
    if few is not None and not few.has_blank_nodes:
        return replace(_few_columns(few), unread=unread)
    rows, terms = few_rows(few) if few is not None else reading.rows_of_many(text, first_line)
    begins = line_begins(rows)

    def scopes() -> pl.Series:
        return first_starts(_in_data(rows[START], data, text), begins) + first_byte

    rows, terms = in_scopes(rows, terms, None if per_stream else scopes, prefix, seed)
    return replace(timed_columns(rows, begins, terms), unread=unread)


def _few_columns(few: FewLines) -> TimedColumns:
    """What a few lines say, each of which is an element."""
    times, number = pl.Series(TIME, few.times), few.times.size
    ids = [pl.Series(place, few.ids[place]) for place in (SUBJECT, PREDICATE, OBJECT)]
    positions = pl.Series(POSITION, np.arange(number))
    statements = pl.DataFrame([positions, times, no_graphs(number), *ids])
    elements = pl.DataFrame([times, pl.Series(SIZE, np.ones(number, np.int64))])
    return TimedColumns(statements, elements, few.texts)


def timed_columns(rows: pl.DataFrame, begins: Flags, terms: pl.DataFrame) -> TimedColumns:
    """What lines say whose blank nodes have been told apart.

    Args:
        rows: the lines, in order.
        begins: whether each begins an element.
        terms: those of the lines.
    """
    return TimedColumns(_statements(rows, begins), _elements(rows, begins), terms)


def in_scopes(
    rows: pl.DataFrame,
    terms: pl.DataFrame,
    scopes: Callable[[], pl.Series] | None,
    prefix: str,
    seed: int,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Lines and their terms with blank nodes called after their scopes.

    Args:
        rows: the lines.
        terms: all terms of the lines.
        scopes: tells the scope of each line, if need be; without it, all are in the same.
        prefix: put before all labels, with a dot, unless it is empty.
        seed: of the ids.
    """
    if (scopes is None and not prefix) or (terms.height <= _FEW and not _has_local(terms)):
        return rows, terms
    local = terms[TEXT].str.starts_with("_:") | terms[TEXT].str.starts_with("<<")
    if not local.any():
        return rows, terms
    scope = pl.repeat(0, rows.height, eager=True) if scopes is None else scopes()
    stem = _stem(prefix, per_stream=scopes is None)
    return _scoped(rows.with_columns(scope.alias(_SCOPE)), terms, local, stem, seed)


def _has_local(terms: pl.DataFrame) -> bool:
    """Whether there are blank nodes among some terms, or what may have them in it."""
    return any(text.startswith(("_:", "<<")) for text in terms[TEXT].to_list())


def _in_data(starts: pl.Series, data: bytes, text: bytes) -> pl.Series:
    """Where lines start in the data, by where they start in the text made of them."""
    if b"\r" not in data:
        return starts + (len(data) - len(text))
    lines = np.searchsorted(line_starts(text), starts.to_numpy())
    return pl.Series(np.array(line_starts(data))[lines])


def line_begins(rows: pl.DataFrame) -> Flags:
    """Whether each line begins an element, or is of the same one as the line before it."""
    begins = np.ones(rows.height, np.bool_)
    graph = rows[GRAPH]
    if graph.null_count() < rows.height:
        time, known = rows[TIME].to_numpy(), graph.is_not_null().to_numpy()
        graphs = graph.fill_null(0).to_numpy()
        same = (time[1:] == time[:-1]) & (graphs[1:] == graphs[:-1])
        begins[1:] = ~(same & known[1:] & known[:-1])
    return begins


def _elements(rows: pl.DataFrame, begins: Flags) -> pl.DataFrame:
    """One row for each element or heartbeat."""
    first = np.flatnonzero(begins)
    size = np.diff(first, append=rows.height)
    if rows[SUBJECT].null_count():
        size[rows[SUBJECT].is_null().to_numpy()[first]] = 0
    return pl.DataFrame([pl.Series(TIME, rows[TIME].to_numpy()[first]), pl.Series(SIZE, size)])


def _statements(rows: pl.DataFrame, begins: Flags) -> pl.DataFrame:
    position = pl.Series(POSITION, np.cumsum(begins) - 1)
    statements = pl.DataFrame([position, rows[TIME], *(rows[name] for name in STATEMENT)])
    subjects = rows[SUBJECT]
    return statements.filter(subjects.is_not_null()) if subjects.null_count() else statements


def first_starts(starts: pl.Series, begins: Flags) -> pl.Series:
    """Where the first line of the element of each line starts."""
    return pl.Series(starts.to_numpy()[np.flatnonzero(begins)][np.cumsum(begins) - 1])


def _stem(prefix: str, *, per_stream: bool) -> pl.Expr:
    """What is put before the labels of a scope."""
    stem = pl.lit(f"{prefix}." if prefix else "")
    return stem if per_stream else pl.concat_str(stem, pl.col(_SCOPE).cast(pl.String), pl.lit("."))


def _scoped(
    rows: pl.DataFrame, terms: pl.DataFrame, local: pl.Series, stem: pl.Expr, seed: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The same with blank nodes, also those in quoted triples, called after their scopes.

    Args:
        rows: with the scope of each.
        terms: all terms of the rows.
        local: which terms are, or may contain, a blank node.
        stem: what a scope puts before labels.
        seed: of the ids.
    """
    ours = terms.filter(local)
    uses = pl.concat([rows.select(_SCOPE, pl.col(name).alias(ID)) for name in _SCOPED])
    uses = uses.join(ours, on=ID, how="semi").unique().join(ours, on=ID)
    uses = uses.with_columns(_renamed(uses.with_columns(stem.alias(_STEM)), seed))
    for name in _SCOPED:
        new = uses.select(_SCOPE, pl.col(ID).alias(name), _NEW)
        rows = rows.join(new, on=[_SCOPE, name], how="left", maintain_order="left")
        rows = rows.with_columns(pl.coalesce(_NEW, name).alias(name)).drop(_NEW)
    renamed = uses.select(pl.col(_NEW).alias(ID), TEXT)
    return rows, distinct_terms(pl.concat([terms.filter(~local), renamed]))


def _renamed(uses: pl.DataFrame, seed: int) -> list[pl.Series]:
    """The ids and the texts of terms in their scopes."""
    label = pl.col(TEXT).str.strip_prefix("_:")
    texts = uses.select(pl.concat_str(pl.lit("_:"), _STEM, label).alias(TEXT)).to_series()
    ids = pl.Series(_NEW, text_ids(texts, seed))
    quoted = uses[TEXT].str.starts_with("<<")
    if quoted.any():
        pairs = uses.filter(quoted).select(TEXT, _STEM).iter_rows()
        found = [_labelled(read_term(text), stem) for text, stem in pairs]
        where = quoted.arg_true()
        texts = texts.scatter(where, pl.Series([canonical(term) for term in found]))
        ids = ids.scatter(where, pl.Series([term_id(term, seed) for term in found]))
    return [ids, texts]


def _labelled(term: Term, stem: str) -> Term:
    """A term with something put before the labels of its blank nodes."""
    match term:
        case BlankNode(label):
            return BlankNode(stem + label)
        case QuotedTriple(subject, predicate, object_):
            return QuotedTriple(
                _labelled(subject, stem), _labelled(predicate, stem), _labelled(object_, stem)
            )
        case _:
            return term
