"""A server on a disk that fails: nothing acknowledged is lost, and the state shown is the state.

The servers are real processes under a preloaded library: real short writes, full disks, failed
syncs. Each plays the same part, and comes to what a server on a good disk comes to.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from headrace.doctor import Status
from headrace.serve import location_checks
from tests.disk.faulty import FOREVER, FaultyDisk
from tests.disk.whole_server import (
    AFTER,
    BEFORE,
    GRAPH,
    LAST,
    NEW,
    OLD_GRAPH,
    QUERIES,
    content_of,
    graphs,
    kept,
    make,
    outcome,
    push,
    put_graph,
    states,
    streams,
)
from tests.serve.clients import CARS, COUNT, PATIENCE, Process, free_port, process, served, until
from tests.shared import ROOT

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Cell:
    """A fault of a kind of file.

    Attributes:
        file: the pattern of its path below the directory of the server.
        operation: the call that fails.
        fault: how it fails; see `faulty.c`.
        times: how many calls fail.
    """

    file: str
    operation: str
    fault: str
    times: int = FOREVER

    def __str__(self) -> str:
        """Name the test."""
        often = "" if self.times == FOREVER else f"-{self.times}"
        return f"{self.file}-{self.operation}-{self.fault}{often}"


WRITES = ("write ENOSPC", "write EDQUOT", "write TORN", "write SHORT")
SYNCS = ("fsync EIO", "fsync LOST")


def cells(file: str, *kinds: str, times: int = FOREVER) -> list[Cell]:
    """Make the cells of a kind of file."""
    pairs = [kind.split() for kind in kinds]
    return [Cell(file, operation, fault, times) for operation, fault in pairs]


EVERY: list[Cell] = [
    *cells(".catalogue.json.new", "create EROFS", *WRITES, *SYNCS),
    *cells("catalogue.json", "rename EIO"),
    *cells(".catalogue.copy.json.new", "write ENOSPC", "fsync LOST"),
    *cells("streams/*/*.ndjson", *WRITES, *SYNCS),
    *cells("streams/*/*.ndjson", "write TORN", "fsync LOST", times=1),
    *cells("streams/*", "mkdir EROFS", "fsync EIO"),
    *cells("static/*.nt.draft", "create EDQUOT", *WRITES, *SYNCS),
    *cells("static/*.nt", "rename EIO", "unlink EROFS"),
    *cells("static/.index.json.new", *WRITES, *SYNCS),
    *cells("static/index.json", "rename EIO"),
    *cells("results.ndjson", *WRITES, *SYNCS),
    *cells("results.ndjson", "write TORN", "fsync LOST", times=1),
    *cells(".results.ndjson.new", "write ENOSPC", "fsync LOST"),
    *cells("deployment/source.log", "create EROFS", *WRITES, *SYNCS),
    *cells("deployment/source.log", "write TORN", "fsync LOST", times=1),
    *cells("deployment/panes/*", "create EROFS", "unlink EROFS", *WRITES),
    *cells("deployment/memory/*", "create EROFS", "unlink EROFS", *WRITES, *SYNCS),
    *cells("deployment/results/*", "create EDQUOT", "unlink EROFS", *WRITES, *SYNCS),
    *cells("deployment/manifest/*", "link EDQUOT", "unlink EROFS", *WRITES, *SYNCS),
    *cells("deployment/manifest", *SYNCS),
    *cells("deployment/.settled.json", "create EROFS", *WRITES, *SYNCS),
    *cells("deployment/settled.json", "rename EIO"),
    *cells("", *SYNCS),
    *cells("*", "write ENOSPC", "create EROFS", "fsync EIO", "fsync LOST", "rename EIO"),
    *cells("*", "write SHORT"),
]
QUICK = {
    ".catalogue.json.new-fsync-LOST",
    "streams/*/*.ndjson-write-TORN",
    "static/.index.json.new-write-ENOSPC",
    "results.ndjson-fsync-LOST",
    "deployment/source.log-write-TORN",
    "deployment/manifest/*-fsync-LOST",
    "deployment/.settled.json-create-EROFS",
    "*-write-SHORT",
    "*-write-ENOSPC",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the directory of a server that has something of everything."""
    folder = tmp_path_factory.mktemp("made")
    make(folder / "data")
    shutil.copytree(folder / "data", folder / "kept")
    return folder


def put_back(made: Path) -> Path:
    """Put the directory of the server back as it was, and the log of what it says away."""
    shutil.rmtree(made / "data")
    shutil.copytree(made / "kept", made / "data")
    (made / "server.log").unlink(missing_ok=True)
    return made / "data"


Outcome = dict[str, list[tuple[float, Any]]]


@pytest.fixture(scope="module")
def calm(made: Path) -> Outcome:
    """What a server on a good disk comes to."""
    with process(made) as server, server.client() as client:
        is_ready(client)
        played = Part(client, made / "data", lambda: None)
        played.play()
        assert not played.refusals
        return outcome(client)


def is_ready(client: httpx2.Client) -> None:
    until(lambda: client.get("/readyz").status_code == 200)


@dataclass
class Part:
    """What is asked of a server, again and again until it is acknowledged.

    Attributes:
        client: asks the server.
        location: the directory of the server.
        recover: lets the disk be well again.
        refusals: what the server has answered instead.
    """

    client: httpx2.Client
    location: Path
    recover: Callable[[], None]
    refusals: list[str] = field(default_factory=list)

    def play(self) -> None:
        """Change everything that can be changed, and push the rest."""
        client, middle = self.client, (BEFORE + AFTER) // 2
        self.ask(lambda: push(client, BEFORE, middle))
        self.ask(lambda: put_graph(client, NEW))
        self.ask(lambda: client.delete("/store", params={"graph": OLD_GRAPH}), 404)
        new = {"iri": NEW + "-stream", "time": "said"}
        self.ask(lambda: client.put("/streams/new", json=new))
        self.ask(lambda: client.post("/queries", json={"text": COUNT, "name": "new"}))
        self.ask(lambda: client.post("/queries/new/pause"))
        self.ask(lambda: client.delete("/queries/removed"), 404)
        self.ask(lambda: client.delete("/streams/spare"), 404)
        self.ask(lambda: push(client, middle, AFTER))

    def ask(self, request: Callable[[], Any], done: int = 200) -> None:
        """Repeat a request until it is acknowledged; or was done before, by its status."""
        for attempt in range(20):
            answer = request()
            if answer.status_code < 300 or (attempt and answer.status_code == done):
                return
            assert answer.status_code == 503, answer.text
            said = answer.json()["detail"]
            self.refusals.append(said)
            names_the_fault(said, self.location)
            if attempt:  # the same again, for as long as the disk is not well
                self.recover()
                is_ready(self.client)
        raise AssertionError(self.refusals)

    def watch(self) -> list[str]:
        """Wait for the last results; where the server stands still, check that it says so."""
        stalls: list[str] = []
        ends = time.monotonic() + PATIENCE
        while not all(self.has_ended(name) for name in QUERIES):
            assert time.monotonic() < ends, "it does not go on"
            answer = self.client.get("/readyz")
            if answer.status_code == 503:
                reason = answer.json()["detail"]
                names_the_fault(reason, self.location)
                if not stalls and "pushes to stream" not in reason:
                    self.check_stalled()
                stalls.append(reason)
                self.recover()
            time.sleep(0.05)
        return stalls

    def has_ended(self, name: str) -> bool:
        every = kept(self.client, name)
        return bool(every) and every[-1]["at"] >= LAST

    def check_stalled(self) -> None:
        """Check that queries and metrics say that nothing is evaluated."""
        found = self.client.get("/queries").json()["queries"]
        for each in found:
            if each["name"] in {"paused", "new"}:
                continue
            assert each["state"] == "stalled", each
            names_the_fault(each["error"], self.location)
        metrics = self.client.get("/metrics").text
        assert 'headrace_queries{state="running"} 0' in metrics, metrics
        assert "headrace_stalled_seconds 0\n" not in metrics


READY = "ready"
LONG = pytest.mark.long
REMEDIES = ("make room there", "put that right", "put it back", "doctor --checkpoint")


def names_the_fault(said: str, location: Path) -> None:
    """Check that an error names a file and a remedy."""
    assert str(location) in said, said
    assert any(remedy in said for remedy in REMEDIES), said


def choice(cell: Cell) -> object:
    marks = [] if str(cell) in QUICK else [pytest.mark.long]
    return pytest.param(cell, marks=marks, id=str(cell))


@pytest.mark.parametrize("cell", [choice(each) for each in EVERY])
def test_a_server_survives_a_failing_disk(
    cell: Cell, library: Path, made: Path, calm: Outcome, tmp_path: Path
) -> None:
    location = put_back(made)
    disk = FaultyDisk(library, tmp_path / "disk").prepared()
    with process(made, **disk.environment) as server, server.client() as client:
        is_ready(client)
        pattern = str(location / cell.file) if cell.file else str(location)
        disk.fail(cell.operation, cell.fault, pattern, times=cell.times)
        part = Part(client, location, disk.recover)
        part.play()
        part.watch()
        disk.recover()
        is_ready(client)
        assert disk.hits
        assert outcome(client) == calm
        check_settled(client)
        server.kill()
        check_log(server)
    findings = list(location_checks.examine(location))
    assert not [each for each in findings if each.status is Status.FAIL]
    with served(location) as again:
        assert outcome(again) == calm
        check_settled(again)


def check_settled(client: Any) -> None:
    """Check what a server has in the end, and that its states say so."""
    assert streams(client) == ["busy", "cars", "new", "vans"]
    assert graphs(client) == [None, GRAPH, NEW]
    expected = dict.fromkeys(QUERIES, "running") | {"paused": "paused", "new": "paused"}
    assert states(client) == expected


def check_log(server: Process) -> None:
    """Check that the log of a server has no traceback, and no reason again and again."""
    said = server.said()
    assert "Traceback" not in said, said
    lines = [line for line in said.splitlines() if "cannot go on" in line]
    assert len(lines) <= 5, said


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize(
    "cell",
    [Cell("deployment/source.log", "write", "TORN"), Cell("results.ndjson", "fsync", "LOST")],
    ids=str,
)
def test_a_server_on_spark_stalls_and_goes_on(cell: Cell, library: Path, tmp_path: Path) -> None:
    location = tmp_path / "data"
    disk = FaultyDisk(library, tmp_path / "disk").prepared()
    with process(tmp_path, "--runner", "spark", **disk.environment) as server:
        with server.client() as client:
            stream = {"iri": CARS, "time": "said"}
            client.put("/streams/cars", json=stream).raise_for_status()
            client.post("/queries", json={"text": COUNT, "name": "counts"}).raise_for_status()
            push(client, 0, 20).raise_for_status()
            until(lambda: len(kept(client, "counts")) == 3)
            disk.fail(cell.operation, cell.fault, str(location / cell.file))
            push(client, 20, 42).raise_for_status()
            until(lambda: client.get("/readyz").status_code == 503)
            assert states(client) == {"counts": "stalled"}
            names_the_fault(client.get("/readyz").json()["detail"], location)
            disk.recover()
            until(lambda: len(kept(client, "counts")) == 8)
            is_ready(client)
            assert states(client) == {"counts": "running"}
            found = [(each["id"], each["at"], content_of(each)) for each in kept(client, "counts")]
        check_log(server)
    with served(tmp_path / "calm") as calm:
        calm.put("/streams/cars", json=stream).raise_for_status()
        calm.post("/queries", json={"text": COUNT, "name": "counts"}).raise_for_status()
        push(calm, 0, 42).raise_for_status()
        until(lambda: len(kept(calm, "counts")) == 8)
        every = kept(calm, "counts")
        assert found == [(each["id"], each["at"], content_of(each)) for each in every]


UNREADABLE = (
    "catalogue.json",
    "results.ndjson",
    "static/index.json",
    "static/*.nt",
    "streams/*/*.ndjson",
    "streams/*/recent-ids",
    "deployment/deployment.json",
    "deployment/source.log",
    "deployment/settled.json",
    "deployment/manifest/*",
    "deployment/memory/*",
    "deployment/panes/*",
)


@pytest.mark.parametrize("operation", ["open", "read"])
@pytest.mark.parametrize(
    "file",
    [
        pytest.param(each, marks=() if each in {"catalogue.json", "static/*.nt"} else (LONG,))
        for each in UNREADABLE
    ],
)
def test_what_cannot_be_read_is_named(
    file: str, operation: str, library: Path, made: Path, calm: Outcome, tmp_path: Path
) -> None:
    location = put_back(made)
    disk = FaultyDisk(library, tmp_path / "disk").prepared()
    disk.fail(operation, "EACCES" if operation == "open" else "EIO", str(location / file))
    problem = refusal(made, disk)
    doctor = [sys.executable, "-m", "headrace", "doctor", "--checkpoint", str(location)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **disk.environment}
    found = subprocess.run(doctor, env=environment, capture_output=True, text=True, check=False)
    assert "Traceback" not in found.stdout + found.stderr
    assert (found.returncode == 0) == (problem is None), (problem, found.stdout, found.stderr)
    folder = str(location / file).rpartition("/*")[0] or str(location / file)
    if problem is not None:
        assert folder.partition("*")[0] in problem, problem
        assert folder.partition("*")[0] in found.stdout, found.stdout
        assert "Permission denied" in problem or "Input/output error" in problem
    disk.recover()
    with served(location) as client:
        Part(client, location, lambda: None).play()
        assert outcome(client) == calm


def refusal(folder: Path, disk: FaultyDisk) -> str | None:
    """Start a server with a disk: why it does not get ready, if it does not."""
    port = free_port()
    location = str(folder / "data")
    command = [sys.executable, "-m", "headrace", "serve", "--port", str(port)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **disk.environment}
    with subprocess.Popen(
        [*command, "--location", location], env=environment, stderr=subprocess.PIPE, text=True
    ) as started:
        try:
            said: str = until(lambda: answered(started, port))
            return None if said == READY else said
        finally:
            started.kill()


def answered(started: subprocess.Popen[str], port: int) -> Any:
    """What a server says of itself: READY, why it does not go on, or nothing while it starts."""
    if started.poll() is not None:
        assert started.stderr is not None
        return started.stderr.read()
    try:
        answer = httpx2.get(f"http://127.0.0.1:{port}/readyz", trust_env=False)
    except httpx2.TransportError:
        return None
    if answer.status_code == 200:
        return READY
    return None if "starting" in answer.text else answer.json()["detail"]
