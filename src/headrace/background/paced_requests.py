"""Requests between evaluations, sent at a declared rate."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Generic, Protocol, TypeVar

from headrace.results.table import Table
from headrace.timed_waits import wait_for_change


class Sendable(Protocol):
    """A request that can be sent once."""

    future: Future[Table]


T = TypeVar("T", bound=Sendable)


class PacedSender(Generic[T]):
    """A sender of requests, one by one in their order, until it is paused.

    What has been sent goes on until it is answered, however often it is paused.
    """

    def __init__(
        self, send: Callable[[T], None], clock: Callable[[], float], in_flight: int
    ) -> None:
        """Begin paused.

        Args:
            send: sends a request, and gives it its future.
            clock: seconds.
            in_flight: how many may be unanswered at once.
        """
        self._send = send
        self._clock = clock
        self._most = in_flight
        self._waiting: deque[T] = deque()
        self._sent: list[T] = []
        self._counted = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._next_at = 0.0
        self._pause = 0.0

    def start(self, requests: Iterable[T], rate: float) -> None:
        """Send some requests, instead of those that have not been sent yet."""
        with self._changed:
            self._waiting = deque(requests)
            self._pause = 1 / rate
            if self._waiting and self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()
            self._changed.notify_all()

    @property
    def unanswered(self) -> list[T]:
        """The requests that were sent and whose answers were not taken."""
        with self._changed:
            return list(self._sent)

    def take(self) -> tuple[list[T], list[T]]:
        """Pause, and return the requests that were sent and the answers since the last call."""
        with self._changed:
            self._waiting.clear()
            new = self._sent[self._counted :]
            answered = [each for each in self._sent if each.future.done()]
            self._sent = [each for each in self._sent if not each.future.done()]
            self._counted = len(self._sent)
            self._changed.notify_all()
            return new, answered

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._waiting:
                    self._thread = None
                    return
                left = self._next_at - self._clock()
                if left > 0 or sum(not each.future.done() for each in self._sent) >= self._most:
                    wait_for_change(self._changed, max(left, 0.001) if left > 0 else 0.05)
                    continue
                request = self._waiting.popleft()
                self._next_at = self._clock() + self._pause
                self._send(request)
                self._sent.append(request)
