"""When conditions that may be dear are tested: before a join, which they make smaller, or after it.

Before, every solution is tested; after, only those that found a partner, but what was joined in
vain was joined. What either would cost follows from how many solutions there are, from what their
partners are in a sample, and from what the condition has cost and let pass until now.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Final

import polars as pl

from headrace.algebra.expressions import Expression
from headrace.algebra.scope import mentioned
from headrace.functions.costs import Costs
from headrace.kernel.columns import column
from headrace.kernel.solutions import Solutions

_JOINED: Final = 60e-9
"""Seconds that a joined row takes, and to find it again among equal ones."""
_CHEAP: Final = 5e-3
"""What takes less is not worth a look at what else could be done."""
_SAMPLE: Final = 500


@dataclass
class Waiting:
    """Conditions that have not been tested yet.

    Attributes:
        conditions: those.
        costs: what they have cost before.
        test: where each is true.
    """

    conditions: tuple[Expression, ...]
    costs: Costs
    test: Callable[[Expression, Solutions], pl.Series]

    def tested(self, found: Solutions, others: Sequence[Solutions]) -> Solutions:
        """Solutions, of which conditions were tested unless that is better done after a join."""
        for condition in self.conditions:
            if self._is_about(condition, found) and self._now(condition, found, others):
                found = self._filtered(condition, found)
        return found

    def all_tested(self, found: Solutions) -> Solutions:
        """Solutions of which every condition was tested that has not been before."""
        for condition in self.conditions:
            found = self._filtered(condition, found)
        return found

    def _is_about(self, condition: Expression, found: Solutions) -> bool:
        names = [column(variable) for variable in mentioned(condition)]
        return bool(names) and all(
            name in found.frame.columns and not found.frame[name].has_nulls() for name in names
        )

    def _filtered(self, condition: Expression, found: Solutions) -> Solutions:
        self.conditions = tuple(each for each in self.conditions if each != condition)
        began = perf_counter()
        kept = found.filtered(self.test(condition, found))
        seconds = perf_counter() - began
        if found.height:
            # To count them may take longer than what is cheap.
            inputs = found.height if seconds < _CHEAP else self._inputs(condition, found)
            self.costs.saw(condition, inputs, seconds, kept.height / found.height)
        return kept

    def _inputs(self, condition: Expression, found: Solutions) -> int:
        """How many distinct inputs a condition has."""
        names = [column(variable) for variable in mentioned(condition)]
        present = [name for name in names if name in found.frame.columns]
        return found.frame.select(present).n_unique() if present else 1

    def _now(self, condition: Expression, found: Solutions, others: Sequence[Solutions]) -> bool:
        """Whether to test a condition before joining with others costs less than after it."""
        cost = self.costs.of(condition)
        if found.height * cost.seconds < _CHEAP or not others:
            return True
        inputs = self._inputs(condition, found)
        met, rows = 1.0, float(found.height)
        for other in others:
            share, fan = _partners(found, other)
            met, rows = met * share, rows * fan
        before = inputs * cost.seconds + cost.passes * rows * _JOINED
        after = rows * _JOINED + min(inputs * met, rows) * cost.seconds
        return before <= after


def _partners(found: Solutions, other: Solutions) -> tuple[float, float]:
    """The share of solutions that have a partner, and how many one has, by a sample."""
    shared = [name for name in found.names if name in other.frame.columns]
    if not shared:
        return 1.0, 1.0  # it is joined with by way of another
    on = [*(found.key if found.keyed and other.keyed else []), *shared]
    step = max(1, found.height // _SAMPLE)
    sample = found.frame.select(on).gather_every(step)
    partners = sample.with_row_index("row").join(other.frame.select(on), on=on, how="inner")
    height = max(sample.height, 1)
    return partners["row"].n_unique() / height, partners.height / height
