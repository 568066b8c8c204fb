"""What is reported of solutions: rows, statements or a truth value, as canonical texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from typing import Final

import polars as pl

from headrace.algebra.query import Ask, Construct, Describe, Query, Select
from headrace.algebra.scope import possible
from headrace.functions.values import FALSE, TRUE
from headrace.kernel.answer import described, made
from headrace.kernel.budget import check_hashing, check_sorting
from headrace.kernel.columns import (
    FIRST,
    GRAPH,
    INSTANT,
    LAST,
    OBJECT,
    PREDICATE,
    STATEMENT,
    SUBJECT,
    column,
)
from headrace.kernel.data import Data, Quads
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.members import MEMBER
from headrace.kernel.solutions import Solutions, complete
from headrace.kernel.table import Ids, Table
from headrace.metering import current
from headrace.rdf.terms import Quad, canonical

TRUTH = "?_:.truth"
"""The column of an ASK query's answer."""

_FEW: Final = 64

Label = Callable[[int], bytes]


def answer_frame(
    query: Query, found: Solutions, instants: range, dictionary: Dictionary
) -> pl.DataFrame:
    """The answers at each instant as rows of ids, in the order in which they are emitted."""
    match query.form:
        case Select(variables):
            names = [column(variable) for variable in variables]
            return complete(found.expanded(instants).frame, names)
        case Ask():
            present = found.expanded(instants).frame.select(INSTANT).unique()
            every = pl.DataFrame({INSTANT: list(instants)}, schema={INSTANT: pl.Int64})
            yes, no = dictionary.encode(TRUE), dictionary.encode(FALSE)
            there = pl.col(INSTANT).is_in(present[INSTANT].implode())
            truth = pl.when(there).then(pl.lit(yes, pl.Int64)).otherwise(pl.lit(no, pl.Int64))
            return every.with_columns(truth.alias(TRUTH))
        case Construct() | Describe():
            # Not what happens to have been found: answers are compared from step to step.
            names = sorted(column(variable) for variable in possible(query.pattern))
            return complete(found.expanded(instants).frame, names)


def row_texts(frame: pl.DataFrame, ordered: bool, dictionary: Dictionary) -> pl.DataFrame:
    """Rows of ids as rows of texts, by instant and then as the query orders them or by text.

    Where they are of several queries, all of one query come first.
    """
    key = [name for name in (MEMBER, INSTANT) if name in frame.columns]
    names = [name for name in frame.columns if name not in key]
    texts = dictionary.texts_of([frame[name] for name in names])
    check_texts(texts)
    by = key if ordered else [*key, *names]
    rows = pl.DataFrame([*(frame[name] for name in key), *texts])
    if rows.height <= 1:
        return rows
    if rows.height <= _FEW and not ordered:
        return _sorted_few(rows, by)
    check_sorting(() if ordered else texts, "the answer")
    return rows.sort(by, nulls_last=False, maintain_order=ordered)


def check_texts(texts: Sequence[pl.Series]) -> None:
    """Check the size of the texts of an answer, in which one term may occur many times.

    Raises:
        LimitError: they are too large.
    """
    meter = current()
    for each in texts:
        meter.make_text(int(each.str.len_bytes().sum() or 0), "the answer")


def table_texts(instants: Ids, rows: Table, ordered: bool, dictionary: Dictionary) -> pl.DataFrame:
    """The same for rows that are all bound, each of which is of an instant."""
    if rows.height > _FEW or ordered:
        frame = pl.DataFrame([pl.Series(INSTANT, instants), *rows.frame().get_columns()])
        return row_texts(frame, ordered, dictionary)
    columns = [dictionary.few_texts(each.tolist()) for each in rows.columns.values()]
    every = sorted(zip(instants.tolist(), *columns, strict=True))
    in_order = zip(*every, strict=True) if every else iter([(), *columns])
    told = pl.Series(INSTANT, next(in_order), dtype=pl.Int64)
    named = zip(rows.columns, in_order, strict=True)
    return pl.DataFrame([told, *(pl.Series(name, each, dtype=pl.String) for name, each in named)])


def _sorted_few(rows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """A few rows in order: one by one that takes less than to have a library do it."""
    keys = list(zip(*(rows[name].to_list() for name in by), strict=True))
    order = sorted(
        range(rows.height), key=lambda row: [(each is not None, each) for each in keys[row]]
    )
    return rows if order == list(range(rows.height)) else rows[order]


def statement_texts(
    form: Construct | Describe,
    frame: pl.DataFrame,
    data: Data,
    dictionary: Dictionary,
    label: Label,
) -> pl.DataFrame:
    """The statements that are emitted at each instant, each once, in the order of their texts."""
    rows = (
        _constructed(form, frame, dictionary, label)
        if isinstance(form, Construct)
        else _described(form, frame, data, dictionary)
    )
    meter, texts = current(), []
    for instant, quad in rows:
        row = _texts(quad)
        meter.make_text(sum(len(text) for text in row if text is not None), "the answer")
        texts.append((instant, *row))
    check_hashing(len(texts), "the answer")
    schema = {INSTANT: pl.Int64, **dict.fromkeys(STATEMENT, pl.String)}
    return (
        pl.DataFrame(texts, schema=schema, orient="row")
        .unique()
        .sort(INSTANT, GRAPH, SUBJECT, PREDICATE, OBJECT, nulls_last=False)
    )


def _texts(quad: Quad) -> tuple[str | None, str, str, str]:
    graph = None if quad.graph is None else canonical(quad.graph)
    return graph, canonical(quad.subject), canonical(quad.predicate), canonical(quad.object)


def _constructed(
    form: Construct, frame: pl.DataFrame, dictionary: Dictionary, label: Label
) -> Iterator[tuple[int, Quad]]:
    """What the template makes of each row; its blank nodes follow from the row alone."""
    names = [name for name in frame.columns if name != INSTANT]
    columns = [dictionary.terms(frame[name]) for name in names]
    meter = current()
    seen: dict[tuple[object, ...], int] = {}
    for position, instant in enumerate(frame[INSTANT].to_list()):
        meter.step()
        terms = {name: values[position] for name, values in zip(names, columns, strict=True)}
        key = (label(instant), *terms.values())
        count = seen[key] = seen.get(key, -1) + 1
        shown = [None if term is None else canonical(term) for term in terms.values()]
        scope = blake2b(repr((key[0], shown, count)).encode(), digest_size=8).hexdigest()
        for template in form.template:
            quad = made(template, terms, scope)
            if quad is not None:
                yield instant, quad


def _described(
    form: Describe, frame: pl.DataFrame, data: Data, dictionary: Dictionary
) -> Iterator[tuple[int, Quad]]:
    """What is known at an instant of the resources in its rows."""
    for (instant,), rows in frame.partition_by(INSTANT, as_dict=True).items():
        then = _at(data, int(str(instant)))
        for quad in described(form.targets, Solutions(rows), then, dictionary):
            yield int(str(instant)), quad


def _at(data: Data, instant: int) -> Data:
    """The data of one instant, as if there were no other."""
    below = [] if data.beneath is None else [data.beneath.statements().select(*STATEMENT)]
    own = data.statements()
    if data.keyed:
        own = own.filter(pl.col(FIRST) <= instant, pl.col(LAST) >= instant)
    frame = pl.concat([own.select(*STATEMENT), *below]).with_columns(
        pl.lit(None, pl.Int64).alias(GRAPH)
    )
    return Data(Quads(frame.unique()))
