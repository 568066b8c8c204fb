"""What a query emits, as elements of a stream that other queries read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import chain

import numpy as np
import polars as pl

from headrace.algebra.query import Ask, Select
from headrace.kernel.columns import ARRIVALS, GRAPH, INSTANT, OBJECT, PREDICATE, SUBJECT
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.grid import Grid, Times
from headrace.kernel.reports import Report
from headrace.kernel.slices import MOST_INSTANTS
from headrace.kernel.standing import Standing
from headrace.planning.plan import Plan
from headrace.rdf.canonical import read_term
from headrace.rdf.ids import TermId
from headrace.rdf.terms import BlankNode, Iri
from headrace.rdf.times import iso_text

MOST_ELEMENTS = 20_000_000
"""A query whose stream would have more elements than these within a gap stops."""
Encoded = tuple[int, TermId | None, TermId, TermId, TermId]
"""The number of the instant, and a statement."""


def arrivals_of(
    plan: Plan, report: Report, dictionary: Dictionary, first: int, high: int | None
) -> pl.DataFrame:
    """The statements that a query's report is as a stream.

    The graph of an instant is an element; a row is an element of its own.

    Args:
        plan: the query.
        report: what it has emitted.
        dictionary: learns new terms.
        first: the position of the first of the elements.
        high: how far the stream has come before.
    """
    if isinstance(plan.query.form, Select | Ask):
        elements = list(_rows(plan, report, dictionary))
    else:
        elements = list(_graphs(report, dictionary))
    rows = []
    for position, (instant, statements) in enumerate(elements, first):
        time = int(report.times[instant])
        rows += [(position, time, high, *statement) for statement in statements]
        high = time if high is None else max(high, time)
    return pl.DataFrame(rows, schema=ARRIVALS, orient="row")


class Unread:
    """Parts of reports that other queries, which read them as a stream, have not read yet."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._parts: dict[Standing, Iterator[Report]] = {}

    def __contains__(self, query: Standing) -> bool:
        """Test whether a part is left of a query."""
        return query in self._parts

    def remove(self, name: str) -> None:
        """Remove the parts of a query."""
        self._parts = {query: left for query, left in self._parts.items() if query.name != name}

    def next_part(
        self, query: Standing, reports: Sequence[Report], grids: Sequence[Grid]
    ) -> Report | None:
        """Return the next part of what a query has emitted.

        Args:
            query: the query.
            reports: what it has emitted now; nothing while a part is left.
            grids: what its instants lie on.
        """
        parts = self._parts.pop(query, None)
        if parts is None:
            parts = (part for each in reports for part in divide_report(each, grids, MOST_INSTANTS))
        found, following = next(parts, None), next(parts, None)
        if following is not None:
            self._parts[query] = chain((following,), parts)
        return found


def divide_report(report: Report, grids: Sequence[Grid], most: int) -> Iterator[Report]:
    """Divide what a query emitted at many instants, with each instant of a stretch that has rows.

    Args:
        report: what it has emitted.
        grids: what its instants lie on, where time makes them due.
        most: how many rows each part of a stretch has.
    """
    begin = 0
    for place, stretch in sorted(report.stretches.items()):
        rows = report.rows.filter(pl.col(INSTANT) == place)
        if rows.is_empty():
            continue
        if place > begin:
            yield _select_instants(report, begin, place)
        since, begin = stretch.since, place + 1
        while since <= stretch.last:
            times = _instants(grids, since, stretch.last, max(1, most // rows.height))
            yield _repeat_rows(report, rows, times)
            since = int(times[-1]) + 1
    if begin == 0 or begin < len(report):
        yield _select_instants(report, begin, len(report)) if begin else report


def _select_instants(report: Report, begin: int, end: int) -> Report:
    """Select what was emitted at some consecutive instants."""
    inside = report.rows.filter(pl.col(INSTANT).is_between(begin, end - 1))
    rows = inside.with_columns(pl.col(INSTANT) - begin)
    return Report(report.query, report.times[begin:end], report.seqs[begin:end], (), rows)


def _instants(grids: Sequence[Grid], since: int, last: int, most: int) -> Times:
    """The first of the instants of a stretch, so many at most."""
    ends = [grid.from_(since) + (most - 1) * grid.step for grid in grids]
    until = min(last, *ends)
    found = np.unique(np.concatenate([grid.between(since, until) for grid in grids]))
    return found[:most]


def _repeat_rows(report: Report, rows: pl.DataFrame, times: Times) -> Report:
    """Emit the same rows at several instants."""
    numbers = pl.int_range(times.size, dtype=pl.Int64, eager=True).alias(INSTANT)
    every = numbers.to_frame().join(rows.drop(INSTANT), how="cross")
    return Report(report.query, times, np.zeros(times.size, np.int64), (), every)


def stop_floods(query: Standing, reports: Sequence[Report]) -> Sequence[Report]:
    """Stop a query whose stream would have too many elements in a gap, and cut its reports."""
    kept = []
    for each in reports:
        left, problem = cut_flood(query.plan, each)
        query.failure = query.failure or problem
        kept.append(left)
    return kept


def cut_flood(plan: Plan, report: Report) -> tuple[Report, str | None]:
    """Cut a report before a stretch at whose instants a stream would have too many elements.

    Returns:
        The report, and the reason why the query stops, if it does.
    """
    for place, stretch in sorted(report.stretches.items()):
        rows = report.rows.filter(pl.col(INSTANT) == place).height
        if rows * stretch.count > MOST_ELEMENTS:
            problem = (
                f"stream '{plan.name}' would have {rows * stretch.count:,} elements from "
                f"{iso_text(stretch.since)}Z to {iso_text(stretch.last)}Z, where its windows hold "
                f"the same at each instant, and a gap may make {MOST_ELEMENTS:,}: "
                "--set non_empty=content leaves out instants at which windows are empty, and "
                "--set max_ahead=1d rejects an element whose time is that far ahead"
            )
            return _cut_before(report, place, problem), problem
    return report, None


def _cut_before(report: Report, place: int, problem: str) -> Report:
    """Cut a report at an instant, at which the query stops."""
    end = place + 1
    return replace(
        report,
        times=report.times[:end],
        seqs=report.seqs[:end],
        windows=tuple(
            (name, replace(span, opens=span.opens[:end], closes=span.closes[:end]))
            for name, span in report.windows
        ),
        rows=report.rows.filter(pl.col(INSTANT) < place),
        errors={**{at: text for at, text in report.errors.items() if at < place}, place: problem},
        stretches={at: each for at, each in report.stretches.items() if at < place},
    )


Statement = tuple[TermId | None, TermId, TermId, TermId]


def _graphs(report: Report, dictionary: Dictionary) -> Iterator[tuple[int, list[Statement]]]:
    encode = {
        text: dictionary.encode(read_term(text))
        for name in (GRAPH, SUBJECT, PREDICATE, OBJECT)
        for text in (report.rows[name].drop_nulls().unique() if name in report.rows.columns else ())
    }
    if not encode:
        return
    for (instant,), rows in report.rows.partition_by(
        INSTANT, as_dict=True, maintain_order=True
    ).items():
        columns = (rows[name].to_list() for name in (GRAPH, SUBJECT, PREDICATE, OBJECT))
        yield (
            int(str(instant)),
            [
                (None if graph is None else encode[graph], encode[s], encode[p], encode[o])
                for graph, s, p, o in zip(*columns, strict=True)
            ],
        )


def _rows(
    plan: Plan, report: Report, dictionary: Dictionary
) -> Iterator[tuple[int, list[Statement]]]:
    """Each row as a blank node with a property for each of its columns."""
    stream = plan.stream
    assert stream is not None, "it is registered as a stream"
    names = [name for name in report.rows.columns if name != INSTANT]
    properties = [dictionary.encode(Iri(f"{stream.value}#{name[1:]}")) for name in names]
    columns = [report.rows[name].to_list() for name in names]
    instants = report.rows[INSTANT].to_numpy()
    starts = np.searchsorted(instants, instants)
    for place, instant in enumerate(instants.tolist()):
        label = (plan.name, int(report.times[instant]), int(report.seqs[instant]))
        key = repr((label, place - int(starts[place]))).encode()
        node = dictionary.encode(BlankNode(f"r{blake2b(key, digest_size=8).hexdigest()}"))
        yield (
            instant,
            [
                (None, node, property_, dictionary.encode(read_term(column[place])))
                for property_, column in zip(properties, columns, strict=True)
                if column[place] is not None
            ],
        )
