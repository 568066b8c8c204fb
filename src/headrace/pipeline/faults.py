"""Named moments at which a test makes a run fail; in any other run they do nothing.

Random kills miss the dangerous moments. ``HEADRACE_FAULT="POINT KIND [NUMBER]"`` makes the process
that reaches a point for the NUMBERth time fail there: ``kill`` ends it at once, ``raise`` is a bug,
``full`` is a disk without space, ``stall`` goes on after five seconds, or after as many as
``HEADRACE_FAULT_STALL`` says. With a path in ``HEADRACE_FAULT_ONCE``, only the first process to
come there fails, and leaves a file as its mark.
"""

from __future__ import annotations

import errno
import os
import signal
from collections import Counter
from pathlib import Path
from time import sleep
from typing import Final

VARIABLE: Final = "HEADRACE_FAULT"
ONCE: Final = "HEADRACE_FAULT_ONCE"
STALL: Final = "HEADRACE_FAULT_STALL"

POINTS: Final = (
    "source-log",
    "source-logged",
    "pane",
    "pane-written",
    "decoded",
    "part-evaluated",
    "stepped",
    "results-written",
    "memory-written",
    "manifest",
    "manifest-drafted",
    "manifest-committed",
    "publish",
    "sink-written",
    "published",
    "sweep",
    "final",
)
"""In the order in which a batch comes to them; ``final`` is before the end of the input is told."""

_reached: Counter[str] = Counter()


def reach(point: str) -> None:
    """Come to a point, and go on unless a test has chosen it."""
    chosen = os.environ.get(VARIABLE)
    if not chosen:
        _reached.clear()  # who chooses again counts again
        return
    name, kind, *number = chosen.split()
    if name != point:
        return
    _reached[point] += 1
    if _reached[point] != int(number[0] if number else 1) or not _is_first():
        return
    match kind:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "full":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        case "stall":
            sleep(float(os.environ.get(STALL, "5")))
        case _:
            raise RuntimeError(f"a fault at {point}, as a test has asked for")


def _is_first() -> bool:
    mark = os.environ.get(ONCE)
    if mark is None:
        return True
    try:
        Path(mark).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True
