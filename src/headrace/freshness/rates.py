"""How often each mapping changes, learned from what refreshes find.

A refresh tells only whether the value is another one, not how often it has changed since. If
changes come at a rate r, a value that is another one after a time d has changed on average r*d / (1
- e^(-r*d)) times, and one that is the same has not. So each refresh adds such a number of changes
to what is known of its mapping, and the time it covers; earlier refreshes count less and less, so
that the rate follows one that drifts. What is known of all mappings together stands for as many
refreshes of each as `trust` says, and so decides while little is known of one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headrace.errors import SettingError
from headrace.freshness.scores import NEVER_CHANGES, Flags, Floats, Ints

_SMALL = 1e-9


@dataclass(frozen=True, slots=True)
class Learning:
    """How rates are learned.

    Attributes:
        keep: what is left of an earlier refresh after each later one, from 0 to 1.
        trust: how many refreshes the expected rate counts for.
    """

    keep: float = 0.8
    trust: float = 2.0

    def __post_init__(self) -> None:
        """Refuse what would never learn, or divide by nothing."""
        if not 0 <= self.keep < 1:
            raise SettingError(f"expected keep from 0 to below 1, found {self.keep}")
        if self.trust <= 0:
            raise SettingError(f"expected a positive trust, found {self.trust}")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What refreshes have shown of some mappings.

    Attributes:
        changes: how many changes, later refreshes counting more.
        time: over how long, likewise.
    """

    changes: Floats
    time: Floats

    @classmethod
    def none(cls, number: int) -> Evidence:
        """Nothing has been refreshed yet."""
        return cls(np.zeros(number), np.zeros(number))

    def at(self, places: Ints) -> Evidence:
        """What is known of some of the mappings."""
        return Evidence(self.changes[places], self.time[places])


def expected_changes(rate: Floats, elapsed: Ints) -> Floats:
    """How often a value has changed that is another one after some time.

    >>> expected_changes(np.array([0.0, 0.5]), np.array([10, 10])).round(2).tolist()
    [1.0, 5.03]
    """
    mean = rate * elapsed
    safe = np.maximum(mean, _SMALL)
    return np.where(mean < _SMALL, 1.0, safe / -np.expm1(-safe))


@dataclass(frozen=True, slots=True)
class Refreshes:
    """What a refresh of each of some mappings has shown.

    Attributes:
        interval: the mean time between changes, as it was believed.
        elapsed: how long ago the refresh before was.
        ticks: at how many of the expected times of change it has been since.
        changed: whether the value is another one.
    """

    interval: Ints
    elapsed: Ints
    ticks: Ints
    changed: Flags

    def at(self, places: Flags) -> Refreshes:
        """Those of some of the mappings."""
        return Refreshes(
            self.interval[places], self.elapsed[places], self.ticks[places], self.changed[places]
        )


def learned(evidence: Evidence, seen: Refreshes, clock: float, learning: Learning) -> Evidence:
    """What is known after a refresh of each of some mappings.

    Args:
        evidence: what was known.
        seen: what the refreshes have shown.
        clock: how far changes are believed to come at the times they are expected at, from 0 to 1.
            A value that is as the clock foretold then says that the clock is right.
        learning: how earlier refreshes count.
    """
    by_chance = np.where(seen.changed, expected_changes(1.0 / seen.interval, seen.elapsed), 0.0)
    share = np.where((seen.ticks > 0) == seen.changed, clock, 0.0)
    changes = share * seen.ticks + (1 - share) * by_chance
    time = share * seen.ticks * seen.interval + (1 - share) * seen.elapsed
    kept = learning.keep
    return Evidence(kept * evidence.changes + changes, kept * evidence.time + time)


def intervals(evidence: Evidence, expected: Ints, learning: Learning) -> Ints:
    """The mean time between changes of each mapping.

    Args:
        evidence: what refreshes have shown.
        expected: what is believed of each without them.
        learning: what that counts for.
    """
    rate = (evidence.changes + learning.trust) / (evidence.time + learning.trust * expected)
    return np.clip(np.rint(1.0 / np.maximum(rate, 1.0 / NEVER_CHANGES)), 1, NEVER_CHANGES).astype(
        np.int64
    )


def pooled(evidence: Evidence, expected: int, learning: Learning) -> int:
    """The mean time between changes of all mappings together, from what was expected at first."""
    return int(
        intervals(
            Evidence(evidence.changes.sum(keepdims=True), evidence.time.sum(keepdims=True)),
            np.array([expected]),
            learning,
        )[0]
    )
