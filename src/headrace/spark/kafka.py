"""Topics of Kafka as sources of Spark, in an order that never changes within a deployment."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headrace.errors import DataError, HeadraceError, MachineError, SettingError
from headrace.pipeline.decode import Decoding
from headrace.pipeline.layout import Layout, create
from headrace.pipeline.messages import (
    MEDIA_TYPE,
    OFFSET,
    PARTITION,
    TIMESTAMP,
    VALUE,
    TopicSource,
    decode_messages,
)
from headrace.pipeline.records import sealed, unsealed
from headrace.spark.jars import kafka_jars
from headrace.spark.java import cache_folder

PANES: Final = "pane string"
MESSAGES: Final = 20_000
"""So many messages count as much as a piece of a file."""
PATIENCE: Final = 15.0
"""So many seconds without an answer of a broker are too many, before the run begins."""

_CONTENT_TYPE: Final = "get(filter(headers, each -> lower(each.key) = 'content-type'), 0).value"
_COLUMNS: Final = (PARTITION, OFFSET, TIMESTAMP, VALUE, f"{_CONTENT_TYPE} AS {MEDIA_TYPE}")
_LOG: Final = logging.getLogger(__name__)
_LOG.addHandler(logging.NullHandler())  # what goes wrong is said by errors


def connector_settings() -> dict[str, str]:
    """What a session needs that is to read topics.

    Raises:
        MachineError: the libraries for it are not there and cannot be fetched.
    """
    return {"spark.jars": ",".join(map(str, connector()))}


def connector() -> list[Path]:
    """The Java libraries that read topics, fetched if need be.

    Raises:
        MachineError: one is not there and cannot be fetched.
    """
    return kafka_jars(cache_folder() / "kafka")


def add_connector(spark: SparkSession) -> None:
    """Let a session that runs already read topics.

    Raises:
        MachineError: the libraries for it are not there and cannot be fetched.
    """
    for jar in connector():
        spark.sql(f"ADD JAR '{jar}'")


def settled(layout: Layout, sources: Sequence[TopicSource]) -> tuple[TopicSource, ...]:
    """Topics in the order in which the deployment has read them from its first run on.

    Spark knows its sources by their places only, so that these are written down.

    Raises:
        SettingError: they are not the topics of the earlier runs.
    """
    named = {(each.stream, each.topic.name): each for each in sources}
    if len(named) < len(sources):
        raise SettingError(
            "a stream is read from two topics of the same name; give them a stream each"
        )
    path = layout.topics
    if not layout.spark_began:
        path.unlink(missing_ok=True)
    if not path.exists():
        create(path, sealed({"topics": list(named)}))
    topics = unsealed(path.read_bytes(), path)["topics"]
    known = [(str(stream), str(topic)) for stream, topic in topics]
    if set(known) != set(named):
        before = ", ".join(f"<{stream}> from '{topic}'" for stream, topic in known) or "none"
        raise SettingError(
            f"{layout.directory} has read other topics of Kafka before ({before}), and they cannot "
            "be changed on the way; start again in a new directory"
        )
    return tuple(named[each] for each in known)


def check_topics(sources: Iterable[TopicSource], timeout: float = PATIENCE) -> None:
    """Ask the brokers whether the topics are there: Spark would say that they are not in Java.

    Raises:
        SettingError: there is no such topic.
        MachineError: no broker answers, or the client is not installed.
    """
    for each in sources:
        if each.topic.name not in _topics_of(each, timeout):
            raise SettingError(
                f"there is no topic '{each.topic.name}' on {each.topic.brokers} to read "
                f"<{each.stream}> from"
            )


def _topics_of(source: TopicSource, timeout: float) -> Mapping[str, object]:
    try:
        from confluent_kafka import KafkaException  # noqa: PLC0415  # only who uses Kafka needs it
        from confluent_kafka.admin import AdminClient  # noqa: PLC0415
    except ImportError as error:
        raise MachineError(
            "the client of Kafka is not installed; try: pip install 'headrace[kafka]'"
        ) from error
    settings: dict[str, Any] = {"bootstrap.servers": source.topic.brokers, "logger": _LOG}
    client = AdminClient(settings)
    try:
        return client.list_topics(timeout=timeout).topics
    except KafkaException as error:
        raise MachineError(
            f"no broker of {source.topic} answers within {timeout:g} s: {error.args[0].str()}"
        ) from error


def panes_of(
    spark: SparkSession, source: TopicSource, decoding: Decoding, pieces_per_batch: int
) -> DataFrame:
    """The panes that the messages of a topic become."""
    reader = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", source.topic.brokers)
        .option("subscribe", source.topic.name)
        .option("startingOffsets", "earliest")
        .option("failOnDataLoss", "true")
        .option("includeHeaders", "true")
        # Else messages of transactions that were undone are read too.
        .option("kafka.isolation.level", "read_committed")
    )
    if pieces_per_batch:
        reader = reader.option("maxOffsetsPerTrigger", pieces_per_batch * MESSAGES)
    decode = partial(decode_rows, source=source, decoding=decoding)
    return reader.load().selectExpr(*_COLUMNS).mapInArrow(decode, PANES)


def decode_rows(
    batches: Iterable[pa.RecordBatch], source: TopicSource, decoding: Decoding
) -> Iterator[pa.RecordBatch]:
    """Messages -> a pane for some of them, of which only a description is returned."""
    for record in batches:
        found = [json.dumps(asdict(pane)) for pane in decode_messages(record, source, decoding)]
        yield pa.RecordBatch.from_pydict({"pane": pa.array(found, pa.string())})


def parts_of(sources: Sequence[TopicSource], offsets: Sequence[str]) -> dict[str, list[str]]:
    """The parts of each stream, by the offsets that Spark wrote down for its topics.

    Args:
        sources: the topics.
        offsets: a line for each of them; Spark writes a dash if there is no offset.
    """
    found: dict[str, list[str]] = {}
    for source, line in zip(sources, offsets, strict=True):
        ends = {} if line == "-" else json.loads(line).get(source.topic.name, {})
        found.setdefault(source.stream, []).extend(map(source.part, sorted(ends, key=int)))
    return found


def failure(text: str, sources: Sequence[TopicSource]) -> HeadraceError | None:
    """What a problem of Kafka means, which Spark has turned into text; none if it is another.

    Args:
        text: of Spark's error.
        sources: the topics that are read.
    """
    named = ", ".join(str(each.topic) for each in sources)
    if not sources:
        return None
    if "data may have been lost" in text:
        return DataError(
            f"messages are gone that were not read yet: {named} has deleted them, or was made "
            "again; start again in a new directory, from what is left"
        )
    if "UnknownTopicOrPartitionException" in text:
        return MachineError(f"a topic is gone: one of {named}")
    if "org.apache.kafka.common.errors" in text:
        [reason, *_] = [line for line in text.splitlines() if "org.apache.kafka" in line]
        problem = reason.rpartition("org.apache.kafka.common.errors.")[2]
        return MachineError(
            f"cannot read {named}: {problem}\n"
            "put that right and start the run again: it goes on where it stopped"
        )
    return None
