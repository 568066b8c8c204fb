"""What a query emits, as elements of a stream that other queries read."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

import numpy as np
import polars as pl

from headrace.algebra.query import Ask, Select
from headrace.kernel.columns import ARRIVALS, GRAPH, INSTANT, OBJECT, PREDICATE, SUBJECT
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.reports import Report
from headrace.kernel.schedule import JumpError
from headrace.planning.plan import Plan
from headrace.rdf.canonical import read_term
from headrace.rdf.ids import TermId
from headrace.rdf.terms import BlankNode, Iri
from headrace.rdf.times import iso_text

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
    _check_stretches(plan, report)
    rows = []
    for position, (instant, statements) in enumerate(elements, first):
        time = int(report.times[instant])
        rows += [(position, time, high, *statement) for statement in statements]
        high = time if high is None else max(high, time)
    return pl.DataFrame(rows, schema=ARRIVALS, orient="row")


def _check_stretches(plan: Plan, report: Report) -> None:
    """Refuse a stream that would have an element at each instant of an empty stretch."""
    for place, stretch in report.stretches.items():
        if (report.rows[INSTANT] == place).any():
            raise JumpError(
                f"'{plan.name}' makes an element at each of {stretch.count:,} instants from "
                f"{iso_text(stretch.since)}Z to {iso_text(stretch.last)}Z, at which its windows "
                "are empty: --set non_empty=content leaves them out, and --set max_ahead=1d "
                "rejects an element whose time is that far ahead"
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
