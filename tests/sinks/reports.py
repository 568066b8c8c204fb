"""Reports for tests of sinks: written out, and random ones of every form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import polars as pl
from hypothesis import strategies as st

from headrace.algebra.expressions import Variable
from headrace.algebra.query import Ask, Construct, Describe, Form, Select
from headrace.functions.values import FALSE, TRUE
from headrace.kernel.columns import INSTANT
from headrace.kernel.grid import NEVER
from headrace.kernel.instants import Span
from headrace.kernel.reports import Report
from headrace.rdf.terms import Term, canonical
from headrace.sinks.frames import term_columns
from tests.rdf import test_rdf_round_trips as readable
from tests.results.values import terms, texts

Rows = Sequence[tuple[int, tuple[Term | None, ...]]]
"""The number of an evaluation, and what it emitted."""
Windows = Sequence[tuple[str, Sequence[int], Sequence[int]]]
"""A name, and the openings and closes."""

SELECT = Select((Variable("x"), Variable("y")))


def report(  # noqa: PLR0913 - a report has as many parts
    form: Form,
    times: Sequence[int],
    rows: Rows = (),
    *,
    query: str = "q",
    seqs: Sequence[int] | None = None,
    windows: Windows = (),
    errors: Mapping[int, str] | None = None,
    skipped: Iterable[int] = (),
) -> Report:
    names = list(term_columns(form))
    columns = {
        name: [None if row[place] is None else canonical(row[place]) for _, row in rows]  # type: ignore[arg-type]  # what is None is not asked for
        for place, name in enumerate(names)
    }
    frame = pl.DataFrame(
        {INSTANT: [instant for instant, _ in rows], **columns},
        schema={INSTANT: pl.Int64, **dict.fromkeys(names, pl.String)},
    )
    return Report(
        query,
        _array(times),
        _array(seqs or [0] * len(times)),
        tuple((name, _span(opens, closes)) for name, opens, closes in windows),
        frame if rows else pl.DataFrame(schema={INSTANT: pl.Int64}),
        dict(errors or {}),
        frozenset(skipped),
    )


def _span(opens: Sequence[int], closes: Sequence[int]) -> Span:
    nothing = _array([])
    return Span(_array(opens), _array(closes), nothing, nothing)


def _array(values: Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64)


# -- random ones -------------------------------------------------------------------------------

moments = st.one_of(
    st.integers(-5, 5).map(lambda second: second * 1_000_000),
    st.integers(-(10**4), 10**4),
    st.integers(-(2**60), 2**60),
)
bounds = st.one_of(st.just(NEVER), moments)
names = st.one_of(st.sampled_from(["w", "q", "http://x/y"]), texts)
variables = st.sampled_from(["x", "y2", "é", "at", "error", "query"])
forms: st.SearchStrategy[Form] = st.one_of(
    st.lists(variables, max_size=4, unique=True).map(
        lambda found: Select(tuple(map(Variable, found)))
    ),
    st.just(Ask()),
    st.just(Construct(())),
    st.just(Describe(())),
)


def emitted_rows(form: Form) -> st.SearchStrategy[tuple[Term | None, ...]]:
    match form:
        case Select(found):
            return st.tuples(*[st.one_of(st.none(), terms())] * len(found))
        case Ask():
            return st.tuples(st.sampled_from([TRUE, FALSE]))
        case Construct() | Describe():
            names = readable.iris()
            graphs = st.one_of(st.none(), names)
            return st.tuples(readable.subjects(), names, readable.terms(), graphs)


@st.composite
def reports(draw: st.DrawFn, form: Form, query: str = "q") -> Report:
    size = draw(st.integers(0, 4))
    several = st.lists(moments, min_size=size, max_size=size)
    edges = st.lists(bounds, min_size=size, max_size=size)
    seqs = st.lists(st.integers(0, 3), min_size=size, max_size=size)
    most = 1 if isinstance(form, Ask) else 3
    rows = [
        (instant, row)
        for instant in range(size)
        for row in draw(st.lists(emitted_rows(form), max_size=most))
    ]
    errors = {} if size == 0 else draw(st.dictionaries(st.integers(0, size - 1), texts))
    silent = sorted(set(range(size)) - {instant for instant, _ in rows} - set(errors))
    return report(
        form,
        draw(several),
        rows,
        query=query,
        seqs=draw(seqs),
        windows=draw(st.lists(st.tuples(names, edges, edges), max_size=3)),
        errors=errors,
        skipped=draw(st.sets(st.sampled_from(silent))) if silent else (),
    )


@st.composite
def formed_reports(draw: st.DrawFn) -> tuple[Report, Form]:
    form = draw(forms)
    return draw(reports(form, draw(names))), form
