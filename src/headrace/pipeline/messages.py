"""What the messages of a topic say, as columns of integers; runs in tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

import polars as pl
import pyarrow as pa
import xxhash

from headrace.algebra.reporting import BlankNodes
from headrace.errors import DataError, SettingError
from headrace.ingest.urls import options_of
from headrace.kernel.columns import TIME
from headrace.pipeline.decode import Decoding, messages_in, shaped, written
from headrace.pipeline.panes import SIZE, Pane
from headrace.pipeline.streams import Declared
from headrace.rdf.formats import Format, format_of_media_type
from headrace.rdf.streams import Message, read_messages
from headrace.sinks.kafka_url import KafkaTopic, parse_kafka_url

PARTITION: Final = "partition"
OFFSET: Final = "offset"
TIMESTAMP: Final = "timestamp"
VALUE: Final = "value"
MEDIA_TYPE: Final = "media_type"


@dataclass(frozen=True, slots=True)
class TopicSource:
    """A topic that a stream is read from.

    Attributes:
        stream: the IRI of the stream.
        topic: where its messages are.
        form: how those are written that do not say it in a header `content-type`.
    """

    stream: str
    topic: KafkaTopic
    form: Format = Format.N_QUADS

    def part(self, partition: int | str) -> str:
        """What a partition is called among the parts of the stream."""
        return f"{self.topic.name}/{partition}"


def topic_source(stream: str, source: Declared) -> TopicSource:
    """The topic that a source names, and how its messages are read.

    >>> found = topic_source("s", Declared("kafka", "kafka://b/t?type=text/turtle"))
    >>> str(found.topic), found.form
    ('kafka://b:9092/t', <Format.TURTLE: 'Turtle'>)

    Raises:
        SettingError: it names none.
    """
    place, _, options = source.place.partition("?")
    media_type = options_of(options, ["type"]).get("type", Format.N_QUADS.media_type)
    return TopicSource(stream, parse_kafka_url(place), format_of_media_type(media_type))


def decode_messages(rows: pa.RecordBatch, source: TopicSource, decoding: Decoding) -> list[Pane]:
    """Read some messages and write what they say to new panes, one for each partition.

    Args:
        rows: partition, offset, timestamp, value and media type of each message, in the order of
            offsets within a partition.
        source: where they are from.
        decoding: how they are read.
    """
    frame = pl.DataFrame(pa.Table.from_batches([rows]))
    parts = frame.partition_by(PARTITION, maintain_order=True)
    return [_decoded(part, source, decoding) for part in parts]


def _decoded(rows: pl.DataFrame, source: TopicSource, decoding: Decoding) -> Pane:
    """Decode some messages of one partition to a pane."""
    # What was left out could not be read again if an element turns out to be late.
    decoding = decoding.complete
    found = list(_messages(rows, source))
    problems = [each for each in found if isinstance(each, DataError)]
    per_stream = decoding.blank_nodes is BlankNodes.STREAM
    own = f"{decoding.prefix}-k{xxhash.xxh3_64_hexdigest(source.topic.name.encode())[:8]}"
    read = read_messages(
        [each for each in found if isinstance(each, Message)],
        seed=decoding.seed,
        prefix=decoding.prefix if per_stream else own,
        per_stream=per_stream,
        rule=decoding.rule,
        on_error=problems.append,
    )
    texts = _texts(rows, source) if problems else {}
    told = [(each, texts.get(each.name or "")) for each in problems]
    columns, kept, tally = shaped(read, told, decoding)
    times = columns.elements[TIME]
    unread = read.unread + sum(isinstance(each, DataError) for each in found)
    first = int(rows[OFFSET][0])
    return written(
        columns,
        Pane(
            stream=source.stream,
            partition=source.part(rows[PARTITION][0]),
            ordinal=first,
            name=f"{rows[PARTITION][0]}-{first}-{uuid4().hex}.arrow",
            checksum="",
            elements=columns.elements.height,
            counted=int((columns.elements[SIZE] > 0).sum()),
            rejected=columns.problems.height,
            lines=0,
            first_time=None if times.is_empty() else times[0],
            high=times.max(),  # type: ignore[arg-type]  # a time, or none
            filtered=not kept,
            least=times.min(),  # type: ignore[arg-type]  # a time, or none
            messages=messages_in(columns.elements) + unread,
            unread=unread,
            tally=tally,
        ),
        decoding,
    )


def _messages(rows: pl.DataFrame, source: TopicSource) -> Iterator[Message | DataError]:
    """Messages, and in place of those that nobody can read what is wrong with them."""
    times = rows[TIMESTAMP].dt.epoch("us")
    others: Sequence[pl.Series] = [rows[name] for name in (PARTITION, OFFSET, VALUE, MEDIA_TYPE)]
    for time, partition, offset, value, media_type in zip(times, *others, strict=True):
        place = _place(source, partition, offset)
        if value is None:  # it deletes its key, in a topic that keeps the last value of each
            yield DataError("it has no value, and a stream has nothing that it could delete", place)
            continue
        try:
            form = source.form if media_type is None else _form(media_type)
        except SettingError as error:
            yield DataError(str(error), place)
        else:
            yield Message(value, form, time, place, f"{partition}-{offset}")


def _texts(rows: pl.DataFrame, source: TopicSource) -> dict[str, bytes | None]:
    """Write the text of each message, under its name for errors."""
    said = rows.select(PARTITION, OFFSET, VALUE).rows()
    return {_place(source, partition, offset): value for partition, offset, value in said}


def _place(source: TopicSource, partition: int, offset: int) -> str:
    return f"{source.part(partition)}@{offset}"


def _form(media_type: bytes) -> Format:
    return format_of_media_type(media_type.decode(errors="replace"))
