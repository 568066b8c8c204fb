"""The files of all streams as one source of Spark, which only counts what there is to read.

Spark starts a process for it, and waits. So what is not always needed is imported where it is.
"""

# Spark's names for what a source does are not written as Python writes them.
# ruff: noqa: N802

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

FORMAT: Final = "headrace"
SCHEMA: Final = "pane string"


class PieceReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Tells Spark how many pieces there are; an offset is a number of pieces.

    In a live run it has also the number of the last batch that was asked for though there may be
    nothing to read, so that Spark plans one, and how many pieces were known.
    """

    def __init__(
        self,
        known: Callable[[], int],
        pieces_per_batch: int,
        tick: Callable[[], int] | None = None,
    ) -> None:
        """Count what is known.

        Args:
            known: looks how many pieces there are now.
            pieces_per_batch: how many of them a batch may hold; any number if zero.
            tick: looks for which batch was asked for; none in a run that ends.
        """
        self.known = known
        self.pieces_per_batch = pieces_per_batch
        self.tick = tick

    def initialOffset(self) -> dict[str, int]:
        """Before the first piece."""
        return {"pieces": 0}

    def getDefaultReadLimit(self) -> ReadLimit:
        """How much a batch may hold."""
        return ReadMaxFiles(self.pieces_per_batch) if self.pieces_per_batch else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """Do nothing: what was known at the start is all there is."""

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        """After the last piece that the next batch reads."""
        known = stop = self.known()
        if isinstance(limit, ReadMaxFiles):
            stop = min(known, start["pieces"] + limit.max_files)
        if self.tick is None:
            return {"pieces": stop}
        last = start.get("tick", 0)
        # Nothing passes for silence while there is something to read.
        tick = max(last, self.tick()) if stop == known else last
        if stop == start["pieces"] and tick == last:
            return start
        return {"pieces": stop, "known": known, "tick": tick}

    def partitions(
        self,
        start: dict[str, int],  # noqa: ARG002
        end: dict[str, int],  # noqa: ARG002
    ) -> Sequence[InputPartition]:
        """No rows: whoever works on a batch asks for the pieces by their numbers."""
        return []

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:  # noqa: ARG002
        """Nothing."""
        return iter(())


class PieceSource(DataSource):
    """All streams that are files.

    Its options are `pieces`, how many a batch may hold, and either `known`, how many there are in
    all, or `sources`, `log`, `tick` and `committed`, if there will be more.
    """

    @classmethod
    def name(cls) -> str:
        """What `readStream.format` calls it."""
        return FORMAT

    def schema(self) -> str:
        """That of panes, which topics of Kafka bring."""
        return SCHEMA

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002
        """Read the streams from where their log says."""
        known = self.options.get("known")
        pieces = int(self.options["pieces"])
        if known is not None:
            return PieceReader(lambda: int(known), pieces)
        return PieceReader(_looking(self.options), pieces, _ticking(self.options))


def _looking(options: Mapping[str, str]) -> Callable[[], int]:
    """What looks for new pieces and says how many there are."""
    from pathlib import Path  # noqa: PLC0415

    from headrace.pipeline.pieces import SourceLog  # noqa: PLC0415
    from headrace.pipeline.streams import Sources  # noqa: PLC0415

    sources = Sources.from_json(options["sources"])
    log = SourceLog(Path(options["log"]), int(options["committed"]))

    def count() -> int:
        sources.look(log, complete=False)
        log.forget(log.count)  # others read them from the log
        return log.count

    return count


def _ticking(options: Mapping[str, str]) -> Callable[[], int]:
    """Watch for requests of batches without input."""
    from pathlib import Path  # noqa: PLC0415

    path = Path(options["tick"])

    def tick() -> int:
        try:
            return int(path.read_text())
        except FileNotFoundError:
            return 0

    return tick
