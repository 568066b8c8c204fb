"""How Spark is started: on this machine only, closed to the network, and quiet."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # it has no types
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headrace.errors import MachineError
from headrace.spark.java import find_java

__all__ = ["SETTINGS", "SparkSession", "start"]

LOOPBACK: Final = "127.0.0.1"
TAIL: Final = 2_000
"""So many characters of Spark's own words are shown when it does not start."""

SETTINGS: Final[Mapping[str, str]] = {
    # Spark's endpoints run code for whoever reaches them: nobody but this machine may.
    "spark.ui.enabled": "false",
    "spark.driver.host": LOOPBACK,
    "spark.driver.bindAddress": LOOPBACK,
    "spark.python.unix.domain.socket.enabled": "true",
    # The file managers that rename through the JVM's own file system cost 90 ms a batch more.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing"
        ".FileSystemBasedCheckpointFileManager"
    ),
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.speculation": "false",  # two attempts at one task would both write
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.executorEnv.POLARS_MAX_THREADS": "1",  # tasks are the parallelism
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


ON_A_CLUSTER: Final[Mapping[str, str]] = {
    # Other machines can reach the endpoints of a cluster: whoever uses them must know a secret.
    "spark.authenticate": "true",
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem",
}
"""What differs from `SETTINGS` where others can reach us."""


def active() -> SparkSession | None:
    """The session that runs in this process already, if there is one."""
    return SparkSession.getActiveSession()


def start(
    cores: int | None = None,
    log: Path | None = None,
    settings: Mapping[str, str] | None = None,
    master: str | None = None,
) -> SparkSession:
    """Start Spark in this process, or return the session that runs already.

    Args:
        cores: how many tasks run at once; all cores if not given.
        master: the cluster to run on; if not given, this process is one.
        log: where what Java and the workers print goes, instead of to our standard error.
        settings: what to set differently from `SETTINGS`.

    Raises:
        MachineError: there is no Java that Spark can use, or Spark does not start with it.
    """
    os.environ["JAVA_HOME"] = str(find_java().home)
    os.environ["SPARK_LOCAL_IP"] = LOOPBACK
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    # With plain local[N] a task is never tried again: one killed worker would stop the query.
    local = f"local[{cores or '*'},4]"
    builder = SparkSession.Builder().master(master or local).appName("headrace")
    chosen = SETTINGS if master is None else {**SETTINGS, **ON_A_CLUSTER}
    for name, value in {**chosen, **(settings or {})}.items():
        builder = builder.config(name, value)
    try:
        with _errors_to(log):
            return builder.getOrCreate()
    except (PySparkException, Py4JError, OSError) as error:
        said = log.read_text(errors="replace")[-TAIL:] if log and log.exists() else ""
        raise MachineError(f"Spark does not start: {error}\n{said}".rstrip()) from error


@contextmanager
def _errors_to(log: Path | None) -> Iterator[None]:
    """Let processes that are started meanwhile write their standard error to a file."""
    if log is None:
        yield
        return
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with log.open("ab") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
