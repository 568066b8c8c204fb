"""The published benchmarks and all scenarios come out the same on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.launching import RunnerKind
from headrace.pipeline.batches import Batches
from headrace.pipeline.manifest import Manifest
from headrace.pipeline.streams import Sources
from headrace.scenarios import problems
from headrace.spark.run import Pace, Runner
from tests.pipeline.published import in_order, sensors, stations
from tests.pipeline.scenarios import Deployed, in_groups
from tests.shared import needs_data

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

GROUPS = in_groups()
LARGE = [group for group in GROUPS if len(group) > 1]
ALONE = [group for group in GROUPS if len(group) == 1]


@pytest.mark.parametrize(
    ("lines", "pieces", "partitions"),
    [
        (1, 0, 2),
        pytest.param(0, 0, 1, marks=pytest.mark.long),
        pytest.param(1, 60, 4, marks=pytest.mark.long),
        pytest.param(3, 60, 1, marks=pytest.mark.long),
    ],
)
def test_scenarios(
    lines: int, pieces: int, partitions: int, spark: SparkSession, tmp_path: Path
) -> None:
    for number, group in enumerate(LARGE):
        deployed = Deployed(group, tmp_path / str(number), lines, partitions)

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
@pytest.mark.parametrize(
    ("pieces", "partitions"),
    [
        (10, 2),
        pytest.param(0, 1, marks=pytest.mark.long),
        pytest.param(1, 4, marks=pytest.mark.long),
    ],
)
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


@needs_data("yabench-streams")
@pytest.mark.parametrize(
    ("experiment", "partitions"),
    [("E1_medium", 1), pytest.param("E3_small", 4, marks=pytest.mark.long)],
)
def test_stations(experiment: str, partitions: int, spark: SparkSession, tmp_path: Path) -> None:
    assert spark.sparkContext.defaultParallelism == 2
    benchmark = stations(experiment)
    source = benchmark.written(tmp_path / "stream", 20)
    lines = benchmark.run(
        source,
        tmp_path / "out.ndjson",
        runner=RunnerKind.SPARK,
        pieces=10,
        partitions=partitions,
    )
    assert in_order(lines) == in_order(benchmark.pushed())
