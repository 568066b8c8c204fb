"""Reports of the kernel as evaluations with typed terms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import pairwise

import numpy as np
import polars as pl

from headrace.algebra.query import Ask, Construct, Describe, Form, Select
from headrace.functions.values import TRUE
from headrace.kernel.columns import GRAPH, INSTANT, OBJECT, PREDICATE, SUBJECT
from headrace.kernel.forms import TRUTH
from headrace.kernel.grid import NEVER, Times
from headrace.kernel.reports import Report
from headrace.rdf.canonical import read_term
from headrace.rdf.terms import Quad
from headrace.results.evaluations import Bounds, Evaluation
from headrace.results.rows import LazyRows
from headrace.results.table import Row


def evaluations(report: Report, form: Form) -> Iterator[Evaluation]:
    """Yield the evaluations of a report; terms are decoded where they are read."""
    variables = tuple(each.name for each in form.variables) if isinstance(form, Select) else ()
    texts = _texts(report, form)
    ends = np.searchsorted(texts[INSTANT].to_numpy(), np.arange(len(report) + 1)).tolist()
    times, seqs = report.times.tolist(), report.seqs.tolist()
    selects, asks = isinstance(form, Select), isinstance(form, Ask)
    makes = isinstance(form, Construct | Describe)
    bounds = _bounds(report)
    for place, (start, end) in enumerate(pairwise(ends)):
        stretch = report.stretches.get(place)
        rows = LazyRows(
            end - start, partial(_made, texts, start, end), partial(_columns, texts, start, end)
        )
        yield Evaluation(
            report.query,
            times[place],
            seqs[place],
            next(bounds),
            variables,
            rows=rows if selects else (),
            quads=tuple(map(_quad, rows)) if makes else (),
            boolean=_truth(rows) if asks else None,
            error=report.errors.get(place),
            skipped=place in report.skipped,
            accuracy=report.accuracies.get(place),
            completeness=report.completenesses.get(place),
            since=None if stretch is None else stretch.since,
            instants=1 if stretch is None else stretch.count,
        )


def _texts(report: Report, form: Form) -> pl.DataFrame:
    """The instants and the texts of what was emitted, in the order of instants."""
    if isinstance(form, Select):
        names = [f"?{each.name}" for each in form.variables]
    elif isinstance(form, Ask):
        names = [TRUTH]
    else:
        names = [SUBJECT, PREDICATE, OBJECT, GRAPH]
    if report.rows.is_empty():
        return pl.DataFrame(schema={INSTANT: pl.Int64, **dict.fromkeys(names, pl.String)})
    found = pl.DataFrame([report.rows[name] for name in (INSTANT, *names)])
    in_order = found[INSTANT].is_sorted()
    return found if in_order else found.sort(INSTANT, maintain_order=True)


def _made(texts: pl.DataFrame, start: int, end: int) -> tuple[Row, ...]:
    """Rows of terms out of some rows of texts; a text that is there twice is read once."""
    read = cache(read_term)
    texts = texts[start:end]
    columns = [
        [None if text is None else read(text) for text in texts[name]]
        for name in texts.columns
        if name != INSTANT
    ]
    return tuple(zip(*columns, strict=True)) if columns else ((),) * texts.height


def _columns(texts: pl.DataFrame, start: int, end: int) -> pl.DataFrame:
    """Return the texts of some rows, in columns that are named as the variables are."""
    columns = [each.alias(each.name.removeprefix("?")) for each in texts[start:end].get_columns()]
    return pl.DataFrame(columns).drop(INSTANT)


def _quad(row: Row) -> Quad:
    return Quad(*row)  # type: ignore[arg-type]  # only the graph may be missing


def _truth(rows: Sequence[Row]) -> bool | None:
    return rows[0][0] == TRUE if rows else None


def _bounds(report: Report) -> Iterator[dict[str, Bounds]]:
    """The opening and the close of each window at each instant."""
    names = [name for name, _ in report.windows]
    if len(set(names)) < len(names):
        return (bounds_at(report, place) for place in range(len(report)))
    ends = [zip(_shown(span.opens), _shown(span.closes), strict=True) for _, span in report.windows]
    if not ends:
        return ({} for _ in range(len(report)))
    return (dict(zip(names, each, strict=True)) for each in zip(*ends, strict=True))


def _shown(moments: Times) -> list[int | None]:
    found: list[int | None] = moments.tolist()
    for place in np.flatnonzero(moments == NEVER).tolist():
        found[place] = None
    return found


def bounds_at(report: Report, place: int) -> dict[str, Bounds]:
    """The opening and the close of each window; those of one name are one."""
    found: dict[str, Bounds] = {}
    for name, span in report.windows:
        opens, closes = span.shown(place)
        if name in found:
            before, after = found[name]
            opens = None if opens is None or before is None else min(opens, before)
            closes = max((each for each in (closes, after) if each is not None), default=None)
        found[name] = opens, closes
    return found
