"""Why the deployment of a server cannot go on, and how often the log of the server says so."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from typing import Final

from headrace.errors import HeadraceError, MachineError, UnwritableError, counted

LOGGER: Final = logging.getLogger("headrace.serve")
STARTING: Final = "starting"
"""The problem of a deployment that has not been at work yet."""
_FIRST_INTERVAL: Final = 60.0
_LONGEST_INTERVAL: Final = 3_600.0
_MOST_REASONS: Final = 20
_NAMES: Final = re.compile(r"[0-9a-f]*[0-9][0-9a-f]*")
"""Numbers and names of files that differ from attempt to attempt."""


class StalledError(MachineError):
    """A change is refused because the deployment stands still, which is logged already."""


class StallReporter:
    """The reason for which a deployment stands still, from the first failure to the next success.

    Each reason is logged once, and again after a minute, two, four and so on, at most an hour.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin with a deployment that is starting.

        Args:
            clock: seconds.
        """
        self.problem: str | None = STARTING
        self._clock = clock
        self._since: float | None = None
        self._failures = 0
        self._reasons: set[str] = set()
        self._interval = _FIRST_INTERVAL
        self._next = 0.0

    @property
    def seconds(self) -> float:
        """The seconds since the first failure; 0 if the deployment goes on."""
        return 0.0 if self._since is None else self._clock() - self._since

    def fail(self, error: Exception) -> None:
        """Take the reason of a failure, and log it if it is new or due again."""
        now = self._clock()
        if self._since is None:
            self._since = now
        self._failures += 1
        self.problem = reason_of(error)
        reason = _NAMES.sub("#", self.problem)
        is_new = reason not in self._reasons and len(self._reasons) < _MOST_REASONS
        if not is_new and now < self._next:
            return
        if is_new:
            self._reasons.add(reason)
        else:
            self._interval = min(2 * self._interval, _LONGEST_INTERVAL)
        self._next = now + self._interval
        attempts = "" if self._failures == 1 else f" ({counted(self._failures, 'attempt')})"
        trace = None if isinstance(error, HeadraceError | OSError) else error
        said = "the deployment cannot go on and is tried again%s: %s"
        LOGGER.error(said, attempts, self.problem, exc_info=trace)

    def clear(self) -> None:
        """Take a success; after a failure it is logged."""
        if self._since is not None:
            LOGGER.warning("the deployment goes on after %.0f seconds", self.seconds)
        self.problem = self._since = None
        self._failures = 0
        self._reasons.clear()
        self._interval = _FIRST_INTERVAL


def reason_of(error: Exception) -> str:
    """Write why a deployment cannot go on, and the remedy.

    >>> reason_of(ZeroDivisionError("division by zero"))
    'ZeroDivisionError: division by zero; please report it: the log of the server says where'
    """
    match error:
        case UnwritableError():
            return f"{error}, and the server goes on by itself"
        case HeadraceError():
            return str(error)
        case OSError(strerror=str(strerror), filename=filename) if filename is not None:
            return f"{filename}: {strerror}; put that right, and the server goes on by itself"
        case _:
            said = f"{type(error).__name__}: {error}"
            return f"{said}; please report it: the log of the server says where"
