"""How a deployment runs on Spark: one streaming query, whose batches are committed by manifests."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import sha256
from typing import Final

import pyarrow as pa
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headrace.errors import DataError, HeadraceError, InternalError, MachineError, SettingError
from headrace.pipeline.batches import Batches
from headrace.pipeline.decode import Decoding, decode_piece
from headrace.pipeline.manifest import Manifest
from headrace.pipeline.panes import Pane, pane_from
from headrace.pipeline.pieces import Piece
from headrace.pipeline.streams import Sources
from headrace.spark.source import FORMAT, PieceSource

PANES: Final = "pane string"


@dataclass(frozen=True, slots=True)
class Pace:
    """How much a batch takes, and when the next one begins.

    Attributes:
        pieces_per_batch: how many pieces of files a batch reads at most; no limit if zero.
        interval: seconds from batch to batch, for a run that goes on until it is stopped. Without
            one, the run reads what is there, closes every window that holds an element, and ends.
    """

    pieces_per_batch: int = 16
    interval: float | None = None


ONCE: Final = Pace()


class Runner:
    """A deployment at work on Spark, from `start` until it ends or is stopped."""

    def __init__(
        self, spark: SparkSession, batches: Batches, sources: Sources, pace: Pace = ONCE
    ) -> None:
        """Make ready to run in a session."""
        self.spark = spark
        self.batches = batches
        self.sources = sources
        self.pace = pace
        self._stopping = threading.Event()
        self._at_work = threading.Lock()

    def run(self) -> Manifest:
        """Run until the input ends, or until the run is stopped.

        Returns:
            The last manifest, which has the counters.

        Raises:
            HeadraceError: the run failed; the message says what to do.
        """
        query = self._started()
        try:
            query.awaitTermination()
        except StreamingQueryException as error:
            if not self._stopping.is_set():
                raise self.batches.failure or translated(str(error)) from error
        finally:
            query.stop()
        ends = self.pace.interval is None and not self._stopping.is_set()
        return self.batches.finish() if ends else self.batches.last()

    def stop(self) -> None:
        """End the run after the batch that is being worked on."""
        self._stopping.set()
        with self._at_work:
            for query in self.spark.streams.active:
                query.stop()

    def _started(self) -> StreamingQuery:
        self.spark.dataSource.register(PieceSource)
        layout = self.batches.layout
        writer = (
            self.spark.readStream.format(FORMAT)
            .option("sources", self.sources.to_json())
            .option("log", str(layout.source_log))
            .option("pieces", self.pace.pieces_per_batch)
            .load()
            .writeStream.foreachBatch(self._process)
            .option("checkpointLocation", str(layout.spark))
        )
        if self.pace.interval is None:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=f"{self.pace.interval} seconds").start()

    def _process(self, frame: DataFrame, batch: int) -> None:
        with self._at_work:
            if self._stopping.is_set():
                raise _Stopped
            self.batches.process(batch, self._offsets(batch), partial(self._decoded, frame))

    def _decoded(self, frame: DataFrame) -> list[Pane]:
        """One action, because two on the frame would decode it twice."""
        decode = partial(decode_rows, decodings=self.batches.setup.decodings)
        return [
            pane_from(json.loads(row.pane)) for row in frame.mapInArrow(decode, PANES).collect()
        ]

    def _offsets(self, batch: int) -> str:
        """A digest of what Spark wrote down for a batch, without the time of writing."""
        path = self.batches.layout.spark / "offsets" / str(batch)
        version, _, *offsets = path.read_text().split("\n")
        return sha256("\n".join([version, *offsets]).encode()).hexdigest()


class _Stopped(Exception):  # noqa: N818 - it is no error
    """A batch that is not begun because the run ends."""


def decode_rows(
    batches: Iterable[pa.RecordBatch], decodings: Mapping[str, Decoding]
) -> Iterator[pa.RecordBatch]:
    """Pieces -> a pane for each, of which only a description is returned."""
    for record in batches:
        for text in record.column(0).to_pylist():
            piece = Piece(**json.loads(str(text)))
            pane = decode_piece(piece, decodings[piece.stream])
            yield pa.RecordBatch.from_pydict({"pane": [json.dumps(asdict(pane))]})


_RAISED: Final = re.compile(r"headrace\.errors\.(\w+): (.+)")
_RAISED_IN_TASKS: Final = {kind.__name__: kind for kind in (DataError, MachineError, SettingError)}


def translated(text: str) -> HeadraceError:
    r"""What a task or the source has raised, which Spark has turned into text.

    >>> translated("Traceback ...\nheadrace.errors.MachineError: no disk\n at org.apache...")
    MachineError('no disk')
    """
    raised = _RAISED.search(text)
    if raised and raised[1] in _RAISED_IN_TASKS:
        return _RAISED_IN_TASKS[raised[1]](raised[2])
    return InternalError(f"the streaming query failed: {text}")
