from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path

import pytest

from headrace.algebra.query import Ask, Construct, Form
from headrace.errors import InternalError, MachineError, SettingError
from headrace.functions.values import TRUE
from headrace.kernel.reports import Report
from headrace.rdf.terms import Iri, Literal
from headrace.sinks.kafka import KafkaSink, label_number
from headrace.sinks.kafka_url import parse_kafka_url
from headrace.sinks.ndjson import ndjson_text
from tests.brokers.kafka import KafkaBroker, Message, free_ports, run_broker
from tests.shared import ROOT
from tests.sinks.kafka_writer import FORMS, LABELS, reports
from tests.sinks.reports import SELECT, report

NUMBERS = count()


@pytest.fixture
def topic(kafka_broker: KafkaBroker) -> str:
    name = f"results-{next(NUMBERS)}"
    kafka_broker.make_topic(name)
    return name


@contextmanager
def opened(broker: KafkaBroker, topic: str, deployment: str = "") -> Iterator[KafkaSink]:
    url = f"kafka://{broker.address}/{topic}"
    with closing(KafkaSink(url, FORMS, deployment=deployment or topic)) as sink:
        yield sink


def values(messages: list[Message]) -> list[str]:
    return [message.value for message in messages]


def lines(*labels: str) -> list[str]:
    found = [each for label in labels for each in reports(label)]
    return [line for each in found for line in ndjson_text(each, SELECT)]


# -- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "brokers", "topic"),
    [
        ("kafka://localhost/t", "localhost:9092", "t"),
        ("kafka://a.example:1234/x.y_z-1", "a.example:1234", "x.y_z-1"),
        ("kafka://a,b:1,10.0.0.1/t", "a:9092,b:1,10.0.0.1:9092", "t"),
        ("kafka://[::1]:9093/t", "[::1]:9093", "t"),
    ],
)
def test_a_url_names_brokers_and_a_topic(url: str, brokers: str, topic: str) -> None:
    found = parse_kafka_url(url)
    assert (found.brokers, found.name) == (brokers, topic)
    assert parse_kafka_url(str(found)) == found


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("kafka://host", "expected kafka://BROKER"),
        ("kafka:///topic", "expected kafka://BROKER"),
        ("kafka://host/", "expected kafka://BROKER"),
        ("kafka://host/a/b", "expected kafka://BROKER"),
        ("kafka://host/t?group=g", "expected kafka://BROKER"),
        ("http://host/t", "expected kafka://BROKER"),
        ("kafka://host/..", "name of a topic"),
        ("kafka://host/a b", "name of a topic"),
        ("kafka://host/" + "t" * 250, "name of a topic"),
        ("kafka://a,,b/t", "a host and at most a port, found ''"),
        ("kafka://a:port/t", "a host and at most a port, found 'a:port'"),
        ("kafka://a:9092;b/t", "a host and at most a port"),
    ],
)
def test_other_urls_are_refused(url: str, problem: str) -> None:
    with pytest.raises(SettingError, match=problem):
        parse_kafka_url(url)


def test_a_password_in_a_url_is_refused_and_not_shown() -> None:
    with pytest.raises(SettingError) as caught:
        parse_kafka_url("kafka://me:secret@host/t")
    assert "secret" not in str(caught.value)


def test_labels_are_numbers_in_the_order_of_batches() -> None:
    labels = ["0", "1", "2", "9", "10", "99", "100", "100.final"]
    numbers = [label_number(label) for label in labels]
    assert numbers == sorted(set(numbers))
    assert label_number("7") < label_number("7.final") < label_number("8")


@pytest.mark.parametrize("label", ["", "a", "-1", "1.end", "1.final.final", "1 "])
def test_other_labels_are_refused(label: str) -> None:
    with pytest.raises(InternalError, match="label"):
        label_number(label)


# -- problems ------------------------------------------------------------------------------------


def test_brokers_that_do_not_answer_are_named() -> None:
    pytest.importorskip("confluent_kafka")
    [port] = free_ports(1)
    with pytest.raises(MachineError, match=rf"kafka://127\.0\.0\.1:{port}/t: .*refused"):
        KafkaSink(f"kafka://127.0.0.1:{port}/t", FORMS, deployment="d", timeout=1)


@pytest.mark.slow
def test_brokers_that_are_gone_are_named(tmp_path: Path) -> None:
    with run_broker(tmp_path) as broker:
        broker.make_topic("t")
        url = f"kafka://{broker.address}/t"
        sink = KafkaSink(url, FORMS, deployment="d", timeout=5)
        sink.write("0", reports("0"))
    with pytest.raises(MachineError, match=f"cannot write batch 1 to {url}"):
        sink.write("1", reports("1"))
    sink.close()


def test_a_topic_that_is_not_there_is_named(kafka_broker: KafkaBroker) -> None:
    with pytest.raises(SettingError, match="no topic 'missing'"), opened(kafka_broker, "missing"):
        pass


def test_a_second_writer_shuts_out_the_first(kafka_broker: KafkaBroker, topic: str) -> None:
    with opened(kafka_broker, topic) as first:
        first.write("0", reports("0"))
        with opened(kafka_broker, topic) as second:
            with pytest.raises(MachineError, match="another run of the same deployment"):
                first.write("1", reports("1"))
            second.write("1", reports("1"))
    assert values(kafka_broker.committed(topic)) == lines("0", "1")


def test_a_batch_that_cannot_be_written_whole_is_not_there(
    kafka_broker: KafkaBroker, topic: str
) -> None:
    noise = random.Random(0).randbytes(2_000_000).hex()  # so that it does not compress
    large = report(SELECT, [0], [(0, (Literal(noise), None))])
    with opened(kafka_broker, topic) as sink:
        sink.write("0", reports("0"))
        with pytest.raises(MachineError, match=r"cannot write batch 1 .* size too large"):
            sink.write("1", [*reports("1"), large])
        assert sink.mark() == label_number("0")
    assert values(kafka_broker.committed(topic)) == lines("0")
    with opened(kafka_broker, topic) as sink:
        sink.recover(label_number("0"))
        sink.write("1", reports("1"))
    assert values(kafka_broker.committed(topic)) == lines("0", "1")


def test_what_kafka_has_forgotten_is_noticed(kafka_broker: KafkaBroker, topic: str) -> None:
    with opened(kafka_broker, topic) as sink:
        sink.write("0", reports("0"))
        with pytest.raises(MachineError, match="has committed 0, and 2 was expected"):
            sink.recover(label_number("1"))
    with (
        opened(kafka_broker, topic, "another") as sink,
        pytest.raises(MachineError, match="has committed None, and 0 was expected"),
    ):
        sink.recover(label_number("0"))


# -- what is written -----------------------------------------------------------------------------


def test_messages_are_the_lines_of_the_results(kafka_broker: KafkaBroker, topic: str) -> None:
    forms: dict[str, Form] = {"s": SELECT, "a": Ask(), "c": Construct(())}
    iri = Iri("http://x/é")
    written: list[Report] = [
        report(SELECT, [1_500, 2_000_000], [(0, (iri, None)), (0, (None, iri))], query="s"),
        report(SELECT, [3_000_000, 3_000_000], query="s", seqs=[0, 1], errors={1: "no\nanswer"}),
        report(Ask(), [4_000_000], [(0, (TRUE,))], query="a"),
        report(Construct(()), [5_000_000], [(0, (iri, iri, iri, iri))], query="c"),
    ]
    url = f"kafka://{kafka_broker.address}/{topic}"
    with closing(KafkaSink(url, forms, deployment=topic)) as sink:
        sink.write("0", written)
    found = kafka_broker.committed(topic)
    expected = [line for each in written for line in ndjson_text(each, forms[each.query])]
    assert values(found) == expected
    keys = ["s/1.5/0", "s/1.5/0", "s/2000/0", "s/3000/0", "s/3000/1", "a/4000/0", "c/5000/0"]
    assert [message.key for message in found] == keys


def test_an_evaluation_stays_in_one_partition(kafka_broker: KafkaBroker) -> None:
    topic = f"results-{next(NUMBERS)}"
    kafka_broker.make_topic(topic, partitions=3)
    with opened(kafka_broker, topic) as sink:
        for label in LABELS[:20]:
            sink.write(label, reports(label))
    found = kafka_broker.committed(topic)
    assert sorted(values(found)) == sorted(lines(*LABELS[:20]))
    assert {message.partition for message in found} == {0, 1, 2}
    homes = {(message.key, message.partition) for message in found}
    assert len(homes) == len({message.key for message in found})


def test_more_messages_than_the_client_holds_are_written(
    kafka_broker: KafkaBroker, topic: str
) -> None:
    rows = [(0, (Iri(f"http://x/{number}"), None)) for number in range(150_000)]
    large = report(SELECT, [0], rows)
    with opened(kafka_broker, topic) as sink:
        sink.write("0", [large])
    assert values(kafka_broker.committed(topic)) == ndjson_text(large, SELECT)


# -- exactly once --------------------------------------------------------------------------------


def test_a_batch_is_written_once(kafka_broker: KafkaBroker, topic: str) -> None:
    with opened(kafka_broker, topic) as sink:
        sink.recover(None)
        assert sink.mark() is None
        sink.write("0", reports("0"))
        mark = sink.mark()
        sink.write("0", reports("0"))
        sink.write("1", reports("1"))
    with opened(kafka_broker, topic) as sink:
        sink.recover(mark)
        sink.write("1", reports("1"))
        sink.write("1.final", reports("2"))
        sink.write("1.final", reports("2"))
        assert sink.mark() == label_number("1.final")
    assert values(kafka_broker.committed(topic)) == lines("0", "1", "2")


def test_deployments_and_topics_do_not_meet(kafka_broker: KafkaBroker, topic: str) -> None:
    other = f"{topic}-other"
    kafka_broker.make_topic(other)
    with (
        opened(kafka_broker, topic, "one") as one,
        opened(kafka_broker, topic, "two") as two,
        opened(kafka_broker, other, "one") as elsewhere,
    ):
        for sink in (one, two, elsewhere):
            sink.write("0", reports("0"))
        one.write("1", reports("1"))
    assert values(kafka_broker.committed(topic)) == lines("0", "0", "1")
    assert values(kafka_broker.committed(other)) == lines("0")


POINTS = (
    "begin_transaction after 20",
    "produce after 100",
    "flush after 20",
    "send_offsets_to_transaction before 20",
    "send_offsets_to_transaction after 20",
    "commit_transaction before 20",
    "commit_transaction after 1",
    "commit_transaction after 20",
)


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_a_writer_that_dies_at_a_point_goes_on(
    kafka_broker: KafkaBroker, topic: str, tmp_path: Path, point: str
) -> None:
    killed = writer(kafka_broker, topic, tmp_path, *point.split(" "))
    assert killed.wait() == -9
    before = values(kafka_broker.committed(topic))
    assert before == lines(*LABELS)[: len(before)]
    assert writer(kafka_broker, topic, tmp_path).wait() == 0
    assert values(kafka_broker.committed(topic)) == lines(*LABELS)


@pytest.mark.slow
def test_a_writer_that_is_killed_at_random_goes_on(
    kafka_broker: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    moments = random.Random(5)
    statuses = []
    for _ in range(8):
        process = writer(kafka_broker, topic, tmp_path)
        time.sleep(moments.uniform(0, 0.3))
        process.kill()
        statuses.append(process.wait())
    assert -9 in statuses
    assert writer(kafka_broker, topic, tmp_path).wait() == 0
    assert values(kafka_broker.committed(topic)) == lines(*LABELS)


def writer(
    broker: KafkaBroker, topic: str, directory: Path, *point: str
) -> subprocess.Popen[bytes]:
    """A process that writes, as soon as it is about to."""
    url = f"kafka://{broker.address}/{topic}"
    command = [sys.executable, "-m", "tests.sinks.kafka_writer", url, str(directory), *point]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == b"open\n" or process.wait() == 0
    return process
