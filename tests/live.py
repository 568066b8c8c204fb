"""`headrace run` as users start it: in a process of its own, which tests interrupt and kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from headrace.cli import app
from headrace.rdf.formats import Format
from tests.shared import ROOT

PATIENCE = 240.0
"""Spark takes long to start where others are at work too."""

TIMED = Format.TIMED_N_QUADS.media_type
QUERIES = (
    "REGISTER QUERY pairs AS SELECT ?a ?c FROM STREAM <s> [RANGE 5s STEP 5s] { ?a <x:p> ?c }",
    "REGISTER QUERY counts AS SELECT ?a (COUNT(*) AS ?n) FROM STREAM <s> [RANGE 10s STEP 5s]"
    " { ?a <x:p> ?c } GROUP BY ?a",
)


def elements(start: int, stop: int) -> list[str]:
    """Elements a tenth of a second apart."""
    return [f'{at * 100}\t<x:{at % 7}> <x:p> "{at}" .\n' for at in range(start, stop)]


def run_once(*arguments: str) -> Result:
    """Run the queries in this process until the input ends."""
    result = CliRunner().invoke(app, ["run", *QUERIES, "--once", *arguments])
    assert result.exit_code == 0, result.output
    return result


def uninterrupted(folder: Path, lines: Iterable[str]) -> Path:
    """The results over lines of a file, in this process."""
    source, out = folder / "expected.tnq", folder / "expected.ndjson"
    source.write_text("".join(lines))
    run_once("--runner", "inline", "--stream", f"s={source}", "--out", str(out))
    return out


@dataclass(frozen=True, slots=True)
class LiveRun:
    """A run, and where it says how it is."""

    process: subprocess.Popen[bytes]
    log: Path

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds; it is an error if the run ends before."""
        ends = time.monotonic() + PATIENCE
        while not holds():
            assert self.process.poll() is None, f"the run has ended:\n{self.said()}"
            assert time.monotonic() < ends, f"it did not happen:\n{self.said()}"
            time.sleep(0.05)

    def kill(self) -> None:
        """End it at once, and with it all that it has started."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        """Ask it to end; its exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.ended()

    def ended(self) -> int:
        """Wait until it ends by itself; its exit code."""
        return self.process.wait(PATIENCE)


@contextmanager
def live_run(
    log: Path, *arguments: str, environment: Mapping[str, str] | None = None
) -> Iterator[LiveRun]:
    """Run `headrace run`; whatever is left of it in the end is killed."""
    paths = [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    own = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), **(environment or {})}
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "headrace", "run", *arguments],
            stdout=output,
            stderr=output,
            env=os.environ | own,
            start_new_session=True,
        )
    run = LiveRun(process, log)
    try:
        yield run
    finally:
        if process.poll() is None:
            run.kill()


def lines_of(path: Path) -> list[str]:
    """The whole lines of a file, if it is there."""
    return path.read_text().split("\n")[:-1] if path.exists() else []


def instants_of(path: Path) -> int:
    """How many instants the results in a file are of."""
    return len({each["at"] for each in results(lines_of(path))})


def results(lines: list[str], until: int | None = None) -> list[dict[str, Any]]:
    """What lines say of the instants up to one, in an order that any run gives them."""
    found = [json.loads(line) for line in lines]
    chosen = [each for each in found if until is None or each["at"] <= until]
    return sorted(chosen, key=lambda each: (each["query"], each["at"], json.dumps(each)))
