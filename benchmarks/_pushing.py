"""A load of pushes that costs little itself: raw connections that stay, one request under way each.

It runs in a process of its own beside the server, on the same cores: whatever it needs is taken
from what is measured. So there are no streams and no tasks, only the callbacks of a protocol.
"""

from __future__ import annotations

import asyncio
import json
import resource
import time
from collections import deque
from pathlib import Path
from typing import Final, cast

import uvloop

TIMED: Final = "application/vnd.headrace.timed-n-quads"
_TICK: Final = 0.005
_PATIENCE: Final = 30.0
_UNDER_WAY: Final = 1_000
_OK: Final = b"200"
_LENGTH: Final = b"\r\ncontent-length: "
_END: Final = b"\r\n\r\n"
_HEAD: Final = (
    "POST /streams/load HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    f"Content-Type: {TIMED}\r\nContent-Length: %d\r\n\r\n"
).encode()


def element(number: int, now: int) -> bytes:
    """A line of timed N-Quads with a number in it, at a time in milliseconds."""
    return (
        b"%d\t<http://example.org/g%d> <http://example.org/registers> "
        b"<http://example.org/c%d> .\n" % (now, number % 5, number)
    )


def elements(first: int, number: int) -> bytes:
    """Some lines with consecutive numbers, of now."""
    now = time.time_ns() // 1_000_000
    return b"".join([element(each, now) for each in range(first, first + number)])


def processor_seconds() -> float:
    """How much of a processor this process has had."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Load:
    """Pushes at a rate over some connections, and what has become of them.

    Attributes:
        acknowledged: the first numbers of the pushes that were acknowledged.
        took: the seconds that each of them took.
        refused: how many were refused.
        broken: whether the server has let a connection go.
        ended: whether all is done, and connections are let go by us.
    """

    def __init__(self, rate: float, batch: int, first: int = 0) -> None:
        """Say how many pushes a second, how many elements are in each, and the first number."""
        self.rate = rate
        self.batch = batch
        self.first = first
        self.sent = 0
        self.acknowledged: list[int] = []
        self.took: list[float] = []
        self.refused = 0
        self.broken = False
        self.ended = False
        self.free: deque[Pusher] = deque()

    async def run(self, port: int, connections: int, seconds: float) -> float:
        """Push for some seconds, and wait for the answers; how long both took."""
        loop = asyncio.get_running_loop()
        for _ in range(connections):
            _, opened = await loop.create_connection(lambda: Pusher(self), "127.0.0.1", port)
            self.free.append(opened)
        began = time.monotonic()
        while (now := time.monotonic()) < began + seconds and not self.broken:
            self.send_until(int((now - began) * self.rate), now)
            await asyncio.sleep(_TICK)
        while len(self.free) < connections and not self.broken:
            if time.monotonic() > began + seconds + _PATIENCE:
                break
            await asyncio.sleep(_TICK)
        took, self.ended = time.monotonic() - began, True
        for each in self.free:
            each.close()
        return took

    def send_until(self, due: int, now: float) -> None:
        """Send what is due, as far as there are connections that wait for nothing."""
        while self.sent < due and self.free:
            self.free.popleft().push(self.first + self.sent * self.batch, now)
            self.sent += 1

    def write(self, out: Path, seconds: float) -> None:
        """Leave what was seen in a file."""
        numbers = [
            number for first in self.acknowledged for number in range(first, first + self.batch)
        ]
        found = {
            "acknowledged": numbers,
            "took": self.took,
            "refused": self.refused,
            "seconds": seconds,
            "broken": self.broken,
            "cpu": processor_seconds(),
        }
        out.write_text(json.dumps(found))


class Pusher(asyncio.Protocol):
    """One connection."""

    def __init__(self, load: Load) -> None:
        """Belong to a load."""
        self._load = load
        self._rest = b""
        self._first = 0
        self._began = 0.0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Be ready."""
        self._transport = cast(asyncio.Transport, transport)

    def push(self, first: int, now: float) -> None:
        """Push the elements from a number on."""
        assert self._transport is not None, "it is connected"
        body = elements(first, self._load.batch)
        self._first, self._began = first, now
        self._transport.write(_HEAD % len(body) + body)

    def data_received(self, data: bytes) -> None:
        """Take an answer, when it is whole."""
        self._rest += data
        head = self._rest.find(_END)
        if head < 0:
            return
        place = self._rest.index(_LENGTH, 0, head + 2) + len(_LENGTH)
        size = int(self._rest[place : self._rest.index(b"\r\n", place)])
        if len(self._rest) < head + len(_END) + size:
            return
        load = self._load
        if self._rest[9:12] == _OK:
            load.acknowledged.append(self._first)
            load.took.append(time.monotonic() - self._began)
        else:
            load.refused += 1
        self._rest = b""
        load.free.append(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - of the protocol
        """The server has gone, or we have."""
        self._load.broken = self._load.broken or not self._load.ended

    def close(self) -> None:
        """Let go."""
        if self._transport is not None:
            self._transport.close()


def push(  # noqa: PLR0913 - what a process is begun with
    port: int,
    rate: float,
    batch: int,
    connections: int,
    seconds: float,
    out: Path,
    *,
    first: int = 0,
) -> None:
    """Push elements with numbers from one on at a rate; what was acknowledged goes to a file."""
    load = Load(rate / batch, batch, first)
    load.write(out, uvloop.run(load.run(port, connections, seconds)))


# -- by WebSocket --------------------------------------------------------------------------------

_UPGRADE: Final = (
    b"GET /streams/load/socket HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
    b"Connection: Upgrade\r\nSec-WebSocket-Key: aGVhZHJhY2Utc2VydmluZw==\r\n"
    b"Sec-WebSocket-Version: 13\r\n\r\n"
)
_SHORT: Final = 126
_ACK: Final = b'{"ack":'


_TEXT, _BINARY, _PING, _PONG = 0x81, 0x82, 0x89, 0x8A


def framed(message: bytes, kind: int = _BINARY) -> bytes:
    """A message of a client as one frame; its mask is of zeros, which leaves it as it is."""
    size = len(message)
    if size < _SHORT:
        return bytes([kind, 0x80 | size]) + b"\0\0\0\0" + message
    return bytes([kind, 0x80 | _SHORT]) + size.to_bytes(2, "big") + b"\0\0\0\0" + message


class SocketPusher(asyncio.Protocol):
    """One WebSocket with many messages under way, which are acknowledged in turn."""

    def __init__(self, load: Load) -> None:
        """Belong to a load."""
        self._load = load
        self._rest = b""
        self._began: deque[float] = deque()
        self._number = 0
        self.opened = asyncio.get_running_loop().create_future()
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for a WebSocket."""
        self.transport = cast(asyncio.Transport, transport)
        self.transport.write(_UPGRADE)

    @property
    def under_way(self) -> int:
        """How many messages were not answered yet."""
        return len(self._began)

    def push(self, numbers: range, now: float) -> None:
        """Send some elements, each as a message."""
        assert self.transport is not None, "it is connected"
        self._began.extend([now] * len(numbers))
        self.transport.write(b"".join([framed(elements(number, 1)) for number in numbers]))

    def data_received(self, data: bytes) -> None:
        """Take answers: frames without masks, all of them short or of two bytes' length."""
        rest = self._rest + data
        if not self.opened.done():
            head = rest.find(_END)
            if head < 0:
                self._rest = rest
                return
            assert rest.startswith(b"HTTP/1.1 101"), rest[:head]
            self.opened.set_result(None)
            rest = rest[head + len(_END) :]
        place, now = 0, time.monotonic()
        while place + 4 <= len(rest):
            size, begin = rest[place + 1], place + 2
            if size == _SHORT:
                size, begin = int.from_bytes(rest[begin : begin + 2], "big"), begin + 2
            if begin + size > len(rest):
                break
            message = rest[begin : begin + size]
            if rest[place] == _TEXT:
                self._answered(message, now)
            elif rest[place] == _PING and self.transport is not None:
                self.transport.write(framed(message, _PONG))
            place = begin + size
        self._rest = rest[place:]

    def _answered(self, message: bytes, now: float) -> None:
        load, began = self._load, self._began.popleft()
        if message.startswith(_ACK):
            load.acknowledged.append(self._number)
            load.took.append(now - began)
        else:
            load.refused += 1
        self._number += 1

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - of the protocol
        """The server has gone, or we have."""
        self._load.broken = self._load.broken or not self._load.ended


async def _by_socket(load: Load, port: int, seconds: float) -> float:
    loop = asyncio.get_running_loop()
    _, opened = await loop.create_connection(lambda: SocketPusher(load), "127.0.0.1", port)
    await opened.opened
    began = time.monotonic()
    while (now := time.monotonic()) < began + seconds and not load.broken:
        room = _UNDER_WAY - opened.under_way
        due = min(int((now - began) * load.rate), load.sent + room)
        if due > load.sent:
            opened.push(range(load.sent, due), now)
            load.sent = due
        await asyncio.sleep(_TICK)
    while opened.under_way and not load.broken:
        if time.monotonic() > began + seconds + _PATIENCE:
            break
        await asyncio.sleep(_TICK)
    load.ended = True
    return time.monotonic() - began


def push_by_socket(port: int, rate: float, seconds: float, out: Path) -> None:
    """Push elements one by one as messages of one WebSocket."""
    load = Load(rate, 1)
    load.write(out, uvloop.run(_by_socket(load, port, seconds)))
