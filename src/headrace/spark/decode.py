"""What the bytes of a batch say, as columns of integers; runs in Spark tasks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final
from uuid import uuid4

import pyarrow as pa
import xxhash

from headrace.algebra.reporting import BlankNodes
from headrace.errors import DataError
from headrace.rdf.ids import term_id
from headrace.rdf.scopes import UNSCOPED
from headrace.rdf.terms import BlankNode, Quad, QuotedTriple, Term, canonical
from headrace.rdf.timed import read_timed
from headrace.spark.layout import Deployment
from headrace.spark.panes import ELEMENT_SCHEMA, TERM_SCHEMA, Pane, write_pane
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
    per_stream = deployment.plan.blank_nodes is BlankNodes.STREAM
    prefix = "" if per_stream else _scope_of(piece)
    encoder = Encoder(deployment.seed, prefix)
    elements = read_timed(
        _bytes_of(piece),
        name=piece.path,
        scope=UNSCOPED if per_stream else None,
        on_error=encoder.reject,
    )
    for element in elements:
        encoder.add(element.time, element.quads)
    name = f"{batch}-{piece.ordinal}-{uuid4().hex}.arrow"
    checksum = write_pane(deployment.layout.panes / name, *encoder.tables())
    return Pane(
        ordinal=piece.ordinal,
        name=name,
        checksum=checksum,
        rows=len(encoder.rows),
        high=encoder.high,
        rejected=encoder.rejected,
        reason=encoder.reason,
    )


@dataclass(slots=True)
class Encoder:
    """Statements on their way to columns, each term looked at once.

    Attributes:
        seed: what term ids are made with.
        prefix: put before blank node labels, which mean nothing outside their element.
    """

    seed: int
    prefix: str
    high: int | None = None
    rejected: int = 0
    reason: str | None = None
    rows: list[tuple[int | None, ...]] = field(default_factory=list)
    _ids: dict[Term, int] = field(default_factory=dict)
    _texts: dict[int, str] = field(default_factory=dict)

    def add(self, time: int, quads: Iterable[Quad]) -> None:
        """Add an element; without statements it only moves time on."""
        for quad in quads:
            graph = None if quad.graph is None else self._id(quad.graph)
            statement = (self._id(quad.subject), self._id(quad.predicate), self._id(quad.object))
            self.rows.append((time, self.high, graph, *statement))
        self.high = time if self.high is None else max(self.high, time)

    def reject(self, error: DataError) -> None:
        """Take note of a line that cannot be read."""
        self.rejected += 1
        self.reason = self.reason or str(error)

    def tables(self) -> tuple[pa.Table, pa.Table]:
        """The elements in the order of the stream, and the terms they use."""
        columns = list(zip(*self.rows, strict=True)) or [()] * len(ELEMENT_SCHEMA)
        arrays = [pa.array(values, pa.int64()) for values in columns]
        elements = pa.Table.from_arrays(arrays, schema=ELEMENT_SCHEMA)
        ids = pa.array(list(self._texts), pa.int64())
        texts = pa.array(list(self._texts.values()), pa.string())
        return elements, pa.Table.from_arrays([ids, texts], schema=TERM_SCHEMA)

    def _id(self, term: Term) -> int:
        known = self._ids.get(term)
        if known is None:
            scoped = within(term, self.prefix) if self.prefix else term
            known = self._ids[term] = term_id(scoped, self.seed)
            text = canonical(scoped)
            if self._texts.setdefault(known, text) != text:
                raise DataError(f"{text} and {self._texts[known]} have the same id")
        return known


def within(term: Term, prefix: str) -> Term:
    """A term with its blank nodes told apart from those of other pieces.

    >>> within(BlankNode("3.b"), "f00")
    BlankNode(label='f00.3.b')
    """
    match term:
        case BlankNode(label):
            return BlankNode(f"{prefix}.{label}")
        case QuotedTriple(subject, predicate, object_):
            return QuotedTriple(
                within(subject, prefix), within(predicate, prefix), within(object_, prefix)
            )
        case _:
            return term


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
