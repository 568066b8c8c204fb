"""Connections that ask for nothing: how long they are kept, and how many."""

from __future__ import annotations

import asyncio
import resource
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

_LOOK_SECONDS: Final = 1.0
_OWN_FILES: Final = 500
"""So many files and sockets the server needs besides connections."""
_SPARE: Final = 100
"""So many more connections than there may be are told so; the others are closed at once."""


class Connection(HttpToolsProtocol):
    """A connection that knows since when it owes the rest of a request's head.

    Attributes:
        waits_since: by the clock of the loop; None while a request is answered, or after it, when
            the server itself counts how long the connection is kept.
    """

    waits_since: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as its base
        """Wait for a first request, if there is room."""
        super().connection_made(transport)
        self.waits_since = self.loop.time()
        most = self.limit_concurrency
        if most is not None and len(self.connections) > most + _SPARE:
            transport.abort()

    def on_message_begin(self) -> None:
        """Wait for the rest of the head."""
        super().on_message_begin()
        self.waits_since = self.loop.time()

    def on_headers_complete(self) -> None:
        """There is a request."""
        self.waits_since = None
        super().on_headers_complete()


async def close_the_silent(state: ServerState, seconds: float) -> None:
    """Close connections that have not sent the head of a request for so long; it never ends."""
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(min(_LOOK_SECONDS, seconds / 4))
        oldest = loop.time() - seconds
        for each in list(state.connections):
            if isinstance(each, Connection) and (each.waits_since or oldest) < oldest:
                each.transport.abort()


def room_for(connections: int) -> int:
    """How many connections there may be of so many; the process may open more files after this.

    >>> room_for(10)
    10
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _SPARE + _OWN_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY:
        return connections
    return max(1, min(connections, soft - _SPARE - _OWN_FILES))
