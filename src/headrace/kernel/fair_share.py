"""Fair shares of a live batch: which queries it evaluates, and which wait for the next one.

Cheap queries are evaluated first. Once the time of a batch is used up, the other queries wait, so
that one expensive query, or many of them, do not delay the answers of all. As a batch is committed
as a whole, every second batch evaluates cheap queries only: their answers do not wait for the end
of an expensive evaluation. In each of the others the query that has waited longest is evaluated.
Nothing here reads a clock: a caller passes one in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from typing import Final

from headrace.kernel.slices import MOST_INSTANTS
from headrace.kernel.standing import Standing

_FIRST_INSTANTS: Final = 1_000
"""The first slice of a query has at most so many instants."""
_GROWTH: Final = 8
"""A slice has at most so many times the instants of the largest slice before it."""
_DECAY: Final = 2
"""The expected cost of a query that takes less than before is divided by this."""
_SPARE: Final = 1_000
"""The costs of so many removed queries are remembered at most."""
Unit = Sequence[Standing]
"""Queries that are evaluated in the same batch, in this order."""


class FairShare:
    """The time that each query takes, and the queries that wait."""

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        """Begin without knowing any query.

        Args:
            seconds: how long a batch evaluates queries before the others wait.
            clock: returns seconds, and never goes back.
        """
        self.seconds = seconds
        self._clock = clock
        self._began = clock()
        self._costs: dict[str, float] = {}
        self._instants: dict[str, int] = {}
        self._waited: dict[str, int] = {}
        self._idle: set[str] = set()
        self._is_for_cheap = False

    def begin(self) -> None:
        """Begin the evaluations of a batch."""
        self._began = self._clock()
        self._is_for_cheap = not self._is_for_cheap

    @property
    def is_used_up(self) -> bool:
        """Test whether the batch is to be committed, after cheap queries or for want of time."""
        return self._is_for_cheap or self._is_late

    @property
    def _is_late(self) -> bool:
        return self._clock() - self._began > self.seconds

    def turns(self, units: Sequence[Unit]) -> Iterator[tuple[Unit, bool]]:
        """Yield units in the order of evaluation, with whether each waits for the next batch.

        Whether a unit waits is decided when it is reached: the time of those before it counts.
        """
        self._forget_removed(units)
        in_order = sorted(units, key=self._rank)
        self._is_for_cheap = self._is_for_cheap and self._has_both(in_order)
        next_in_turn = max(units, key=self._waits, default=None)
        has_turn = not self._is_for_cheap
        waiting: list[Unit] = []
        for unit in in_order:
            is_cheap = self._is_cheap(unit)
            if self._is_late or (self._is_for_cheap and not is_cheap):
                waiting.append(unit)
                continue
            has_turn = has_turn and is_cheap
            yield self._admit(unit)
        if has_turn and next_in_turn in waiting and self._waits(next_in_turn):
            waiting.remove(next_in_turn)
            yield self._admit(next_in_turn)
        for unit in waiting:
            self._waited[unit[0].name] = self._waits(unit) + 1
            yield unit, True

    @contextmanager
    def measure(self, query: Standing, number: int) -> Iterator[None]:
        """Measure the evaluation of a query, and adapt the size of its next slice to it.

        Args:
            query: the query.
            number: how many instants are evaluated.
        """
        began = self._clock()
        try:
            yield
        finally:
            took = self._clock() - began
            self._idle.discard(query.name)
            self._costs[query.name] = max(took, self._costs.get(query.name, 0.0) / _DECAY)
            self._instants[query.name] = self._fitting(query, number, took)

    def note_idle(self, query: Standing) -> None:
        """Take note that nothing of a query was due."""
        if query.name not in self._costs:
            self._idle.add(query.name)

    def most_instants(self, query: Standing) -> int:
        """Return how many instants of a query are evaluated in a slice."""
        return self._instants.get(query.name, _FIRST_INSTANTS)

    def _fitting(self, query: Standing, number: int, took: float) -> int:
        """Compute how many instants the next slice may have: fewer if the last one took too long.

        A slice that was quick and not full says nothing about more instants.
        """
        if took > self.seconds:
            return max(int(number * self.seconds / took), 1)
        allowed = self.most_instants(query)
        if number < allowed:
            return allowed
        return min(int(number * min(_GROWTH, self.seconds / max(took, 1e-9))), MOST_INSTANTS)

    def _is_cheap(self, unit: Unit) -> bool:
        return self._rank(unit)[0] == 0

    def _has_both(self, in_order: Sequence[Unit]) -> bool:
        """Test whether there are cheap queries, and others."""
        return bool(in_order) and self._is_cheap(in_order[0]) and not self._is_cheap(in_order[-1])

    def _admit(self, unit: Unit) -> tuple[Unit, bool]:
        self._waited.pop(unit[0].name, None)
        return unit, False

    def _waits(self, unit: Unit) -> int:
        return self._waited.get(unit[0].name, 0)

    def _rank(self, unit: Unit) -> tuple[int, float]:
        """Rank cheap units first, and then the others by how long they have waited.

        A unit whose cost is not known is one of the others, unless nothing of it was due yet.
        """
        known = [self._costs[query.name] for query in unit if query.name in self._costs]
        unknown = [query.name for query in unit if query.name not in self._costs]
        cost = sum(known)
        if cost > self.seconds:
            return 1, -self._waits(unit)
        if not unknown:
            return 0, cost
        is_idle = self._idle.issuperset(unknown) and not self._waits(unit)
        return (0, inf) if is_idle else (1, -self._waits(unit))

    def _forget_removed(self, units: Sequence[Unit]) -> None:
        """Forget queries that are gone, once they are many."""
        names = {query.name for unit in units for query in unit}
        if len(self._idle) > len(names) + _SPARE:
            self._idle &= names
        if len(self._costs) > len(names) + _SPARE:
            self._costs = {name: each for name, each in self._costs.items() if name in names}
            self._instants = {n: each for n, each in self._instants.items() if n in names}
            self._waited = {name: each for name, each in self._waited.items() if name in names}


def connected_units(queries: Sequence[Standing]) -> list[Unit]:
    """Unite the queries that are connected by streams that queries make; each keeps its order."""
    makers = {query.plan.stream: query for query in queries if query.plan.stream is not None}
    if not makers:
        return [(query,) for query in queries]
    units = {query: [query] for query in queries}
    for query in queries:
        for stream in query.plan.streams:
            maker = makers.get(stream)
            if maker is not None and units[maker] is not units[query]:
                united = units[maker] + units[query]
                units |= dict.fromkeys(united, united)
    places = {query: place for place, query in enumerate(queries)}
    distinct = {id(unit): unit for unit in units.values()}
    return [sorted(unit, key=places.__getitem__) for unit in distinct.values()]
