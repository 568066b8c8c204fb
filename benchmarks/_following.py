"""Many who follow one query by server-sent events, in a process of their own, at little cost."""

from __future__ import annotations

import asyncio
import json
import resource
import time
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Final, cast

import uvloop

_ASK: Final = b"GET /queries/load/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
_WINDOW: Final = b"event: rsp_window\ndata: "


class Follower(asyncio.Protocol):
    """One connection that counts the windows it is told of.

    Attributes:
        windows: how many there were.
        delays: how far behind their close they came, in milliseconds, if that is asked for.
    """

    def __init__(self, *, timed: bool) -> None:
        """Say whether delays are noted."""
        self.windows = 0
        self.delays: list[float] | None = [] if timed else None
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the events."""
        cast(asyncio.Transport, transport).write(_ASK)

    def data_received(self, data: bytes) -> None:
        """Count what has come; an event may come in two parts."""
        *whole, self._rest = (self._rest + data).split(b"\n\n")
        for each in whole:
            place = each.find(_WINDOW)
            if place < 0:
                continue
            self.windows += 1
            if self.delays is not None:
                said = json.loads(each[place + len(_WINDOW) :].partition(b"\n")[0])
                self.delays.append(time.time() * 1000 - said["at"])


def follow(port: int, number: int, ready: Event, ended: Event, out: Path) -> None:
    """Follow the query by many connections until told to end, and say what came."""
    followers = [Follower(timed=place == 0) for place in range(number)]

    async def every() -> None:
        loop = asyncio.get_running_loop()
        for each in followers:
            await loop.create_connection(lambda each=each: each, "127.0.0.1", port)  # type: ignore[misc]  # it is bound
        ready.set()
        while not ended.is_set():
            await asyncio.sleep(0.1)

    uvloop.run(every())
    used = resource.getrusage(resource.RUSAGE_SELF)
    found = {
        "counts": [each.windows for each in followers],
        "delays": [delay for each in followers for delay in each.delays or ()],
        "cpu": used.ru_utime + used.ru_stime,
    }
    out.write_text(json.dumps(found))
