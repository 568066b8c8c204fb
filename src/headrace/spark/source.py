"""The files of all streams as one source of Spark, which only counts what there is to read."""

# Spark's names for what a source does are not written as Python writes them.
# ruff: noqa: N802

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from headrace.pipeline.pieces import SourceLog
from headrace.pipeline.streams import Sources
from headrace.pipeline.tables import damaged

FORMAT: Final = "headrace"
SCHEMA: Final = "pane string"


class PieceReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Tells Spark how many pieces there are; an offset is a number of pieces."""

    def __init__(self, sources: Sources, log: SourceLog, pieces_per_batch: int) -> None:
        """Go on with a log."""
        self.sources = sources
        self.log = log
        self.pieces_per_batch = pieces_per_batch
        self.ends = False

    def initialOffset(self) -> dict[str, int]:
        """Before the first piece."""
        return {"pieces": 0}

    def getDefaultReadLimit(self) -> ReadLimit:
        """How much a batch may hold."""
        return ReadMaxFiles(self.pieces_per_batch) if self.pieces_per_batch else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """What is there now is all there will be."""
        self.sources.look(self.log, complete=True)
        self.ends = True

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        """After the last piece that the next batch reads."""
        if not self.ends:
            self.sources.look(self.log, complete=False)
        known = len(self.log.pieces)
        if isinstance(limit, ReadMaxFiles):
            known = min(known, start["pieces"] + limit.max_files)
        return {"pieces": known}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:  # noqa: ARG002
        """No rows: whoever works on a batch asks for the pieces by their numbers."""
        if end["pieces"] > len(self.log.pieces):
            problem = f"it has {len(self.log.pieces)} pieces, and Spark reads {end['pieces']}"
            raise damaged(self.log.path, problem)
        return []

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:  # noqa: ARG002
        """Nothing."""
        return iter(())


class PieceSource(DataSource):
    """All streams that are files; options `sources`, `log`, `committed`, `pieces`."""

    @classmethod
    def name(cls) -> str:
        """What `readStream.format` calls it."""
        return FORMAT

    def schema(self) -> str:
        """That of panes, which topics of Kafka bring."""
        return SCHEMA

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002
        """Read the streams from where their log says."""
        return PieceReader(
            Sources.from_json(self.options["sources"]),
            SourceLog(Path(self.options["log"]), int(self.options["committed"])),
            int(self.options["pieces"]),
        )
