"""How long batches take, and the stages of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

_MICROSECONDS: Final = 1_000_000


class Stopwatch:
    """Measures one batch after the other; what is waited for between them does not count.

    The first batch of a process pays for its start, so that it says nothing about the others.

    Attributes:
        before: how many microseconds the batch before has taken; none if that says nothing.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        """Measure with a clock of seconds that never goes back."""
        self.before: int | None = None
        self._clock = clock
        self._spent: dict[str, float] = {}
        self._worked = 0
        self._counts = False

    @property
    def spent(self) -> Mapping[str, float]:
        """How many seconds each stage of this batch has taken so far."""
        return self._spent

    def start(self) -> None:
        """Begin with a batch."""
        known = self._counts and self._worked > 1
        self.before = round(sum(self._spent.values()) * _MICROSECONDS) if known else None
        self._spent, self._counts = {}, False

    def counts(self) -> None:
        """Say that this batch is worked on, and not only told again."""
        self._worked += 1
        self._counts = True

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add how long something takes to what a stage of this batch has taken."""
        began = self._clock()
        try:
            yield
        finally:
            self._spent[name] = self._spent.get(name, 0.0) + self._clock() - began
