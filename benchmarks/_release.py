"""From the write of an element to its row, where nothing comes after it.

Three ways in which a live run reports without a later element: on arrival, an element of a file is
evaluated when it is read; in a stream of TCP whose elements have the time of their arrival, the
clock closes a window; in a file, an idle time-out does. Each element is written when the row of the
one before is in the output, or long enough after it. Of the last two, timed is from the moment at
which the row can be there at the earliest: the close of the window, and the end of the time-out.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from headrace.dialects import parse
from headrace.launching import RunnerKind
from headrace.pipeline.manifest import Manifest
from headrace.pipeline.results import Told
from headrace.running import Job, Voice, run_job

IDLE: Final = 0.5
WIDTH: Final = 2
PATIENCE: Final = 60.0
"""After so many seconds without a row, there is none."""
ARRIVING: Final = "SELECT ?a FROM STREAM <s> [RANGE 10s STEP] { ?a <x:p> ?c }"
TUMBLING: Final = f"SELECT ?a FROM STREAM <s> [RANGE {WIDTH}s STEP {WIDTH}s] {{ ?a <x:p> ?c }}"
Send = Callable[[int], float]
"""Writes an element, and says when its row can be there at the earliest."""


@dataclass(frozen=True, slots=True)
class Release:
    """What was found out about one runner and one way; times in milliseconds.

    Attributes:
        runner: where the run took place.
        way: what made the row due.
        asked: how many elements were written.
        found: how many of them had their row.
        p50: the median.
        worst: the greatest.
        batches: how many there were.
    """

    runner: str
    way: str
    asked: int
    found: int
    p50: float | None
    worst: float | None
    batches: int


class _Rows:
    """The names in the rows of a run, and when each was there."""

    def __init__(self) -> None:
        self.seen: dict[str, float] = {}
        self.batches = 0
        self._out: Path | None = None
        self._place = 0
        self._changed = threading.Condition()

    def follow(self, out: Path) -> None:
        self._out = out

    def tell(self, _manifest: Manifest, told: Told) -> None:
        """Look at the clock: sinks have what is told."""
        now = time.time()
        with self._changed:
            self.batches += 1
            if told.reports and self._out is not None:
                with self._out.open("rb") as file:
                    file.seek(self._place)
                    for line in file:
                        row = json.loads(line)["row"]
                        if row:
                            self.seen.setdefault(row["a"]["value"], now)
                    self._place = file.tell()
            self._changed.notify_all()

    def wait(self, name: str) -> float | None:
        """When the row of an element was there; none if it does not come."""
        with self._changed:
            self._changed.wait_for(lambda: name in self.seen, PATIENCE)
            return self.seen.get(name)


def measured(folder: Path, runner: str, way: str, number: int, interval: float) -> Release:
    """Write some elements, one after the other, to a live run."""
    rows, delays = _Rows(), list[float]()
    out = folder / f"{way}-{runner}.ndjson"
    rows.follow(out)
    with _WAYS[way](folder / f"{way}-{runner}.tnq") as (source, settings, send):

        def write() -> None:
            for place in range(number + 1):
                due = send(place)
                there = rows.wait(f"x:{place}")
                if place and there is not None:  # the first one waits for the start of the run
                    delays.append((there - due) * 1000)
            os.kill(os.getpid(), signal.SIGINT)  # as a user would

        query = ARRIVING if way == "arrival" else TUMBLING
        job = Job(
            [parse(query, settings=settings)],
            {"s": [source]},
            settings=settings,
            outs=[str(out)],
            once=False,
            runner=RunnerKind(runner),
            interval=interval,
        )
        threading.Thread(target=write, daemon=True).start()
        run_job(job, Voice(lambda _text: None, print, rows.tell))
    p50, worst = (median(delays), max(delays)) if delays else (None, None)
    return Release(runner, way, number, len(delays), p50, worst, rows.batches)


Way = Iterator[tuple[str, dict[str, str], Send]]
"""A source, the settings of a run over it, and what writes to it."""


@contextmanager
def _arriving(path: Path) -> Way:
    path.touch()
    yield str(path), {"emit": "istream"}, lambda number: _write(path, number, number)


@contextmanager
def _idle(path: Path) -> Way:
    path.touch()
    period = 1000 * WIDTH  # each in a window of its own
    settings = {"idle": f"{round(1000 * IDLE)}ms"}
    yield str(path), settings, lambda number: _write(path, number, period * number) + IDLE


def _write(path: Path, number: int, at: int) -> float:
    with path.open("a") as file:
        file.write(f"{at}\t<x:{number}> <x:p> <x:o> .\n")
    return time.time()


@contextmanager
def _by_clock(_path: Path) -> Way:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        connections = list[socket.socket]()

        def send(number: int) -> float:
            if not connections:
                connections.append(server.accept()[0])
            connections[0].sendall(b"<x:%d> <x:p> <x:o> .\n" % number)
            return (time.time() // WIDTH + 1) * WIDTH

        port = server.getsockname()[1]
        yield f"tcp://127.0.0.1:{port}?type=application/n-quads&time=source", {}, send
        for each in connections:
            each.close()


_WAYS: Final = {"arrival": _arriving, "clock": _by_clock, "idle": _idle}
WAYS: Final[Sequence[str]] = tuple(_WAYS)
