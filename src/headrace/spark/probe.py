"""Does Spark start here, and do its workers have what the kernel needs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from time import perf_counter

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headrace.errors import MachineError
from headrace.spark.session import start


def probe() -> str:
    """Run a task that uses Arrow and Polars, and say how long it took.

    Raises:
        MachineError: Spark or its workers do not work here.
    """
    began = perf_counter()
    running = SparkSession.getActiveSession()
    with tempfile.TemporaryDirectory(prefix="headrace-") as directory:
        spark = running or start(cores=1, log=Path(directory) / "spark.log")
        try:
            [row] = spark.range(3).repartition(1).mapInArrow(_summed, "total bigint").collect()
            version = spark.version
        except PySparkException as error:
            raise MachineError(f"a worker of Spark fails: {error}") from error
        finally:
            if running is None:
                spark.stop()
    if row.total != _EXPECTED:
        raise MachineError(f"a worker counted to {row.total}, expected {_EXPECTED}")
    return f"{version} started and ran a task in {perf_counter() - began:.1f} s"


_EXPECTED = 0 + 1 + 2


def _summed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Runs in a worker, where Polars must be imported after the fork."""
    import polars as pl  # noqa: PLC0415  # see above

    frames = [pl.DataFrame(pl.from_arrow(batch)) for batch in batches]
    total = pl.concat(frames)["id"].sum()
    yield pa.RecordBatch.from_pydict({"total": [total]})
