"""Reports of the kernel as evaluations with typed terms."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from headrace.algebra.query import Ask, Construct, Describe, Form, Select
from headrace.functions.values import TRUE
from headrace.kernel.columns import GRAPH, INSTANT, OBJECT, PREDICATE, SUBJECT
from headrace.kernel.forms import TRUTH
from headrace.kernel.reports import Report
from headrace.rdf.canonical import read_term
from headrace.rdf.terms import Quad
from headrace.results.evaluations import Bounds, Evaluation
from headrace.results.table import Row


def evaluations(report: Report, form: Form) -> Iterator[Evaluation]:
    """The evaluations of a report, one after the other."""
    found = rows_by_instant(report, form)
    variables = tuple(each.name for each in form.variables) if isinstance(form, Select) else ()
    read = cache(read_term)
    for place in range(len(report)):
        rows = [
            tuple(None if text is None else read(text) for text in texts)
            for texts in found.get(place, ())
        ]
        yield Evaluation(
            report.query,
            int(report.times[place]),
            int(report.seqs[place]),
            bounds_at(report, place),
            variables,
            rows=tuple(rows) if isinstance(form, Select) else (),
            quads=tuple(map(_quad, rows)) if isinstance(form, Construct | Describe) else (),
            boolean=_truth(rows) if isinstance(form, Ask) else None,
            error=report.errors.get(place),
        )


def _quad(row: Row) -> Quad:
    return Quad(*row)  # type: ignore[arg-type]  # only the graph may be missing


def _truth(rows: list[Row]) -> bool | None:
    return rows[0][0] == TRUE if rows else None


def rows_by_instant(report: Report, form: Form) -> dict[int, list[tuple[str | None, ...]]]:
    """The texts that were emitted, by the number of the evaluation."""
    if report.rows.is_empty():
        return {}
    if isinstance(form, Select):
        names = [f"?{each.name}" for each in form.variables]
    elif isinstance(form, Ask):
        names = [TRUTH]
    else:
        names = [SUBJECT, PREDICATE, OBJECT, GRAPH]
    found: dict[int, list[tuple[str | None, ...]]] = {}
    for instant, *texts in report.rows.select(INSTANT, *names).iter_rows():
        found.setdefault(instant, []).append(tuple(texts))
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
