"""Reports as one table of CSV.

The first line names the columns: `query`, `at` (milliseconds since the epoch) and `seq`, then the
variables of all queries of the run in the order in which they first appear, and `error`. The
column of an ASK is `boolean`, those of a CONSTRUCT or DESCRIBE are `subject`, `predicate`, `object`
and `graph`. A variable that is called like one of the first three or the last keeps its question
mark: `?at`.

Values are those of SPARQL 1.1 Query Results CSV: the text of a term without what it is; nothing
where a variable is unbound. An evaluation that emits nothing gives no line, one that fails a line
with its `error`, and an instant that was skipped a line with `skipped` in its place. Lines end as
that standard says, with a carriage return and a line feed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import polars as pl

from headrace.algebra.query import Form
from headrace.kernel.columns import INSTANT
from headrace.kernel.reports import Report
from headrace.rdf.canonical import read_term
from headrace.rdf.times import milliseconds
from headrace.results.csv_format import csv_text
from headrace.sinks.base import Mark
from headrace.sinks.files import Bytes, FileOutput
from headrace.sinks.frames import (
    EMPTY,
    ERROR,
    SKIPPED,
    by_distinct,
    emitted,
    in_milliseconds,
    names_of_all,
    term_columns,
)
from headrace.sinks.texts import IRI, LANGUAGE, LEXICAL, blocks, content, converted

_FIRST: Final = ("query", "at", "seq")
_VALUES: Final = (
    (f"^<({IRI})>$", "${1}"),
    (rf'^"({LEXICAL})"(?:@{LANGUAGE}|\^\^<{IRI}>)?$', "${1}"),
)
"""What CSV keeps of terms without escapes; the text of a literal may look like an IRI."""
_END: Final = "\r\n"
_HEAD: Final = "head"
_LINE: Final = "line"


class CsvSink(FileOutput):
    """A file of CSV with a header."""

    def __init__(self, path: Path, forms: Mapping[str, Form]) -> None:
        """Open the file.

        Raises:
            SettingError: it cannot be written.
        """
        self._forms = forms
        self._columns = names_of_all(forms.values(), (*_FIRST, ERROR))
        super().__init__(path)

    def recover(self, mark: Mark) -> None:
        """Cut the file to the size that it had; at the start it has its header.

        Raises:
            MachineError: it is shorter than that, or cannot be cut.
            SettingError: it was begun with other columns.
        """
        columns = pl.Series([*_FIRST, *self._columns.values(), ERROR])
        self._file.recover(mark, (",".join(_cells(columns)) + _END).encode())

    def write(self, label: str, reports: Sequence[Report]) -> None:  # noqa: ARG002
        """Add the lines of a batch."""
        self._file.append(self._content(reports))

    def _content(self, reports: Sequence[Report]) -> Iterator[Bytes]:
        for report in reports:
            form = self._forms[report.query]
            heads = _heads(report)
            for block in blocks(emitted(report, form).filter(~pl.col(EMPTY))):
                yield content(self._lines(block, form, heads), _END)

    def _lines(self, block: pl.DataFrame, form: Form, heads: pl.Series) -> pl.Series:
        places = {shown: name for name, shown in term_columns(form).items()}
        made = [by_distinct(block[name], _values) for name in places.values()]
        errors = by_distinct(block[ERROR], _cells)
        if block[SKIPPED].any():
            errors = errors.set(block[SKIPPED], SKIPPED)
        frame = block.with_columns(*made, errors, heads.gather(block[INSTANT]).alias(_HEAD))
        cells = [
            pl.col(places[name]).fill_null("") if name in places else pl.lit("")
            for name in self._columns
        ]
        line = pl.concat_str(_HEAD, *cells, pl.col(ERROR).fill_null(""), separator=",")
        return frame.select(line.alias(_LINE))[_LINE]


def _heads(report: Report) -> pl.Series:
    """The first cells of each instant."""
    [query] = _cells(pl.Series([report.query]))
    at = in_milliseconds(pl.Series(report.times), milliseconds)
    return f"{query}," + at + "," + pl.Series(report.seqs).cast(pl.String)


def _values(texts: pl.Series) -> pl.Series:
    return _cells(converted(texts, _VALUES, lambda text: csv_text(read_term(text))))


def _cells(texts: pl.Series) -> pl.Series:
    """Texts with quotes around those that need them."""
    special = texts.str.contains(r'[",\r\n]')
    if not special.any():
        return texts
    return ('"' + texts.str.replace_all('"', '""', literal=True) + '"').zip_with(special, texts)
