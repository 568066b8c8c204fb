"""A server for the console to talk to: `headrace serve` as users start it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep, time
from typing import IO, Any

from tests.shared import ROOT

PATIENCE = 60.0
STREAM = "http://example.org/cars"
CARS = """\
SELECT ?gate (COUNT(?car) AS ?n)
FROM STREAM <http://example.org/cars> [RANGE 10s STEP 1s]
WHERE { ?gate <http://example.org/registers> ?car }
GROUP BY ?gate
"""


class Server:
    """A server in a process of its own, which can be stopped and started again."""

    def __init__(self, location: Path, *options: str, port: int = 0) -> None:
        self._command = [sys.executable, "-m", "headrace", "serve", "--location", str(location)]
        self._options = list(options)
        self.port = port
        self.token: str | None = None
        self._log = location.with_suffix(".log")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
        if self.token is not None:
            environment["HEADRACE_TOKEN"] = self.token
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*self._command, "--port", str(self.port), *self._options],
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
            )
        self._wait(self._process)

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        deadline = monotonic() + PATIENCE
        while monotonic() < deadline and process.poll() is None:
            found = re.search(r"http://127\.0\.0\.1:(\d+)", self._log.read_text("utf-8"))
            if found:
                self.port = int(found[1])
                return
            sleep(0.1)
        raise AssertionError(f"the server did not start: {self._log.read_text('utf-8')}")

    def stop(self) -> None:
        """Ask it to end, and wait until it has."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(PATIENCE)

    def kill(self) -> None:
        """End it without a warning."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE)

    def ask(self, path: str, body: object = None, kind: str = "application/json") -> Any:
        """Ask the API, with a body if there is one; what it answers as JSON."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        return self._sent(urllib.request.Request(self.url + path, data), kind)

    def remove(self, path: str) -> None:
        """Remove a query or a stream."""
        self._sent(urllib.request.Request(self.url + path, method="DELETE"))

    def _sent(self, request: urllib.request.Request, kind: str = "") -> Any:
        request.add_header("Accept", "application/json")
        if request.data is not None:
            request.add_header("Content-Type", kind)
        if self.token is not None:
            request.add_header("Authorization", f"Bearer {self.token}")
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            answer: IO[bytes] = response
            return json.loads(answer.read() or b"null")

    def push(self, stream: str, turtle: str) -> None:
        """Push an element."""
        self.ask(f"streams/{stream}", turtle.encode(), "text/turtle")


@contextmanager
def serving(location: Path, *options: str, token: str | None = None) -> Iterator[Server]:
    """A server that is stopped at the end."""
    server = Server(location, *options)
    server.token = token
    server.start()
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def cars(server: Server, name: str = "cars", iri: str = STREAM) -> Iterator[None]:
    """A stream on which two gates see cars for as long as one likes."""
    server.ask("streams", {"name": name, "iri": iri, "title": "Cars at gates"})
    done = threading.Event()

    def flow() -> None:
        while not done.wait(0.2):
            now = round(time() * 1000)
            gate = now % 3
            text = f"<http://example.org/gate{gate}> <http://example.org/registers> <x:car{now}> ."
            try:
                server.push(name, text)
            except OSError:
                continue  # it is being started again

    thread = threading.Thread(target=flow, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
