"""How likely a mapping is fresh, and how accurate an answer made of mappings is.

Three ways to foretell a change of a value that was right some time d ago and changes once in a
time I, as far as is known:

* by the clock: changes come at the best-before times, so it is fresh until the first of them;
* at an unknown phase: changes come once in I, but when is not known, so it is fresh with
  probability 1 - d/I, and not after I;
* without memory: changes come by chance, so it is fresh with probability e^(-d/I).

Which of them is right depends on the data. Each refresh shows what had become of a mapping; a way
that had foretold it gains, and later refreshes count more. The probability is the mean of the
three, by how far they have been right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from headrace.freshness.scores import Flags, Floats, Ints, renewed

_DOUBT: Final = 0.02
"""No way to foretell changes is ever certain, so that none is ever ruled out."""
_KEEP: Final = 0.99


def fresh_until(best_before: Ints, interval: Ints, refreshed: Ints) -> Ints:
    """The first of the expected times of change after a mapping was asked for.

    >>> fresh_until(np.array([0, 11]), np.array([7, 5]), np.array([0, 8])).tolist()
    [7, 11]
    """
    return np.where(best_before > refreshed, best_before, renewed(best_before, interval, refreshed))


@dataclass(frozen=True, slots=True)
class Beliefs:
    """How far each way to foretell changes has been right: sums of log-likelihoods."""

    clock: float = 0.0
    phase: float = 0.0
    memoryless: float = 0.0

    def weights(self) -> Floats:
        """What each way counts for; together they are 1."""
        logs = np.array([self.clock, self.phase, self.memoryless])
        shares = np.exp(logs - logs.max())
        return np.asarray(shares / shares.sum())

    def fresh(self, by_clock: Flags, interval: Ints, elapsed: Ints) -> Floats:
        """How likely each of some mappings is fresh.

        Args:
            by_clock: whether its expected time of change is still to come.
            interval: the time between its changes.
            elapsed: how long ago it was asked for.
        """
        return np.asarray(self.weights() @ _ways(by_clock, interval, elapsed))

    def after(self, by_clock: Flags, interval: Ints, elapsed: Ints, changed: Flags) -> Beliefs:
        """What is believed after refreshes that have shown whether each mapping had changed."""
        fresh = _ways(by_clock, interval, elapsed)
        logs = np.log(np.where(changed, 1 - fresh, fresh)).sum(axis=1)
        kept = _KEEP**changed.size
        clock, phase, memoryless = kept * np.array([self.clock, self.phase, self.memoryless]) + logs
        return Beliefs(float(clock), float(phase), float(memoryless))


def _ways(by_clock: Flags, interval: Ints, elapsed: Ints) -> Floats:
    share = elapsed / interval
    found = np.vstack([by_clock.astype(np.float64), 1.0 - share, np.exp(-share)])
    return np.asarray(np.clip(found, _DOUBT, 1 - _DOUBT))


def estimated(fresh: Floats) -> float:
    """The accuracy of an answer, from how likely each of its rows is right; 1 if it is empty.

    >>> estimated(np.array([1.0, 0.5]))
    0.75
    """
    return float(fresh.mean()) if fresh.size else 1.0
