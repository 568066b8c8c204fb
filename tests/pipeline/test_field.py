"""The published benchmarks come out the same by any runner, in any batches and parts."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.pipeline.published import Benchmark, in_order, sensors, stations
from tests.shared import needs_data

pytestmark = [pytest.mark.slow, needs_data("csrbench"), needs_data("yabench-streams")]

MANNERS = [(1, 2), (10, 4), (0, 1)]
"""How many files are in a batch, and how many parts there are."""


@cache
def pushed(name: str) -> tuple[Benchmark, list[str]]:
    benchmark = sensors(name) if name.endswith("stream") else stations(name)
    return benchmark, in_order(benchmark.pushed())


@pytest.mark.parametrize(("pieces", "partitions"), MANNERS)
@pytest.mark.parametrize("emit", ["rstream", "istream", "dstream"])
def test_sensors(emit: str, pieces: int, partitions: int, tmp_path: Path) -> None:
    benchmark, expected = pushed(emit)
    source = benchmark.written(tmp_path / "stream", 34)
    lines = benchmark.run(source, tmp_path / "out.ndjson", pieces=pieces, partitions=partitions)
    assert in_order(lines) == expected


@pytest.mark.parametrize(("pieces", "partitions"), MANNERS)
@pytest.mark.parametrize("experiment", ["E1_small", "E3_small"])
def test_stations(experiment: str, pieces: int, partitions: int, tmp_path: Path) -> None:
    benchmark, expected = pushed(experiment)
    source = benchmark.written(tmp_path / "stream", 12)
    lines = benchmark.run(source, tmp_path / "out.ndjson", pieces=pieces, partitions=partitions)
    assert in_order(lines) == expected


@pytest.mark.parametrize("experiment", ["E1_medium", "E3_medium"])
def test_more_stations(experiment: str, tmp_path: Path) -> None:
    benchmark, expected = pushed(experiment)
    source = benchmark.written(tmp_path / "stream", 30)
    lines = benchmark.run(source, tmp_path / "out.ndjson", pieces=7, partitions=2)
    assert in_order(lines) == expected
