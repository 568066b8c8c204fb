"""How Spark is started: on this machine only, closed to the network, and quiet."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # it has no types
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headrace.errors import MachineError, SettingError
from headrace.spark.home import light_home
from headrace.spark.java import cache_folder, find_java

__all__ = ["SETTINGS", "SparkSession", "start"]

LOOPBACK: Final = "127.0.0.1"
TAIL: Final = 2_000
"""So many characters of Spark's own words are shown when it does not start."""

_POOLS: Final = Path(__file__).with_name("pools.xml")

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
    "spark.hadoop.fs.permissions.umask-mode": "077",  # what a stream says is for its owner only
    # Here the JVM only hands out work: compiling it as far as it can takes more time than it saves.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.scheduler.mode": "FAIR",
    # Java reads this file: from a package that is in an archive, jobs take turns.
    **({"spark.scheduler.allocation.file": _POOLS.as_uri()} if _POOLS.is_file() else {}),
    "spark.speculation": "false",  # two attempts at one task would both write
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.executorEnv.POLARS_MAX_THREADS": "1",  # tasks are the parallelism
    # A worker gives back what a piece took only to ask for as much again: a tenth of its time.
    "spark.executorEnv.MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "spark.executorEnv.MALLOC_TRIM_THRESHOLD_": str(256 << 20),
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


ON_A_CLUSTER: Final[Mapping[str, str]] = {
    # Other machines can reach the endpoints of a cluster: whoever uses them must know a secret.
    # The secret itself is for spark-defaults.conf: what is set here, everyone sees in `ps`.
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem",
}
"""What differs from `SETTINGS` where others can reach us."""
IN_ONE_PROCESS: Final[Mapping[str, str]] = {
    # Where the clock is set ahead, or the machine sleeps, Spark takes its last heartbeat for old,
    # removes the only executor, and ends after ten minutes. Here nothing can be lost on the way.
    "spark.storage.blockManagerHeartbeatTimeoutMs": "36500d",
}
"""What is added where tasks run in the process of the driver."""
_HERE_ONLY: Final = ("spark.driver.host", "spark.driver.bindAddress")
_POOL: Final = "spark.scheduler.pool"
_NO_SECRET: Final = "secret key must be specified"


@contextmanager
def first_of_all(session: SparkSession) -> Iterator[None]:
    """Let the jobs of this thread go before what is decoded ahead, because somebody waits."""
    context = session.sparkContext
    context.setLocalProperty(_POOL, "answers")
    try:
        yield
    finally:
        context.setLocalProperty(_POOL, None)  # type: ignore[arg-type]  # none is the default


def active() -> SparkSession | None:
    """The session that runs in this process already, if there is one, whichever thread began it."""
    if SparkContext._active_spark_context is None:
        return None
    return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()


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
        SettingError: the cluster asks for a secret, and none is set.
    """
    os.environ["JAVA_HOME"] = str(find_java().home)
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if master is None or "PYSPARK_PYTHON" not in os.environ:
        os.environ["PYSPARK_PYTHON"] = sys.executable
    is_one_process = master is None or master.startswith("local")
    special = {**(ON_A_CLUSTER if master else {}), **(IN_ONE_PROCESS if is_one_process else {})}
    chosen = {**SETTINGS, **special, **(settings or {})}
    if master:  # spark-defaults.conf may say how to start it there
        del chosen["spark.driver.extraJavaOptions"]
    if _is_here(master):
        os.environ["SPARK_LOCAL_IP"] = LOOPBACK
    else:  # machines of the cluster must reach this one: where, Spark knows, or spark-defaults.conf
        chosen = {name: value for name, value in chosen.items() if name not in _HERE_ONLY}
    # With plain local[N] a task is never tried again: one killed worker would stop the query.
    local = f"local[{cores or '*'},4]"
    builder = SparkSession.Builder().master(master or local).appName("headrace")
    for name, value in chosen.items():
        builder = builder.config(name, value)
    try:
        home = nullcontext() if master else light_home(cache_folder())
        with home, _errors_to(log), _private():
            session = builder.getOrCreate()
    except (PySparkException, Py4JError, OSError) as error:
        if _NO_SECRET in str(error):
            raise SettingError(
                f"{master} is used with a secret only: write spark.authenticate.secret with that "
                "of the cluster to spark-defaults.conf, for your eyes only, and set SPARK_CONF_DIR "
                "to the folder with that file"
            ) from None
        said = log.read_text(errors="replace")[-TAIL:] if log and log.exists() else ""
        raise MachineError(f"Spark does not start: {error}\n{said}".rstrip()) from error
    _quieten(session)
    return session


def _quieten(session: SparkSession) -> None:
    """Let the server of accumulators, which we do not use, end without a traceback."""
    server = getattr(session.sparkContext, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda _request, _address: None


def _is_here(master: str | None) -> bool:
    """Whether all that Spark consists of is on this machine.

    >>> _is_here(None), _is_here("spark://127.0.0.1:7077"), _is_here("spark://gate:7077")
    (True, True, False)
    """
    if master is None or master.startswith("local"):
        return True
    return urlsplit(master).hostname in (LOOPBACK, "::1", "localhost")


@contextmanager
def _private() -> Iterator[None]:
    """Let processes that are started meanwhile write files for their owner's eyes only."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


@contextmanager
def _errors_to(log: Path | None) -> Iterator[None]:
    """Let processes that are started meanwhile write their standard error to a file."""
    if log is None:
        yield
        return
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        file = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        os.dup2(file, 2)
        os.close(file)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
