"""More instants than one step evaluates: the run is cut nowhere, and a crash loses nothing."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from headrace.cli import app
from headrace.kernel.slices import MOST_INSTANTS
from headrace.pipeline.deployment import open_deployment
from headrace.pipeline.faults import VARIABLE
from tests.shared import ROOT

pytestmark = pytest.mark.slow

SPAN = MOST_INSTANTS + MOST_INSTANTS // 5
"""Milliseconds between two elements, at each of which a window closes."""
QUERIES = (
    f"REGISTER QUERY seen AS SELECT (COUNT(*) AS ?n) FROM STREAM <s> [RANGE {SPAN}ms STEP 1ms]"
    " { ?x <x:p> ?y }",
    f"PREFIX : <x:> REGISTER STREAM :every AS CONSTRUCT {{ ?x :was ?y }}"
    f" FROM STREAM <s> [RANGE {SPAN}ms STEP 2ms] WHERE {{ ?x :p ?y }}",
    "PREFIX : <x:> REGISTER QUERY sums AS SELECT (COUNT(*) AS ?n)"
    " FROM STREAM :every [RANGE 1s STEP 1s] { ?x :was ?y }",
)
LINES = ("out.ndjson", "out.csv")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a job works."""

    directory: Path
    runner: str = "inline"
    partitions: int = 1

    def prepared(self) -> Place:
        """Write the input and give the checkpoint a seed, so that runs can be compared."""
        self.directory.mkdir(exist_ok=True)
        with (self.directory / "s.tnq").open("w") as file:
            file.write("0\t<x:a> <x:p> <x:b> .\n")
            file.write(f"{SPAN}\t<x:c> <x:p> <x:d> .\n5\t<x:late> <x:p> <x:e> .\n")
        open_deployment(self.directory / "checkpoint", 7).close()
        return self

    @property
    def arguments(self) -> list[str]:
        """The command line."""
        names = (*LINES, "out.parquet")
        return [
            *("run", *QUERIES, "--once", "--runner", self.runner),
            *(f"--stream=s={self.directory / 's.tnq'}", "--partitions", str(self.partitions)),
            *(f"--out={self.directory / name}" for name in names),
            *("--checkpoint", str(self.directory / "checkpoint")),
        ]

    def run(self) -> Result:
        """Run it in this process."""
        return CliRunner().invoke(app, self.arguments)

    def killed(self, fault: str) -> None:
        """Run it in a process that dies."""
        done = subprocess.run(
            [sys.executable, "-m", "headrace", *self.arguments],
            env={**os.environ, "PYTHONPATH": str(ROOT / "src"), VARIABLE: fault},
            capture_output=True,
            check=False,
        )
        assert done.returncode == -signal.SIGKILL, done.stderr

    def written(self) -> Mapping[str, object]:
        """What it has written."""
        parts = sorted((self.directory / "out.parquet").iterdir())
        rows = pl.concat([pl.read_parquet(part) for part in parts]).drop("windows")
        texts = {name: (self.directory / name).read_text() for name in LINES}
        return {**texts, "rows": sorted(map(repr, rows.iter_rows()))}


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, object]:
    place = Place(tmp_path_factory.mktemp("calm")).prepared()
    done = place.run()
    assert done.exit_code == 0, done.stderr
    return place.written()


def test_every_instant_has_its_line(calm: Mapping[str, object]) -> None:
    lines = str(calm["out.ndjson"]).splitlines()
    found: dict[str, list[int]] = {}
    for line in lines:
        match = re.match(r'\{"query": "([^"]+)", "at": (\d+),', line)
        assert match, line
        found.setdefault(match[1], []).append(int(match[2]))
    assert found["seen"] == list(range(2 * SPAN))
    assert sorted(set(found["x:every"])) == list(range(0, 2 * SPAN, 2))
    assert found["sums"] == list(range(0, 2 * SPAN + 1, 1000))
    assert len(str(calm["out.csv"]).splitlines()) == len(lines) + 1
    assert len(calm["rows"]) == len(lines)  # type: ignore[arg-type]  # it is a list


@pytest.mark.parametrize(
    "fault",
    [
        *("results-written kill 1", "results-written kill 2", "results-written kill 3"),
        *("sink-written kill 1", "sink-written kill 2"),
    ],
)
def test_a_run_that_is_killed_between_slices_goes_on(
    fault: str, calm: Mapping[str, object], tmp_path: Path
) -> None:
    place = Place(tmp_path).prepared()
    place.killed(fault)
    done = place.run()
    assert done.exit_code == 0, done.stderr
    assert place.written() == calm


@pytest.mark.parametrize(("runner", "partitions"), [("inline", 2), ("spark", 1), ("spark", 2)])
def test_every_runner_and_number_of_parts_gives_the_same(
    runner: str, partitions: int, calm: Mapping[str, object], tmp_path: Path
) -> None:
    place = Place(tmp_path, runner, partitions).prepared()
    done = place.run()
    assert done.exit_code == 0, done.stderr
    assert place.written() == calm


def test_a_slice_that_is_damaged_is_named(tmp_path: Path) -> None:
    place = Place(tmp_path).prepared()
    place.killed("publish kill 1")
    results = tmp_path / "checkpoint" / "results"
    files = sorted(results.iterdir(), key=lambda file: file.stat().st_mtime)
    assert len(files) > 1
    content = bytearray(files[0].read_bytes())
    content[len(content) // 2] ^= 1
    files[0].write_bytes(content)
    done = place.run()
    assert done.exit_code == 1
    assert f"{files[0]} is damaged" in done.stderr
    said = CliRunner().invoke(app, ["doctor", "--checkpoint", str(tmp_path / "checkpoint")])
    assert files[0].name in said.stdout
