"""What is known of each mapping of a local view besides its value: columns that grow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from headrace.freshness.accuracy import Beliefs, fresh_until
from headrace.freshness.election import Candidates
from headrace.freshness.rates import Evidence, Learning, Refreshes, intervals, learned, pooled
from headrace.freshness.scores import Flags, Floats, Ints, renewed

_FALL, _RISE = 0.7, 1.01
_LEAST_PATIENCE: Final = 0.2


@dataclass(slots=True)
class LocalView:
    """The times of a view's mappings, which are numbered as they are added.

    Attributes:
        identity: what tells each mapping from any other.
        best_before: until when each is expected to be fresh.
        refreshed: when each was asked for last.
        declared: the time between changes that somebody has declared, or 0.
        evidence: what refreshes have shown.
        expected: the time between changes where nothing is known at all.
        learning: how rates are learned; None believes what is declared, or expected, forever.
        beliefs: how far the ways to foretell changes have been right.
        patience: where changes come by chance, the share of the time between them after which a
            mapping may be stale; it falls while there is budget to spare.
    """

    expected: int
    learning: Learning | None = field(default_factory=Learning)
    identity: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    best_before: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    refreshed: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    declared: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    evidence: Evidence = field(default_factory=lambda: Evidence.none(0))
    beliefs: Beliefs = field(default_factory=Beliefs)
    patience: float = 1.0

    def __len__(self) -> int:
        """How many mappings there are."""
        return int(self.identity.size)

    def add(self, identity: Ints, now: int, declared: Ints | None = None) -> None:
        """Take in mappings that have just been asked for: their best-before time is now.

        Args:
            identity: of each.
            now: when they were asked for.
            declared: the time between changes of each; 0 where nobody has declared it.
        """
        number = identity.size
        times = np.full(number, now, np.int64)
        self.identity = np.concatenate([self.identity, identity])
        self.best_before = np.concatenate([self.best_before, times])
        self.refreshed = np.concatenate([self.refreshed, times])
        known = np.zeros(number, np.int64) if declared is None else declared
        self.declared = np.concatenate([self.declared, known])
        none = np.zeros(number)
        self.evidence = Evidence(
            np.concatenate([self.evidence.changes, none]),
            np.concatenate([self.evidence.time, none]),
        )

    def keep(self, places: Ints) -> None:
        """Forget all mappings but some, which are numbered anew."""
        self.identity = self.identity[places]
        self.best_before = self.best_before[places]
        self.refreshed = self.refreshed[places]
        self.declared = self.declared[places]
        self.evidence = self.evidence.at(places)

    def interval(self, places: Ints) -> Ints:
        """The time between changes of some mappings, as it is believed now."""
        declared = self.declared[places]
        if self.learning is None:
            return np.where(declared > 0, declared, self.expected)
        common = pooled(self.evidence, self.expected, self.learning)
        expected = np.where(declared > 0, declared, common)
        return intervals(self.evidence.at(places), expected, self.learning)

    @property
    def by_clock(self) -> bool:
        """Whether changes are taken to come at the times they are expected at.

        They are until another way to foretell them has been right more often.
        """
        return self.learning is None or int(np.argmax(self.beliefs.weights())) == 0

    def horizon(self, places: Ints) -> Ints:
        """How long some mappings are expected to be fresh once they are refreshed.

        If changes come by the clock that is the time between them. If not, it is shorter while
        there is budget to spare.
        """
        interval = self.interval(places)
        if self.by_clock:
            return interval
        shorter: Ints = np.maximum(1, np.rint(self.patience * interval)).astype(np.int64)
        return shorter

    def due(self, places: Ints) -> Ints:
        """The best-before times of some mappings."""
        if self.by_clock:
            return self.best_before[places]
        return self.refreshed[places] + self.horizon(places)

    def spared(self, unused: bool) -> None:
        """Take note of whether an election has left some of its budget unused."""
        patience = self.patience * (_FALL if unused else _RISE)
        self.patience = min(1.0, max(_LEAST_PATIENCE, patience))

    def candidates(self, places: Ints, entered: Ints, weight: Ints | None = None) -> Candidates:
        """Some mappings, as candidates to be refreshed."""
        return Candidates(
            self.identity[places],
            self.due(places),
            self.horizon(places),
            self.refreshed[places],
            entered,
            np.ones(places.size, np.int64) if weight is None else weight,
        )

    def refresh(self, places: Ints, changed: Flags, now: int) -> None:
        """Take note that some mappings have been asked for again.

        Args:
            places: which; none twice.
            changed: whether their values are other ones.
            now: when.
        """
        believed, before = self.interval(places), self.refreshed[places]
        first = fresh_until(self.best_before[places], believed, before)
        ticks = np.where(now < first, 0, (now - first) // believed + 1)
        later = now > before  # asked again at the same time says nothing of changes
        seen = Refreshes(believed, now - before, ticks, changed).at(later)
        if self.learning is not None:
            some, clock = places[later], float(self.beliefs.weights()[0])
            shown = learned(self.evidence.at(some), seen, clock, self.learning)
            self.evidence.changes[some], self.evidence.time[some] = shown.changes, shown.time
        self.beliefs = self.beliefs.after(
            seen.ticks == 0, seen.interval, seen.elapsed, seen.changed
        )
        self.best_before[places] = renewed(self.due(places), self.horizon(places), now)
        self.refreshed[places] = now

    def probably_fresh(self, places: Ints, now: int) -> Floats:
        """How likely the value of each of some mappings is still the endpoint's."""
        interval, refreshed = self.interval(places), self.refreshed[places]
        by_clock = now < fresh_until(self.best_before[places], interval, refreshed)
        chances = self.beliefs.fresh(by_clock, interval, now - refreshed)
        return np.where(refreshed >= now, 1.0, chances)
