"""Do the machines of a cluster see the files of this one: without that, none can read a pane."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Final
from uuid import uuid4

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headrace.errors import MachineError, SettingError

_SEEN: Final = "host string, problem string"
_TASKS_PER_CORE: Final = 2
"""More tasks than cores, so that no executor is left out."""


def check_shared(spark: SparkSession, directory: Path) -> None:
    """Have tasks read what was written here, and read what they have written.

    Args:
        spark: the session, on a cluster.
        directory: what must be shared: the checkpoint.

    Raises:
        SettingError: it is not shared, and what to do.
        MachineError: tasks cannot run there at all.
    """
    word = uuid4().hex
    probe = directory / f".shared-{word}"
    probe.write_text(word, "utf-8")
    tasks = spark.sparkContext.defaultParallelism * _TASKS_PER_CORE
    look = partial(_looked, probe=str(probe), word=word)
    try:
        rows = spark.range(tasks).repartition(tasks).mapInArrow(look, _SEEN).collect()
        answers = [path.read_text("utf-8") for path in directory.glob(f"{probe.name}-*")]
    except PySparkException as error:
        raise MachineError(f"the machines of the cluster cannot work for us: {error}") from error
    finally:
        for path in directory.glob(f"{probe.name}*"):
            path.unlink(missing_ok=True)
    problems = {row.host: row.problem for row in rows if row.problem}
    if not problems and len(answers) < len(rows):
        problems = {row.host: "it wrote a file there that is not seen here" for row in rows}
    if problems:
        host, problem = sorted(problems.items())[0]
        raise SettingError(
            f"{directory} is not shared with the machines of the cluster ({host}: {problem}); "
            "choose a --checkpoint on storage that all of them, and this one, have mounted at the "
            "same place and may write to"
        )


def _looked(batches: Iterable[pa.RecordBatch], probe: str, word: str) -> Iterator[pa.RecordBatch]:
    """Runs in a task."""
    import socket  # noqa: PLC0415

    problem = None
    list(batches)  # there are none in some tasks, which look all the same
    try:
        if Path(probe).read_text("utf-8") != word:
            problem = "it sees another file there"
        Path(f"{probe}-{uuid4().hex}").write_text(word, "utf-8")
    except OSError as error:
        problem = error.strerror
    yield pa.RecordBatch.from_pydict(
        {"host": [socket.gethostname()], "problem": [problem]},
        schema=pa.schema([("host", pa.string()), ("problem", pa.string())]),
    )
