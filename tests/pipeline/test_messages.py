"""Messages of a topic as panes, and how silent partitions hold their stream back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from headrace.deploying import setup_of, version_of
from headrace.dialects import parse
from headrace.engine import Engine
from headrace.errors import SettingError
from headrace.kernel.columns import TEXT, TIME
from headrace.pipeline.batches import Batches
from headrace.pipeline.decode import Decoding, load
from headrace.pipeline.deployment import open_deployment
from headrace.pipeline.messages import TopicSource, decode_messages, topic_source
from headrace.pipeline.panes import Pane
from headrace.pipeline.streams import declared
from headrace.rdf.formats import Format
from headrace.rdf.timestamps import SOURCE_TIME

Row = tuple[int, int, bytes | None, bytes | None]
TIMED = Format.TIMED_N_QUADS.media_type.encode()
TOPIC = topic_source("s", declared("kafka://b/t"))
COUNT = "REGISTER QUERY n AS SELECT (COUNT(*) AS ?n) FROM STREAM <s> [RANGE 5s STEP 5s] {?a ?b ?c}"


def messages(*rows: Row) -> pa.RecordBatch:
    """Messages as Spark hands them over; that of offset n has the time n seconds."""
    partitions, offsets, values, types = zip(*rows, strict=True)
    times = [datetime.fromtimestamp(offset, UTC) for offset in offsets]
    return pa.RecordBatch.from_pydict(
        {
            "partition": pa.array(partitions, pa.int32()),
            "offset": pa.array(offsets, pa.int64()),
            "timestamp": pa.array(times, pa.timestamp("us", tz="UTC")),
            "value": pa.array(values, pa.binary()),
            "media_type": pa.array(types, pa.binary()),
        }
    )


@pytest.fixture
def decoding(tmp_path: Path) -> Decoding:
    return Decoding("s", 1, tmp_path, rule=SOURCE_TIME)


def test_each_partition_is_a_pane_that_cannot_be_made_again(decoding: Decoding) -> None:
    rows = messages(
        (0, 7, b"<x:a> <x:b> _:c .", None),
        (1, 3, b"<x:a> <x:b> _:c .", b"application/n-quads"),
        (0, 9, b"1500\t<x:a> <x:b> _:c .\n1501\n", TIMED),
    )
    first, second = decode_messages(rows, TOPIC, decoding)
    assert (first.partition, first.ordinal, second.partition, second.ordinal) == (
        *("t/0", 7),
        *("t/1", 3),
    )
    assert (first.elements, first.counted, first.high, first.piece) == (3, 2, 7_000_000, None)
    times = load(first, decoding).elements[TIME].to_list()
    assert times == [7_000_000, 1_500_000, 1_501_000]
    nodes = {
        text for pane in (first, second) for text in load(pane, decoding).terms[TEXT] if "_" in text
    }
    assert len(nodes) == 3


def test_the_same_messages_are_the_same_terms(decoding: Decoding) -> None:
    rows = messages((0, 7, b"<x:a> <x:b> _:c .", None), (0, 8, b"<x:a> <x:b> _:c .", None))
    one, two = (
        load(pane, decoding) for _ in range(2) for pane in decode_messages(rows, TOPIC, decoding)
    )
    assert one.statements.equals(two.statements)


def test_what_cannot_be_read_is_told_with_its_place(decoding: Decoding) -> None:
    rows = messages(
        (2, 5, b"not a statement", None),
        (2, 6, None, None),
        (2, 7, b"<x:a> <x:b> <x:c> .", b"text/none"),
        (2, 8, b"<x:a> <x:b> <x:c> .", b"\xff"),
        (2, 9, b"<x:a> <x:b> <x:c> .", None),
    )
    [pane] = decode_messages(rows, TOPIC, decoding)
    assert (pane.counted, pane.rejected) == (1, 4)
    assert (pane.messages, pane.unread) == (5, 4)
    names = load(pane, decoding).problems["name"].to_list()
    assert sorted(names) == ["t/2@5", "t/2@6", "t/2@7", "t/2@8"]


def test_tombstones_are_rejected(decoding: Decoding) -> None:
    [pane] = decode_messages(messages((0, 1, None, None)), TOPIC, decoding)
    assert (pane.elements, pane.messages, pane.unread) == (0, 1, 1)
    [problem] = load(pane, decoding).problems["problem"].to_list()
    assert problem == "it has no value, and a stream has nothing that it could delete"


def test_a_source_says_how_its_messages_are_written() -> None:
    named = topic_source("s", declared("kafka://b/t?time=source&type=text/turtle"))
    assert named.form is Format.TURTLE
    for wrong in ("kafka://b/t?type=text/none", "kafka://b/t?kind=x", "kafka://b"):
        with pytest.raises(SettingError):
            topic_source("s", declared(wrong))


@pytest.fixture
def batches(tmp_path: Path) -> Iterator[Batches]:
    engine = Engine()
    engine.stream("s")
    engine.register_parsed(parse(COUNT, None), "n")
    around = engine.around()
    version = version_of(around.static)
    with open_deployment(tmp_path / "run", seed=1) as deployment:
        streams = {"s": [declared("kafka://b/t?time=source")]}
        setup = setup_of(deployment, engine.plans(), streams, lambda: (version, around), sinks={})
        yield Batches(deployment, setup)


def process(batches: Batches, source: TopicSource, parts: list[str], *rows: Row) -> None:
    decoding = batches.setup.decodings["s"]

    def decode() -> list[Pane]:
        return decode_messages(messages(*rows), source, decoding) if rows else []

    number = batches.last().batch + 1
    batches.process(number, str(number), decode, {"s": parts})


def reached(batches: Batches) -> tuple[int | None, int]:
    last = batches.last()
    return last.streams["s"].high, last.queries["n"].evaluations


def test_a_silent_partition_holds_its_stream_back(batches: Batches) -> None:
    element = b"<x:a> <x:b> <x:c> ."
    parts = ["t/0", "t/1"]
    process(batches, TOPIC, parts, (0, 1, element, None), (0, 8, element, None))
    assert reached(batches) == (None, 0)
    process(batches, TOPIC, parts)
    assert reached(batches) == (None, 0)
    process(batches, TOPIC, parts, (1, 2, element, None))
    assert reached(batches) == (2_000_000, 0)
    process(batches, TOPIC, parts, (1, 7, element, None))
    assert reached(batches) == (7_000_000, 1)


def test_a_partition_that_is_added_begins_where_the_stream_is(batches: Batches) -> None:
    element = b"<x:a> <x:b> <x:c> ."
    process(batches, TOPIC, ["t/0"], (0, 1, element, None), (0, 8, element, None))
    assert reached(batches) == (8_000_000, 1)
    process(batches, TOPIC, ["t/0", "t/1"], (1, 3, element, None))
    assert reached(batches) == (8_000_000, 1)
    assert batches.last().streams["s"].late == 1
