"""What conditions that may be dear have cost, what they let pass, and what joins made of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from headrace.algebra.expressions import Expression

_SHARE_OF_NEW: Final = 0.3
_SHARE_OF_SLOWER: Final = 0.1
_FEW: Final = 4
_FIRST_GUESS: Final = 2e-6
_FIXED_AT_MOST: Final = 4e-4
"""Seconds that a test may take whatever it is about; it is the least that one has taken."""
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


@dataclass
class Costs:
    """What was seen of each condition, the latest most of all. No answer depends on it."""

    _seen: dict[Expression, Cost] = field(default_factory=dict)
    _least: dict[Expression, float] = field(default_factory=dict)
    _most: dict[Expression, int] = field(default_factory=dict)

    def of(self, condition: Expression) -> Cost:
        """What a condition is expected to cost."""
        return self._seen.get(condition, Cost())

    def saw(self, condition: Expression, inputs: int, seconds: float, passes: float) -> None:
        """Take note of what a condition has cost for so many distinct inputs."""
        if not inputs:
            return
        known = condition in self._least
        fixed = min(self._least.get(condition, _FIXED_AT_MOST), seconds)
        self._least[condition] = fixed
        before, each = self.of(condition), (seconds - fixed) / inputs
        most = self._most[condition] = max(inputs, self._most.get(condition, 0))
        # Of a few solutions any part may pass.
        share = _SHARE_OF_NEW * inputs / most if known else 1.0
        # What takes longer than before may be due to whatever else the machine does.
        weight = _SHARE_OF_SLOWER if known and each > before.seconds else 1.0
        if _FEW * inputs < most:
            weight = 0.0  # and so few tell nothing
        self._seen[condition] = replace(
            before,
            seconds=before.seconds + weight * (each - before.seconds),
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
