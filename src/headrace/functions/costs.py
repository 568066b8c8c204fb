"""What conditions that may be dear have cost, and how many solutions they have let pass."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from headrace.algebra.expressions import Expression

_SHARE_OF_NEW: Final = 0.3
_FIRST_GUESS: Final = 2e-6


@dataclass(frozen=True, slots=True)
class Cost:
    """What is known of a condition.

    Attributes:
        seconds: how long one distinct input takes.
        passes: the share of solutions that it lets pass.
    """

    seconds: float = _FIRST_GUESS
    passes: float = 0.5


@dataclass
class Costs:
    """What was seen of each condition, the latest most of all. No answer depends on it."""

    _seen: dict[Expression, Cost] = field(default_factory=dict)

    def of(self, condition: Expression) -> Cost:
        """What a condition is expected to cost."""
        return self._seen.get(condition, Cost())

    def saw(self, condition: Expression, inputs: int, seconds: float, passes: float) -> None:
        """Take note of what a condition has cost for so many distinct inputs."""
        if not inputs:
            return
        new = Cost(seconds / inputs, passes)
        before = self._seen.get(condition)
        if before is not None:
            new = Cost(
                before.seconds + _SHARE_OF_NEW * (new.seconds - before.seconds),
                before.passes + _SHARE_OF_NEW * (new.passes - before.passes),
            )
        self._seen[condition] = new
