"""Where a pipeline runs: in this process, or on Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from headrace.deploying import received, topics_of, watching
from headrace.errors import SettingError, listing
from headrace.pipeline.batches import Batches
from headrace.pipeline.local import LocalRunner
from headrace.pipeline.manifest import Manifest
from headrace.pipeline.messages import TopicSource
from headrace.pipeline.missing_sources import report_missing_sources
from headrace.pipeline.static import StaticPiece
from headrace.pipeline.static_parts import Tasks
from headrace.pipeline.stopping import stopping
from headrace.pipeline.streams import Declared, Sources

if TYPE_CHECKING:
    from headrace.spark.session import SparkSession

INTERVAL: Final = 0.2
"""Seconds from batch to batch in a run that does not end."""


class RunnerKind(StrEnum):
    """Where a run takes place."""

    SPARK = "spark"
    INLINE = "inline"


def runner_kind(name: str) -> RunnerKind:
    """The kind of a runner by its name.

    Raises:
        SettingError: there is none of that name.
    """
    try:
        return RunnerKind(name)
    except ValueError:
        known = listing(RunnerKind, "and")
        raise SettingError(f"there is no runner '{name}'; there are {known}") from None


@dataclass(frozen=True, slots=True)
class Launch:
    """Where and how a pipeline runs.

    Attributes:
        runner: where it takes place.
        master: the Spark to run on; one in this process if not given.
        pieces: how many pieces of files a batch takes; no limit if zero.
        interval: seconds from batch to batch; a run without one ends with its input.
    """

    runner: RunnerKind = RunnerKind.SPARK
    master: str | None = None
    pieces: int = 8
    interval: float | None = None


class Runner(Protocol):
    """What works on batches."""

    def run(self) -> Manifest:
        """Run until the input ends, or until the run is stopped; the last manifest."""

    def stop(self) -> None:
        """End the run after the batch that is being worked on."""

    def encode(self, pieces: Sequence[StaticPiece]) -> None:
        """Have static data encoded."""

    @property
    def tasks(self) -> Tasks | None:
        """Who solves static patterns in parts, if there are others."""


def work(
    launch: Launch,
    batches: Batches,
    sources: Mapping[str, Sequence[Declared]],
    ready: Callable[[Runner], None],
    note: Callable[[str], None],
    phase: Callable[[str], None],
) -> tuple[Manifest, bool]:
    """Work on batches until their input ends, or until the run is stopped.

    Args:
        launch: where and how.
        batches: what to run.
        sources: what each stream is read from.
        ready: told who works, before it begins.
        note: tells the user something.
        phase: told what is being waited for.

    Returns:
        The last manifest, and whether the user has stopped the run.

    Raises:
        HeadraceError: the run failed; the message says what to do.
    """
    with ExitStack() as stack:
        places, receivers = stack.enter_context(
            received(sources, batches.deployment, batches.setup.plans)
        )
        runner = stack.enter_context(_launched(launch, batches, places, topics_of(sources), phase))
        ready(runner)
        if launch.interval is not None:
            stack.enter_context(report_missing_sources(sources, note))
        with stopping(runner, note) as stopped, watching(receivers, runner.stop, note):
            last = runner.run()
        batches.settle()
    return last, stopped.is_set()


def check_brokers(topics: Sequence[TopicSource]) -> None:
    """Refuse topics whose brokers do not answer, or do not have them.

    Raises:
        SettingError: there is no such topic.
        MachineError: no broker answers, or the client is not installed.
    """
    if topics:
        from headrace.spark.kafka import check_topics  # noqa: PLC0415

        check_topics(topics)


@contextmanager
def _launched(
    launch: Launch,
    batches: Batches,
    sources: Sources,
    topics: Sequence[TopicSource],
    phase: Callable[[str], None],
) -> Iterator[Runner]:
    """What is about to work on batches, until the end of the block."""
    if launch.runner is RunnerKind.INLINE:
        if launch.master is not None:
            raise SettingError(f"'{launch.master}' is a master of Spark, and this run is inline")
        yield LocalRunner(batches, sources, launch.pieces, launch.interval)
        return
    from headrace.spark.run import Pace, Runner  # noqa: PLC0415

    check_brokers(topics)
    phase("starting Spark, which takes some seconds")
    with _session(launch.master, batches.layout.directory, reads_kafka=bool(topics)) as spark:
        if not (spark.sparkContext.master or "").startswith("local"):
            from headrace.spark.sharing import check_shared  # noqa: PLC0415

            check_shared(spark, batches.layout.directory)
        phase("Spark has started, and reads")
        yield Runner(spark, batches, sources, Pace(launch.pieces, launch.interval), topics)


@contextmanager
def _session(master: str | None, directory: Path, *, reads_kafka: bool) -> Iterator[SparkSession]:
    """A session that is stopped afterwards, unless it was there before."""
    from headrace.spark.session import active, start  # noqa: PLC0415

    running = active()
    if running is not None:
        if reads_kafka:
            from headrace.spark.kafka import add_connector  # noqa: PLC0415

            add_connector(running)
        yield running
        return
    settings = dict[str, str]()
    if reads_kafka:
        from headrace.spark.kafka import connector_settings  # noqa: PLC0415

        settings = connector_settings()
    session = start(master=master, log=directory / "spark.log", settings=settings)
    try:
        yield session
    except KeyboardInterrupt:
        raise  # stopping it would wait for the batch; without this process it ends by itself
    except BaseException:
        with suppress(Exception):  # it may have gone, which is said already
            session.stop()
        raise
    session.stop()
