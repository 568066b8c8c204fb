"""What went wrong, by what Spark says of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from py4j.protocol import Py4JError, Py4JNetworkError  # type: ignore[import-untyped]  # it has no types
from pyspark.errors import PySparkException

from headrace.errors import DataError, HeadraceError, InternalError, MachineError, SettingError

_RAISED: Final = re.compile(r"headrace\.errors\.(\w+): (.+)")
_PYTHON: Final = re.compile(r"^(\w+(?:Error|Exception): .+)", re.MULTILINE)
_RAISED_IN_TASKS: Final = {kind.__name__: kind for kind in (DataError, MachineError, SettingError)}


SPARK_ERRORS: Final = (PySparkException, Py4JError)
"""What Spark raises, whatever is the reason."""
GONE: Final = (Py4JNetworkError, ConnectionError)
"""What is raised if there is no Java to talk to any more."""


def gone() -> MachineError:
    """The Java process of Spark has ended."""
    return MachineError(
        "Spark has gone: its Java process has ended, or was ended, perhaps for want of memory; the "
        "same command with its --checkpoint goes on where this run has stopped"
    )


@contextmanager
def translating() -> Iterator[None]:
    """Raise what tasks have raised."""
    try:
        yield
    except GONE:
        raise
    except SPARK_ERRORS as error:
        raise translated(str(error)) from error


def translated(text: str) -> HeadraceError:
    r"""What a task or the source has raised, which Spark has turned into text.

    >>> translated("Traceback ...\nheadrace.errors.MachineError: no disk\n at org.apache...")
    MachineError('no disk')
    >>> str(translated("Traceback ...\nKeyError: 'x'\n at org.apache...")).partition(";")[0]
    "a mistake of Headrace, please report it: KeyError: 'x'"
    """
    raised = _RAISED.search(text)
    if raised and raised[1] in _RAISED_IN_TASKS:
        return _RAISED_IN_TASKS[raised[1]](raised[2])
    *_, said = _PYTHON.findall(text) or text.splitlines() or ["without a word"]
    return InternalError(
        f"a mistake of Headrace, please report it: {said}; all that Spark says of it is in "
        "spark.log in the checkpoint"
    )
