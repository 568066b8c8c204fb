"""What the bytes of a batch say, as columns of integers; runs in Spark tasks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Final
from uuid import uuid4

import pyarrow as pa
import xxhash

from headrace.algebra.reporting import BlankNodes
from headrace.errors import DataError
from headrace.kernel.arriving import with_highs
from headrace.rdf.columns import read_timed_columns
from headrace.spark.layout import Deployment
from headrace.spark.panes import Pane, write_pane
from headrace.spark.sources import Piece

REFERENCES: Final = "pane string"


def decode(
    batches: Iterable[pa.RecordBatch], deployment: Deployment, batch: int
) -> Iterator[pa.RecordBatch]:
    """Pieces of files -> a pane for each, of which only a description is returned."""
    for record in batches:
        for row in record.to_pylist():
            pane = decode_piece(Piece(**row), deployment, batch)
            yield pa.RecordBatch.from_pydict({"pane": [json.dumps(asdict(pane))]})


def decode_piece(piece: Piece, deployment: Deployment, batch: int) -> Pane:
    """Read the lines of a piece and write what they say to a new pane file.

    Raises:
        DataError: the file has become shorter since the piece was logged.
    """
    rejected: list[DataError] = []
    per_stream = deployment.plan.semantics.blank_nodes is BlankNodes.STREAM
    read = read_timed_columns(
        _bytes_of(piece),
        seed=deployment.seed,
        prefix="" if per_stream else _scope_of(piece),
        per_stream=per_stream,
        name=piece.path,
        on_error=rejected.append,
    )
    statements, high = with_highs(read, None)
    name = f"{batch}-{piece.ordinal}-{uuid4().hex}.arrow"
    path = deployment.layout.panes / name
    return Pane(
        ordinal=piece.ordinal,
        name=name,
        checksum=write_pane(path, statements.to_arrow(), read.terms.to_arrow()),
        rows=statements.height,
        elements=read.elements.height,
        high=high,
        rejected=len(rejected),
        reason=str(rejected[0]) if rejected else None,
    )


def _scope_of(piece: Piece) -> str:
    """The same for the same lines of the same file, whenever and wherever they are read."""
    return f"f{xxhash.xxh3_64_hexdigest(piece.path.encode())}.{piece.start}"


def _bytes_of(piece: Piece) -> bytes:
    with Path(piece.path).open("rb") as file:
        file.seek(piece.start)
        content = file.read(piece.stop - piece.start)
    if len(content) < piece.stop - piece.start:
        raise DataError("is shorter than when it was found", piece.path)
    return content
