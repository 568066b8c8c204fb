"""Kills a run on Spark at random moments, again and again, and compares what it has written.

python -m tests.pipeline.kill_run [KILLS [ELEMENTS]]
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from headrace.pipeline.layout import Layout
from headrace.pipeline.manifest import batches_of

from .jobs import Place, write_streams

_LONGEST = 600
"""Seconds that one run may take; one that hangs is a failure too."""


@dataclass(frozen=True, slots=True)
class Figures:
    """How a run with kills went.

    Attributes:
        kills: how many processes were killed.
        in_batches: how many of them had committed a batch since they were started.
        seconds: from the first start to the end.
        undisturbed: how many seconds a run without kills takes.
        same: whether both have written the same.
    """

    kills: int
    in_batches: int
    seconds: float
    undisturbed: float
    same: bool


def killed_runs(
    directory: Path, kills: int, elements: int, files: int, runner: str = "spark"
) -> Figures:
    """Run a job without kills and with them.

    Args:
        directory: an empty one.
        kills: how many.
        elements: how many elements the two streams have together.
        files: how many files each of them is in; each is a batch.
        runner: where they take place.
    """
    streams = write_streams(directory / "streams", elements // 2, files)
    calm = Place(streams, directory / "calm", 2, runner).prepared()
    began = time.monotonic()
    _finished(calm.started())
    undisturbed = time.monotonic() - began

    chance = random.Random(1)
    place = Place(streams, directory / "killed", 2, runner).prepared()
    done = in_batches = 0
    began = time.monotonic()
    while True:
        before = _last(place)
        process = place.started()
        # Counted in batches, because how long a start takes depends on what else is going on. The
        # input must last for all kills; those before the first batch hit the start.
        batches = chance.randrange(files // (kills + 1))
        if done == kills or _ends_before(process, place, before + batches, chance):
            _finished(process)
            break
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        done += 1
        in_batches += _last(place) > before
    seconds = time.monotonic() - began
    return Figures(done, in_batches, seconds, undisturbed, place.written() == calm.written())


def _last(place: Place) -> int:
    """The batch that was committed last."""
    return max(batches_of(Layout(place.checkpoint)), default=-1)


def _ends_before(
    process: subprocess.Popen[str], place: Place, batch: int, chance: random.Random
) -> bool:
    """Wait until a batch is committed and a little longer; whether the process has ended first."""
    while process.poll() is None and _last(place) < batch:
        time.sleep(0.05)
    time.sleep(chance.uniform(0, 0.5))
    return process.poll() is not None


def _finished(process: subprocess.Popen[str]) -> None:
    _, said = process.communicate(timeout=_LONGEST)
    if process.returncode:
        raise AssertionError(f"the run ended with {process.returncode}: {said}")


if __name__ == "__main__":
    asked = dict(enumerate(map(int, sys.argv[1:])))
    with tempfile.TemporaryDirectory(prefix="headrace-kills-") as folder:
        found = killed_runs(Path(folder), asked.get(0, 20), asked.get(1, 200_000), files=100)
        sys.stdout.write(f"{found}\n")
        sys.exit(not found.same)
