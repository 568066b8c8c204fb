"""Who follows which query. A follower has a place in what is kept, and no buffer of its own.

However slow a client is, it costs nothing: when it is ready again it is sent what is kept after
its place. What is no longer kept by then has been missed, and it is told how much that is.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from headrace.serve.problems import busy
from headrace.serve.retained import Kept, Retained

_AT_ONCE: Final = 50


@dataclass(slots=True)
class Topic:
    """What the followers of a query wait for.

    Attributes:
        followers: how many there are.
        news: set when there is something new; there is another one for what comes next.
        ended: why there will be nothing more, if there will not.
    """

    followers: int = 0
    news: asyncio.Event = field(default_factory=asyncio.Event)
    ended: str | None = None

    def tell(self) -> None:
        """Wake those who wait."""
        self.news.set()
        self.news = asyncio.Event()


@dataclass(frozen=True, slots=True)
class Missed:
    """Evaluations that a follower has missed, and where it goes on."""

    number: int | None
    after: int


@dataclass(frozen=True, slots=True)
class Ended:
    """There will be nothing more, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class WakeUp:
    """A change of a query other than a new evaluation."""


class Following:
    """The followers of all queries."""

    def __init__(self, most: int) -> None:
        """Begin with none; there may be so many."""
        self.loop: asyncio.AbstractEventLoop | None = None
        self.count = 0
        self._most = most
        self._topics: dict[str, Topic] = {}

    def hear(self, new: Sequence[Kept]) -> None:
        """Record evaluations, in any thread."""
        self.wake({each.query for each in new})

    def wake(self, names: set[str]) -> None:
        """Wake those who follow some queries, in any thread."""
        loop = self.loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._tell, names)

    def _tell(self, names: set[str]) -> None:
        for name in names:
            if name in self._topics:
                self._topics[name].tell()

    def end(self, query: str, reason: str) -> None:
        """Say that a query will report nothing more."""
        topic = self._topics.pop(query, None)
        if topic is not None:
            topic.ended = reason
            topic.tell()

    def end_all(self, reason: str) -> None:
        """Say so of all queries."""
        for query in list(self._topics):
            self.end(query, reason)

    def followers_of(self, query: str) -> int:
        """How many follow a query."""
        topic = self._topics.get(query)
        return 0 if topic is None else topic.followers

    @asynccontextmanager
    async def following(self, query: str) -> AsyncIterator[Topic]:
        """Follow a query until the end of the block.

        Raises:
            Problem: 503 if there are too many.
        """
        if self.count >= self._most:
            raise busy(f"{self._most:,} clients follow results already", 5)
        topic = self._topics.setdefault(query, Topic())
        topic.followers += 1
        self.count += 1
        try:
            yield topic
        finally:
            topic.followers -= 1
            self.count -= 1
            if not topic.followers and self._topics.get(query) is topic:
                del self._topics[query]


async def followed(
    topic: Topic, retained: Retained, query: str, after: int, quiet: float
) -> AsyncIterator[Kept | Missed | Ended | WakeUp | None]:
    """Yield evaluations from a place on; None after some quiet seconds.

    Args:
        topic: what it waits for.
        retained: what is kept.
        query: whose evaluations.
        after: the id of the last one that it has.
        quiet: how long it waits before it says that it is still there.
    """
    place, number, woken = after, 0, True
    while True:
        news, ended = topic.news, topic.ended
        found = retained.after(query, place, _AT_ONCE)
        if found and place < retained.dropped(query):
            yield Missed(found[0].number - number - 1 if number else None, found[0].id - 1)
        for each in found:
            yield each
            place, number = each.id, each.number
        if found:
            woken = False
            continue
        if ended is not None:
            yield Ended(ended)
            return
        if woken:
            yield WakeUp()
            woken = False
        try:
            await asyncio.wait_for(news.wait(), quiet)
            woken = True
        except TimeoutError:
            yield None
