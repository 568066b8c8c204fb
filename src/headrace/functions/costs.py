"""What conditions that may be dear have cost, what they let pass, and what joins made of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from headrace.algebra.expressions import Expression

_SHARE_OF_NEW: Final = 0.3
_SHARE_OF_SLOWER: Final = 0.1
_FIRST_GUESS: Final = 2e-6
FIXED: Final = 1.5e-3
"""Seconds that a test takes whatever it is about."""
_FORGOTTEN: Final = 0.02
"""How much less sure it is each time that solutions have partners, if nobody looks."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What is known of a condition.

    Attributes:
        seconds: how long one distinct input takes.
        passes: the share of solutions that it lets pass.
        met: the share of solutions that have partners in joins that come after it.
        fan: how many solutions one has become in the joins of its own group.
    """

    seconds: float = _FIRST_GUESS
    passes: float = 0.5
    met: float = 0.5
    fan: float = 1.0

    def of(self, inputs: int) -> float:
        """What a test of so many distinct inputs takes, in seconds."""
        return FIXED + inputs * self.seconds


@dataclass
class Costs:
    """What was seen of each condition, the latest most of all. No answer depends on it."""

    _seen: dict[Expression, Cost] = field(default_factory=dict)
    _tested: set[Expression] = field(default_factory=set)

    def of(self, condition: Expression) -> Cost:
        """What a condition is expected to cost."""
        return self._seen.get(condition, Cost())

    def saw(self, condition: Expression, inputs: int, seconds: float, passes: float) -> None:
        """Take note of what a condition has cost for so many distinct inputs."""
        if not inputs:
            return
        before, each = self.of(condition), max(seconds - FIXED, 0.0) / inputs
        known = condition in self._tested
        self._tested.add(condition)
        share = _SHARE_OF_NEW if known else 1.0
        # What takes longer than before may be due to whatever else the machine does.
        slower = _SHARE_OF_SLOWER if known and each > before.seconds else 1.0
        self._seen[condition] = replace(
            before,
            seconds=before.seconds + slower * (each - before.seconds),
            passes=before.passes + share * (passes - before.passes),
        )

    def met(self, condition: Expression, share: float) -> None:
        """Take note of how many solutions had partners, of those that there were."""
        self._seen[condition] = replace(self.of(condition), met=share)

    def not_looked(self, condition: Expression) -> None:
        """Take note that nobody looked whether solutions had partners: one will, by and by."""
        before = self.of(condition)
        self._seen[condition] = replace(before, met=max(before.met - _FORGOTTEN, 0.0))

    def grew(self, condition: Expression, fan: float) -> None:
        """Take note of how many solutions one has become."""
        self._seen[condition] = replace(self.of(condition), fan=fan)
