"""How a run is told to end: by Ctrl-C, or by a polite kill."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol


class Stoppable(Protocol):
    """What can end after the batch that it is working on."""

    def stop(self) -> None:
        """End then."""


@contextmanager
def stopping(runner: Stoppable, note: Callable[[str], None]) -> Iterator[threading.Event]:
    """Let the first Ctrl-C, or a polite kill, end a run after its batch; the next ends it now.

    Yields:
        What tells whether that has happened.
    """
    stopped = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stopped
        return
    kinds = (signal.SIGINT, signal.SIGTERM)
    before = {kind: signal.getsignal(kind) for kind in kinds}

    def end() -> None:
        note("stopping after this batch; Ctrl-C again stops now")
        runner.stop()

    def stop(_kind: int, _frame: FrameType | None) -> None:
        stopped.set()
        # Not those of before: that of Spark would talk to it in the midst of another talk.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        # A handler must not wait: the thread that it interrupts may hold what it would wait for.
        threading.Thread(target=end, daemon=True).start()

    try:
        for each in kinds:
            signal.signal(each, stop)
        yield stopped
    finally:
        for each in kinds:
            signal.signal(each, before[each])
