"""Waits of threads with a limit of time, however the clock of the machine is set meanwhile.

A Python that was built for an old C library, without `sem_clockwait`, waits for a lock until a time
of the clock: a wait of a second lasts a day where the clock is set back by a day meanwhile. Many
builds for Linux that run everywhere are of this kind. There, threads sleep and look instead.
"""

from __future__ import annotations

import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from functools import cache
from typing import Any, Final

_SHORTEST: Final = 0.0005
_LONGEST: Final = 0.02
"""Seconds of sleep from look to look."""


@cache
def has_steady_waits() -> bool:
    """Test whether waits for locks are measured by a clock that cannot be set."""
    is_linux = sys.platform.startswith("linux")
    return not is_linux or bool(sysconfig.get_config_var("HAVE_SEM_CLOCKWAIT"))


def wait_for_event(event: threading.Event, seconds: float) -> bool:
    """Wait until an event is set, but not longer than some seconds; whether it is."""
    if has_steady_waits():
        return event.wait(seconds)
    return _look(event.is_set, seconds)


def wait_for_futures(futures: Sequence[Future[Any]], seconds: float | None) -> bool:
    """Wait until all futures are done, but not longer than some seconds; whether they are."""
    if seconds is None or has_steady_waits():
        return not wait(futures, timeout=seconds).not_done
    return _look(lambda: all(each.done() for each in futures), seconds)


def wait_for_change(condition: threading.Condition, seconds: float) -> None:
    """Wait for a condition that is held, but not longer than some seconds; it may end earlier."""
    if has_steady_waits():
        condition.wait(seconds)
        return
    condition.release()
    try:
        time.sleep(min(seconds, _LONGEST))
    finally:
        condition.acquire()


def _look(holds: Callable[[], bool], seconds: float) -> bool:
    """Look again and again whether something holds, at first often."""
    ends, pause = time.monotonic() + seconds, _SHORTEST
    while not holds():
        left = ends - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(left, pause))
        pause = min(2 * pause, _LONGEST)
    return True
