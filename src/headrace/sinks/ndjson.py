"""Reports as lines of JSON, by columns: the same lines that `results.ndjson` defines.

A term is converted once for each of its texts, most of them by patterns on whole columns, and the
beginning of a line once for each instant.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, assert_never

import polars as pl

from headrace.algebra.query import Ask, Construct, Describe, Form, Select
from headrace.diagnosis import Note
from headrace.functions.values import TRUE
from headrace.kernel.columns import GRAPH, INSTANT, OBJECT, PREDICATE, SUBJECT
from headrace.kernel.forms import TRUTH
from headrace.kernel.instants import Stretch
from headrace.kernel.reports import Report
from headrace.rdf.canonical import read_term
from headrace.rdf.terms import canonical
from headrace.results.json_format import term_to_json
from headrace.results.ndjson import notes_line
from headrace.sinks.files import Bytes, FileOutput
from headrace.sinks.frames import (
    EMPTY,
    ERROR,
    SKIPPED,
    bounds,
    by_distinct,
    emitted,
    in_milliseconds,
    term_columns,
)
from headrace.sinks.texts import IRI, LANGUAGE, LEXICAL, blocks, content, converted

_LITERAL: Final = '{"type": "literal", "value": ${1}'
_TERMS: Final = (
    (f"^<({IRI})>$", '{"type": "uri", "value": "${1}"}'),
    (rf'^("{LEXICAL}")\^\^<({IRI})>$', f'{_LITERAL}, "datatype": "${{2}}"}}'),
    (f'^("{LEXICAL}")$', f"{_LITERAL}}}"),
    (f'^("{LEXICAL}")@({LANGUAGE})$', f'{_LITERAL}, "xml:lang": "${{2}}"}}'),
    (r'^_:([^"\\\x00-\x1f]+)$', '{"type": "bnode", "value": "${1}"}'),
)
"""What terms without escapes are in JSON, by their canonical texts."""


class NdjsonSink(FileOutput):
    """A file of JSON, one object a line."""

    def __init__(self, path: Path, forms: Mapping[str, Form]) -> None:
        """Open the file.

        Raises:
            SettingError: it cannot be written.
        """
        super().__init__(path)
        self._forms = forms

    def write(self, label: str, reports: Sequence[Report]) -> None:  # noqa: ARG002
        """Add the lines of a batch."""
        self._file.append(self._content(reports))

    def write_notes(
        self,
        label: str,  # noqa: ARG002
        notes: Mapping[str, Sequence[Note]],
    ) -> None:
        """Add a line for each query that there are notes about."""
        lines = (
            notes_line(query, [note.as_json() for note in each]) for query, each in notes.items()
        )
        self._file.append(f"{line}\n".encode() for line in lines)

    def _content(self, reports: Sequence[Report]) -> Iterator[Bytes]:
        for report in reports:
            for lines in ndjson_columns(report, self._forms[report.query]):
                yield content(lines, "\n")


def ndjson_text(report: Report, form: Form) -> list[str]:
    """The lines of a report, without their ends."""
    return [line for lines in ndjson_columns(report, form) for line in lines]


def ndjson_columns(report: Report, form: Form) -> Iterator[pl.Series]:
    """The lines of a report as columns, so many at a time that memory stays small."""
    heads = _heads(report)
    for block in blocks(emitted(report, form)):
        if isinstance(form, Select) and form.variables and _is_full(block, form):
            yield _full_rows(block, form, heads)
            continue
        frame = _in_json(block, form).with_columns(heads.gather(block[INSTANT]).alias(_HEAD))
        said = (
            pl.when(pl.col(ERROR).is_not_null())
            .then(pl.concat_str(pl.lit('"error": '), ERROR))
            .when(SKIPPED)
            .then(pl.lit('"skipped": true'))
            .when(EMPTY)
            .then(pl.lit('"row": null'))
            .otherwise(_part(form))
        )
        yield frame.select(pl.concat_str(_HEAD, said, pl.lit("}")).alias(_LINE))[_LINE]


def _is_full(block: pl.DataFrame, form: Select) -> bool:
    """Whether all lines are rows with all of their columns."""
    said = not (block[EMPTY].any() or block[SKIPPED].any())
    nothing = block[ERROR].null_count() == block.height
    return said and nothing and not any(block[name].null_count() for name in term_columns(form))


def _full_rows(block: pl.DataFrame, form: Select, heads: pl.Series) -> pl.Series:
    """The lines of rows that have all columns: in one go."""
    instants = block[INSTANT]
    alone = instants[0] == instants[-1]  # they are in order
    head = pl.lit(heads[instants[0]]) if alone else heads.gather(instants).alias(_HEAD)
    said: list[pl.Series | pl.Expr] = [head]
    before = '"row": {'
    for place, name in term_columns(form).items():
        said += [pl.lit(f"{before}{_text(name)}: "), by_distinct(block[place], _terms)]
        before = ", "
    return pl.select(pl.concat_str(*said, pl.lit("}}")).alias(_LINE)).to_series()


_HEAD: Final = "head"
_LINE: Final = "line"
# What would have to be escaped in an IRI is escaped in its text already, with a backslash.
_ONLY_IRIS: Final = (
    pl.col(_LINE).str.starts_with("<")
    & ~pl.col(_LINE).str.starts_with("<<")
    & ~pl.col(_LINE).str.contains("\\", literal=True)
).all(ignore_nulls=True)
_OF_IRI: Final = pl.concat_str(
    pl.lit('{"type": "uri", "value": "'),
    pl.col(_LINE).str.strip_prefix("<").str.strip_suffix(">"),
    pl.lit('"}'),
)


def _heads(report: Report) -> pl.Series:
    """Write the beginning of the lines of each instant."""
    named = bounds(report)
    times = [pl.Series(report.times), *(each for pair in named.values() for each in pair)]
    texts = _numbers(pl.concat(times))
    at, *others = (texts.slice(place * len(report), len(report)) for place in range(len(times)))
    said: list[pl.Series | pl.Expr] = [
        pl.lit(f'{{"query": {_text(report.query)}, "at": '),
        at.alias("at"),
        pl.lit(', "seq": '),
        pl.Series("seq", report.seqs),
        pl.lit(', "windows": {'),
    ]
    for place, name in enumerate(named):
        opens, closes = others[2 * place : 2 * place + 2]
        before = f"{', ' if place else ''}{_text(name)}: ["
        said += [pl.lit(before), opens.alias(f"opens {place}"), pl.lit(", ")]
        said += [closes.alias(f"closes {place}"), pl.lit("]")]
    said.append(pl.lit("}, "))
    shares = (("accuracy", report.accuracies), ("completeness", report.completenesses))
    for name, by_place in shares:
        if by_place:
            shares_of = [by_place.get(place) for place in range(len(report))]
            shown = ["" if each is None else f'"{name}": {round(each, 4)}, ' for each in shares_of]
            said.append(pl.Series(name, shown, pl.String))
    if report.stretches:
        found = [report.stretches.get(place) for place in range(len(report))]
        shown = ["" if each is None else _stretch(each) for each in found]
        said.append(pl.Series("stretch", shown, pl.String))
    return pl.select(pl.concat_str(*said).alias(_HEAD))[_HEAD]


def _stretch(stretch: Stretch) -> str:
    since = _numbers(pl.Series([stretch.since]))[0]
    return f'"since": {since}, "instants": {stretch.count}, '


def _numbers(times: pl.Series) -> pl.Series:
    return in_milliseconds(times, lambda time: repr(time / 1000)).fill_null("null")


def _in_json(block: pl.DataFrame, form: Form) -> pl.DataFrame:
    """Terms and errors as JSON; a truth value is looked at as it is."""
    names = [] if isinstance(form, Ask) else list(term_columns(form))
    made = [by_distinct(block[name], _terms) for name in names]
    errors = by_distinct(block[ERROR], lambda texts: converted(texts, (), _text))
    return block.with_columns(*made, errors)


def _terms(texts: pl.Series) -> pl.Series:
    column = texts.to_frame(_LINE)
    if column.select(_ONLY_IRIS).item():  # as most columns are: without a pattern's groups
        return column.select(_OF_IRI).to_series()
    return converted(texts, _TERMS, lambda text: _text(term_to_json(read_term(text))))


def _part(form: Form) -> pl.Expr:
    """What a line says of a row, from columns of JSON."""
    match form:
        case Select():
            members = [
                pl.concat_str(pl.lit(f"{_text(name)}: "), place)
                for place, name in term_columns(form).items()
            ]
            if not members:
                return pl.lit('"row": {}')
            row = pl.concat_str(members, separator=", ", ignore_nulls=True)
            return pl.concat_str(pl.lit('"row": {'), row, pl.lit("}"))
        case Ask():
            truth = pl.when(pl.col(TRUTH) == canonical(TRUE)).then(pl.lit("true"))
            return pl.concat_str(pl.lit('"boolean": '), truth.otherwise(pl.lit("false")))
        case Construct() | Describe():
            triple = pl.concat_str(SUBJECT, PREDICATE, OBJECT, separator=", ")
            graph = pl.concat_str(pl.lit(', "graph": '), GRAPH).fill_null("")
            return pl.concat_str(pl.lit('"triple": ['), triple, pl.lit("]"), graph)
        case _:
            assert_never(form)


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
