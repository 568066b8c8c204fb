from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from headrace import demo
from headrace.demo import MINUTES, Passage, generate, write_stream
from headrace.dialects import parse

from .kernel.streams import tollgate_query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MINUTE = 60_000


def counted_by_hand(passages: tuple[Passage, ...]) -> list[tuple[int, dict[str, int]]]:
    """Each minute, the different cars at each gate in the ten minutes before it."""
    first = -(-passages[0].time // MINUTE) * MINUTE
    counts = []
    for close in range(first, passages[-1].time + 10 * MINUTE, MINUTE):
        cars: dict[str, set[str]] = {}
        for passage in passages:
            if close - 10 * MINUTE < passage.time <= close:
                cars.setdefault(passage.gate, set()).add(passage.car)
        counts.append((close, {gate: len(seen) for gate, seen in sorted(cars.items())}))
    return counts


@pytest.mark.spark
def test_the_demo_counts_what_a_person_would_count(spark: SparkSession) -> None:
    output = io.StringIO()
    done = demo.main(Console(file=output, width=120), spark, count=900, files=3)
    answers = [
        (
            answer.at // 1000,
            {
                str(gate).removeprefix(f"<{demo.TRAFFIC}").rstrip(">"): int(
                    str(number).split('"')[1]
                )
                for gate, number in answer.rows
            },
        )
        for answer in done.answers
    ]
    assert answers == counted_by_hand(done.passages)
    assert len(answers) == MINUTES + 9
    assert done.manifest.batch == 2
    shown = output.getvalue()
    assert "(07:51, 08:01]" in shown
    assert shown.count("tollgate ┃ passages") == len(answers)
    assert "21 windows over 900 elements in 3 micro-batches" in shown


def test_the_text_of_the_query_is_that_of_the_paper() -> None:
    query = parse(demo.QUERY, dialect=None).query
    assert query == tollgate_query()


def test_the_traffic_is_the_same_every_time_and_has_cars_that_come_again() -> None:
    passages = generate()
    assert passages == generate()
    assert passages != generate(seed=24)
    assert list(passages) == sorted(passages, key=lambda passage: passage.time)
    assert len({(passage.gate, passage.car) for passage in passages}) < len(passages)


def test_the_stream_is_written_in_order_to_several_files(tmp_path: Path) -> None:
    passages = generate(10)
    write_stream(passages, tmp_path / "stream", files=3)
    files = sorted((tmp_path / "stream").iterdir())
    assert [len(file.read_text().splitlines()) for file in files] == [4, 4, 2]
    assert "".join(file.read_text() for file in files) == "".join(each.line for each in passages)
