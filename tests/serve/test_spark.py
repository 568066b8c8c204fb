"""The server with its pipeline on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.launching import RunnerKind
from tests.serve.clients import (
    COUNT,
    counts,
    evaluations,
    passages,
    push,
    register,
    served,
    until,
    with_cars,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.slow
@pytest.mark.spark
def test_queries_come_and_go_on_spark(tmp_path: Path, spark: SparkSession) -> None:
    assert spark
    with served(tmp_path / "data", runner=RunnerKind.SPARK, interval=0.1) as client:
        with_cars(client)
        register(client, COUNT, name="kept")
        push(client, passages(0, 8))
        until(lambda: client.get("/streams/cars").json()["elements"] == 8)
        register(client, COUNT, name="second")
        push(client, passages(8, 21))
        found = evaluations(client, "kept", 4)
        assert [counts(each) for each in found] == [
            {"g0": 3, "g1": 2},
            {"g0": 5, "g1": 5},
            {"g0": 5, "g1": 5},
            {"g0": 5, "g1": 5},
        ]
        assert counts(evaluations(client, "second", 3)[-1]) == {"g0": 5, "g1": 5}
