"""In which order new matches are joined with what is known: the cheapest way under current figures.

Each part that matches must still meet is a leg. What a leg costs is what has to be looked at and
what is found; how many a match meets there follows from how many there are and how many differ. The
least cost of a set of legs is that of the best last leg after the best way through the others, as
dynamic programming finds it from the bottom up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

Names = frozenset[str]

_MOST_LEGS: Final = 6
"""Of more legs than these, always the next is chosen that costs least."""
_WORTH_IT: Final = 0.8
"""Another way is taken only if it costs less than so much of the one that was taken before."""
_MOST_CHANGES: Final = 100
_USES: Final = 16
_MUCH_NEW: Final = 128
_LOOK: Final = 4
_MUCH, _LITTLE = 2.0, 0.25
"""A choice is not made again so many times, if what is new meets not much more or less."""
_NO_SHARED: Final = 1e9
"""Matches that share nothing with a leg meet all of it: that comes last."""


@dataclass(frozen=True, slots=True)
class Leg:
    """A part that matches are joined with.

    Attributes:
        names: the columns that it binds.
        fan_out: how many a match meets there that agrees on some columns.
        look: what it costs to look at it at all, in rows.
    """

    names: Names
    fan_out: Callable[[Names], float]
    look: float = 0.0


@dataclass(frozen=True, slots=True)
class Start:
    """What is new.

    Attributes:
        names: the columns that it binds.
        rows: how many there are.
        meets: how many of each leg these very matches meet, where that is known; else it follows
            from averages.
    """

    names: Names
    rows: float
    meets: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Route:
    """The order in which legs are taken, and what that is expected to cost, in rows."""

    legs: tuple[int, ...]
    cost: float


@dataclass(frozen=True, slots=True)
class Change:
    """A route that was left for another, and the figures that caused it.

    Attributes:
        pattern: the pattern of which something was new.
        before: the route that was left, and what it would have cost.
        after: the route that was taken, and what it is expected to cost.
        rows: how much was new.
        met: how many of each leg one of these is expected to meet there.
    """

    pattern: int
    before: Route
    after: Route
    rows: float
    met: tuple[float, ...]


@dataclass(slots=True)
class _Sizes:
    """How many matches there are expected after some legs, however they were taken."""

    start: Start
    legs: Sequence[Leg]
    _known: dict[frozenset[int], float] = field(default_factory=dict)
    _fan_outs: dict[tuple[int, Names], float] = field(default_factory=dict)

    def of(self, taken: frozenset[int]) -> float:
        if not taken:
            return self.start.rows
        if taken not in self._known:
            ways = (self.of(taken - {last}) * self._met(taken - {last}, last) for last in taken)
            self._known[taken] = min(ways)
        return self._known[taken]

    def after(self, taken: frozenset[int], number: int) -> float:
        """How many there are after one leg more; of many legs, by the way that came there first."""
        both = taken | {number}
        if both not in self._known and len(self.legs) > _MOST_LEGS:
            self._known[both] = self.of(taken) * self._met(taken, number)
        return self.of(both)

    def shared(self, taken: frozenset[int], number: int) -> Names:
        """The columns of a leg that are bound after some others."""
        bound = self.start.names.union(*(self.legs[each].names for each in taken))
        return bound & self.legs[number].names

    def _met(self, taken: frozenset[int], number: int) -> float:
        return self._met_by(self.shared(taken, number), number)

    def _met_by(self, shared: Names, number: int) -> float:
        if number in self.start.meets and shared <= self.start.names:
            return self.start.meets[number] / max(1.0, self.start.rows)
        key = number, shared
        if key not in self._fan_outs:
            self._fan_outs[key] = self.legs[number].fan_out(shared)
        return self._fan_outs[key]

    def step(self, bound: Names, rows: float, number: int) -> tuple[float, float]:
        """What it costs to take a leg when so much is bound and found, and what is found then."""
        leg = self.legs[number]
        shared = bound & leg.names
        if not shared:
            return _NO_SHARED * (1.0 + rows), rows * self._met_by(shared, number)
        found = rows * self._met_by(shared, number)
        return leg.look + rows + found, found

    def best_after(self, number: int, bound: Names, rows: float, left: Sequence[int]) -> float:
        """The least that a leg after another costs: what is selective may be behind it."""
        bound = bound | self.legs[number].names
        others = (each for each in left if each != number and self.legs[each].names & bound)
        return min((self.step(bound, rows, each)[0] for each in others), default=0.0)

    def cost(self, taken: frozenset[int], number: int) -> float:
        """What it costs to take a leg after some others: what is looked at, and what is found."""
        rows, found = self.of(taken), self.after(taken, number)
        if not self.shared(taken, number):
            return _NO_SHARED * (1.0 + rows)
        return self.legs[number].look + rows + found


def cost_of(start: Start, legs: Sequence[Leg], order: Sequence[int]) -> float:
    """What it costs to take legs in some order."""
    sizes = _Sizes(start, legs)
    return sum(sizes.cost(frozenset(order[:place]), number) for place, number in enumerate(order))


def met_along(start: Start, legs: Sequence[Leg], order: Sequence[int]) -> tuple[float, ...]:
    """How many of each leg a match is expected to meet, if they are taken in some order."""
    sizes = _Sizes(start, legs)
    found = [start.rows]
    for place, number in enumerate(order):
        found.append(sizes.after(frozenset(order[:place]), number))
    return tuple(later / max(1.0, before) for before, later in pairwise(found))


def cheapest(start: Start, legs: Sequence[Leg]) -> Route:
    """The best order of all legs.

    >>> many, few = Leg(frozenset("ab"), lambda _: 50.0), Leg(frozenset("ab"), lambda _: 2.0)
    >>> cheapest(Start(frozenset("a"), 1, {0: 50.0, 1: 2.0}), [many, few]).legs
    (1, 0)
    """
    sizes = _Sizes(start, legs)
    if len(legs) > _MOST_LEGS:
        return _one_by_one(sizes)
    best: dict[frozenset[int], Route] = {frozenset(): Route((), 0.0)}
    for _ in legs:
        longer: dict[frozenset[int], Route] = {}
        for taken, route in best.items():
            for number in range(len(legs)):
                if number in taken:
                    continue
                cost = route.cost + sizes.cost(taken, number)
                known = longer.get(taken | {number})
                if known is None or cost < known.cost:
                    longer[taken | {number}] = Route((*route.legs, number), cost)
        best = longer
    [route] = best.values()
    return route


def _one_by_one(sizes: _Sizes) -> Route:
    """A good order of many legs: always the next that costs least with the best after it."""
    order: tuple[int, ...] = ()
    bound, rows, total = sizes.start.names, sizes.start.rows, 0.0
    left = list(range(len(sizes.legs)))
    while left:
        costs = {number: sizes.step(bound, rows, number) for number in left}
        both = {
            each: cost + sizes.best_after(each, bound, found, left)
            for each, (cost, found) in costs.items()
        }
        number = min(left, key=lambda each: (both[each], each))
        left.remove(number)
        cost, rows = costs[number]
        order, total, bound = (*order, number), total + cost, bound | sizes.legs[number].names
    return Route(order, total)


def as_written(names: Names, legs: Sequence[Leg]) -> tuple[int, ...]:
    """The order in which legs are given, but for those that share nothing yet: they wait.

    >>> legs = [Leg(frozenset(names), lambda _: 1.0) for names in ("cd", "ab", "bc")]
    >>> as_written(frozenset("a"), legs)
    (1, 2, 0)
    """
    order: list[int] = []
    left = list(range(len(legs)))
    while left:
        number = next((each for each in left if legs[each].names & names), left[0])
        left.remove(number)
        order.append(number)
        names |= legs[number].names
    return tuple(order)


@dataclass(slots=True)
class _Chosen:
    """The figures by which a route was chosen: as long as they are alike, so is the choice."""

    start: Start
    legs: int
    used: int = 0

    def holds_for(self, start: Start, legs: int) -> bool:
        """Whether what is new now is like what was new then; now and then averages are seen too."""
        self.used += 1
        return (
            self.used < _USES
            and legs == self.legs
            and start.names == self.start.names
            and start.meets.keys() == self.start.meets.keys()
            and all(self._alike(start, number) for number in start.meets)
        )

    def lasts(self, rows: int, legs: int) -> bool:
        """Whether it is used again without a look at what is new.

        That is so where there are many legs, each of which would have to be looked at; and now and
        then where there is much new, because what is like it came before and was looked at.
        """
        self.used += 1
        if self.used >= _USES or legs != self.legs:
            return False
        return legs > _MOST_LEGS or (rows >= _MUCH_NEW and self.used % _LOOK != 0)

    def _alike(self, start: Start, number: int) -> bool:
        then = self.start.meets[number] / max(1.0, self.start.rows)
        now = start.meets[number] / max(1.0, start.rows)
        return max(now, then) <= _MUCH * min(now, then) + _LITTLE


class Router:
    """Chooses routes, and does not leave one for another that is hardly better."""

    def __init__(self, adapts: bool = True) -> None:
        """Begin with no route.

        Args:
            adapts: whether routes follow what they cost now, or the order of the legs.
        """
        self.adapts = adapts
        self.routes: dict[int, Route] = {}
        self._chosen: dict[int, _Chosen] = {}
        self.changed = 0
        self.changes: list[Change] = []

    def route(self, pattern: int, start: Start, legs: Sequence[Leg]) -> tuple[int, ...]:
        """The order in which legs are taken from what is new of a pattern."""
        if len(legs) <= 1:
            return tuple(range(len(legs)))
        if not self.adapts:
            return as_written(start.names, legs)
        chosen = self._chosen.get(pattern)
        if chosen is not None and chosen.holds_for(start, len(legs)):
            return self.routes[pattern].legs
        self._chosen[pattern] = _Chosen(start, len(legs))
        best = cheapest(start, legs)
        known = self.routes.get(pattern)
        if known is not None and known.legs != best.legs and len(known.legs) == len(legs):
            before = Route(known.legs, cost_of(start, legs, known.legs))
            if best.cost >= _WORTH_IT * before.cost:
                best = before
            else:
                met = met_along(start, legs, best.legs)
                self._note(Change(pattern, before, best, start.rows, met))
        self.routes[pattern] = best
        return best.legs

    def again(self, pattern: int, rows: int, legs: int) -> tuple[int, ...] | None:
        """The route of before, where to look at figures costs more than it can save for now."""
        chosen = self._chosen.get(pattern)
        if not self.adapts or chosen is None or not chosen.lasts(rows, legs):
            return None
        return self.routes[pattern].legs

    def _note(self, change: Change) -> None:
        self.changed += 1
        self.changes = [*self.changes[1 - _MOST_CHANGES :], change]
