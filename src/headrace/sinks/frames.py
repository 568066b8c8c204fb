"""Reports as columns that sinks write from: what was emitted, and when."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, assert_never

import numpy as np
import polars as pl

from headrace.algebra.query import Ask, Construct, Describe, Form, Select
from headrace.kernel.columns import GRAPH, INSTANT, OBJECT, PREDICATE, SUBJECT, column
from headrace.kernel.forms import TRUTH
from headrace.kernel.grid import NEVER, Times
from headrace.kernel.reports import Report
from headrace.sinks.texts import PLAIN

EMPTY: Final = "empty"
"""Whether a line stands for an evaluation that emitted nothing."""
ERROR: Final = "error"
"""Why an evaluation has no answer."""
SKIPPED: Final = "skipped"
"""Whether a line stands for an instant that was skipped."""

_SAMPLE: Final = 1_000
"""So many texts are looked at to see whether most of them differ."""


# -- what was emitted --------------------------------------------------------------------------


def term_columns(form: Form) -> dict[str, str]:
    """The columns of a report that hold terms, and what users call them."""
    match form:
        case Select(variables):
            return {column(variable): variable.name for variable in variables}
        case Ask():
            return {TRUTH: "boolean"}
        case Construct() | Describe():
            return {name: name for name in (SUBJECT, PREDICATE, OBJECT, GRAPH)}
        case _:
            assert_never(form)


def names_of_all(forms: Iterable[Form], own: Iterable[str]) -> dict[str, str]:
    """What users call the columns of all queries, each once, and what a table calls them.

    A variable that is called like one of a table's own columns keeps its question mark.

    >>> from headrace.algebra.expressions import Variable
    >>> names_of_all([Select((Variable("x"), Variable("at"))), Ask()], ["query", "at"])
    {'x': 'x', 'at': '?at', 'boolean': 'boolean'}
    """
    taken = set(own)
    names = dict.fromkeys(name for form in forms for name in term_columns(form).values())
    return {name: f"?{name}" if name in taken else name for name in names}


def emitted(report: Report, form: Form) -> pl.DataFrame:
    """A line for each row, for each instant at which nothing was emitted, and for each error.

    Columns: `instant`, the terms, `empty`, `error` and `skipped`, of which one says why there is no
    row. By instant, and then as they were emitted.
    """
    names = list(term_columns(form))
    schema = {INSTANT: pl.Int64, **dict.fromkeys(names, pl.String)}
    rows = pl.DataFrame(schema=schema) if report.rows.is_empty() else report.rows
    rows = pl.DataFrame([rows[name] for name in schema])
    if isinstance(form, Ask):
        rows = rows.unique(INSTANT, keep="first", maintain_order=True)
    if report.errors:
        rows = rows.filter(~pl.col(INSTANT).is_in(list(report.errors)))
    others = _without_rows(report, rows[INSTANT])
    rows = rows.hstack([each.new_from_index(0, rows.height) for each in _NONE_OF_THEM])
    every = rows if others.is_empty() else pl.concat([rows, others], how="diagonal")
    in_order = every[INSTANT].is_sorted()
    return every if in_order else every.sort(INSTANT, maintain_order=True)


_NONE_OF_THEM: Final = (
    pl.Series(EMPTY, [False], pl.Boolean),
    pl.Series(ERROR, [None], pl.String),
    pl.Series(SKIPPED, [False], pl.Boolean),
)


def _without_rows(report: Report, answered: pl.Series) -> pl.DataFrame:
    places = np.setdiff1d(np.arange(len(report)), answered.to_numpy())
    errors = pl.Series(ERROR, [report.errors.get(each) for each in places.tolist()], pl.String)
    instants = pl.Series(INSTANT, places, pl.Int64)
    skipped = instants.is_in(list(report.skipped)).alias(SKIPPED)
    return pl.DataFrame([instants, (errors.is_null() & ~skipped).alias(EMPTY), errors, skipped])


def by_distinct(texts: pl.Series, convert: Callable[[pl.Series], pl.Series]) -> pl.Series:
    """What becomes of a column of texts; null stays null.

    Each text is converted once, unless there are so many that to find them again costs more.
    """
    sample = texts[:_SAMPLE]
    if texts.len() > _SAMPLE and 2 * sample.n_unique() > _SAMPLE:
        return convert(texts).alias(texts.name)
    encoded = texts.rechunk().to_arrow(compat_level=PLAIN).dictionary_encode()
    distinct = pl.Series(encoded.dictionary, dtype=pl.String)
    if 2 * distinct.len() > texts.len():
        return convert(texts).alias(texts.name)
    return convert(distinct).gather(pl.Series(encoded.indices)).alias(texts.name)


# -- when --------------------------------------------------------------------------------------


def bounds(report: Report) -> dict[str, tuple[pl.Series, pl.Series]]:
    """The openings and the closes of each window; those of one name are one. Null is none."""
    found: dict[str, tuple[Times, Times]] = {}
    for name, span in report.windows:
        opens, closes = span.opens, span.closes
        if name in found:  # NEVER is before all times: no opening wins, and no close loses
            before, after = found[name]
            opens, closes = np.minimum(opens, before), np.maximum(closes, after)
        found[name] = opens, closes
    return {name: (_moments(opens), _moments(closes)) for name, (opens, closes) in found.items()}


def _moments(times: Times) -> pl.Series:
    moments = pl.Series(times, dtype=pl.Int64)
    return moments.set(moments == NEVER, None)


def in_milliseconds(times: pl.Series, fraction: Callable[[int], str]) -> pl.Series:
    """Times in microseconds as texts in milliseconds; how those with a fraction are written."""
    texts = (times // 1000).cast(pl.String)
    broken = times % 1000 != 0
    if not broken.any():
        return texts
    distinct = times.filter(broken).unique()
    written = pl.Series([fraction(time) for time in distinct.to_list()], dtype=pl.String)
    return times.replace_strict(distinct, written, default=texts, return_dtype=pl.String)
