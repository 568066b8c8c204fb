"""Topics in, topics out, on real Spark and a real broker: every result is there once."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.errors import MachineError
from headrace.spark import kafka
from headrace.spark.kafka import connector
from tests.brokers.kafka import PATIENCE, KafkaBroker
from tests.live import (
    QUERIES,
    TIMED,
    elements,
    instants_of,
    lines_of,
    live_run,
    results,
    run_once,
    uninterrupted,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

NAMES = count()


@pytest.fixture(autouse=True)
def _connector() -> None:
    try:
        connector()
    except MachineError as error:
        pytest.skip(str(error))


def topic_of(broker: KafkaBroker, partitions: int) -> str:
    name = f"runs-{next(NAMES)}"
    broker.make_topic(name, partitions)
    return name


def produce(
    broker: KafkaBroker,
    topic: str,
    values: Iterable[str | None],
    partitions: int,
    media_type: str = TIMED,
) -> None:
    """Send values to the partitions in turn."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": broker.address, "log_level": 0})
    headers: list[tuple[str, str | bytes | None]] = [("Content-Type", media_type)]
    for number, value in enumerate(values):
        producer.produce(topic, value, partition=number % partitions, headers=headers)
    assert producer.flush(PATIENCE) == 0


def produce_and_undo(broker: KafkaBroker, topic: str, values: Iterable[str]) -> None:
    """Send values in a transaction that is not committed."""
    from confluent_kafka import Producer

    settings: dict[str, str | int | float] = {"bootstrap.servers": broker.address, "log_level": 0}
    producer = Producer({**settings, "transactional.id": topic})
    producer.init_transactions(PATIENCE)
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value, partition=0, headers=[("content-type", TIMED)])
    producer.flush(PATIENCE)
    producer.abort_transaction(PATIENCE)


def by_query(path: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in lines_of(path):
        found.setdefault(json.loads(line)["query"], []).append(line)
    return found


@pytest.mark.parametrize("partitions", [1, pytest.param(3, marks=pytest.mark.long)])
def test_a_topic_gives_what_its_elements_give_in_a_file(
    spark: SparkSession,  # noqa: ARG001  # the run takes it
    kafka_broker: KafkaBroker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    partitions: int,
) -> None:
    monkeypatch.setattr(kafka, "MESSAGES", 100)
    topic = topic_of(kafka_broker, partitions)
    sent = elements(0, 300)
    produce(kafka_broker, topic, sent, partitions)
    produce(kafka_broker, topic, [None, "bad\n"], 1)
    produce(kafka_broker, topic, ["<x:a> <x:b> <x:c> ."], 1, media_type="text/none")
    produce_and_undo(kafka_broker, topic, elements(300, 310))
    out, rejected = tmp_path / "out.ndjson", tmp_path / "rejected.ndjson"
    source = f"s=kafka://{kafka_broker.address}/{topic}"
    said = run_once(
        *("--stream", source, "--batch", "1", "--out", str(out), "--rejected", str(rejected)),
        *("--checkpoint", str(tmp_path / "run")),
    )
    expected = uninterrupted(tmp_path, sent)
    assert results(lines_of(out)) == results(lines_of(expected)) != []
    if partitions == 1:
        # Queries take turns from batch to batch; what each of them says is the same text.
        assert by_query(out) == by_query(expected)
    assert "<s>: 303 elements, 0 late, 3 rejected, 300 on time; 303 messages, " in said.stderr
    offset = 300 // partitions
    told = [json.loads(line) for line in lines_of(rejected)]
    assert {each.get("text") for each in told} == {None, "bad\n", "<x:a> <x:b> <x:c> ."}
    reasons = [each["reason"] for each in told]
    assert {reason.split(":")[0] for reason in reasons} == {
        f"{topic}/0@{offset}",
        f"{topic}/0@{offset + 1}",
        f"{topic}/0@{offset + 2}",
    }
    assert len(list((tmp_path / "run" / "spark" / "offsets").glob("[0-9]*"))) > 1


def test_messages_that_are_gone_are_missed(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient

    topic, out = topic_of(kafka_broker, 1), tmp_path / "out.ndjson"
    arguments = (
        *(*QUERIES, "--stream", f"s=kafka://{kafka_broker.address}/{topic}"),
        *("--checkpoint", str(tmp_path / "run"), "--out", str(out)),
    )
    produce(kafka_broker, topic, elements(0, 100), 1)
    with live_run(tmp_path / "log", *arguments) as first:
        first.until(lambda: instants_of(out) >= 1)
        assert first.stop() == 0, first.said()
    told = lines_of(out)
    produce(kafka_broker, topic, elements(100, 200), 1)
    admin = AdminClient({"bootstrap.servers": kafka_broker.address, "log_level": 0})
    for deleted in admin.delete_records([TopicPartition(topic, 0, 150)]).values():
        deleted.result(PATIENCE)
    with live_run(tmp_path / "log", *arguments) as second:
        assert second.ended() == 1, second.said()
    assert f"/{topic} has deleted them, or was made again" in " ".join(second.said().split())
    assert "org.apache" not in second.said()
    assert lines_of(out) == told


@pytest.mark.long
def test_a_killed_run_goes_on_and_every_result_is_there_once(
    kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    """Killed at a chosen moment, then at any; messages come before, between and after."""
    topic, answers = topic_of(kafka_broker, 2), topic_of(kafka_broker, 1)
    sent = elements(0, 1000)
    out = tmp_path / "out.ndjson"
    arguments = (
        *(*QUERIES, "--stream", f"s=kafka://{kafka_broker.address}/{topic}"),
        *("--checkpoint", str(tmp_path / "run"), "--out", str(out)),
        *("--out", f"kafka://{kafka_broker.address}/{answers}"),
    )
    produce(kafka_broker, topic, sent[:200], 2)
    log = tmp_path / "log"
    # Between the sinks and the end of the batch: all of it was written, and nobody knows.
    dies = {"HEADRACE_FAULT": "sink-written kill 1"}
    with live_run(log, *arguments, environment=dies) as first:
        assert first.ended() == -9
    assert instants_of(out) >= 1
    produce(kafka_broker, topic, sent[200:400], 2)
    with live_run(log, *arguments) as second:
        second.until(lambda: instants_of(out) >= 6)
        produce(kafka_broker, topic, sent[400:700], 2)
        second.kill()
    produce(kafka_broker, topic, sent[700:], 2)
    with live_run(log, *arguments) as third:
        third.until(lambda: instants_of(out) >= 19)
        assert third.stop() == 0, third.said()
    expected = uninterrupted(tmp_path, sent)
    once = results(lines_of(expected), until=95_000)
    assert results(lines_of(out)) == once
    committed = [message.value for message in kafka_broker.committed(answers)]
    assert results(committed) == once
