"""A job with something of everything, run by the command line, and what it has written."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from typer.testing import CliRunner, Result

from headrace.cli import app
from headrace.pipeline.deployment import open_deployment
from tests.shared import ROOT

SEED = 7
QUERIES = (
    "REGISTER QUERY seen AS SELECT ISTREAM ?c ?g FROM STREAM <cars> [RANGE 10s STEP 2s]"
    " { ?c <x:at> ?g }",
    "PREFIX : <x:> REGISTER STREAM :busy AS CONSTRUCT { ?g :count ?n }"
    " FROM STREAM <cars> [RANGE 10s STEP 5s]"
    " WHERE { SELECT ?g (COUNT(*) AS ?n) { ?c :at ?g } GROUP BY ?g }",
    "PREFIX : <x:> REGISTER QUERY top AS SELECT (MAX(?n) AS ?most)"
    " FROM STREAM :busy [RANGE 20s STEP 10s] { ?g :count ?n }",
    "PREFIX : <x:> REGISTER QUERY fees AS SELECT ?c ?f FROM STREAM <cars> [RANGE 10s STEP 5s]"
    " FROM STREAM <gates> [RANGE 10s STEP 5s] { ?c :at ?g . ?g :fee ?f }",
)
LINES = ("out.ndjson", "late.ndjson", "rejected.ndjson")
"""The files that are the same to the last byte, however often a run was interrupted."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a run has written.

    Attributes:
        lines: the content of each file of lines.
        rows: of all parts of the table, in an order of their own.
        parts: the names in its directory, also hidden ones.
    """

    lines: Mapping[str, bytes]
    rows: pl.DataFrame
    parts: Sequence[str]

    def __eq__(self, other: object) -> bool:
        """Whether two runs have told the same, once."""
        if not isinstance(other, Written):
            return NotImplemented
        same = self.lines == other.lines and self.parts == other.parts
        return same and self.rows.equals(other.rows)

    __hash__ = None  # type: ignore[assignment]  # frames have none


@dataclass(frozen=True, slots=True)
class Place:
    """Where a job reads and writes.

    Attributes:
        streams: a folder with a folder for each stream.
        directory: where its outputs and its checkpoint are.
        batch: how many pieces it reads at a time.
        runner: where it runs.
        queries: what it runs.
    """

    streams: Path
    directory: Path
    batch: int = 2
    runner: str = "inline"
    queries: Sequence[str] = QUERIES

    @property
    def checkpoint(self) -> Path:
        """Where the run is kept."""
        return self.directory / "checkpoint"

    def prepared(self) -> Place:
        """The same, with a checkpoint whose seed is known, so that runs can be compared."""
        open_deployment(self.checkpoint, SEED).close()
        return self

    @property
    def arguments(self) -> list[str]:
        """The command line of the job."""
        out = [f"--out={self.directory / name}" for name in ("out.ndjson", "out.parquet")]
        return [
            *("run", *self.queries, "--once", "--runner", self.runner, "--batch", str(self.batch)),
            *(f"--stream={each.name}={each}" for each in sorted(self.streams.iterdir())),
            *(*out, "--partitions", "2", "--checkpoint", str(self.checkpoint)),
            *("--late", str(self.directory / "late.ndjson")),
            *("--rejected", str(self.directory / "rejected.ndjson")),
        ]

    def run(self) -> Result:
        """Run it in this process."""
        return CliRunner().invoke(app, self.arguments)

    def started(self, **environment: str) -> subprocess.Popen[str]:
        """Run it in a process and a group of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "headrace", *self.arguments],
            env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def written(self) -> Written:
        """What it has written."""
        parts = sorted(each.name for each in (self.directory / "out.parquet").iterdir())
        frames = [pl.read_parquet(self.directory / "out.parquet" / name) for name in parts]
        rows = pl.concat(frames)
        # What a line says of a window is also in its instant, and lists cannot be sorted by.
        keys = [name for name in rows.columns if name != "windows"]
        return Written(
            {name: (self.directory / name).read_bytes() for name in LINES},
            rows.sort(keys, nulls_last=True),
            parts,
        )


def write_streams(folder: Path, elements: int = 60, files: int = 6) -> Path:
    """Write two streams with late and unreadable elements, each to a folder of files."""
    chance = random.Random(5)
    for stream in ("cars", "gates"):
        lines = []
        for number in range(elements):
            time = 1_000 * number + (300 if stream == "gates" else 0)
            gate = f"<x:gate{chance.randrange(4)}>"
            said = f"<x:car{chance.randrange(7)}> <x:at> {gate}"
            if stream == "gates":
                said = f'{gate} <x:fee> "{chance.randrange(9)}"'
            lines.append(f"{time}\t{said} .\n")
            if chance.random() < 5 / elements:
                lines.append("not a line\n")
            if number > elements // 2 and chance.random() < 10 / elements:
                lines.append(f"{time - 25_000}\t{gate} <x:late> <x:element{number}> .\n")
        (folder / stream).mkdir(parents=True)
        size = -(-len(lines) // files)
        for number in range(files):
            part = "".join(lines[number * size : (number + 1) * size])
            (folder / stream / f"{number:03}.tnq").write_text(part)
    return folder
