"""What is known of topics without reading them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headrace.cli import app
from headrace.errors import DataError, MachineError, SettingError
from headrace.pipeline.layout import Layout
from headrace.pipeline.messages import TopicSource
from headrace.sinks.kafka_url import parse_kafka_url
from headrace.spark.kafka import check_topics, failure, parts_of, settled
from tests.brokers.kafka import KafkaBroker, free_ports


def source(stream: str, topic: str, broker: str = "b") -> TopicSource:
    return TopicSource(stream, parse_kafka_url(f"kafka://{broker}/{topic}"))


ONE, TWO = source("s", "one"), source("s", "two")


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    made = Layout(tmp_path)
    made.make()
    return made


def began(layout: Layout) -> None:
    """As Spark leaves it when it has planned a batch."""
    (layout.spark / "offsets").mkdir(parents=True)
    (layout.spark / "offsets" / "0").touch()


def test_topics_keep_the_order_of_the_first_run(layout: Layout) -> None:
    assert settled(layout, [ONE, TWO]) == (ONE, TWO)
    began(layout)
    moved = source("s", "two", "elsewhere")
    assert settled(layout, [moved, ONE]) == (ONE, moved)


def test_other_topics_are_refused_once_something_was_read(layout: Layout) -> None:
    assert settled(layout, [ONE]) == (ONE,)
    assert settled(layout, [ONE, TWO]) == (ONE, TWO)
    began(layout)
    with pytest.raises(SettingError, match="has read other topics of Kafka before") as raised:
        settled(layout, [ONE])
    assert "<s> from 'one', <s> from 'two'" in str(raised.value)


def test_a_run_without_topics_cannot_get_some(layout: Layout) -> None:
    assert settled(layout, []) == ()
    began(layout)
    assert settled(layout, []) == ()
    with pytest.raises(SettingError, match="other topics"):
        settled(layout, [ONE])


def test_topics_of_one_name_and_stream_are_refused(layout: Layout) -> None:
    with pytest.raises(SettingError, match="two topics of the same name"):
        settled(layout, [ONE, source("s", "one", "elsewhere")])


def test_parts_are_the_partitions_that_spark_knows() -> None:
    other = source("t", "one")
    lines = ['{"one":{"10":0,"2":5}}', '{"two":{"0":1}}', "-"]
    assert parts_of([ONE, TWO, other], lines) == {
        "s": ["one/2", "one/10", "two/0"],
        "t": [],
    }


def test_a_broker_that_does_not_answer_is_named() -> None:
    [port] = free_ports(1)
    with pytest.raises(MachineError, match=rf"no broker of kafka://127.0.0.1:{port}/one answers"):
        check_topics([source("s", "one", f"127.0.0.1:{port}")], timeout=1)


def test_without_a_client_it_is_said_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(MachineError, match=r"pip install 'headrace\[kafka\]'"):
        check_topics([ONE])


@pytest.mark.slow
def test_a_run_over_a_topic_that_is_not_there_does_not_start(kafka_broker: KafkaBroker) -> None:
    query = "SELECT * FROM STREAM <s> [RANGE 5s STEP 5s] { ?a ?b ?c }"
    stream = f"s=kafka://{kafka_broker.address}/missing"
    result = CliRunner().invoke(app, ["run", query, "--stream", stream, "--once"])
    assert result.exit_code == 2
    assert "there is no topic 'missing'" in result.stderr


def test_a_wrong_url_is_refused_before_anything_is_opened(tmp_path: Path) -> None:
    query = "SELECT * FROM STREAM <s> [RANGE 5s STEP 5s] { ?a ?b ?c }"
    arguments = ["--stream", "s=kafka://b/not/a/topic", "--checkpoint", str(tmp_path / "run")]
    result = CliRunner().invoke(app, ["run", query, *arguments])
    assert result.exit_code == 2
    assert "expected kafka://BROKER" in result.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_topic_that_is_not_there_is_named(kafka_broker: KafkaBroker) -> None:
    with pytest.raises(SettingError, match=r"no topic 'missing' on 127.* to read <s> from"):
        check_topics([source("s", "missing", kafka_broker.address)])


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        (
            "KafkaIllegalStateException: Some data may have been lost because they are not",
            DataError,
            "kafka://b:9092/one has deleted them",
        ),
        (
            "x\norg.apache.kafka.common.errors.UnknownTopicOrPartitionException: this server\ny",
            MachineError,
            "a topic is gone: one of kafka://b:9092/one",
        ),
        (
            "x\nCaused by: org.apache.kafka.common.errors.TimeoutException: Timed out\n\tat y",
            MachineError,
            "cannot read kafka://b:9092/one: TimeoutException: Timed out\nput that right",
        ),
    ],
)
def test_what_spark_says_of_kafka_is_said_in_our_words(
    text: str, kind: type[Exception], said: str
) -> None:
    found = failure(text, [ONE])
    assert isinstance(found, kind)
    assert said in str(found)


def test_other_failures_are_left_to_others() -> None:
    assert failure("java.lang.OutOfMemoryError", [ONE]) is None
    assert failure("Some data may have been lost", []) is None
