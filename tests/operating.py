"""`headrace run` as a process of its own, as a terminal starts it and a user stops it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PATIENCE = 400.0
"""Seconds after which a run is given up; how long it takes says nothing about it."""
COUNT = (
    "REGISTER QUERY {name} AS SELECT ?b (COUNT(*) AS ?n) FROM STREAM <{stream}> "
    "[RANGE 10s STEP 5s] {{ ?a ?b ?c }} GROUP BY ?b"
)


def count(name: str, stream: str = "x:s") -> str:
    return COUNT.format(name=name, stream=stream)


def elements(first: int, stop: int, subject: str = "a") -> str:
    """One element a second."""
    return "".join(
        f"{second * 1000}\t<x:{subject}{second % 7}> <x:p{second % 3}> <x:o> .\n"
        for second in range(first, stop)
    )


def rows(path: Path, query: str | None = None) -> list[dict[str, Any]]:
    """What was written of a query, in an order of its own."""
    if not path.exists():
        return []
    whole = path.read_text().rpartition("\n")[0]
    found = [json.loads(line) for line in whole.splitlines()]
    chosen = [each for each in found if query in (None, each["query"])]
    return sorted(chosen, key=lambda each: (each["at"], json.dumps(each, sort_keys=True)))


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "headrace", "run", *arguments]


@dataclass
class Running:
    """A run in a process group of its own."""

    process: subprocess.Popen[bytes]
    folder: Path

    @property
    def said(self) -> str:
        """What it has written to standard error so far."""
        return (self.folder / "stderr").read_text()

    def until(self, condition: Callable[[], object]) -> None:
        """Wait for something to happen while the run is alive."""
        give_up = time.monotonic() + PATIENCE
        while not condition():
            if self.process.poll() is not None or time.monotonic() > give_up:
                raise AssertionError(f"it did not happen: {self.process.poll()} {self.said}")
            time.sleep(0.02)

    def interrupt(self) -> None:
        """What a terminal does at Ctrl-C: the whole group hears of it."""
        os.killpg(self.process.pid, signal.SIGINT)

    def ended(self) -> tuple[int, str]:
        """Its exit code and what it has written to standard error, once it has ended."""
        return self.process.wait(PATIENCE), self.said


@contextmanager
def running(
    folder: Path, *arguments: str, environment: Mapping[str, str] | None = None
) -> Iterator[Running]:
    """A run that is over, one way or the other, when the block is; what it says is in a folder."""
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        process = subprocess.Popen(
            command(*arguments),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=os.environ | (environment or {}),
            start_new_session=True,
        )
    try:
        yield Running(process, folder)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
