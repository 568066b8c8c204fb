"""What the lines of timed N-Quads say, as columns of ids, before they are made into elements.

Blank nodes still have the labels that the text gives them here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import polars as pl

from headrace.errors import DataError
from headrace.rdf.columns_few import FewLines, few_lines
from headrace.rdf.columns_terms import (
    GRAPH,
    OBJECT,
    PREDICATE,
    SUBJECT,
    Terms,
    change_reading,
    read_terms,
    read_times,
)
from headrace.rdf.columns_tokens import (
    Codes,
    Flags,
    Lines,
    Positions,
    Spans,
    Statements,
    blocks,
    find_lines,
    tokens,
)
from headrace.rdf.formats import Format
from headrace.rdf.guard import check_size
from headrace.rdf.ids import term_id
from headrace.rdf.lines import LineReader
from headrace.rdf.options import OnError, ReadOptions, report
from headrace.rdf.scopes import UNSCOPED
from headrace.rdf.terms import Term, canonical
from headrace.rdf.texts import decoded
from headrace.rdf.timed import read_line

START: Final = "start"
TIME: Final = "time"
STATEMENT: Final = (GRAPH, SUBJECT, PREDICATE, OBJECT)
ROWS: Final = pl.Schema(dict.fromkeys((START, TIME, *STATEMENT), pl.Int64))
"""Lines, by the byte at which they start, with a statement or, without a subject, a heartbeat."""

ID: Final = "id"
TEXT: Final = "text"
TERMS: Final = pl.Schema({ID: pl.Int64, TEXT: pl.String})

_ALL: Final = slice(None)
_GRAPH_PLACE: Final = [*ROWS].index(GRAPH)
_NO_GRAPH: Final = pl.Series([None], dtype=pl.Int64)


@dataclass(frozen=True, slots=True)
class Reading:
    """How lines are read.

    Attributes:
        name: what the text is called in errors.
        options: star mode and limits.
        on_error: who is told of bad lines.
        seed: of the ids.
    """

    name: str | None
    options: ReadOptions
    on_error: OnError
    seed: int

    def rows(self, text: bytes, first_line: int) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The lines that say something, in order, and all terms in them.

        Raises:
            DataError: at the first bad line, if nobody is told of them; or two terms have one id.
        """
        few = self.few(text)
        return self.rows_of_many(text, first_line) if few is None else few_rows(few)

    def few(self, text: bytes) -> FewLines | None:
        """What the lines say, if they are few and plain."""
        return few_lines(text, self.options.limits, self.seed)

    def rows_of_many(self, text: bytes, first_line: int) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The same as `rows`, however many lines there are, and whatever they say."""
        rows, terms = list[pl.DataFrame](), list[pl.DataFrame]()
        reader = LineReader(Format.N_QUADS, self.options, UNSCOPED)
        first_byte = 0
        for block in blocks(text):
            lines = find_lines(block, self.options.limits.size)
            found = _Block(block, lines, first_line, first_byte, self, reader)
            rows.append(found.rows())
            terms.extend(found.terms)
            first_line += lines.all.starts.size
            first_byte += len(block)
        if not terms:
            terms.append(TERMS.to_frame())
        whole = rows[0] if len(rows) == 1 else pl.concat([ROWS.to_frame(), *rows])
        return whole, distinct_terms(pl.concat(terms))


def few_rows(few: FewLines) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of a few lines, and their terms."""
    columns = {START: np.cumsum(few.sizes) - few.sizes, TIME: few.times, **few.ids}
    series = [pl.Series(name, columns[name]) for name in ROWS if name in columns]
    series.insert(_GRAPH_PLACE, no_graphs(few.times.size))
    return pl.DataFrame(series), in_id_order(few.texts)


def no_graphs(number: int) -> pl.Series:
    """The column of graphs of so many statements that are in none."""
    return _NO_GRAPH.new_from_index(0, number).alias(GRAPH)


def in_id_order(terms: Mapping[int, str]) -> pl.DataFrame:
    """Terms in the order of the ids as unsigned numbers."""
    ids = np.fromiter(terms, np.int64, len(terms))
    order = np.argsort(ids.view(np.uint64))
    texts = list(terms.values())
    in_order = pl.Series(TEXT, [texts[place] for place in order.tolist()], dtype=pl.String)
    return pl.DataFrame([pl.Series(ID, ids[order]), in_order])


def distinct_terms(terms: pl.DataFrame) -> pl.DataFrame:
    """Each term once, in the order of the ids as unsigned numbers.

    Raises:
        DataError: two different terms have the same id.
    """
    ids = terms[ID].to_numpy().view(np.uint64)
    _, first, places = np.unique(ids, return_index=True, return_inverse=True)
    if first.size < ids.size:
        texts = terms[TEXT]
        of_the_id = texts.gather(first[places])
        if not (same := texts == of_the_id).all():
            one, other = sorted((texts.filter(~same)[0], of_the_id.filter(~same)[0]))
            raise DataError(f"{one} and {other} have the same id")
    return pl.DataFrame([terms[ID], terms[TEXT]])[pl.Series(first)]


@dataclass(frozen=True, slots=True)
class _Column:
    """The terms at one place of lines that look like statements.

    Attributes:
        rows: which of the lines have something there.
        tokens: what they have there, each token once.
        codes: which token each of these lines has.
        found: the terms of the tokens.
    """

    rows: Positions | slice
    tokens: pl.Series
    codes: Codes
    found: Terms

    def ids(self, count: int) -> pl.Series:
        """The ids of the terms of so many lines; null where there is none."""
        ids = pl.Series(self.found.ids[self.codes])
        if isinstance(self.rows, slice):
            return ids
        return pl.repeat(None, count, dtype=pl.Int64, eager=True).scatter(self.rows, ids)

    def used(self, by: Flags) -> pl.DataFrame:
        """The terms that are used by some of the lines."""
        used = np.zeros(len(self.tokens), np.bool_)
        used[self.codes[by[self.rows]]] = True
        terms = pl.DataFrame([pl.Series(ID, self.found.ids), self.found.texts.alias(TEXT)])
        return terms if used.all() else terms.filter(used)


@dataclass(slots=True)
class _Block:
    """Some lines of a text, and the terms found in them so far."""

    text: bytes
    lines: Lines
    first_line: int
    first_byte: int
    reading: Reading
    reader: LineReader
    terms: list[pl.DataFrame] = field(default_factory=list)

    def rows(self) -> pl.DataFrame:
        """The lines that say something, in order."""
        lines = self.lines
        parts, left = list[pl.DataFrame](), [lines.others]
        if lines.statements.lines.size:
            statements, good = self._statements(lines.statements)
            parts.append(statements)
            left.append(lines.statements.lines[~good])
        if lines.heartbeats.size:
            heartbeats, good = self._heartbeats(lines.heartbeats)
            parts.append(heartbeats)
            left.append(lines.heartbeats[~good])
        others = np.sort(np.concatenate(left))
        if others.size:
            parts.append(self._one_by_one(others))
        if len(parts) == 1:
            return parts[0]
        return pl.concat([ROWS.to_frame(), *parts]).sort(START)

    def _statements(self, lines: Statements) -> tuple[pl.DataFrame, Flags]:
        """Lines that look like statements, and which of them are."""
        times, good = self._times(lines.time)
        columns = {
            SUBJECT: self._column(SUBJECT, lines.subject),
            PREDICATE: self._column(PREDICATE, lines.predicate),
            OBJECT: self._column(OBJECT, lines.object),
        }
        if lines.in_graph.size:
            columns[GRAPH] = self._column(GRAPH, lines.graph, lines.in_graph)
        for column in columns.values():
            good[column.rows] &= column.found.known[column.codes]
        if any(column.found.odd.any() for column in columns.values()):
            good &= ~_read_by_another(columns.values(), good.size)
        self.terms += [column.used(good) for column in columns.values()]
        ids = {place: column.ids(good.size) for place, column in columns.items()}
        if GRAPH not in ids:
            ids[GRAPH] = _NO_GRAPH.new_from_index(0, good.size)
        places = [ids[name].alias(name) for name in STATEMENT]
        starts = pl.Series(START, self._starts(lines.lines))
        frame = pl.DataFrame([starts, times.alias(TIME), *places])
        return frame if good.all() else frame.filter(good), good

    def _heartbeats(self, lines: Positions) -> tuple[pl.DataFrame, Flags]:
        """Lines without white space, and which of them are times."""
        times, good = self._times(self.lines.all.only(lines))
        frame = pl.DataFrame({START: self._starts(lines), TIME: times}).filter(good)
        nothing = [pl.lit(None, pl.Int64).alias(name) for name in STATEMENT]
        return frame.with_columns(*nothing), good

    def _starts(self, lines: Positions) -> Positions:
        return self.lines.all.starts[lines] + self.first_byte

    def _times(self, spans: Spans) -> tuple[pl.Series, Flags]:
        """The times of a column of tokens, and which tokens are times."""
        found = tokens(self.text, spans)
        times = read_times(found.distinct)
        known = times.is_not_null().to_numpy()
        return times[pl.Series(found.codes)], known[found.codes]

    def _column(self, place: str, spans: Spans, rows: Positions | slice = _ALL) -> _Column:
        found = tokens(self.text, spans)
        longest = self.reading.options.limits.literal
        terms = read_terms(found.distinct, place, self.reader, longest, self.reading.seed)
        return _Column(rows, found.distinct, found.codes, terms)

    def _one_by_one(self, lines: Positions) -> pl.DataFrame:
        """Lines as the reader of lines reads them; it is also who knows what is wrong with them."""
        ids = dict[Term, int]()
        rows = list(self._read(lines, ids))
        texts = [canonical(term) for term in ids]
        self.terms.append(pl.DataFrame({ID: list(ids.values()), TEXT: texts}, schema=TERMS))
        return pl.DataFrame(rows, schema=ROWS, orient="row")

    def _read(self, lines: Positions, ids: dict[Term, int]) -> Iterator[tuple[int | None, ...]]:
        seed = self.reading.seed

        def known(term: Term) -> int:
            return ids.get(term) or ids.setdefault(term, term_id(term, seed))

        where = self.lines.all.only(lines)
        for line, start, end in zip(lines, where.starts, where.ends, strict=True):
            raw = self.text[start:end]
            try:
                check_size(raw, self.reading.options.limits)
                found = read_line(decoded(raw), int(start) + self.first_byte, self.reader)
            except DataError as error:
                number = int(line) + self.first_line
                problem = DataError(error.problem, self.reading.name, number, error.column)
                report(problem, self.reading.on_error)
                continue
            if found is None:
                continue
            if (quad := found.quad) is None:
                yield found.start, found.time, None, None, None, None
                continue
            graph = None if quad.graph is None else known(quad.graph)
            triple = known(quad.subject), known(quad.predicate), known(quad.object)
            yield found.start, found.time, graph, *triple


def _read_by_another(columns: Iterable[_Column], count: int) -> Flags:
    """Which of so many lines have both an odd token and one that changes how they are read."""
    odd, changed = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    for column in columns:
        odd[column.rows] |= column.found.odd[column.codes]
        changed[column.rows] |= change_reading(column.tokens)[column.codes]
    return odd & changed
