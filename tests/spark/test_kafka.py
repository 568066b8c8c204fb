"""Whether the pinned connector reads topics in the Spark that is installed, as we start it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headrace.errors import MachineError
from headrace.spark.jars import kafka_jars
from tests.brokers.kafka import CACHE, KafkaBroker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    """The shared session, which learns to read Kafka while it runs."""
    try:
        jars = kafka_jars(CACHE)
    except MachineError as error:
        pytest.skip(str(error))
    for jar in jars:
        spark.sql(f"ADD JAR '{jar}'")
    return spark


def read(session: SparkSession, broker: KafkaBroker, checkpoint: Path) -> list[list[Any]]:
    """The rows of each batch that is there now."""
    frame = (
        session.readStream.format("kafka")
        .option("kafka.bootstrap.servers", broker.address)
        .option("subscribe", "one,two")
        .option("startingOffsets", "earliest")
        .option("failOnDataLoss", "true")
        .option("includeHeaders", "true")
        .option("minPartitions", "4")
        .option("maxOffsetsPerTrigger", "40")
        .load()
    )
    batches: list[list[Any]] = []

    def keep(rows: DataFrame, _: int) -> None:
        batches.append(rows.collect())

    query = (
        frame.writeStream.foreachBatch(keep)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return batches


def test_topics_are_read_once_with_all_that_a_source_needs(
    session: SparkSession, kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    kafka_broker.make_topic("one", partitions=3)
    kafka_broker.make_topic("two")
    sent = [(topic, f"{topic} {number}") for topic in ("one", "two") for number in range(50)]
    kafka_broker.send(sent)
    batches = read(session, kafka_broker, tmp_path)
    assert len(batches) > 1
    assert all(len(rows) <= 40 for rows in batches)
    rows = [row for batch in batches for row in batch]
    assert Counter((row.topic, row.value.decode()) for row in rows) == Counter(sent)
    assert len({(row.topic, row.partition, row.offset) for row in rows}) == len(rows)
    assert all(row.timestamp is not None and row.headers is None for row in rows)
    _, _, offsets = (tmp_path / "offsets" / str(len(batches) - 1)).read_text().splitlines()
    assert sum(sum(ends.values()) for ends in json.loads(offsets).values()) == len(sent)
    kafka_broker.send([("two", "more")])
    [[more]] = read(session, kafka_broker, tmp_path)
    assert (more.topic, more.partition, more.offset, bytes(more.value)) == ("two", 0, 50, b"more")
