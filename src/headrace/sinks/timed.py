"""Graphs that queries construct or describe, as timed N-Quads: a stream that can be read again.

A line is the instant, a tab and a statement. What the format says holds for what is read again:
the statements of an instant in one graph are one element, those outside any graph one element
each. An evaluation that emits nothing is a heartbeat; one that fails is a comment, and so is an
instant that was skipped.

The lines of a batch are in the order of time, whichever query they are of.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import polars as pl

from headrace.algebra.query import Construct, Describe, Form
from headrace.errors import SettingError
from headrace.kernel.columns import GRAPH, INSTANT, OBJECT, PREDICATE, SUBJECT, TIME
from headrace.kernel.reports import Report, slices_of
from headrace.rdf.times import milliseconds
from headrace.sinks.files import Bytes, FileOutput
from headrace.sinks.frames import EMPTY, ERROR, SKIPPED, emitted, in_milliseconds
from headrace.sinks.texts import blocks, content

_AT: Final = "at"
_LINE: Final = "line"


class TimedSink(FileOutput):
    """A file of timed N-Quads."""

    def __init__(self, path: Path, forms: Mapping[str, Form]) -> None:
        """Open the file.

        Raises:
            SettingError: it cannot be written, or a query gives no graphs.
        """
        for query, form in forms.items():
            if not isinstance(form, Construct | Describe):
                raise SettingError(
                    f"{path} takes graphs, and query '{query}' is a {type(form).__name__.upper()}; "
                    "use CONSTRUCT, or write to a file that ends in .ndjson"
                )
        super().__init__(path)
        self._forms = forms

    def write(self, label: str, reports: Sequence[Report]) -> None:  # noqa: ARG002
        """Add the lines of a batch."""
        self._file.append(self._content(reports))

    def _content(self, reports: Sequence[Report]) -> Iterator[Bytes]:
        for some in slices_of(reports):
            frames = [_timely(report, self._forms[report.query]) for report in some]
            if frames:
                for block in blocks(pl.concat(frames).sort(TIME, maintain_order=True)):
                    yield content(_lines(block), "\n")


def _timely(report: Report, form: Form) -> pl.DataFrame:
    """What a report says, with the times of its instants."""
    frame = emitted(report, form)
    failed = [
        None if text is None else f"query {_text(report.query)} failed: {_text(text)}"
        for text in (frame[ERROR] if report.errors else ())
    ]
    errors = pl.Series(ERROR, failed, pl.String) if failed else frame[ERROR]
    if report.skipped:
        errors = errors.set(frame[SKIPPED], f"query {_text(report.query)} was skipped")
    times = pl.Series(report.times, dtype=pl.Int64).gather(frame[INSTANT])
    return frame.drop(INSTANT).with_columns(times.alias(TIME), errors)


def _lines(block: pl.DataFrame) -> pl.Series:
    frame = block.with_columns(in_milliseconds(block[TIME], milliseconds).alias(_AT))
    statement = pl.concat_str(SUBJECT, PREDICATE, OBJECT, separator=" ") + pl.concat_str(
        pl.lit(" "), GRAPH
    ).fill_null("")
    line = (
        pl.when(pl.col(ERROR).is_not_null())
        .then(pl.concat_str(pl.lit("# "), _AT, pl.lit(": "), ERROR))
        .when(EMPTY)
        .then(_AT)
        .otherwise(pl.concat_str(_AT, pl.lit("\t"), statement, pl.lit(" .")))
    )
    return frame.select(line.alias(_LINE))[_LINE]


def _text(text: str) -> str:
    """A text on one line."""
    return json.dumps(text, ensure_ascii=False)
