"""How a deployment runs: one streaming query, whose batches are committed by manifests."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headrace.errors import DataError, HeadraceError, InternalError, MachineError, SettingError
from headrace.kernel.progress import Progress
from headrace.planning.plan import Plan
from headrace.spark.answers import Answer, read_answers
from headrace.spark.decode import REFERENCES, decode
from headrace.spark.layout import Deployment, open_deployment
from headrace.spark.manifest import (
    NOTHING,
    Manifest,
    commit,
    read_manifest,
    read_manifests,
    sweep,
    sweep_panes,
)
from headrace.spark.panes import Pane
from headrace.spark.sources import FORMAT, FileSource, find_files
from headrace.spark.step import Reply, Request, perform

Publish = Callable[[Answer], None]


@dataclass(frozen=True, slots=True)
class Pace:
    """How much a batch takes, and when the next one begins.

    Attributes:
        files_per_batch: how many files a batch reads at most; no limit if zero.
        interval: seconds from batch to batch, for a run that goes on until it is stopped. Without
            one, the run reads what is there, closes every window that holds an element, and ends.
    """

    files_per_batch: int = 0
    interval: float | None = None


ONCE: Final = Pace()


def run(
    spark: SparkSession,
    plan: Plan,
    source: Path,
    directory: Path,
    pace: Pace = ONCE,
    publish: Publish | None = None,
) -> Manifest:
    """Run a plan until its input ends, or until the query is stopped.

    Args:
        spark: the session to run in.
        plan: what to run.
        source: the file or folder that the plan's stream is read from.
        directory: where the deployment is kept; one that was interrupted goes on.
        pace: how much at a time, and whether once.
        publish: called with each answer, in order; again with those of a batch that is replayed.

    Returns:
        The last manifest, which has the counters.

    Raises:
        HeadraceError: the run failed; the message says what to do.
    """
    find_files(source)
    deployment = open_deployment(directory, plan)
    sweep(deployment.layout)
    batches = Batches(spark, deployment, publish or (lambda _: None))
    query = _started(batches, source, pace)
    try:
        query.awaitTermination()
    except StreamingQueryException as error:
        raise batches.failure or translated(str(error)) from error
    finally:
        query.stop()
    return batches.finish() if pace.interval is None else batches.last()


def _started(batches: Batches, source: Path, pace: Pace) -> StreamingQuery:
    batches.spark.dataSource.register(FileSource)
    writer = (
        batches.spark.readStream.format(FORMAT)
        .option("path", str(source.resolve()))
        .option("log", str(batches.layout.source_log))
        .option("files", pace.files_per_batch)
        .load()
        .writeStream.foreachBatch(batches.process)
        .option("checkpointLocation", str(batches.layout.spark))
    )
    if pace.interval is None:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=f"{pace.interval} seconds").start()


class Batches:
    """What happens to each batch: decode, step, commit, publish, in this order."""

    def __init__(self, spark: SparkSession, deployment: Deployment, publish: Publish) -> None:
        """Publish each answer of a committed batch to a function."""
        self.spark = spark
        self.deployment = deployment
        self.layout = deployment.layout
        self.publish = publish
        self.failure: HeadraceError | None = None

    def process(self, frame: DataFrame, batch: int) -> None:
        """Do what a batch asks for, once: if it was committed before, only publish it again."""
        try:
            offsets = self._offsets(batch)
            manifest = read_manifest(self.layout, batch)
            if manifest is None:
                manifest = self._computed(self._previous(batch), frame, offsets)
                commit(self.layout, manifest)
            elif manifest.offsets != offsets:
                raise MachineError(
                    f"{self.layout.directory} is damaged: Spark's checkpoint and the manifest of "
                    f"batch {batch} are of different input; start again in a new directory"
                )
            self._publish(manifest)
            before = read_manifest(self.layout, batch - 1)
            sweep_panes(self.layout, filter(None, (before, manifest)))
        except HeadraceError as error:
            self.failure = error  # Spark would turn it into text
            raise

    def finish(self) -> Manifest:
        """Close the windows that the input has left open, once."""
        last = self.last()
        if last.final or last.progress is None or last.progress.first is None:
            return last  # there is nothing to close
        reply = self._step(Request(last.batch, last.progress, last.panes, ended=True))
        final = replace(
            last,
            offsets=None,
            panes=(),
            progress=reply.progress,
            report=reply.report,
            final=True,
        )
        commit(self.layout, final)
        self._publish(final)
        return final

    def last(self) -> Manifest:
        """What was committed last."""
        return (read_manifests(self.layout) or [NOTHING])[-1]

    def _previous(self, batch: int) -> Manifest:
        if batch == 0:
            return NOTHING
        if read_manifest(self.layout, batch - 1, final=True):
            raise SettingError(
                f"{self.layout.directory} has reported the end of its input, and now there is "
                "more; run it again from the start in a new directory"
            )
        previous = read_manifest(self.layout, batch - 1)
        if previous is None:
            raise MachineError(
                f"{self.layout.manifests} has no manifest of batch {batch - 1}, which Spark says "
                "was committed; start again in a new directory"
            )
        return previous

    def _computed(self, previous: Manifest, frame: DataFrame, offsets: str) -> Manifest:
        """Decode and step: one action each, because two on the frame would decode it twice."""
        batch = previous.batch + 1
        rows = frame.mapInArrow(
            partial(decode, deployment=self.deployment, batch=batch), REFERENCES
        ).collect()
        found = sorted((Pane(**json.loads(row.pane)) for row in rows), key=lambda p: p.ordinal)
        panes, high = in_stream_order(found, previous.high)
        progress = previous.progress or Progress.start(self.deployment.plan)
        reply = self._step(Request(batch, progress, previous.panes, panes))
        reasons = [pane.reason for pane in panes if pane.reason]
        return Manifest(
            batch=batch,
            offsets=offsets,
            panes=_still_open((*previous.panes, *panes), reply),
            high=high,
            progress=reply.progress,
            report=reply.report,
            elements=previous.elements + sum(pane.rows for pane in panes),
            late=previous.late + reply.late,
            rejected=previous.rejected + sum(pane.rejected for pane in panes),
            reason=previous.reason or next(iter(reasons), None),
        )

    def _step(self, request: Request) -> Reply:
        task = partial(perform, deployment=self.deployment)
        [reply] = self.spark.sparkContext.parallelize([request], 1).map(task).collect()
        return reply

    def _publish(self, manifest: Manifest) -> None:
        for answer in read_answers(self.deployment, manifest.report):
            self.publish(answer)

    def _offsets(self, batch: int) -> str:
        """A digest of what Spark wrote down for a batch, without the time of writing."""
        version, _, *offsets = (self.layout.spark / "offsets" / str(batch)).read_text().split("\n")
        return sha256("\n".join([version, *offsets]).encode()).hexdigest()


def _still_open(panes: Iterable[Pane], reply: Reply) -> tuple[Pane, ...]:
    """The panes that hold something which a window may still ask for."""
    return tuple(
        pane for pane in panes if pane.rows and pane.high is not None and pane.high > reply.horizon
    )


def in_stream_order(panes: Iterable[Pane], high: int | None) -> tuple[tuple[Pane, ...], int | None]:
    """Panes with the greatest event time before each, and that after the last."""
    ordered = []
    for pane in panes:
        ordered.append(replace(pane, before=high))
        high = _later(high, pane.high)
    return tuple(ordered), high


def _later(one: int | None, other: int | None) -> int | None:
    return max((time for time in (one, other) if time is not None), default=None)


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
