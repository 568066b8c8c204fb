"""A real Apache Kafka broker on loopback, for tests: fetched once, started once a session."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from headrace.errors import MachineError
from headrace.spark.jars import Jar, fetch
from headrace.spark.java import find_java
from tests.shared import ROOT

CACHE = ROOT / ".brokers" / "kafka"
PINNED = Path(__file__).with_name("kafka_jars.txt")
PATIENCE = 60.0
CLUSTER = "aGVhZHJhY2UtLXRlc3RzLQ"
SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{control}
controller.listener.names=CONTROL
listeners=CLIENTS://127.0.0.1:{port},CONTROL://127.0.0.1:{control}
inter.broker.listener.name=CLIENTS
listener.security.protocol.map=CLIENTS:PLAINTEXT,CONTROL:PLAINTEXT
log.dirs={data}
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
"""
# What is compiled quickly and collected by one thread starts sooner, which is all that tests need.
OPTIONS = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


@dataclass(frozen=True, slots=True)
class Message:
    """What a consumer sees of a message."""

    partition: int
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class KafkaBroker:
    """A broker that runs, by its host and port."""

    address: str

    def make_topic(self, name: str, partitions: int = 1) -> None:
        from confluent_kafka.admin import AdminClient
        from confluent_kafka.cimpl import NewTopic

        admin = AdminClient(self._settings())
        for made in admin.create_topics([NewTopic(name, partitions, 1)]).values():
            made.result(PATIENCE)

    def send(self, messages: Iterable[tuple[str, str]]) -> None:
        """Send messages without keys, each to its topic."""
        from confluent_kafka import Producer

        producer = Producer(self._settings())
        for topic, value in messages:
            producer.produce(topic, value)
        assert producer.flush(PATIENCE) == 0

    def committed(self, topic: str) -> list[Message]:
        """What a consumer that reads only what was committed sees, by partition and in order."""
        from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

        reader = Consumer(
            {
                **self._settings(),
                "group.id": "reader",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
            }
        )
        with closing(reader):
            partitions = reader.list_topics(topic, PATIENCE).topics[topic].partitions
            reader.assign([TopicPartition(topic, each, OFFSET_BEGINNING) for each in partitions])
            found: list[Message] = []
            ended = 0
            while ended < len(partitions):
                message = reader.poll(PATIENCE)
                assert message is not None, f"nothing from {topic} for {PATIENCE} s"
                problem = message.error()
                if problem is None:
                    found.append(_message(message.partition(), message.key(), message.value()))
                else:
                    assert problem.code() == KafkaError._PARTITION_EOF, problem
                    ended += 1
        return sorted(found, key=lambda message: message.partition)

    def _settings(self) -> dict[str, str | int | float | bool]:
        return {"bootstrap.servers": self.address, "log_level": 0}


def _message(partition: int | None, key: str | bytes | None, value: str | bytes | None) -> Message:
    assert partition is not None
    assert isinstance(key, bytes)
    assert isinstance(value, bytes)
    return Message(partition, key.decode(), value.decode())


@pytest.fixture(scope="session")
def kafka_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """One broker for all tests, which use topics of their own."""
    with run_broker(tmp_path_factory.mktemp("kafka")) as broker:
        yield broker


def program() -> list[str | Path]:
    """The command that runs a class of Kafka; skips the test where it cannot be had."""
    pytest.importorskip("confluent_kafka")
    try:
        java = find_java().home / "bin" / "java"
        jars = fetch(pinned(), CACHE)
    except MachineError as error:
        pytest.skip(f"no Kafka: {error}")
    return [java, *OPTIONS, "-cp", ":".join(map(str, jars))]


def pinned() -> list[Jar]:
    lines = PINNED.read_text("utf-8").splitlines()
    return [_jar(line) for line in lines if not line.startswith("#")]


def _jar(line: str) -> Jar:
    coordinates, digest = line.split(" ")
    group, artifact, version = coordinates.split(":")
    return Jar(group, artifact, version, digest)


@contextmanager
def run_broker(directory: Path) -> Iterator[KafkaBroker]:
    """Run a broker that keeps everything in a directory, and stop it in the end."""
    kafka = program()
    port, control = free_ports(2)
    settings = directory / "server.properties"
    settings.write_text(SETTINGS.format(port=port, control=control, data=directory / "data"))
    log = directory / "broker.log"
    with log.open("wb") as output:
        layout = [*kafka, "kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", settings]
        subprocess.run(layout, stdout=output, stderr=output, check=True, timeout=PATIENCE)
        process = subprocess.Popen(
            [*kafka, "kafka.Kafka", settings], stdout=output, stderr=output, cwd=directory
        )
    try:
        wait_until_ready(process, port, log)
        yield KafkaBroker(f"127.0.0.1:{port}")
    finally:
        process.kill()  # what it has written is thrown away anyway
        process.wait()


def wait_until_ready(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Wait until the broker answers, which it does soon after it listens."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}", "log_level": 0})
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends and process.poll() is None:
        try:
            if admin.list_topics(timeout=1).brokers:
                return
        except KafkaException:
            continue
    pytest.fail(f"Kafka does not start:\n{log.read_text(errors='replace')[-2_000:]}")


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now, all different."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
