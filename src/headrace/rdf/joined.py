"""Many small payloads as columns, read in one go wherever that gives the same.

The texts of N-Triples, N-Quads and timed N-Quads are joined to one text and read as columns. A
payload in which something is wrong, or whose elements are not plain to see, is left to those who
read one payload at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from headrace.errors import DataError
from headrace.rdf.columns import first_starts, in_scopes, line_begins
from headrace.rdf.columns_lines import ID, START, STATEMENT, TERMS, TEXT, TIME, Reading
from headrace.rdf.columns_terms import GRAPH, OBJECT, PREDICATE, SUBJECT, read_times
from headrace.rdf.columns_tokens import Flags, Positions
from headrace.rdf.formats import Format
from headrace.rdf.ids import term_id
from headrace.rdf.lines import with_newlines
from headrace.rdf.options import ReadOptions
from headrace.rdf.payloads import Payload
from headrace.rdf.scopes import Scopes
from headrace.rdf.timestamps import TimeRule

PAYLOAD: Final = "payload"
"""The ordinal of the payload that a line is of."""
BEGINS: Final = "begins"
"""Whether a line begins an element."""
FOUND: Final = pl.Schema(
    {PAYLOAD: pl.Int64, BEGINS: pl.Boolean, **dict.fromkeys((TIME, *STATEMENT), pl.Int64)}
)
"""Lines of payloads with a statement or, without a subject, a heartbeat."""

LEAST: Final = 16_000
"""Fewer bytes are sooner read one by one."""

_NO_TIME: Final = b"0\t"
"""Put before a line that has no time of its own, to make it one of timed N-Quads."""
_LEXICAL: Final = r'^"([^"\\]*)"'
_TIMED: Final = "timed"
_TRIPLES: Final = "triples"
_GIVEN: Final = "given"
_GRAPHS: Final = "graphs"
_NAMED: Final = "named"
_STAMPS: Final = "stamps"
_STAMP: Final = "stamp"


@dataclass(frozen=True, slots=True)
class Manner:
    """How payloads are read.

    Attributes:
        seed: of the ids.
        scopes: of the blank nodes.
        rule: where the time is found of what nothing around it gives a time.
        options: star mode, base and limits.
    """

    seed: int
    scopes: Scopes
    rule: TimeRule
    options: ReadOptions


@dataclass(frozen=True, slots=True)
class Joined:
    """What has been read of payloads.

    Attributes:
        rows: the lines of those that have been read.
        terms: the terms of these.
        read: which payloads have been read.
    """

    rows: pl.DataFrame
    terms: pl.DataFrame
    read: Flags


def read_joined(payloads: Sequence[Payload | DataError], manner: Manner) -> Joined:
    """What can be read of payloads in one go, if there is enough of it.

    Raises:
        DataError: two terms have one id.
    """
    texts = [_text(each, manner.options.limits.size) for each in payloads]
    which = np.array([at for at, text in enumerate(texts) if text is not None], np.int64)
    read = np.zeros(len(payloads), np.bool_)
    if not which.size or sum(len(text) for text in texts if text is not None) < LEAST:
        return Joined(FOUND.to_frame(), TERMS.to_frame(), read)
    chosen = [each for each, text in zip(payloads, texts, strict=True) if text is not None]
    joint = _Joint(
        [each for each in chosen if isinstance(each, Payload)],
        [text for text in texts if text is not None],
        manner,
    )
    rows, terms, exact = joint.read()
    read[which[exact]] = True
    return Joined(rows.with_columns(pl.Series(PAYLOAD, which[rows[PAYLOAD]])), terms, read)


def _text(payload: Payload | DataError, longest: int | None) -> bytes | None:
    """The lines of timed N-Quads that a payload is, if it may be that."""
    if isinstance(payload, DataError) or not payload.data:
        return None
    is_long = longest is not None and len(payload.data) > longest
    match payload.form:
        case Format.TIMED_N_QUADS:  # each of its lines may be as long
            # Its elements are called after the bytes at which they begin, so none may be lost.
            return None if b"\r" in payload.data else payload.data
        case Format.N_TRIPLES | Format.N_QUADS if not is_long:
            lines = with_newlines(payload.data.rstrip(b"\r\n"))
            return _NO_TIME + lines.replace(b"\n", b"\n" + _NO_TIME)
        case _:
            return None


@dataclass(frozen=True, slots=True)
class _Joint:
    """Payloads and the lines that they are, which are read together."""

    payloads: list[Payload]
    texts: list[bytes]
    manner: Manner

    def read(self) -> tuple[pl.DataFrame, pl.DataFrame, Flags]:
        """Read lines by the ordinals of their payloads, their terms, and their plainness."""
        bad, seed = list[DataError](), self.manner.seed
        reading = Reading(None, self.manner.options, bad.append, seed)
        rows, terms = reading.rows(b"\n".join(self.texts), 1)
        timed = np.array([each.form is Format.TIMED_N_QUADS for each in self.payloads])
        rows = self._of_payloads(rows, timed)
        times = self._times(rows, terms, timed)
        exact = timed | times.is_not_null().to_numpy()
        exact &= np.isin(np.arange(len(self.payloads)), rows[PAYLOAD].to_numpy())
        exact[self._with_lines([error.line or 1 for error in bad])] = False
        if not exact.all():
            rows = rows.filter(exact[rows[PAYLOAD].to_numpy()])
            terms = _used(terms, rows)
        rows = rows.with_columns(self._begins(rows, timed).alias(BEGINS))
        scopes = None if self.manner.scopes.per_stream else lambda: self._scopes(rows, timed)
        found, terms = in_scopes(rows, terms, scopes, self.manner.scopes.prefix, seed)
        time = times.gather(found[PAYLOAD])
        time = time.zip_with(time.is_not_null(), found[TIME]).alias(TIME)
        return found.with_columns(time).select(*FOUND), terms, exact

    # -- which lines are of which payload --------------------------------------------------

    def _of_payloads(self, rows: pl.DataFrame, timed: Flags) -> pl.DataFrame:
        """Lines with the ordinals of their payloads, without those that only look like a time."""
        owners = np.searchsorted(self._first_bytes, rows[START].to_numpy(), side="right") - 1
        rows = rows.with_columns(pl.Series(PAYLOAD, owners, dtype=pl.Int64))
        empty = rows[SUBJECT].is_null()
        return rows.filter(~empty | pl.Series(timed[owners])) if empty.any() else rows

    @property
    def _first_bytes(self) -> Positions:
        """Where the text of each payload begins; a newline is between two of them."""
        lengths = np.array([len(text) + 1 for text in self.texts])
        return np.concatenate(([0], np.cumsum(lengths)[:-1]))

    def _with_lines(self, lines: list[int]) -> Positions:
        """The ordinals of the payloads with these lines, counted from one."""
        counts = np.array([text.count(b"\n") + 1 for text in self.texts])
        return np.searchsorted(np.cumsum(counts), np.array(lines, np.int64), side="left")

    # -- what are elements, and when -------------------------------------------------------

    def _begins(self, rows: pl.DataFrame, timed: Flags) -> pl.Series:
        first = (rows[PAYLOAD] != rows[PAYLOAD].shift()).fill_null(value=True)
        return first | pl.Series(line_begins(rows) & timed[rows[PAYLOAD].to_numpy()])

    def _times(self, rows: pl.DataFrame, terms: pl.DataFrame, timed: Flags) -> pl.Series:
        """The time of each payload that surely is one element without times of its own."""
        stamp = self._stamped()
        found = rows.group_by(PAYLOAD).agg(
            pl.col(GRAPH).n_unique().alias(_GRAPHS),
            pl.col(GRAPH).is_not_null().any().alias(_NAMED),
            stamp.sum().alias(_STAMPS),
            pl.col(OBJECT).filter(stamp).first().alias(_STAMP),
        )
        given = pl.DataFrame(
            {
                PAYLOAD: np.arange(len(self.payloads)),
                _TIMED: timed,
                _TRIPLES: [each.form is Format.N_TRIPLES for each in self.payloads],
                _GIVEN: pl.Series([each.time for each in self.payloads], dtype=pl.Int64),
            }
        )
        table = given.join(found, on=PAYLOAD, how="left", maintain_order="left")
        ruled = pl.when(pl.col(_GRAPHS) == 1).then(self._ruled(table, terms))
        says = pl.col(_GRAPHS).is_not_null()
        fits = says & ~pl.col(_TIMED) & ~(pl.col(_TRIPLES) & pl.col(_NAMED))
        time = pl.when(fits).then(pl.coalesce(_GIVEN, ruled))
        return table.select(time).to_series()

    def _stamped(self) -> pl.Expr:
        """Whether a statement says the time of its element."""
        predicate = self.manner.rule.predicate
        if predicate is None:
            return pl.lit(value=False)
        return pl.col(PREDICATE) == term_id(predicate, self.manner.seed)

    def _ruled(self, table: pl.DataFrame, terms: pl.DataFrame) -> pl.Series:
        """What the rule gives for payloads, each of which is in one graph."""
        if self.manner.rule.predicate is None:
            return pl.Series([each.source_time for each in self.payloads], dtype=pl.Int64)
        asked = pl.col(_GIVEN).is_null() & (pl.col(_STAMPS) == 1)
        stamps = table.select(pl.when(asked).then(_STAMP).alias(ID))
        known = terms.join(stamps, on=ID, how="semi")
        # A text that is no literal, or one with an escape, is none that is plain to see.
        lexical = known[TEXT].str.extract(_LEXICAL).fill_null("")
        known = known.select(ID, read_times(lexical).alias(TIME))
        return stamps.join(known, on=ID, how="left", maintain_order="left")[TIME]

    # -- whose blank nodes are whose -------------------------------------------------------

    def _scopes(self, rows: pl.DataFrame, timed: Flags) -> pl.Series:
        """The scope of the element of each line."""
        owners = rows[PAYLOAD].to_numpy()
        scopes = pl.Series([each.scope for each in self.payloads], dtype=pl.String).gather(owners)
        if not timed.any():
            return scopes
        shift = np.array([each.first_byte for each in self.payloads]) - self._first_bytes
        starts = first_starts(rows[START], rows[BEGINS].to_numpy()) + pl.Series(shift[owners])
        inner = scopes + "." + starts.cast(pl.String)
        return inner.zip_with(pl.Series(timed[owners]), scopes)


def _used(terms: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """The terms that are used in some lines."""
    used = pl.concat([rows.select(pl.col(name).alias(ID)) for name in STATEMENT])
    return terms.join(used, on=ID, how="semi", maintain_order="left")
