"""Weather stations that report in real time: a process that adds lines to a file as they happen."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random
from typing import Final

from _yabench import DEGREES, INTERVAL, Observation, lines

TICK: Final = 0.01
"""Seconds from one look at the clock to the next."""
ROTATION, PAUSE = 20, 0.1
"""Seconds that a file grows, and from one addition to the next, when time passes faster."""
LEAD: Final = 2
"""So many seconds after its start a writer begins, on a whole second."""


def write_live(path: Path, stations: int, duration: int) -> None:
    """Add what stations measure to a file, for so many seconds; the times are those of the clock.

    How late the latest of it was written is left beside the file, in milliseconds.
    """
    first = (int(time.time()) + LEAD) * 1000
    latest = 0.0
    due: list[Observation] = []
    with path.open("ab", buffering=0) as file:
        for observation in _schedule(stations, first, duration * 1000):
            while observation[1] > time.time() * 1000:
                if due:
                    file.write("".join(line for each in due for line in lines(each)).encode())
                    latest = max(latest, time.time() * 1000 - due[0][1])
                    due = []
                time.sleep(TICK)
            due.append(observation)
        file.write("".join(line for each in due for line in lines(each)).encode())
    lateness_path(path).write_text(json.dumps(latest))


def lateness_path(path: Path) -> Path:
    """Where a writer says how late it was."""
    return path.with_suffix(".late.json")


def _schedule(stations: int, first: int, duration: int) -> Iterator[Observation]:
    chance = Random(stations)
    offsets = sorted((chance.randrange(INTERVAL), station) for station in range(stations))
    for second in range(first, first + duration, INTERVAL):
        for offset, station in offsets:
            yield station, second + offset, f"{chance.randrange(DEGREES)}.0"


def write_fast(folder: Path, stations: int, duration: int, speed: float) -> None:
    """Add what stations measure to files, for so many seconds in which more time passes for them.

    Args:
        folder: gets a new file whenever `ROTATION` seconds have passed.
        stations: how many there are.
        duration: of the clock.
        speed: how many seconds pass for the stations in one of the clock.
    """
    began = time.monotonic()
    due: list[Observation] = []
    for observation in _schedule(stations, 0, int(duration * 1000 * speed)):
        while observation[1] > (time.monotonic() - began) * 1000 * speed:
            number = int((time.monotonic() - began) // ROTATION)
            with (folder / f"{number:05}.tnq").open("ab") as file:
                file.write("".join(line for each in due for line in lines(each)).encode())
            due = []
            time.sleep(PAUSE)
        due.append(observation)


@contextmanager
def running(target: Callable[..., None], *arguments: object) -> Iterator[BaseProcess]:
    """A writer at work, which is ended with the block if it has not ended before."""
    # A fork of a process with threads may wait for a lock for ever.
    writer = get_context("spawn").Process(target=target, args=arguments)
    writer.start()
    try:
        yield writer
    finally:
        writer.terminate()
        writer.join()
