"""The published benchmarks and all scenarios come out the same on Spark."""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from _pytest.mark import ParameterSet

from headrace.launching import RunnerKind
from headrace.pipeline.batches import Batches
from headrace.pipeline.manifest import Manifest
from headrace.pipeline.streams import Sources
from headrace.scenarios import problems
from headrace.spark.run import Pace, Runner
from tests.pipeline.published import Benchmark, in_order, sensors, stations
from tests.pipeline.scenarios import Deployed, in_groups
from tests.shared import needs_data

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

GROUPS = in_groups()
LARGE = [group for group in GROUPS if len(group) > 1]
ALONE = [group for group in GROUPS if len(group) == 1]


def matrix(*sample: tuple[int, int]) -> list[ParameterSet]:
    """Batches of 1 file, of 10 and of all, in 1, 2 and 4 parts; most only by `make long`."""
    return [
        pytest.param(*each, marks=[] if each in sample else pytest.mark.long)
        for each in product((1, 10, 0), (1, 2, 4))
    ]


@pytest.mark.parametrize(("pieces", "partitions"), matrix((0, 2)))
def test_scenarios(pieces: int, partitions: int, spark: SparkSession, tmp_path: Path) -> None:
    for number, group in enumerate(LARGE):
        deployed = Deployed(group, tmp_path / str(number), 1, partitions)

        def run(batches: Batches, sources: Sources) -> Manifest:
            pace = Pace(pieces, ends=not batches.setup.live)
            return Runner(spark, batches, sources, pace).run()

        played = deployed.played(run)
        found = {each.name: problems(each, played[each.name]) for each in group}
        assert {name: each for name, each in found.items() if each} == {}


@pytest.mark.long
def test_scenarios_that_must_be_alone(spark: SparkSession, tmp_path: Path) -> None:
    for number, group in enumerate(ALONE):
        deployed = Deployed(group, tmp_path / str(number), 1, 1 + number % 2)

        def run(batches: Batches, sources: Sources) -> Manifest:
            pace = Pace(10, ends=not batches.setup.live)
            return Runner(spark, batches, sources, pace).run()

        [played] = deployed.played(run).values()
        assert problems(group[0], played) == [], group[0].name


@needs_data("csrbench")
@pytest.mark.parametrize(("pieces", "partitions"), matrix((10, 2), (1, 4)))
def test_sensors(pieces: int, partitions: int, spark: SparkSession, tmp_path: Path) -> None:
    assert spark.sparkContext.defaultParallelism == 2
    benchmark = sensors()
    source = benchmark.written(tmp_path / "stream", 34)
    lines = benchmark.run(
        source,
        tmp_path / "out.ndjson",
        runner=RunnerKind.SPARK,
        pieces=pieces,
        partitions=partitions,
    )
    assert in_order(lines) == in_order(benchmark.pushed())


@cache
def reported(experiment: str) -> tuple[Benchmark, list[str]]:
    """An experiment, and what the engine in this process reports."""
    benchmark = stations(experiment)
    return benchmark, in_order(benchmark.pushed())


@needs_data("yabench-streams")
@pytest.mark.parametrize(("pieces", "partitions"), matrix((10, 4)))
@pytest.mark.parametrize(
    "experiment", [pytest.param("E1_medium", marks=pytest.mark.long), "E3_small"]
)
def test_stations(
    experiment: str, pieces: int, partitions: int, spark: SparkSession, tmp_path: Path
) -> None:
    assert spark.sparkContext.defaultParallelism == 2
    benchmark, expected = reported(experiment)
    source = benchmark.written(tmp_path / "stream", 20)
    lines = benchmark.run(
        source,
        tmp_path / "out.ndjson",
        runner=RunnerKind.SPARK,
        pieces=pieces,
        partitions=partitions,
    )
    assert in_order(lines) == expected
