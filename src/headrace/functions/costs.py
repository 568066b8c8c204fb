"""What conditions that may be dear have cost, what they let pass, and what joins made of it."""

from __future__ import annotations

from collections.abc import Callable
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
_DOUBTED: Final = 0.02
_DOUBTED_AT_FIRST: Final = 0.1
"""How much trust is lost with each evaluation; a first test may be slow for other reasons."""
_COUNTED_AGAIN: Final = 16
_ALIKE: Final = 1.25
"""Distinct inputs are counted after so many tests, or where there are so many times the rows."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What is known of a condition.

    Attributes:
        seconds: how long one distinct input takes.
        passes: the share of solutions that it lets pass.
        met: the share of solutions that have partners in joins that come after it.
        fan: how many solutions one has become in the joins of its own group.
        trust: in what was seen of it; by and by, what others are preferred to is tried again.
    """

    seconds: float = _FIRST_GUESS
    passes: float = 0.5
    met: float = 0.5
    fan: float = 1.0
    trust: float = 1.0


@dataclass(frozen=True, slots=True)
class _Counted:
    """How many distinct inputs so many rows had, and how often that was made use of."""

    rows: int
    inputs: int
    used: int = 0


@dataclass
class Costs:
    """What was seen of each condition, the latest most of all. No answer depends on it."""

    _seen: dict[Expression, Cost] = field(default_factory=dict)
    _least: dict[Expression, float] = field(default_factory=dict)
    _most: dict[Expression, int] = field(default_factory=dict)
    _tests: dict[Expression, int] = field(default_factory=dict)
    _counted: dict[Expression, _Counted] = field(default_factory=dict)

    def of(self, condition: Expression) -> Cost:
        """What a condition is expected to cost."""
        return self._seen.get(condition, Cost())

    def inputs(self, condition: Expression, rows: int, count: Callable[[], int]) -> int:
        """How many distinct inputs a condition has in so many rows; they are counted seldom."""
        known = self._counted.get(condition)
        if known is None or known.used == _COUNTED_AGAIN or not _are_alike(rows, known.rows):
            known = _Counted(rows, count())
        self._counted[condition] = replace(known, used=known.used + 1)
        return max(1, round(known.inputs * rows / known.rows))

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
            self.not_tested(condition)
        else:
            self._tests[condition] = self._tests.get(condition, 0) + 1
        self._seen[condition] = replace(
            before,
            seconds=before.seconds + weight * (each - before.seconds),
            passes=before.passes + share * (passes - before.passes),
            trust=1.0 if weight else self.of(condition).trust,
        )

    def not_tested(self, condition: Expression) -> None:
        """Take note that others have left nothing of a condition to be tested."""
        before = self.of(condition)
        lost = _DOUBTED if self._tests.get(condition, 0) > 1 else _DOUBTED_AT_FIRST
        self._seen[condition] = replace(before, trust=before.trust * (1 - lost))

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


def _are_alike(rows: int, others: int) -> bool:
    return max(rows, others) <= _ALIKE * min(rows, others)
