"""What a decode task brings: a file of columns, and a description of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import numpy as np
import polars as pl
import pyarrow as pa

from headrace.diagnosis.probes import Tally
from headrace.errors import MachineError
from headrace.kernel.arrivals import Arrivals
from headrace.kernel.arriving import Gate
from headrace.kernel.columns import ARRIVALS, HIGH, POSITION, STATEMENT, TERMS, TIME
from headrace.kernel.grid import NEVER
from headrace.kernel.log import Elements
from headrace.kernel.values import VALUES
from headrace.pipeline.pieces import Piece
from headrace.pipeline.tables import frame_of, read_tables, with_schema, write_tables

PLACE: Final = "place"
"""Which of the elements and heartbeats of a pane a statement is of."""
SIZE: Final = "size"
MESSAGE: Final = "message"
"""The number of the message of an element; the column is there if a message has several."""
FILES: Final = ""
"""The part of a stream that all its files are."""
ELEMENTS: Final = pl.Schema({TIME: pl.Int64, SIZE: pl.Int64})
ENTAILED: Final = "entailed"
"""Whether a statement only follows from others of its element; the column is there if some does."""
STATEMENTS: Final = pl.Schema({PLACE: pl.Int64, **dict.fromkeys(STATEMENT, pl.Int64)})
VALUED_TERMS: Final = pl.Schema({**TERMS, **VALUES})
PROBLEMS: Final = pl.Schema(
    {
        "name": pl.String,
        "line": pl.Int64,
        "column": pl.Int64,
        "problem": pl.String,
        "text": pl.String,
    }
)


@dataclass(frozen=True, slots=True)
class Columns:
    """What a piece of a source says.

    Attributes:
        elements: the time and the size of each element, and of each heartbeat, which has no size.
        statements: those that some query may ask for, also what only follows from others.
        terms: the terms in them, and what they are worth.
        problems: what could not be read, where, why, and its text if it was a line or a message.
    """

    elements: pl.DataFrame
    statements: pl.DataFrame
    terms: pl.DataFrame
    problems: pl.DataFrame


@dataclass(frozen=True, slots=True)
class Pane:
    """A file of decoded elements and their terms; the only thing a decode task returns.

    Attributes:
        stream: the IRI of its stream.
        partition: which part of its source it is of; times go on in order within each.
        ordinal: its place among those of its partition.
        name: its file.
        checksum: of that file.
        elements: how many elements and heartbeats there were.
        counted: how many of them were elements.
        rejected: how many could not be read.
        lines: how many lines it has.
        first_time: the time of the first.
        high: the greatest time.
        filtered: whether statements that no query can ask for are not in the file.
        piece: what it was made of, if that can be read again.
        source: a checksum of the bytes of that.
        least: the least time; none if that is not known.
        tally: what was counted of its statements; none once the driver has added it up.
        before: the greatest time of its partition before it; this and what follows is filled in
            by the driver.
        first: the position of its first element.
        refused: the places of the elements that were not taken.
        messages: how many messages there were.
        unread: how many of them could not be read at all.
    """

    stream: str
    partition: str
    ordinal: int
    name: str
    checksum: str
    elements: int
    counted: int
    rejected: int
    lines: int
    first_time: int | None
    high: int | None
    filtered: bool
    piece: Piece | None = None
    source: str | None = None
    least: int | None = None
    tally: Tally | None = None
    before: int | None = None
    first: int = 0
    refused: tuple[int, ...] = ()
    messages: int = 0
    unread: int = 0

    def within(self, gate: Gate) -> bool:
        """Whether all of its elements are taken, by what is known without looking into it."""
        if self.high is None:
            return True
        start = self.first_time if self.before is None else self.before
        return gate.reason(self.high, start) is None and self.first_time is not None

    def may_hold(self, since: int, until: int) -> bool:
        """Whether an element of it may have happened from a moment to another."""
        if self.least is None or self.high is None:
            return True
        return self.least <= until and self.high >= since


def file_name(ordinal: int) -> str:
    """A new name for the file of the pane of a piece."""
    return f"{ordinal}-{uuid4().hex}.arrow"


def is_ahead(name: str, read: int) -> bool:
    """Whether a file is the pane of a piece after the first so many.

    >>> is_ahead("7-0f3a.arrow", 7), is_ahead("6-0f3a.arrow", 7), is_ahead("9-0-0f3a.arrow", 7)
    (True, False, False)
    """
    ordinal, _, rest = name.partition("-")
    return ordinal.isdecimal() and "-" not in rest and int(ordinal) >= read


def pane_from(parts: dict[str, object]) -> Pane:
    """Read a pane from JSON."""
    piece = parts.get("piece")
    refused = parts.get("refused") or ()
    tally = parts.get("tally")
    return Pane(
        **{  # type: ignore[arg-type]  # written by us
            **parts,
            "piece": Piece(**piece) if isinstance(piece, dict) else None,
            "tally": tally_from(tally) if isinstance(tally, dict) else None,
            "refused": tuple(refused),  # type: ignore[arg-type]
        }
    )


def tally_from(parts: dict[str, Any]) -> Tally:
    """Read a tally from JSON."""
    names = {name: tuple(parts[name]) for name in ("predicates", "graphs")}
    return Tally(**{**parts, **names})


def write_pane(path: Path, columns: Columns, durable: bool) -> str:
    """Write a pane's file and return its checksum."""
    tables = (columns.elements, columns.statements, columns.terms, columns.problems)
    return write_tables(path, [table.to_arrow() for table in tables], durable)


def read_pane(directory: Path, pane: Pane) -> Columns:
    """What is in a pane's file.

    Raises:
        MachineError: the file is not what was written.
    """
    tables: Sequence[pa.Table] = read_tables(directory / pane.name, pane.checksum)
    elements, statements, terms, problems = map(frame_of, tables)
    return Columns(elements, statements, terms, with_schema(problems, PROBLEMS))


def arrivals(pane: Pane, columns: Columns, base: int = 0) -> Arrivals:
    """The elements of a pane as the kernel takes them, with positions that count from a base."""
    times = columns.elements[TIME].to_numpy()
    taken = np.ones(times.size, np.bool_)
    taken[list(pane.refused)] = False
    start = NEVER if pane.before is None else pane.before
    reached = np.maximum.accumulate(np.concatenate(([start], np.where(taken, times, NEVER))))
    highs, high = reached[:-1], int(reached[-1])
    sizes = columns.elements[SIZE].to_numpy()
    there = np.flatnonzero((sizes > 0) & taken)
    first = pane.first - base
    elements = Elements(there + first, times[there], highs[there], sizes[there])
    places = columns.statements[PLACE].to_numpy()
    statements = columns.statements.select(
        pl.Series(POSITION, places + first, dtype=pl.Int64),
        pl.Series(TIME, times[places], dtype=pl.Int64),
        pl.Series(HIGH, highs[places], dtype=pl.Int64).replace(NEVER, None),
        *STATEMENT,
    ).select(*ARRIVALS)
    if pane.refused:
        statements = statements.filter(taken[places])
    return Arrivals(statements, None if high == NEVER else high, elements)


def missing(problem: str, pane: Pane) -> MachineError:
    """A pane is lost, and so is what it was made of."""
    return MachineError(
        f"{problem}; windows of <{pane.stream}> that are still open need it: put the file back as "
        "it was and run again, or start again in a new directory, from a source that still has it"
    )
