"""How many requests fit into the time that an evaluation may take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor
from typing import Any, Final

from headrace.kernel.fetching import Reply

_NEW: Final = 0.25
"""How much the latest request or evaluation counts."""
_CAUTION: Final = 2.0
"""So many mean deviations longer than the mean a request is expected to take."""
_PLENTY: Final = 10.0
"""So many requests one after the other must fit for another round of them."""
_LONGER: Final = 4.0
"""The same of what an evaluation takes besides."""
_UNKNOWN: Final = 0.25
"""What share of its time an evaluation is taken to need, while nothing is known."""
_SLACK: Final = 0.05
"""What share of its time is for whatever comes before and after."""
_TRY_AGAIN: Final = 8
"""After so many evaluations in which no request fitted, one is tried all the same."""


@dataclass(slots=True)
class Pacing:
    """What requests and evaluations have taken: equation 2 of the paper, as it is measured.

    Attributes:
        mean: seconds of a request; None if none was answered yet.
        deviation: how far single ones are from it.
        batch: how many mappings a request asks for.
        own: seconds that an evaluation takes besides its requests; None before the first.
        spread: how far single ones are from it.
        starved: in how many evaluations on end no request fitted.
    """

    mean: float | None = None
    deviation: float = 0.0
    batch: int = 1
    own: float | None = None
    spread: float = 0.0
    starved: int = 0
    began: float = 0.0

    def begin(self, now: float, spent: float = 0.0) -> None:
        """An evaluation turns to an endpoint, and has spent some seconds on others before."""
        self.began = now - spent

    def evaluated(self, own: float) -> None:
        """It is over, and has taken so many seconds besides its requests."""
        own = max(0.0, own)
        if self.own is None:
            self.own, self.spread = own, own / 2
        else:
            away = own - self.own
            self.own += _NEW * away
            self.spread += _NEW * (abs(away) - self.spread)

    def left(self, within: float, now: float) -> float:
        """Seconds that are left for requests.

        What an evaluation takes besides is kept for it, and more than it takes on average, because
        it is the longest that must be in time.

        >>> round(Pacing(own=0.01, spread=0.005).left(0.2, 0.0), 3)
        0.16
        """
        reserved = _UNKNOWN * within if self.own is None else self.own + _LONGER * self.spread
        return max(0.0, within * (1 - _SLACK) - reserved - (now - self.began))

    def saw(self, reply: Reply) -> None:
        """Learn how long requests take; one that was given up took at least that long."""
        self.batch = reply.batch
        self.saw_seconds(reply.seconds)

    def saw_seconds(self, taken: Sequence[float]) -> None:
        """Learn from how long some requests took."""
        for seconds in taken:
            if self.mean is None:
                self.mean, self.deviation = seconds, seconds / 2
            else:
                away = seconds - self.mean
                self.mean += _NEW * away
                self.deviation += _NEW * (abs(away) - self.deviation)

    def budget(self, left: float, lanes: int) -> int:
        """Compute the number of mappings that can be requested in the time left.

        >>> Pacing(mean=0.05, batch=1).budget(0.2, lanes=2)
        8
        """
        if left <= 0:
            self.starved += 1
            return 0
        if self.mean is None:
            return lanes * self.batch
        expected = max(1e-6, self.mean + _CAUTION * self.deviation)
        rounds = floor(left / expected + 1e-9)
        if rounds:
            self.starved = 0
            return rounds * lanes * self.batch
        if self.mean <= left:  # it probably fits, and tells more of how long requests take
            self.starved = 0
            return 1
        self.starved += 1
        if self.starved < _TRY_AGAIN:
            return 0
        self.starved = 0
        return 1

    def has_time(self, left: float) -> bool:
        """Whether there is time enough for another round of requests, whatever they take.

        >>> Pacing(mean=0.05, deviation=0.01).has_time(0.2), Pacing().has_time(0.2)
        (False, False)
        """
        return self.mean is not None and left > _PLENTY * (self.mean + _CAUTION * self.deviation)

    def state(self) -> dict[str, Any]:
        """What another process needs to go on."""
        return {
            "mean": self.mean,
            "deviation": self.deviation,
            "batch": self.batch,
            "own": self.own,
            "spread": self.spread,
            "starved": self.starved,
        }

    @classmethod
    def recalled(cls, state: Mapping[str, Any]) -> Pacing:
        """What another process has known."""
        return cls(
            state["mean"],
            state["deviation"],
            state["batch"],
            state["own"],
            state.get("spread", 0.0),
            state["starved"],
        )
