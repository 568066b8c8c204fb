"""The memory for the bodies of requests: all of them together stay within a limit."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from typing import Final

from headrace.serve.limits import Limits
from headrace.serve.problems import Problem, busy

SMALL: Final = 64_000
"""A body of at most so many bytes is small: there is always some room left for these."""
_FOR_SMALL: Final = 8
"""One part in so many of the room is for small bodies only."""
_GRACE: Final = 2.0
"""A body is slow after so many seconds without any of it; before, it is not."""
_LOOK: Final = 0.2


class Room:
    """The room for bodies, from their first byte until their request is answered."""

    def __init__(self, limits: Limits) -> None:
        """Begin with all of it free."""
        self._limits = limits
        self._bodies: dict[Body, None] = {}
        self._waiting: dict[asyncio.Future[None], None] = {}
        self.size = 0
        self.refused: Counter[str] = Counter()

    def body(self) -> Body:
        """Return a new body, which has no room yet."""
        return Body(self)

    def fits(self, more: int, size: int) -> bool:
        """Test whether a body that will have some size has room for so many bytes more."""
        limit = self._limits.bodies
        if size > SMALL:
            limit -= limit // _FOR_SMALL
        return self.size + more <= limit

    def reserve(self, body: Body, more: int) -> None:
        """Reserve more bytes for a body."""
        self._bodies[body] = None
        self.size += more

    def release(self, body: Body) -> None:
        """Free the room of a body, and wake the bodies that wait for room."""
        self.size -= body.size
        self._bodies.pop(body, None)
        for each in self._waiting:
            if not each.done():
                each.set_result(None)

    async def wait(self) -> None:
        """Wait for room for a moment, and end slow bodies meanwhile."""
        self._end_slow()
        future = asyncio.get_running_loop().create_future()
        self._waiting[future] = None
        try:
            async with asyncio.timeout(_LOOK):
                await future
        except TimeoutError:
            pass
        finally:
            del self._waiting[future]

    def _end_slow(self) -> None:
        """End the largest body that comes more slowly than it must while others wait."""
        rate = self._limits.body / self._limits.body_seconds
        now = asyncio.get_running_loop().time()
        slow = [body for body in self._bodies if body.size > SMALL and body.is_slower(rate, now)]
        if slow:
            max(slow, key=lambda body: body.size).end()


class Body:
    """The room that is reserved for the body of one request."""

    def __init__(self, room: Room) -> None:
        """Reserve nothing yet."""
        self._room = room
        self._came = 0
        self._waited = self._since = 0.0
        self._timeout: asyncio.Timeout | None = None
        self._is_ended = False
        self.size = 0

    async def grow(self, size: int, longest: float) -> None:
        """Reserve a number of bytes, if they are more than before.

        Args:
            size: how many.
            longest: how many seconds it may wait for them.

        Raises:
            Problem: 503 if there is no room for them.
        """
        more = size - self.size
        if more <= 0:
            return
        ends = asyncio.get_running_loop().time() + longest
        while not self._room.fits(more, size):
            if asyncio.get_running_loop().time() >= ends:
                self._room.refused["full"] += 1
                raise busy(
                    "the server is reading as many bytes of requests as it may at once "
                    "(limit 'bodies'); send it again, or in smaller parts"
                )
            await self._room.wait()
        self._room.reserve(self, more)
        self.size += more

    def is_slower(self, rate: float, now: float) -> bool:
        """Test whether it has paused, or comes at fewer bytes for each second of waiting for it."""
        if self._timeout is None or self._is_ended:
            return False
        pause = now - self._since
        waited = self._waited + pause
        return pause > _GRACE or (waited > _GRACE and self._came < rate * waited)

    def end(self) -> None:
        """Stop waiting for the rest of it."""
        self._is_ended = True
        if self._timeout is not None:
            with suppress(RuntimeError):  # it is ending already
                self._timeout.reschedule(asyncio.get_running_loop().time())

    def came(self, size: int) -> None:
        """Count bytes that have come."""
        self._came += size

    def waiting(self, patience: float) -> asyncio.Timeout:
        """Return a time-out for the next part, which also ends when the body is ended."""
        self._since = asyncio.get_running_loop().time()
        self._timeout = asyncio.timeout(patience)
        return self._timeout

    def arrived(self) -> None:
        """Note that no part is waited for."""
        self._timeout = None
        self._waited += asyncio.get_running_loop().time() - self._since

    def late(self) -> Problem:
        """Return the problem of a part that has not come in time."""
        if not self._is_ended:
            return Problem(408, "the rest of the body did not come")
        self._room.refused["slow"] += 1
        return busy(
            "the body came too slowly while others waited for its room (limit 'bodies'); "
            "send it again, or in smaller parts"
        )

    def close(self) -> None:
        """Release its room."""
        self._room.release(self)
        self.size = 0
