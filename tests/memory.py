"""How much memory processes use while something goes on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil

MB = 1_000_000
_PAUSE = 0.03


class Peak:
    """The most memory that a process and its children have used together, in bytes."""

    def __init__(self, pid: int) -> None:
        self.bytes = 0
        self._process = psutil.Process(pid)
        self._ended = threading.Event()

    def measure(self) -> int:
        """The memory that they use now."""
        found = 0
        with suppress(psutil.Error):
            for each in [self._process, *self._process.children(recursive=True)]:
                with suppress(psutil.Error):
                    found += each.memory_info().rss
        self.bytes = max(self.bytes, found)
        return found

    def _watch(self) -> None:
        while not self._ended.wait(_PAUSE):
            self.measure()


@contextmanager
def peak_of(pid: int) -> Iterator[Peak]:
    """Watch the memory of a process until the end of the block."""
    peak = Peak(pid)
    watching = threading.Thread(target=peak._watch, daemon=True)
    watching.start()
    try:
        yield peak
    finally:
        peak._ended.set()
        watching.join()
