"""How a deployment runs on Spark: one streaming query, whose batches are committed by manifests."""

from __future__ import annotations

import errno
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial, reduce
from hashlib import sha256
from time import monotonic
from typing import Final

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headrace.errors import HeadraceError
from headrace.pipeline.batches import Batches
from headrace.pipeline.following import LogFollower
from headrace.pipeline.manifest import File, Manifest
from headrace.pipeline.messages import TopicSource
from headrace.pipeline.panes import FILES, Pane, pane_from
from headrace.pipeline.parts import PartRequest, answer
from headrace.pipeline.pieces import SourceLog
from headrace.pipeline.sparklog import spark_problems
from headrace.pipeline.static import StaticPiece, encode_piece
from headrace.pipeline.static_parts import StaticRequest, Tasks, solve_part
from headrace.pipeline.streams import Sources
from headrace.pipeline.tables import damaged, unwritable
from headrace.spark.decoder import Decoder
from headrace.spark.failures import GONE, SPARK_ERRORS, gone, translated, translating
from headrace.spark.kafka import failure, panes_of, parts_of, settled
from headrace.spark.session import first_of_all
from headrace.spark.source import FORMAT, PieceSource
from headrace.timed_waits import wait_for_event


@dataclass(frozen=True, slots=True)
class Pace:
    """How much a batch takes, and when the next one begins.

    Attributes:
        pieces_per_batch: how many pieces of files a batch reads at most; no limit if zero.
        interval: seconds from batch to batch, for a run that goes on until it is stopped. Without
            one, the run reads what is there, closes every window that holds an element, and ends.
        ends: whether windows are closed where the input ends, or more of it will come.
    """

    pieces_per_batch: int = 8
    interval: float | None = None
    ends: bool = True


ONCE: Final = Pace()
_SHORTEST: Final = 0.05
_EVERY_PIECE: Final = 1 << 30
_POLLING_DELAY: Final = "spark.sql.streaming.pollingDelay"
_NO_ROOM: Final = "No space left on device"
_TWICE: Final = "Multiple streaming queries are concurrently using"


class Runner:
    """A deployment at work on Spark, from `start` until it ends or is stopped."""

    def __init__(
        self,
        spark: SparkSession,
        batches: Batches,
        sources: Sources,
        pace: Pace = ONCE,
        topics: Sequence[TopicSource] = (),
    ) -> None:
        """Make ready to run in a session.

        Args:
            spark: the session.
            batches: what to run.
            sources: the files to read.
            pace: how much at a time, and when.
            topics: what to read from Kafka.

        Raises:
            SettingError: the deployment has read other topics before.
        """
        self.spark = spark
        self.batches = batches
        self.batches.setup = replace(batches.setup, answer=self._answered)
        self.sources = sources
        self.pace = pace
        self.topics = settled(batches.layout, topics)
        self._files = Decoder(
            spark,
            LogFollower(batches.layout.source_log),
            batches.setup.decodings,
            pace.pieces_per_batch or _EVERY_PIECE,
            is_live=pace.interval is not None,
        )
        self._stopping = threading.Event()
        self._at_work = threading.Lock()
        self._raised: Exception | None = None

    def run(self) -> Manifest:
        """Run until the input ends, or until the run is stopped.

        Returns:
            The last manifest, which has the counters.

        Raises:
            HeadraceError: the run failed; the message says what to do.
        """
        try:
            return self._run()
        except GONE as error:
            raise gone() from error
        finally:
            self._files.close()

    def _run(self) -> Manifest:
        query = self._started()
        if self._stopping.is_set():  # before there was a query to stop
            query.stop()
        try:
            with self._ticking():
                _wait_for(query)
        except StreamingQueryException as error:
            if self._raised is not None:
                raise self._raised from None
            if not self._stopping.is_set():
                raise self._failure(str(error)) from error
        query.stop()
        ends = self.pace.interval is None and self.pace.ends and not self._stopping.is_set()
        return self.batches.finish() if ends else self.batches.last()

    def stop(self) -> None:
        """End the run after the batch that is being worked on."""
        self._stopping.set()
        with self._at_work:
            for query in self.spark.streams.active:
                query.stop()

    @contextmanager
    def _ticking(self) -> Iterator[None]:
        """Ask for a batch without input whenever one is due."""
        setup = self.batches.setup
        if self.pace.interval is None or not (setup.idles or setup.share):
            yield
            return
        ended = threading.Event()
        interval = self.pace.interval or _SHORTEST
        thread = threading.Thread(
            target=lambda: self._tick(ended, interval), name="pass time", daemon=True
        )
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _tick(self, ended: threading.Event, interval: float) -> None:
        while not wait_for_event(ended, interval):
            if not self._at_work.acquire(blocking=False):
                continue  # what a batch brings may end a silence
            try:
                is_due = self.batches.is_due_without_input
                wanted = self.batches.last().batch + 1 if is_due else None
            finally:
                self._at_work.release()
            if wanted is not None:
                draft = self.batches.layout.tick.with_suffix(".draft")
                draft.write_text(str(wanted))
                draft.replace(self.batches.layout.tick)

    def _failure(self, text: str) -> HeadraceError:
        layout = self.batches.layout
        if _NO_ROOM in text:
            return unwritable(layout.directory, OSError(errno.ENOSPC, _NO_ROOM))
        if _TWICE in text:
            return damaged(layout.spark, "it has more batches than it has said")
        return failure(text, self.topics) or translated(text)

    def _started(self) -> StreamingQuery:
        # Spark does not say which of its files is damaged, or that another one is.
        for path, problem in spark_problems(self.batches.layout, self.batches.last()):
            raise damaged(path, problem)
        decodings = self.batches.setup.decodings
        topics = [
            panes_of(self.spark, each, decodings[each.stream], self.pace.pieces_per_batch)
            for each in self.topics
        ]
        # Spark knows sources by their places. That of the files is there even if there are none,
        # so that some can be added.
        panes = reduce(DataFrame.union, topics, self._pieces())
        writer = panes.writeStream.foreachBatch(self._process).option(
            "checkpointLocation", str(self.batches.layout.spark)
        )
        if self.pace.interval is None:
            return writer.trigger(availableNow=True).start()
        # A trigger with an interval waits for a time of the clock: where that is set back by a day,
        # for a day. Without one, Spark only sleeps while there is nothing to read.
        self.spark.conf.set(_POLLING_DELAY, f"{round(self.pace.interval * 1000)}ms")
        return writer.start()

    def _pieces(self) -> DataFrame:
        """No rows: Spark counts the pieces of files, and their panes are had by number."""
        self.spark.dataSource.register(PieceSource)
        reader = self.spark.readStream.format(FORMAT).option("pieces", self.pace.pieces_per_batch)
        read = self.batches.last().pieces
        if self.pace.interval is None:
            return reader.option("known", self._look_ahead(read)).load()
        log = self.batches.layout.source_log
        reader = reader.option("sources", self.sources.to_json()).option("log", str(log))
        reader = reader.option("tick", str(self.batches.layout.tick))
        return reader.option("committed", read).load()

    def _look_ahead(self, read: int) -> int:
        """Find all pieces, and let tasks begin with the first while Spark starts the query."""
        log = SourceLog(self.batches.layout.source_log, read)
        self.sources.look(log, complete=True)
        self._files.look_ahead(read, log.count)
        return log.count

    def _process(self, frame: DataFrame, batch: int) -> None:
        began = monotonic()
        self._work_on(frame, batch)
        if self.pace.interval is not None:
            wait_for_event(self._stopping, max(0.0, began + self.pace.interval - monotonic()))

    def _work_on(self, frame: DataFrame, batch: int) -> None:
        with self._at_work:
            if self._stopping.is_set():
                raise _Stopped
            offsets = self._offsets(batch)
            digest = sha256("\n".join(offsets).encode()).hexdigest()
            decode = partial(self._decoded, frame, offsets)
            try:
                self.batches.process(
                    batch, digest, decode, self._parts(offsets), reads_all=_reads_all(offsets)
                )
            except SPARK_ERRORS:
                raise
            except Exception as error:
                self._raised = error  # Spark would turn it into text
                raise

    def _decoded(self, frame: DataFrame, offsets: Sequence[str]) -> list[Pane]:
        """The panes of a batch."""
        _version, files, *topics = offsets
        panes = self._files.panes(self.batches.last().pieces, json.loads(files)["pieces"])
        # One action, because two on the frame would decode it twice.
        return panes + [
            pane_from(json.loads(row.pane)) for row in (frame.collect() if topics else ())
        ]

    def encode(self, pieces: Sequence[StaticPiece]) -> None:
        """Have static data encoded, a task for each piece.

        Raises:
            DataError: one of them cannot be read.
        """
        with translating():
            self.spark.sparkContext.parallelize(pieces, len(pieces)).foreach(encode_piece)

    def solve(self, requests: Sequence[StaticRequest]) -> None:
        """Have static patterns solved, a task for each part."""
        with translating(), first_of_all(self.spark):
            self.spark.sparkContext.parallelize(requests, len(requests)).foreach(solve_part)

    @property
    def tasks(self) -> Tasks | None:
        """Who solves static patterns in parts."""
        return Tasks(self.spark.sparkContext.defaultParallelism, self.solve)

    def _answered(self, requests: Sequence[PartRequest]) -> list[File]:
        """Have the parts of queries evaluated, a task for each."""
        with translating(), first_of_all(self.spark):
            asked = self.spark.sparkContext.parallelize(requests, len(requests))
            return asked.map(answer).collect()

    def _offsets(self, batch: int) -> list[str]:
        """What Spark wrote down for a batch, a line for each source, without the time of it."""
        path = self.batches.layout.spark / "offsets" / str(batch)
        version, _, *offsets = path.read_text().split("\n")
        return [version, *offsets]

    def _parts(self, offsets: Sequence[str]) -> dict[str, list[str]]:
        """The parts of the streams that are read from topics, with those that are silent."""
        _version, _files, *topics = offsets
        found = parts_of(self.topics, topics)
        for iri in found.keys() & self.sources.streams.keys():
            found[iri].append(FILES)
        return found


def _reads_all(offsets: Sequence[str]) -> bool:
    """Test whether a batch of a live run reads all that was found."""
    _version, files, *_topics = offsets
    found = json.loads(files)
    return bool(found.get("known") == found["pieces"])


def _wait_for(query: StreamingQuery) -> None:
    """Wait for the end of a query, in a thread: Ctrl-C must not break into a talk with Java.

    Raises:
        StreamingQueryException: it has failed.
    """
    failures: list[Exception] = []

    def wait() -> None:
        try:
            query.awaitTermination()
        except Exception as error:  # noqa: BLE001 - it is raised again
            failures.append(error)

    thread = threading.Thread(target=wait, name="wait for Spark", daemon=True)
    thread.start()
    thread.join()
    for each in failures:
        raise each


class _Stopped(Exception):  # noqa: N818 - it is no error
    """A batch that is not begun because the run ends."""
