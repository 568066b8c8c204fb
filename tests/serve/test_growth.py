"""A server that runs for long: what it has read and no longer needs takes no room."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import mean

import pytest
from starlette.testclient import TestClient

from headrace.arrival_times import SECOND, wall_clock
from headrace.ingest.log import segments_of
from headrace.pipeline import pieces
from headrace.serve.limits import Limits
from tests.serve.clients import CARS, Process, process, register, served, until

COUNT = f"SELECT (COUNT(*) AS ?n) FROM STREAM <{CARS}> [RANGE 60s STEP 60s] WHERE {{ ?s ?p ?o }}"
PAUSE = 20
"""Seconds from push to push, by the clock of the server."""
PUSHES = 300


class Clock:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self.now = wall_clock()

    def __call__(self) -> int:
        return self.now


class Growing:
    """Pushes to a server while its clock goes on, and looks at what is on its disk."""

    def __init__(self, client: TestClient, location: Path, clock: Clock) -> None:
        self.client, self.location, self.clock = client, location, clock
        self.pushed = 0

    def push(self, number: int) -> None:
        for _ in range(number):
            self.clock.now += PAUSE * SECOND
            answer = self.push_one(f"key-{self.pushed}")
            assert answer == {"stream": "cars", "elements": 1, "duplicate": False}
            self.pushed += 1
        until(lambda: self.client.get("/streams/cars").json()["elements"] == self.pushed)

    def push_one(self, key: str) -> dict[str, object]:
        answer = self.client.post(
            "/streams/cars",
            content=f'<x:{key}> <x:p> "{"o" * 200}" .',
            headers={"Content-Type": "application/n-triples", "Idempotency-Key": key},
        )
        assert answer.status_code == 200, answer.text
        found: dict[str, object] = answer.json()
        return found

    @property
    def segments(self) -> list[Path]:
        [folder] = (self.location / "streams").iterdir()
        return segments_of(folder)

    def files(self) -> dict[str, int]:
        every = [path for path in self.location.rglob("*") if path.is_file()]
        return {str(path): path.stat().st_size for path in every if path.exists()}


def test_what_was_read_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "_LEAST", 4_000)
    location, clock = tmp_path / "data", Clock()
    limits = Limits(clock_seconds=1e9, current_seconds=120.0, kept_evaluations=10)
    with served(location, clock=clock, limits=limits) as client:
        client.put("/streams/cars", json={"iri": CARS}).raise_for_status()
        register(client, COUNT, name="all")
        growing = Growing(client, location, clock)
        growing.push(30)
        sizes, numbers = [], []
        for _ in range(9):
            growing.push(PUSHES // 10)
            # Those of the last two minutes, those that are being read, and that of the present.
            until(lambda: len(growing.segments) <= 6)
            files = growing.files()
            sizes.append(sum(files.values()))
            numbers.append(len(files))
            assert (location / "deployment" / "source.log").stat().st_size < 20_000
        assert max(sizes[3:]) < 2 * max(sizes[:3])
        assert max(numbers[3:]) < 2 * max(numbers[:3])
        # A push is known again though the segment that it was in is deleted.
        assert growing.push_one("key-3")["duplicate"] is True
        found = client.get("/streams/cars/elements", params={"last": 1000}).json()["elements"]
        assert [later["at"] - each["at"] for each, later in pairwise(found)] == (
            [PAUSE * 1000] * (len(found) - 1)
        )
        assert len(found) >= 120 // PAUSE
    with served(location, clock=clock, limits=limits) as client:
        again = client.get("/streams/cars/elements", params={"last": 1000}).json()["elements"]
        assert again[-6:] == found[-6:]
        growing = Growing(client, location, clock)
        assert growing.push_one("key-3")["duplicate"] is True
        clock.now += PAUSE * SECOND
        assert growing.push_one("new")["duplicate"] is False
        total = 30 + 9 * (PUSHES // 10) + 1
        until(lambda: client.get("/streams/cars").json()["elements"] == total)
        said = client.get("/streams/cars").json()
        assert (said["late"], said["rejected"]) == (0, 0)


def test_what_was_not_read_is_kept(tmp_path: Path) -> None:
    """A query that is registered later does not need it, one that cannot go on does."""
    location, clock = tmp_path / "data", Clock()
    limits = Limits(clock_seconds=1e9, current_seconds=60.0)
    with served(location, clock=clock, limits=limits, interval=3600.0) as client:
        client.put("/streams/cars", json={"iri": CARS}).raise_for_status()
        register(client, COUNT, name="all")
        growing = Growing(client, location, clock)
        for number in range(40):
            clock.now += 60 * SECOND
            growing.push_one(str(number))
        assert len(growing.segments) >= 30  # the next look is after an hour
    with served(location, clock=clock, limits=limits) as client:
        until(lambda: client.get("/streams/cars").json()["elements"] == 40)
        growing = Growing(client, location, clock)
        clock.now += 60 * SECOND
        growing.push_one("last")
        until(lambda: len(growing.segments) <= 6)


# -- for minutes ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    """What a process has at a moment."""

    resident: int
    threads: int
    files: int
    disk: int

    @classmethod
    def of(cls, server: Process, location: Path) -> Sample:
        proc = Path(f"/proc/{server.process.pid}")
        said = (proc / "status").read_text()
        [resident] = re.findall(r"^VmRSS:\s+(\d+) kB", said, re.MULTILINE)
        [threads] = re.findall(r"^Threads:\s+(\d+)", said, re.MULTILINE)
        disk = 0
        for path in location.rglob("*"):
            try:
                disk += path.stat().st_size if path.is_file() else 0
            except FileNotFoundError:
                continue
        files = len(list((proc / "fd").iterdir()))
        return cls(int(resident) * 1024, int(threads), files, disk)


@pytest.mark.long
def test_a_demo_needs_no_more_after_an_hour_than_after_minutes(tmp_path: Path) -> None:
    """So many minutes as `HEADRACE_SOAK` says: the last third is like the one before it."""
    minutes = float(os.environ.get("HEADRACE_SOAK", "15"))
    with process(tmp_path, "--demo") as server:
        ends = time.monotonic() + 60 * minutes
        samples = []
        while time.monotonic() < ends:
            samples.append(Sample.of(server, tmp_path / "data"))
            time.sleep(60 * minutes / 90)
    third = len(samples) // 3
    middle, last = samples[third : 2 * third], samples[2 * third :]
    assert mean(s.resident for s in last) < 1.08 * mean(s.resident for s in middle)
    assert mean(s.disk for s in last) < 1.25 * mean(s.disk for s in middle) + 1_000_000
    assert max(s.threads for s in last) <= max(s.threads for s in middle) + 1
    assert max(s.files for s in last) <= max(s.files for s in middle) + 5
