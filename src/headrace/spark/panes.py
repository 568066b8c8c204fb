"""What a decode task brings, and how a step reads it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl
import pyarrow as pa

from headrace.errors import InternalError
from headrace.kernel.columns import ARRIVALS, HIGH, ID, TERMS, TEXT
from headrace.spark.tables import read_tables, write_tables

ELEMENT_SCHEMA: Final = pa.schema([(name, pa.int64()) for name in ARRIVALS])
_TERM_TYPES: Final[dict[str, pa.DataType]] = {ID: pa.int64(), TEXT: pa.string()}
TERM_SCHEMA: Final = pa.schema(_TERM_TYPES)


@dataclass(frozen=True, slots=True)
class Pane:
    """A file of decoded elements and their terms; the only thing a decode task returns.

    Attributes:
        ordinal: its place in the stream.
        name: its file.
        checksum: of that file.
        rows: how many statements it holds.
        elements: how many elements and heartbeats there were.
        high: the greatest event time in it, heartbeats included.
        rejected: how many lines could not be read.
        reason: why the first of them could not.
        before: the greatest event time of the stream before it, filled in by the driver.
    """

    ordinal: int
    name: str
    checksum: str
    rows: int
    elements: int
    high: int | None
    rejected: int = 0
    reason: str | None = None
    before: int | None = None


def write_pane(path: Path, elements: pa.Table, terms: pa.Table) -> str:
    """Write a pane's file and return its checksum."""
    return write_tables(path, elements, terms)


def read_pane(directory: Path, pane: Pane) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The elements of a pane, each with its stream's greatest time before it, and their terms."""
    elements, terms = (_frame(table) for table in read_tables(directory / pane.name, pane.checksum))
    high = pl.max_horizontal(HIGH, pl.lit(pane.before, pl.Int64)).alias(HIGH)
    return elements.with_columns(high).select(*ARRIVALS), terms.select(*TERMS)


def _frame(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    if not isinstance(frame, pl.DataFrame):
        raise InternalError("a table that is not one")
    return frame
