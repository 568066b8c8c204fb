"""Whether an endpoint that has failed is asked again yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

PATIENCE: Final = 3
"""After so many failures on end, an endpoint is left alone for a while."""


@dataclass(slots=True)
class Breaker:
    """Leaves an endpoint alone that keeps failing; then one request tries whether it is back.

    Attributes:
        first: seconds that it is left alone for at first; each time twice as long.
        longest: seconds at most, unless the endpoint asks for more.
        failures: how often it has failed on end.
        until: when it is asked again.
        problem: what was wrong last.
    """

    first: float = 0.2
    longest: float = 5.0
    failures: int = 0
    until: float = 0.0
    problem: str = ""

    @property
    def probes(self) -> bool:
        """Whether the next request only tries whether the endpoint is back."""
        return self.failures >= PATIENCE

    def refuses(self, now: float) -> str | None:
        """Why the endpoint is not asked now; None if it is.

        >>> breaker = Breaker()
        >>> for moment in range(3):
        ...     breaker.failed(moment, "it is down")
        >>> breaker.refuses(2.1)
        'it is down; not asked again yet'
        >>> breaker.refuses(2.3) is None and breaker.probes
        True
        """
        if now < self.until:
            return f"{self.problem}; not asked again yet"
        return None

    def failed(self, now: float, problem: str, wait: float = 0.0) -> None:
        """Take note of a failure, and of how long the endpoint asks to be left alone."""
        self.failures += 1
        self.problem = problem
        pause = 0.0
        if self.probes:
            pause = min(self.longest, self.first * 2.0 ** min(self.failures - PATIENCE, 60))
        self.until = now + max(pause, wait)

    def worked(self) -> None:
        """It has answered."""
        self.failures, self.until, self.problem = 0, 0.0, ""
