"""Clients that are slow, silent or stuck: they are let go, and nobody else waits for them."""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

import httpx2
import pytest

from tests.serve.clients import CARS, TIMED, Process, limited_process, passages, process, until

HEAD = b"POST /streams/cars HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/turtle\r\n"
ROWS = 400
EVERYTHING = (
    "PREFIX : <http://example.org/> SELECT ?gate ?car "
    f"FROM STREAM <{CARS}> [RANGE {ROWS}s STEP 1s] WHERE {{ ?gate :registers ?car }}"
)


@pytest.fixture
def hurried(tmp_path: Path) -> Iterator[Process]:
    """A server that waits a second where others wait for half a minute."""
    with limited_process(tmp_path, head_seconds=1.0, body_seconds=1.0, body=100_000) as server:
        with server.client() as client:
            client.put("/streams/cars", json={"iri": CARS}).raise_for_status()
        yield server


def connected(server: Process) -> socket.socket:
    found = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


def healthy(server: Process) -> bool:
    with server.client() as client:
        return client.get("/healthz").status_code == 200


def dripped(opened: socket.socket, data: bytes) -> bytes:
    """What comes back if data are sent byte by byte; nothing, if the connection is closed."""
    opened.settimeout(0.1)
    for place in range(len(data)):
        try:
            opened.sendall(data[place : place + 1])
            found = opened.recv(4_096)
        except TimeoutError:
            continue
        except ConnectionError:
            return b""
        return found
    raise AssertionError("the server has let all of it come")


def test_idle_connections_are_closed_and_others_are_served(hurried: Process) -> None:
    with ExitStack() as opened:
        idle = [opened.enter_context(connected(hurried)) for _ in range(1_000)]
        assert healthy(hurried)
        for each in idle:
            with suppress(ConnectionResetError):
                assert each.recv(1) == b""
        assert healthy(hurried)


def test_heads_that_drip_are_not_waited_for(hurried: Process) -> None:
    with connected(hurried) as opened:
        assert dripped(opened, HEAD + b"X-Slow: " + b"a" * 1_000) == b""
    with connected(hurried) as opened:  # a connection that has been of use before
        opened.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        answer = b""
        while not answer.endswith(b'{"status":"ok"}'):
            answer += opened.recv(4_096)
        assert dripped(opened, HEAD + b"X-Slow: " + b"a" * 1_000) == b""
    assert healthy(hurried)


def test_bodies_that_drip_are_not_waited_for(hurried: Process) -> None:
    with connected(hurried) as opened:
        opened.sendall(HEAD + b"Content-Length: 5000\r\n\r\n")
        assert b"408" in dripped(opened, b"#" * 5_000).partition(b"\r\n")[0]
    with connected(hurried) as opened:  # it sends nothing at all
        opened.sendall(HEAD + b"Content-Length: 5000\r\n\r\n")
        assert b"408" in opened.recv(4_096).partition(b"\r\n")[0]
    assert healthy(hurried)


def test_heads_without_end_are_refused(hurried: Process) -> None:
    with connected(hurried) as opened:
        try:
            for _ in range(2_000):
                opened.sendall(b"X-Long: " + b"a" * 100_000)
            answer = opened.recv(4_096)
        except ConnectionError:
            answer = b""
        assert answer == b"" or b" 400 " in answer or b" 431 " in answer
    assert healthy(hurried)


def test_packed_bodies_are_refused_when_they_grow_too_large(hurried: Process) -> None:
    before = memory(hurried)
    bomb = gzip.compress(b" " * 50_000_000)
    packed = {"Content-Type": "text/turtle", "Content-Encoding": "gzip"}
    with hurried.client() as client:
        for _ in range(10):
            answer = client.post("/streams/cars", content=bomb, headers=packed)
            assert answer.status_code == 413
            answer = client.put("/store?default", content=bomb, headers=packed)
            assert answer.status_code == 413
        twice = gzip.compress(gzip.compress(b"<x:a> <x:b> <x:c> ."))
        assert client.post("/streams/cars", content=twice, headers=packed).status_code == 400
    assert memory(hurried) - before < 50_000_000


def memory(server: Process) -> int:
    with server.client() as client:
        found: int = client.get("/status").json()["memory_bytes"]
        return found


# -- followers -----------------------------------------------------------------------------------


@contextmanager
def stuck(server: Process, number: int) -> Iterator[None]:
    """Followers that ask, and read nothing."""
    with ExitStack() as opened:
        for _ in range(number):
            found = opened.enter_context(socket.socket())
            found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            found.connect(("127.0.0.1", server.port))
            found.sendall(b"GET /queries/all/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        yield


class Reader(threading.Thread):
    """A follower that reads, and notes the windows it is told of."""

    def __init__(self, server: Process) -> None:
        super().__init__(daemon=True)
        self.windows: list[int] = []
        self.began = threading.Event()
        self._server = server

    def has_heard_of(self, window: int) -> bool:
        return self.windows[-1:] == [window]

    def run(self) -> None:
        with (
            suppress(httpx2.HTTPError),  # the server is killed in the end
            self._server.client() as client,
            client.stream("GET", "/queries/all/events") as answer,
        ):
            last = 0
            for line in answer.iter_lines():
                self.began.set()
                if line.startswith("id: "):
                    last = int(line[4:])
                if line.startswith("event: rsp_window"):
                    self.windows.append(last)


def followed_by(tmp_path: Path, half: int, windows: int) -> None:
    with process(tmp_path) as server, server.client() as client:
        client.put("/streams/cars", json={"iri": CARS, "time": "said"}).raise_for_status()
        client.post("/queries", json={"text": EVERYTHING, "name": "all"}).raise_for_status()
        readers = [Reader(server) for _ in range(half)]
        for each in readers:
            each.start()
        for each in readers:
            assert each.began.wait(60)
        with stuck(server, half):
            until(lambda: client.get("/status").json()["subscribers"] == 2 * half)
            push(client, 0, ROWS)
            until(lambda: evaluations(client) >= ROWS - 1)
            before = memory(server)
            for second in range(ROWS, ROWS + windows):
                push(client, second, second + 1)
            until(lambda: evaluations(client) >= ROWS + windows - 1)
            whole = kept(client)
            for each in readers:
                until(partial(each.has_heard_of, whole[-1]))
                # The server has dropped the oldest of those that readers were quick to take.
                assert each.windows[-len(whole) :] == whole[-len(each.windows) :]
                assert each.windows == list(range(each.windows[0], each.windows[-1] + 1))
                assert len(each.windows) >= windows
            assert memory(server) - before < 50_000_000
            assert healthy(server)


def push(client: httpx2.Client, start: int, stop: int) -> None:
    headers = {"Content-Type": TIMED}
    answer = client.post("/streams/cars", content=passages(start, stop), headers=headers)
    answer.raise_for_status()


def evaluations(client: httpx2.Client) -> int:
    found: int = client.get("/queries/all").json()["evaluations"]
    return found


def kept(client: httpx2.Client) -> list[int]:
    found = client.get("/queries/all/results?last=1000").json()["evaluations"]
    return [each["id"] for each in found]


def test_stuck_followers_cost_nothing(tmp_path: Path) -> None:
    followed_by(tmp_path, half=10, windows=60)


@pytest.mark.long
def test_a_hundred_stuck_followers_cost_nothing(tmp_path: Path) -> None:
    followed_by(tmp_path, half=100, windows=200)
