"""Servers for tests: one in this process, and one as users start it."""

from __future__ import annotations

import os
import signal
import socket as sockets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
from starlette.testclient import TestClient, WebSocketTestSession

from headrace.serve.app import application
from headrace.serve.settings import Settings
from tests.shared import ROOT

BASE = "http://127.0.0.1:7870"
PATIENCE = 120.0
"""Others may be at work on the same machine."""

CARS = "http://example.org/cars"
COUNT = (
    "PREFIX : <http://example.org/> SELECT ?gate (COUNT(?car) AS ?n) "
    f"FROM STREAM <{CARS}> [RANGE 10s STEP 5s] WHERE {{ ?gate :registers ?car }} GROUP BY ?gate"
)
TIMED = "application/vnd.headrace.timed-n-quads"


@contextmanager
def served(location: Path, **options: Any) -> Iterator[TestClient]:
    """A server in this process."""
    settings = replace(Settings(location, interval=0.02), **options)
    with TestClient(application(settings), base_url=BASE, raise_server_exceptions=True) as client:
        until(lambda: client.get("/readyz").status_code == 200)
        yield client


def until(holds: Callable[[], object], patience: float = PATIENCE) -> Any:
    """Wait until something holds, and give it back."""
    ends = time.monotonic() + patience
    while not (found := holds()):
        assert time.monotonic() < ends, "it did not happen"
        time.sleep(0.02)
    return found


def passages(start: int, stop: int) -> str:
    """Cars at gates, one in the midst of each second, as timed N-Quads."""
    own = "http://example.org/"
    return "".join(
        f"{at * 1000 + 500}\t<{own}g{at % 2}> <{own}registers> <{own}c{at}> .\n"
        for at in range(start, stop)
    )


def with_cars(client: TestClient) -> None:
    """Make the stream of cars."""
    answer = client.put("/streams/cars", json={"iri": CARS, "time": "said"})
    assert answer.status_code == 201, answer.text


def push(client: TestClient, text: str, **headers: str) -> Any:
    """Push timed N-Quads to the stream of cars."""
    answer = client.post("/streams/cars", content=text, headers={"Content-Type": TIMED, **headers})
    assert answer.status_code == 200, answer.text
    return answer.json()


def register(client: TestClient, text: str, **params: str) -> Any:
    """Register a query."""
    answer = client.post(
        "/queries", content=text, params=params, headers={"Content-Type": "text/plain"}
    )
    assert answer.status_code == 201, answer.text
    return answer.json()


def evaluations(client: TestClient, name: str, number: int) -> list[dict[str, Any]]:
    """The evaluations of a query, once there are so many."""

    def found() -> list[dict[str, Any]]:
        answer = client.get(f"/queries/{name}/results", params={"last": 1000})
        every: list[dict[str, Any]] = answer.json()["evaluations"]
        return every if len(every) >= number else []

    got: list[dict[str, Any]] = until(found)
    return got


def socket(client: TestClient, path: str, **options: Any) -> WebSocketTestSession:
    """A WebSocket to the server."""
    return client.websocket_connect(f"ws://127.0.0.1:7870{path}", **options)


def counts(evaluation: dict[str, Any]) -> dict[str, int]:
    """How many cars each gate has counted."""
    return {
        row["gate"]["value"].rpartition("/")[2]: int(row["n"]["value"])
        for row in evaluation["rows"]
    }


@dataclass
class Process:
    """A server in a process of its own."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self, **options: Any) -> httpx2.Client:
        return httpx2.Client(base_url=self.url, timeout=60, trust_env=False, **options)

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def kill(self) -> None:
        """End it at once."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        """Ask it to end; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


def free_port() -> int:
    with sockets.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def process(folder: Path, *arguments: str, **environment: str) -> Iterator[Process]:
    """`headrace serve` as users start it, ready to answer; it is killed in the end."""
    port = free_port()
    command = ["-m", "headrace", "serve", "--port", str(port)]
    own = [*command, "--location", str(folder / "data"), *arguments]
    with _started(folder, port, own, environment) as server:
        yield server


@contextmanager
def limited_process(folder: Path, **limits: float) -> Iterator[Process]:
    """The same with some limits."""
    options = [part for name, value in limits.items() for part in ("--limit", f"{name}={value}")]
    with process(folder, *options) as server:
        yield server


@contextmanager
def _started(
    folder: Path, port: int, arguments: Sequence[str], environment: Mapping[str, str]
) -> Iterator[Process]:
    log = folder / "server.log"
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    own = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), **environment}
    with log.open("ab") as output:
        started = subprocess.Popen(
            [sys.executable, *arguments], stdout=output, stderr=output, env=os.environ | own
        )
    server = Process(started, port, log)
    try:
        with server.client() as client:

            def is_up() -> bool:
                assert started.poll() is None, server.said()
                try:
                    return client.get("/healthz").status_code == 200
                except httpx2.TransportError:
                    return False

            until(is_up)
        yield server
    finally:
        if started.poll() is None:
            server.kill()
