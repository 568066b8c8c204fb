"""Load on `headrace serve` over loopback: many followers, thousands of pushes a second, a kill.

Two processes besides the server make the load: one pushes, one follows by server-sent events. In
the midst of it nothing is killed; at the end the server is killed without warning while pushes are
under way, started again, and asked for all that it had acknowledged.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import httpx2

STREAM = "http://example.org/load"
TIMED = "application/vnd.headrace.timed-n-quads"
QUERY = (
    "PREFIX : <http://example.org/> SELECT ?g (COUNT(?c) AS ?n) "
    f"FROM STREAM <{STREAM}> [RANGE 10s STEP 1s] WHERE {{ ?g :registers ?c }} GROUP BY ?g"
)


@dataclass
class Figures:
    """What was seen."""

    way: str
    seconds: float
    batch: int
    pushes_a_second: float = 0.0
    elements_a_second: float = 0.0
    refused: int = 0
    slowest_ms: float = 0.0
    median_ms: float = 0.0
    followers: int = 0
    windows_each: float = 0.0
    memory_mb: list[float] = field(default_factory=list)
    acknowledged: int = 0
    lost: int = 0
    delays_ms: list[float] = field(default_factory=list)


# -- those who push ------------------------------------------------------------------------------


async def _connection(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", port)


def _element(number: int) -> bytes:
    now = time.time_ns() // 1_000_000
    text = (
        f"{now}\t<http://example.org/g{number % 5}> <http://example.org/registers> "
        f"<http://example.org/c{number}> .\n"
    )
    return text.encode()


def _request(body: bytes) -> bytes:
    head = (
        "POST /streams/load HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Content-Type: {TIMED}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _answer(reader: asyncio.StreamReader) -> int:
    head = await reader.readuntil(b"\r\n\r\n")
    status = int(head[9:12])
    length = next(
        int(line.split(b":")[1])
        for line in head.split(b"\r\n")
        if line.lower().startswith(b"content-length")
    )
    await reader.readexactly(length)
    return status


async def _pusher(  # noqa: PLR0913, PLR0917 - each is a part of the load
    port: int, place: int, of: int, rate: float, batch: int, until: float, seen: dict[str, Any]
) -> None:
    """Push as often as is its share, several requests under way at once on one connection."""
    reader, writer = await _connection(port)
    under_way: asyncio.Queue[tuple[float, list[int]]] = asyncio.Queue(64)
    stop = asyncio.Event()

    async def listen() -> None:
        while True:
            began, numbers = await under_way.get()
            try:
                status = await _answer(reader)
            except (asyncio.IncompleteReadError, ConnectionError):
                stop.set()
                return
            if status == HTTPStatus.OK:
                seen["acknowledged"].extend(numbers)
                seen["took"].append(time.monotonic() - began)
            else:
                seen["refused"] += 1
            under_way.task_done()

    listening = asyncio.create_task(listen())
    began, sent = time.monotonic(), 0
    while time.monotonic() < until and not stop.is_set():
        due = int((time.monotonic() - began) * rate / of)
        while sent < due and not stop.is_set():
            first = (sent * of + place) * batch
            numbers = list(range(first, first + batch))
            body = b"".join(map(_element, numbers))
            try:
                writer.write(_request(body))
                await writer.drain()
            except ConnectionError:
                stop.set()
                break
            await under_way.put((time.monotonic(), numbers))
            sent += 1
        await asyncio.sleep(0.005)
    if not stop.is_set():
        await under_way.join()
    listening.cancel()
    writer.close()


def push(port: int, rate: float, batch: int, seconds: float, out: Path) -> None:
    """Push elements at a rate; what was acknowledged is written to a file."""
    seen: dict[str, Any] = {"acknowledged": [], "took": [], "refused": 0}

    async def all_of_them() -> float:
        began = time.monotonic()
        connections = 8
        shares = (
            _pusher(port, place, connections, rate, batch, began + seconds, seen)
            for place in range(connections)
        )
        await asyncio.gather(*shares)
        return time.monotonic() - began

    seen["seconds"] = asyncio.run(all_of_them())
    out.write_text(json.dumps(seen))


def push_by_socket(port: int, rate: float, seconds: float, out: Path) -> None:
    """Push elements one by one as messages of one WebSocket."""
    import websockets  # noqa: PLC0415 - only this way needs it

    seen: dict[str, Any] = {"acknowledged": [], "took": [], "refused": 0}

    async def all_of_them() -> float:
        async with websockets.connect(f"ws://127.0.0.1:{port}/streams/load/socket") as opened:
            sent: list[float] = []
            began = time.monotonic()

            async def listen() -> None:
                async for text in opened:
                    said = json.loads(text)
                    if "ack" in said:
                        number = said["ack"] - 1
                        seen["acknowledged"].append(number)
                        seen["took"].append(time.monotonic() - sent[number])
                    else:
                        seen["refused"] += 1

            listening = asyncio.create_task(listen())
            while time.monotonic() - began < seconds:
                due = int((time.monotonic() - began) * rate)
                while len(sent) < due:
                    sent.append(time.monotonic())
                    await opened.send(_element(len(sent) - 1))
                await asyncio.sleep(0.005)
            while len(seen["acknowledged"]) + seen["refused"] < len(sent):
                await asyncio.sleep(0.01)
            listening.cancel()
            return time.monotonic() - began

    seen["seconds"] = asyncio.run(all_of_them())
    out.write_text(json.dumps(seen))


# -- those who follow ----------------------------------------------------------------------------


def follow(port: int, number: int, ready: Event, ended: Event, out: Path) -> None:
    """Follow the query by many connections, and count the windows that come."""
    counts = [0] * number
    delays: list[float] = []

    async def one(place: int) -> None:
        reader, writer = await _connection(port)
        writer.write(b"GET /queries/load/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        await writer.drain()
        while line := await reader.readline():
            if line.startswith(b"data:") and b'"windows"' in line:
                counts[place] += 1
                if place == 0:
                    said = json.loads(line[5:])
                    delays.append(time.time() * 1000 - said["at"])

    async def every() -> None:
        tasks = [asyncio.create_task(one(place)) for place in range(number)]
        await asyncio.sleep(2)
        ready.set()
        while not ended.is_set():
            await asyncio.sleep(0.1)
        for task in tasks:
            task.cancel()

    asyncio.run(every())
    out.write_text(json.dumps({"counts": counts, "delays": delays}))


# -- the server ----------------------------------------------------------------------------------


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _start(location: Path, port: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "headrace", "serve", "--port", str(port)]
    started = subprocess.Popen([*command, "--location", str(location)], stdout=subprocess.DEVNULL)
    with _client(port) as client:
        for _ in range(1_200):
            try:
                if client.get("/readyz").status_code == HTTPStatus.OK:
                    return started
            except httpx2.TransportError:
                pass
            time.sleep(0.05)
    raise SystemExit("the server did not start")


def _client(port: int) -> httpx2.Client:
    return httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False)


def _memory(client: httpx2.Client) -> float:
    return float(client.get("/status").json()["memory_bytes"]) / 1e6


def measured(way: str, options: argparse.Namespace, folder: Path) -> Figures:
    """One way to push, with followers, and a kill in the end."""
    batch = options.batch if way == "batched" else 1
    figures = Figures(way, options.seconds, batch, followers=options.followers)
    location, port = folder / way, _free_port()
    server = _start(location, port)
    ready, ended = multiprocessing.Event(), multiprocessing.Event()
    pushed, followed = folder / f"{way}.pushed", folder / f"{way}.followed"
    with _client(port) as client:
        said = {"iri": STREAM, "time": "said", "delay": "1s"}
        client.put("/streams/load", json=said).raise_for_status()
        client.post("/queries", json={"text": QUERY, "name": "load"}).raise_for_status()
        following = multiprocessing.Process(
            target=follow, args=(port, options.followers, ready, ended, followed)
        )
        following.start()
        ready.wait()
        pushing = _pushing(way, port, options.rate, batch, options.seconds, pushed)
        while pushing.is_alive():
            figures.memory_mb.append(round(_memory(client), 1))
            pushing.join(options.seconds / 12)
    ended.set()
    following.join()
    _note(figures, json.loads(pushed.read_text()), json.loads(followed.read_text()))
    _killed(figures, server, port, location, folder, options)
    return figures


def _pushing(
    way: str, port: int, rate: float, batch: int, seconds: float, out: Path
) -> multiprocessing.Process:
    """A process that pushes."""
    if way == "socket":
        target, arguments = push_by_socket, (port, rate, seconds, out)
    else:
        target, arguments = push, (port, rate / batch, batch, seconds, out)  # type: ignore[assignment]  # by way
    process = multiprocessing.Process(target=target, args=arguments)
    process.start()
    return process


def _note(figures: Figures, pushed: dict[str, Any], followed: dict[str, Any]) -> None:
    took = sorted(pushed["took"])
    figures.pushes_a_second = len(took) / pushed["seconds"]
    figures.elements_a_second = len(pushed["acknowledged"]) / pushed["seconds"]
    figures.refused = pushed["refused"]
    figures.median_ms = 1000 * took[len(took) // 2]
    figures.slowest_ms = 1000 * took[-1]
    figures.windows_each = sum(followed["counts"]) / max(1, len(followed["counts"]))
    delays = sorted(followed["delays"])
    if delays:
        figures.delays_ms = [round(delays[len(delays) // 2], 1), round(delays[-1], 1)]


def _killed(
    figures: Figures,
    server: subprocess.Popen[bytes],
    port: int,
    location: Path,
    folder: Path,
    options: argparse.Namespace,
) -> None:
    """Kill the server while pushes are under way, and ask the next one for what was promised."""
    out = folder / "killed"
    rate = min(options.rate, 2_000)
    process = multiprocessing.Process(target=push, args=(port, rate / 10, 10, 4.0, out))
    process.start()
    time.sleep(2.0)
    os.kill(server.pid, signal.SIGKILL)
    server.wait()
    process.join()
    acknowledged = set(json.loads(out.read_text())["acknowledged"])
    again = _start(location, port)
    try:
        kept = set[int]()
        for segment in sorted((location / "streams").glob("*/*.ndjson")):
            for line in segment.read_text().splitlines():
                for text in json.loads(line)["data"].splitlines():
                    kept.add(int(text.rpartition("/c")[2].partition(">")[0]))
    finally:
        again.terminate()
        again.wait()
    figures.acknowledged = len(acknowledged)
    figures.lost = len(acknowledged - kept)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=5_000.0, help="elements a second")
    parser.add_argument("--batch", type=int, default=50, help="elements of a batched push")
    parser.add_argument("--followers", type=int, default=200)
    parser.add_argument("--way", choices=["single", "batched", "socket"], action="append")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory(prefix="headrace-serve-") as folder:
        for way in options.way or ["batched", "single", "socket"]:
            figures = measured(way, options, Path(folder))
            found.append(figures)
            print(
                f"{way}: {figures.elements_a_second:,.0f} elements/s in "
                f"{figures.pushes_a_second:,.0f} pushes/s for {figures.seconds:g} s, "
                f"{figures.refused} refused; acknowledged after {figures.median_ms:.1f} ms "
                f"(slowest {figures.slowest_ms:.0f}); {figures.followers} followers with "
                f"{figures.windows_each:.1f} windows each, behind by (median, most) ms "
                f"{figures.delays_ms}; memory in MB {figures.memory_mb}; {figures.lost} lost of "
                f"{figures.acknowledged:,} acknowledged before a kill"
            )
    if options.json:
        options.json.write_text(json.dumps([asdict(each) for each in found], indent=2))


if __name__ == "__main__":
    main()
