"""What the bytes of a piece say, as columns of integers; runs in tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
import xxhash

from headrace.algebra.reporting import BlankNodes
from headrace.diagnosis.probes import Probe, Tally
from headrace.errors import DataError, MachineError
from headrace.ingest.log import is_segment
from headrace.kernel.arriving import with_quoted
from headrace.kernel.columns import ID, POSITION, STATEMENT, TEXT, TIME
from headrace.kernel.dictionary import Dictionary, in_id_order
from headrace.kernel.entailed import beside, entailed, literals_among, terms_of
from headrace.kernel.values import values
from headrace.pipeline.choosing import wanted
from headrace.pipeline.faults import reach
from headrace.pipeline.panes import (
    ELEMENTS,
    ENTAILED,
    FILES,
    MESSAGE,
    PLACE,
    PROBLEMS,
    SIZE,
    STATEMENTS,
    Columns,
    Pane,
    file_name,
    missing,
    read_pane,
    write_pane,
)
from headrace.pipeline.pieces import Piece
from headrace.pipeline.statement_counts import tally_statements
from headrace.planning.wanted import Shape
from headrace.rdf.columns import TimedColumns
from headrace.rdf.columns_lines import distinct_terms
from headrace.rdf.formats import Format
from headrace.rdf.options import ELEMENT_LIMITS, FILE_LIMITS, LOG_LIMITS, Limits, ReadOptions
from headrace.rdf.streams import offset, read_stream
from headrace.rdf.timestamps import SAID_TIME, TimeRule
from headrace.reasoning.tables import Tables

_NEWLINE: Final = ord("\n")
_OF: Final = {PLACE: POSITION}
_MOST_SHOWN: Final = 65_536
"""So many bytes of what could not be read are told."""


@dataclass(frozen=True)
class Decoding:
    """How the elements of a stream are read.

    Attributes:
        stream: its IRI.
        seed: of the ids.
        panes: where panes are written.
        blank_nodes: within what equal labels are the same node.
        asserts_quoted: whether a quoted triple is asserted too.
        rule: where times stand that are not in a place of their own.
        shapes: of the statements that are kept; None is all of them.
        delay: how far an element may be behind and still not be late for any query.
        tables: what follows from statements, where the queries have a schema.
        probes: which statements are counted for notes.
    """

    stream: str
    seed: int
    panes: Path
    blank_nodes: BlankNodes = BlankNodes.ELEMENT
    asserts_quoted: bool = False
    rule: TimeRule = SAID_TIME
    shapes: tuple[Shape, ...] | None = None
    delay: int = 0
    tables: Tables | None = None
    probes: tuple[Probe, ...] = ()

    @cached_property
    def prefix(self) -> str:
        """Keeps the blank nodes of a stream apart from those of other streams."""
        return f"s{xxhash.xxh3_64_hexdigest(self.stream.encode())[:8]}"

    @property
    def complete(self) -> Decoding:
        """The same, with nothing left out."""
        return replace(self, shapes=None)


Shaped = tuple[Columns, bool, Tally]
"""Columns, whether they hold all statements that came, and what was counted of these."""
Keep = Callable[[str, Columns], None]
"""Takes the columns of a pane by the name of its file."""


def decoded(piece: Piece, decodings: Mapping[str, Decoding], keep: Keep | None = None) -> Pane:
    """The pane of a piece; an empty one, without a file, if its stream is no longer read.

    Args:
        piece: what to read.
        decodings: how, by stream.
        keep: who wants the columns too, in this process.
    """
    if piece.stream in decodings:
        return decode_piece(piece, decodings[piece.stream], keep)
    return Pane(
        stream=piece.stream,
        partition=FILES,
        ordinal=piece.ordinal,
        name="",
        checksum="",
        elements=0,
        counted=0,
        rejected=0,
        lines=0,
        first_time=None,
        high=None,
        filtered=True,
        piece=piece,
    )


def decode_piece(piece: Piece, decoding: Decoding, keep: Keep | None = None) -> Pane:
    """Read a piece and write what it says to a new pane.

    Raises:
        DataError: the file has become shorter since the piece was found, or is gone.
    """
    data = piece.content()
    columns, kept, tally, unread = _read_columns(piece, data, decoding)
    name = file_name(piece.ordinal)
    if keep is not None:
        keep(name, columns)
    return written(
        columns,
        Pane(
            stream=piece.stream,
            partition=FILES,
            ordinal=piece.ordinal,
            name=name,
            checksum="",
            elements=columns.elements.height,
            counted=int((columns.elements[SIZE] > 0).sum()),
            rejected=columns.problems.height,
            lines=int(np.count_nonzero(np.frombuffer(data, np.uint8) == _NEWLINE)),
            first_time=None if columns.elements.is_empty() else columns.elements[TIME][0],
            high=columns.elements[TIME].max(),  # type: ignore[arg-type]  # a time, or none
            filtered=not kept,
            piece=piece,
            source=xxhash.xxh3_64_hexdigest(data),
            least=columns.elements[TIME].min(),  # type: ignore[arg-type]  # a time, or none
            messages=messages_in(columns.elements) + unread,
            unread=unread,
            tally=tally,
        ),
        decoding,
    )


def messages_in(elements: pl.DataFrame) -> int:
    """Count the messages that some elements and heartbeats are of."""
    return elements[MESSAGE].n_unique() if MESSAGE in elements.columns else elements.height


def written(columns: Columns, pane: Pane, decoding: Decoding) -> Pane:
    """A pane whose columns are in its file; durable only if they could not be made again."""
    reach("pane")
    checksum = write_pane(decoding.panes / pane.name, columns, durable=pane.piece is None)
    reach("pane-written")
    return replace(pane, checksum=checksum)


def columns_of(piece: Piece, data: bytes, decoding: Decoding) -> Columns:
    """Decode the bytes of a piece to columns."""
    return _read_columns(piece, data, decoding)[0]


def _read_columns(
    piece: Piece, data: bytes, decoding: Decoding
) -> tuple[Columns, bool, Tally, int]:
    """Read a piece: columns, whether they are all of it, its tally, and its unread messages."""
    problems: list[DataError] = []
    in_lines = piece.form in (Format.TIMED_N_QUADS, Format.NDJSON)
    read = read_stream(
        data,
        piece.form,
        seed=decoding.seed,
        prefix=decoding.prefix,
        per_stream=decoding.blank_nodes is BlankNodes.STREAM,
        name=piece.path,
        rule=decoding.rule,
        source_time=piece.modified,
        first_byte=offset(piece.file, piece.start),
        options=ReadOptions(base=piece.base, limits=_limits(piece)),
        on_error=problems.append,
    )
    lines = data.split(b"\n") if problems and in_lines else []
    texts = [_line(lines, each.line) for each in problems]
    return *shaped(read, list(zip(problems, texts, strict=True)), decoding), read.unread


def _limits(piece: Piece) -> Limits:
    if piece.form not in (Format.TIMED_N_QUADS, Format.NDJSON):
        return FILE_LIMITS
    return LOG_LIMITS if is_segment(Path(piece.path)) else ELEMENT_LIMITS


def _line(lines: Sequence[bytes], number: int | None) -> bytes | None:
    return lines[number - 1] if number is not None and number <= len(lines) else None


def shaped(
    read: TimedColumns,
    problems: Sequence[tuple[DataError, bytes | None]],
    decoding: Decoding,
) -> Shaped:
    """Select the columns that queries may use; return whether they are complete, and a tally.

    Args:
        read: what was read.
        problems: what could not be, with its text if it has one of its own.
        decoding: what queries may ask for.
    """
    elements, statements, terms = read.elements, read.statements, read.terms
    if decoding.asserts_quoted:
        statements, terms = _asserted(read, decoding.seed)
        sizes = np.bincount(statements[POSITION].to_numpy(), minlength=elements.height)
        elements = elements.with_columns(pl.Series(SIZE, sizes, dtype=pl.Int64))
    statements = pl.DataFrame([statements[_OF.get(name, name)].alias(name) for name in STATEMENTS])
    more = statements.clear()
    if decoding.tables is not None:
        more = entailed(statements, decoding.tables, literals_among(terms), PLACE)
    if decoding.tables is not None and not more.is_empty():
        terms = _and_also(terms, terms_of(decoding.tables, more))
    tally = _tally_all(statements, more, terms, decoding)
    kept = True
    if decoding.shapes is not None and not _has_late(read, decoding.delay):
        chosen = wanted(statements, terms, decoding.shapes, decoding.seed)
        kept = bool(chosen.all())
        if not more.is_empty():
            more = more.filter(wanted(more, terms, decoding.shapes, decoding.seed))
        if not kept:
            statements = statements.filter(chosen)
            both = [each[name].rename(ID) for each in (statements, more) for name in STATEMENT]
            used = pl.concat(both).unique()
            terms = terms.join(used.to_frame(), on=ID, how="semi", maintain_order="left")
    if not more.is_empty():
        statements = beside(
            statements.with_columns(pl.lit(value=False).alias(ENTAILED)),
            more.with_columns(pl.lit(value=True).alias(ENTAILED)),
            PLACE,
        )
    terms = in_id_order(terms)
    valued = pl.DataFrame([terms[ID], terms[TEXT], *values(terms[TEXT])])
    bad = [
        (each.name, each.line, each.column, each.problem, _shown(text)) for each, text in problems
    ]
    owners = [] if read.messages is None else [read.messages.alias(MESSAGE)]
    return (
        Columns(
            pl.DataFrame([*(elements[name] for name in ELEMENTS), *owners]),
            statements,
            valued,
            pl.DataFrame(bad, schema=PROBLEMS, orient="row"),
        ),
        kept,
        tally,
    )


def _tally_all(
    statements: pl.DataFrame, more: pl.DataFrame, terms: pl.DataFrame, decoding: Decoding
) -> Tally:
    """Count all statements, also those that no query uses."""
    every = statements if more.is_empty() else pl.concat([statements, more])

    def texts(ids: Sequence[int]) -> list[str]:
        chosen = terms.filter(pl.col(ID).is_in(pl.Series(ids, dtype=pl.Int64).implode()))
        return chosen[TEXT].to_list()

    return tally_statements(every, decoding.probes, decoding.seed, texts)


def _shown(text: bytes | None) -> str | None:
    """The text of what could not be read, so that somebody can mend it; the beginning, if long."""
    if text is None:
        return None
    cut = "" if len(text) <= _MOST_SHOWN else f"… ({len(text):,} bytes)"
    return text[:_MOST_SHOWN].decode(errors="backslashreplace") + cut


def _and_also(terms: pl.DataFrame, more: pl.DataFrame) -> pl.DataFrame:
    """Terms with a few others, each once.

    Raises:
        DataError: two different terms have the same id.
    """
    known = terms.filter(np.isin(terms[ID].to_numpy(), more[ID].to_numpy()))
    distinct_terms(pl.concat([known, more]))
    return pl.concat([terms, more.filter(~more[ID].is_in(known[ID].implode()))])


def _has_late(read: TimedColumns, delay: int) -> bool:
    """Whether an element is so far behind that it may have to be written out in full."""
    times = read.elements[TIME].to_numpy()
    return bool((times < np.maximum.accumulate(times) - delay).any())


def _asserted(read: TimedColumns, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Statements with the triples that they quote beside them, and the terms of all of them."""
    dictionary = Dictionary(seed)
    dictionary.learn(read.terms)
    if dictionary.quoted.is_empty():
        return read.statements, read.terms
    return with_quoted(read.statements, dictionary.quoted), dictionary.known.select(ID, TEXT)


def load(pane: Pane, decoding: Decoding) -> Columns:
    """What is in a pane; if its file is lost, it is made again from its source.

    Raises:
        MachineError: the source is lost too.
    """
    try:
        return read_pane(decoding.panes, pane)
    except MachineError as error:
        if pane.piece is None:
            raise missing(str(error), pane) from error
        return remade(pane, decoding)


def remade(pane: Pane, decoding: Decoding) -> Columns:
    """Decode a pane again from its source.

    Raises:
        MachineError: that is gone, or has become something else.
    """
    assert pane.piece is not None, "it can be read again"
    try:
        data = pane.piece.content()
    except DataError as error:
        raise missing(str(error), pane) from error
    if xxhash.xxh3_64_hexdigest(data) != pane.source:
        raise missing(f"{pane.piece.path} has changed since it was read", pane)
    return columns_of(pane.piece, data, decoding)
