"""How a run is told to end: by Ctrl-C, or by a polite kill."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol

ECHO = 1.0
"""Seconds in which another signal is the same wish: who ends a group of processes, as timeout(1)
does, may signal each of them and then the group, some time later on a busy machine."""


class Stoppable(Protocol):
    """What can end after the batch that it is working on."""

    def stop(self) -> None:
        """End then."""


class Wish:
    """Tells whether the wish to end is a new one, or the one before heard twice."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin with none."""
        self._clock = clock
        self._first: float | None = None

    def repeated(self) -> bool:
        """Hear a signal: whether somebody who was heard already insists."""
        now = self._clock()
        if self._first is None:
            self._first = now
        return now - self._first > ECHO

    def fade(self) -> None:
        """Wait until no echo of what was heard can come any more.

        Whoever ends within that time must not give signals back before: the echo would be taken
        for a wish to end something that has ended well.
        """
        while self._first is not None and (left := self._first + ECHO - self._clock()) > 0:
            time.sleep(left)


@contextmanager
def stopping(
    runner: Stoppable, note: Callable[[str], None], clock: Callable[[], float] = time.monotonic
) -> Iterator[threading.Event]:
    """Let the first Ctrl-C, or a polite kill, end a run after its batch; the next ends it now.

    Args:
        runner: what ends.
        note: tells the user something.
        clock: seconds, to know a signal that is only an echo.

    Yields:
        What tells whether that has happened.
    """
    stopped, wish = threading.Event(), Wish(clock)
    if threading.current_thread() is not threading.main_thread():
        yield stopped
        return
    kinds = (signal.SIGINT, signal.SIGTERM)
    before = {kind: signal.getsignal(kind) for kind in kinds}

    def end() -> None:
        note("stopping after this batch; Ctrl-C again stops now")
        runner.stop()

    def now(kind: int) -> None:
        # Not those of before: that of Spark would talk to it in the midst of another talk.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), kind)

    def stop(kind: int, _frame: FrameType | None) -> None:
        if wish.repeated():
            now(kind)
        elif not stopped.is_set():
            stopped.set()
            # A handler must not wait: the thread it interrupts may hold what it would wait for.
            threading.Thread(target=end, daemon=True).start()

    try:
        for each in kinds:
            signal.signal(each, stop)
        yield stopped
    finally:
        wish.fade()
        for each in kinds:
            signal.signal(each, before[each])
