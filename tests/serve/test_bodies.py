"""Very many large bodies at once: memory has a limit, and nothing that was acknowledged is lost."""

from __future__ import annotations

import asyncio
import gzip
import random
import re
import select
import socket
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest

from headrace.serve import room as room_module
from headrace.serve.limits import DEFAULT, Limits
from headrace.serve.problems import Problem
from headrace.serve.room import Room
from tests.serve.clients import (
    CARS,
    TIMED,
    Process,
    limited_process,
    process,
    served,
    until,
)
from tests.serve.clients import socket as web_socket

HEAD = (
    "POST /streams/cars HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    f"Content-Type: {TIMED}\r\nContent-Length: %d\r\n\r\n"
)
COUNT = f"SELECT (COUNT(*) AS ?n) FROM STREAM <{CARS}> [RANGE 10s STEP 10s] WHERE {{ ?s <x:p> ?o }}"
_ELEMENT = '%d\t<x:%d> <x:p> "' + "o" * 1_000 + '" .\n'


def body_of(size: int, number: int) -> bytes:
    """Elements of one second, as many as have room in a body of some size."""
    line = (_ELEMENT % (1000 * number, number)).encode()
    return line * (size // len(line))


def resident(server: Process) -> int:
    """The bytes of memory that a server has."""
    said = Path(f"/proc/{server.process.pid}/status").read_text()
    [kilobytes] = re.findall(r"^VmRSS:\s+(\d+) kB", said, re.MULTILINE)
    return int(kilobytes) * 1024


def measured(client: httpx2.Client, name: str) -> float:
    [value] = re.findall(rf"^{re.escape(name)} (\S+)$", client.get("/metrics").text, re.MULTILINE)
    return float(value)


class Highest(threading.Thread):
    """Looks again and again how much memory a server has."""

    def __init__(self, server: Process) -> None:
        super().__init__(daemon=True)
        self._server, self._ended, self.found = server, threading.Event(), 0

    def run(self) -> None:
        while not self._ended.wait(0.02):
            if self._server.process.poll() is None:
                self.found = max(self.found, resident(self._server))

    def end(self) -> int:
        self._ended.set()
        self.join()
        return self.found


class Pusher(threading.Thread):
    """Pushes bodies, each until it is taken."""

    def __init__(self, server: Process, body: bytes, times: int) -> None:
        super().__init__(daemon=True)
        self._server, self._body, self._times = server, body, times
        self.elements = 0
        self.answers: Counter[int] = Counter()
        self.problem: object = None

    def run(self) -> None:
        try:
            self._push()
        except Exception as error:  # noqa: BLE001 - looked at by the test
            self.problem = error

    def _push(self) -> None:
        with self._server.client() as client:
            for _ in range(self._times):
                while not self._is_taken(client):
                    time.sleep(0.1)

    def _is_taken(self, client: httpx2.Client) -> bool:
        try:
            answer = client.post(
                "/streams/cars", content=self._body, headers={"Content-Type": TIMED}
            )
        except httpx2.TransportError:  # it was answered before all of it was sent
            self.answers[0] += 1
            return False
        self.answers[answer.status_code] += 1
        if answer.status_code != 200:
            assert answer.status_code in {429, 503}, answer.text
            assert int(answer.headers["retry-after"]) >= 1
            return False
        self.elements += answer.json()["elements"]
        return True


def slow_senders(server: Process, opened: ExitStack, number: int, size: int) -> list[socket.socket]:
    """Clients that send half of a body, and then nothing."""
    found = []
    for _ in range(number):
        each = opened.enter_context(socket.create_connection(("127.0.0.1", server.port)))
        each.sendall((HEAD % size).encode() + b"#" * (size // 2))
        found.append(each)
    return found


def followers(server: Process, opened: ExitStack, number: int) -> None:
    """Clients that follow results; every other one never reads."""
    for place in range(number):
        found = opened.enter_context(socket.socket())
        found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        found.connect(("127.0.0.1", server.port))
        found.sendall(b"GET /queries/all/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        if place % 2:
            threading.Thread(target=_read, args=(found,), daemon=True).start()


def _read(found: socket.socket) -> None:
    try:
        while found.recv(65_536):
            pass
    except OSError:
        pass


def crowded(server: Process, size: int, clients: int, times: int, most: int) -> None:
    """Push from many clients at once, beside followers and slow senders.

    Args:
        server: to which.
        size: how many bytes a body has.
        clients: how many clients push.
        times: how many bodies each of them pushes.
        most: by how many bytes the memory may grow.
    """
    with server.client() as client, ExitStack() as opened:
        client.put("/streams/cars", json={"iri": CARS, "time": "said"}).raise_for_status()
        answer = client.post(
            "/queries",
            content=COUNT,
            params={"name": "all"},
            headers={"Content-Type": "text/plain"},
        )
        assert answer.status_code == 201, answer.text
        followers(server, opened, 200)
        before, highest = resident(server), Highest(server)
        highest.start()
        slow_senders(server, opened, 10, size)
        every = [Pusher(server, body_of(size, place), times) for place in range(clients)]
        for each in every:
            each.start()
        for each in every:
            each.join()
        assert [each.problem for each in every if each.problem] == []
        pushed = sum(each.elements for each in every)
        one = [len(body_of(size, place).splitlines()) for place in range(clients)]
        assert pushed == times * sum(one)
        until(lambda: client.get("/streams/cars").json()["elements"] >= pushed, 1_200.0)
        grown = highest.end() - before
        assert grown < most, f"{grown:,}"
        assert client.get("/healthz").status_code == 200
        said = client.get("/streams/cars").json()
        assert said["rejected"] == 0
        # What was taken though its client did not hear of it may be there twice.
        unheard = sum(each.answers[0] for each in every)
        assert pushed <= said["elements"] <= pushed + unheard * max(one)
        until(lambda: measured(client, "headrace_body_bytes") == 0)


def test_many_large_bodies_stay_within_a_limit(tmp_path: Path) -> None:
    with limited_process(tmp_path, body=2_000_000, bodies=8_000_000, log_bytes=1 << 30) as server:
        crowded(server, 1_900_000, clients=60, times=2, most=350_000_000)


@pytest.mark.long
def test_many_bodies_of_the_largest_size_stay_within_a_limit(tmp_path: Path) -> None:
    with process(tmp_path, "--log-quota", "8000") as server:
        crowded(server, DEFAULT.body - 10_000, clients=60, times=1, most=1_500_000_000)


def test_a_body_without_room_is_refused_and_one_with_room_is_taken(tmp_path: Path) -> None:
    with (
        limited_process(
            tmp_path, body=1_000_000, bodies=1_200_000, bodies_seconds=0.5, body_seconds=600.0
        ) as server,
        server.client() as client,
        ExitStack() as opened,
    ):
        client.put("/streams/cars", json={"iri": CARS, "time": "said"}).raise_for_status()
        large = body_of(1_000_000, 1)
        [fast] = slow_senders(server, opened, 1, 1_000_000)
        until(lambda: measured(client, "headrace_body_bytes") == 1_000_000)
        answer = client.post("/streams/cars", content=large, headers={"Content-Type": TIMED})
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) >= 1
        assert "limit 'bodies'" in answer.json()["detail"]
        packed = {"Content-Type": TIMED, "Content-Encoding": "gzip"}
        answer = client.post("/streams/cars", content=gzip.compress(large), headers=packed)
        assert answer.status_code == 503
        # Small ones have room of their own.
        small = client.post("/streams/cars", content=large[:5_065], headers={"Content-Type": TIMED})
        assert small.status_code in {200, 400}, small.text
        assert measured(client, 'headrace_bodies_refused_total{reason="full"}') == 2
        fast.close()
        until(lambda: measured(client, "headrace_body_bytes") == 0)
        answer = client.post("/streams/cars", content=large, headers={"Content-Type": TIMED})
        assert answer.status_code == 200
        answer = client.post("/streams/cars", content=gzip.compress(large), headers=packed)
        assert answer.status_code == 200


@pytest.mark.parametrize(
    ("media_type", "line"),
    [
        (TIMED, '%d\t<x:%d> <x:p> "' + 'a \\" and a \\\\ ' * 100 + '" .\n'),
        (
            "application/x-ndjson",
            '{"time": %d, "data": "<x:%d> <x:p> \\"' + "o" * 1_000 + '\\" ."}\n',
        ),
    ],
    ids=["timed", "ndjson"],
)
def test_what_was_acknowledged_of_a_very_large_body_is_read(
    tmp_path: Path, media_type: str, line: str
) -> None:
    """It is one line of the log, which is longer in JSON than by itself."""
    with served(tmp_path / "data") as client:
        client.put("/streams/cars", json={"iri": CARS, "time": "said"}).raise_for_status()
        one = (line % (1_000, 1)).encode()
        number = 18_000_000 // len(one)
        headers = {"Content-Type": media_type}
        answer = client.post("/streams/cars", content=one * number, headers=headers)
        assert answer.status_code == 200, answer.text
        assert answer.json()["elements"] > 0
        until(lambda: client.get("/streams/cars").json()["messages"] > 0)
        said = client.get("/streams/cars").json()
        assert (said["elements"], said["rejected"]) == (answer.json()["elements"], 0)


def test_a_document_that_is_taken_is_read_though_it_is_longer_in_the_log(tmp_path: Path) -> None:
    with served(tmp_path / "data") as client:
        client.put("/streams/cars", json={"iri": CARS}).raise_for_status()
        line = b'<x:a> <x:p> "' + b"\\\\" * 2_000 + b'" .\n'
        text = line * (15_900_000 // len(line))
        headers = {"Content-Type": "application/n-triples"}
        answer = client.post("/streams/cars", content=text, headers=headers)
        assert answer.status_code == 200, answer.text
        longer = client.post("/streams/cars", content=text + line * 100, headers=headers)
        assert longer.status_code == 400
        until(lambda: client.get("/streams/cars").json()["messages"] > 0)
        said = client.get("/streams/cars").json()
        assert (said["elements"], said["rejected"]) == (1, 0)


def test_slow_senders_are_ended_when_their_room_is_needed(tmp_path: Path) -> None:
    with (
        limited_process(tmp_path, body=1_000_000, bodies=2_400_000, bodies_seconds=60.0) as server,
        server.client() as client,
        ExitStack() as opened,
    ):
        client.put("/streams/cars", json={"iri": CARS, "time": "said"}).raise_for_status()
        # They hold all of the room, and send little enough for half a minute.
        slow = slow_senders(server, opened, 2, 1_000_000)
        until(lambda: measured(client, "headrace_body_bytes") == 2_000_000)
        large = body_of(1_000_000, 1)
        answer = client.post("/streams/cars", content=large, headers={"Content-Type": TIMED})
        assert answer.status_code == 200
        assert measured(client, 'headrace_bodies_refused_total{reason="slow"}') >= 1
        [ended, *_], _, _ = select.select(slow, [], [], 60)
        assert b" 503 " in ended.recv(4_096).partition(b"\r\n")[0]


def test_messages_of_sockets_hold_room_until_they_are_on_disk(tmp_path: Path) -> None:
    limits = Limits(bodies=400_000, message=100_000)
    with served(tmp_path / "data", limits=limits) as client:
        client.put("/streams/cars", json={"iri": CARS, "time": "said"}).raise_for_status()
        with web_socket(client, "/streams/cars/socket") as found:
            elements = 0
            for number in range(100):
                found.send_bytes(body_of(50_000, number))
            for number in range(1, 101):
                said = found.receive_json()
                assert said["ack"] == number
                elements += said["elements"]
        until(lambda: client.get("/streams/cars").json()["elements"] == elements)
        assert elements >= 100
        until(lambda: "headrace_body_bytes 0" in client.get("/metrics").text)


# -- the room by itself --------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_bodies_of_all_sizes_share_the_room_and_all_come_through(seed: int) -> None:
    chance = random.Random(seed)
    limits = Limits(bodies=1_000_000, body=600_000, bodies_seconds=600.0)
    room = Room(limits)
    most = 0

    async def come(size: int) -> None:
        nonlocal most
        body = room.body()
        await body.grow(size, limits.bodies_seconds)
        most = max(most, room.size)
        await asyncio.sleep(0)
        body.close()

    async def all_come() -> None:
        sizes = [chance.choice([100, 50_000, 200_000, 600_000]) for _ in range(200)]
        await asyncio.gather(*map(come, sizes))

    asyncio.run(all_come())
    assert 600_000 <= most <= limits.bodies
    assert room.size == 0


def test_large_bodies_leave_some_room_for_small_ones() -> None:
    async def come() -> None:
        room = Room(Limits(bodies=1_000_000, bodies_seconds=0.0))
        large, small = room.body(), room.body()
        with pytest.raises(Problem, match="limit 'bodies'") as found:
            await large.grow(900_000, 0.0)
        assert found.value.status == 503
        await large.grow(870_000, 0.0)
        await small.grow(50_000, 0.0)
        large.close()
        large.close()
        assert room.size == 50_000

    asyncio.run(come())


def test_a_slow_body_is_ended_once_by_all_who_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several of them find it at the same moment, and one finds it when it is ending already."""
    monkeypatch.setattr(room_module, "_GRACE", -1.0)

    async def come() -> None:
        limits = Limits(bodies=1_000_000, bodies_seconds=60.0)
        room = Room(limits)
        slow = room.body()
        await slow.grow(800_000, 0.0)

        async def read() -> Problem:
            try:
                async with slow.waiting(60.0):
                    await asyncio.sleep(60.0)
            except TimeoutError:
                return slow.late()
            finally:
                slow.arrived()
                slow.close()
            raise AssertionError("it was not ended")

        reading = asyncio.create_task(read())
        await asyncio.sleep(0)
        slow.end()
        await asyncio.sleep(0)  # its time-out has run, and it does not know yet
        slow.end()
        others = [room.body() for _ in range(5)]
        await asyncio.gather(*(each.grow(150_000, 60.0) for each in others))
        problem = await reading
        assert problem.status == 503
        assert "too slowly" in problem.detail
        assert room.refused["slow"] == 1

    asyncio.run(come())
