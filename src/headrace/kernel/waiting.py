"""When conditions that may be dear are tested in a chain of joins.

Early they make joins smaller, but look at solutions that never find a partner; late it is the other
way round. Here what has no partner is left out first, by looking at the columns that are joined on,
where that costs less than it saves; then a condition is tested, and what it left is joined. What is
expected follows from what was seen: what a condition costs, what it lets pass, how many solutions
have partners, and how many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import log2
from time import perf_counter
from typing import Final

import polars as pl

from headrace.algebra.expressions import Expression
from headrace.algebra.scope import mentioned
from headrace.functions.costs import Costs
from headrace.functions.dependence import is_costly
from headrace.kernel.budget import Budget
from headrace.kernel.columns import INSTANT, column, kind_of, number_of
from headrace.kernel.join import join
from headrace.kernel.solutions import Solutions
from headrace.planning.join_order import Estimate, greedy

_JOINED: Final = 60e-9
"""Seconds that a joined row takes."""
_FOUND_AGAIN: Final = 150e-9
"""Seconds to find what a row has in common with others."""
_LOOK: Final = 4e-4
_LOOKED_AT: Final = 20e-9
"""Seconds to look for partners at all, and for each row."""
_GROWS: Final = 1.5
_MANY: Final = 100


@dataclass(frozen=True, slots=True)
class Opened:
    """Solutions of which some conditions have not been tested yet.

    Attributes:
        found: the solutions.
        pending: the conditions; they read what all of the solutions bind.
        hidden: columns that nobody but these conditions may see.
    """

    found: Solutions
    pending: tuple[Expression, ...] = ()
    hidden: frozenset[str] = frozenset()

    @property
    def reads(self) -> list[str]:
        """The columns that the conditions read."""
        return sorted(_read_by(self.pending))


@dataclass(frozen=True, slots=True)
class Waiting:
    """Decides about conditions.

    Attributes:
        costs: what they have cost before.
        test: where each is true.
        budget: what joins may cost.
    """

    costs: Costs
    test: Callable[[Expression, Solutions], pl.Series]
    budget: Budget

    def settled(self, opened: Opened) -> Solutions:
        """Solutions of which every condition was tested."""
        found = opened.found
        for condition in opened.pending:
            found = self._tested(condition, found)
        return without(found, opened.hidden)

    def joined(
        self,
        parts: Sequence[Opened],
        conditions: tuple[Expression, ...] = (),
        hidden: frozenset[str] = frozenset(),
        may_wait: bool = False,
    ) -> Opened:
        """The join of all parts.

        Args:
            parts: what is joined.
            conditions: what has to hold of the whole, besides what parts wait for.
            hidden: columns that the result does not have.
            may_wait: whether conditions may stay untested.
        """
        parts = self._apart(parts)
        pending = tuple(dict.fromkeys((*conditions, *(c for each in parts for c in each.pending))))
        if not pending:
            return Opened(without(self._in_order([each.found for each in parts], ()), hidden))
        hidden = hidden.union(*(each.hidden for each in parts))
        frames = self._beside_single_rows([each.found for each in parts], pending)
        later: dict[Expression, int] = {}
        if may_wait:
            for condition in pending:
                place = _place_of(condition, frames)
                if place is not None and self._is_better_later(condition, frames[place]):
                    later[condition] = frames[place].height
        left = self._test_parts([each for each in pending if each not in later], frames)
        left += later
        waiting = tuple(each for each in left if may_wait and is_costly(each))
        unread = hidden - _read_by(waiting)
        now = [each for each in left if each not in waiting]
        found = without(self._in_order(frames, now, unread), unread)
        for condition, height in later.items():
            self.costs.grew(condition, found.height / max(height, 1))
        return Opened(found, waiting, hidden - unread)

    # -- one condition ---------------------------------------------------------------------

    def _tested(self, condition: Expression, found: Solutions) -> Solutions:
        if not found.height:
            return found
        began = perf_counter()
        kept = found.filtered(self.test(condition, found))
        seconds = perf_counter() - began
        if is_costly(condition):
            rows = inputs = found.height
            # To count inputs must not take longer than to test them.
            if rows > _MANY and seconds > _MANY * rows * _LOOKED_AT:
                inputs = self.costs.inputs(condition, rows, lambda: _inputs(condition, found))
            self.costs.saw(condition, inputs, seconds, kept.height / rows)
        return kept

    def _rank(self, condition: Expression, found: Solutions) -> float:
        """What rules out much for little comes first."""
        if not is_costly(condition):
            return 0.0
        cost = self.costs.of(condition)
        # What was measured is right by a factor of two.
        seconds = 2.0 ** round(log2(max(cost.seconds, 1e-9)))
        return found.height * seconds * cost.trust / max(1 - cost.passes, 1e-3)

    def _is_better_later(self, condition: Expression, found: Solutions) -> bool:
        """Whether to test a condition after the group it stands in costs less, as joins go on."""
        if not is_costly(condition):
            return False
        cost = self.costs.of(condition)
        if cost.fan <= _GROWS:
            return True
        rows = found.height * cost.fan
        more = rows * (_FOUND_AGAIN + (1 - cost.passes) * _JOINED)
        return more < (1 - cost.met) * found.height * cost.seconds

    def _test_parts(
        self, conditions: Sequence[Expression], frames: list[Solutions]
    ) -> list[Expression]:
        """Test conditions on the parts that they are about; those that are about several are left.

        Before, and whenever much was ruled out, what has no partner in other parts is left out.
        """
        places = {each: _place_of(each, frames) for each in conditions}
        about = {each: place for each, place in places.items() if place is not None}
        self._leave_out(about, frames)
        kept = 1.0
        for condition in sorted(about, key=lambda each: self._rank(each, frames[about[each]])):
            place = about[condition]
            if any(each.height == 0 for each in frames):  # so is what they make together
                if is_costly(condition):
                    self.costs.not_tested(condition)
                continue
            saved = (1 - kept) * frames[place].height * self._seconds(condition)
            if saved > _look(frames):
                _leave_out_unmet(frames, place)
                kept = 1.0
            before = frames[place].height
            frames[place] = self._tested(condition, frames[place])
            kept *= frames[place].height / max(before, 1)
        return [each for each, place in places.items() if place is None]

    def _leave_out(self, about: Mapping[Expression, int], frames: list[Solutions]) -> None:
        """Leave out what has no partner, if that is expected to save more than it takes."""
        dear = [each for each in about if is_costly(each)]
        saved = sum(
            (1 - self.costs.of(each).met) * frames[about[each]].height * self._seconds(each)
            for each in dear
        )
        if saved <= 2 * _look(frames):
            for each in dear:
                self.costs.not_looked(each)
            return
        before = [each.height for each in frames]
        # What no dear condition is about loses nothing by a look that a join does not lose too.
        several = len({about[each] for each in dear}) > 1
        _leave_out_unmet(frames, about[dear[0]], both_ways=several)
        for each in dear:
            place = about[each]
            self.costs.met(each, frames[place].height / max(before[place], 1))

    def _seconds(self, condition: Expression) -> float:
        return self.costs.of(condition).seconds if is_costly(condition) else 0.0

    # -- parts -----------------------------------------------------------------------------

    def _apart(self, parts: Sequence[Opened]) -> list[Opened]:
        """Parts of which no other one has the hidden columns."""
        found = []
        for place, part in enumerate(parts):
            others = [*parts[:place], *parts[place + 1 :]]
            meets = part.hidden and any(
                not part.hidden.isdisjoint(other.found.frame.columns) for other in others
            )
            found.append(Opened(self.settled(part)) if meets else part)
        return found

    def _beside_single_rows(
        self, frames: list[Solutions], pending: Sequence[Expression]
    ) -> list[Solutions]:
        """What one row says stands beside what a condition reads with it."""
        single = [each for each in frames if each.height == 1]
        frames = [each for each in frames if each.height != 1]
        if not single or not frames:
            return [*frames, *single]
        used: set[int] = set()
        for condition in pending:
            names = _read_by_one(condition)
            known = frozenset[str]().union(*(each.names for each in single))
            for place, each in enumerate(frames):
                missing = names - frozenset(each.names)
                if missing and missing <= known and missing != names:
                    for row in single:
                        if not missing.isdisjoint(row.names):
                            frames[place] = join(frames[place], row, self.budget)
                            used.add(id(row))
                    break
        return [*frames, *(each for each in single if id(each) not in used)]

    def _in_order(
        self,
        frames: Sequence[Solutions],
        conditions: Sequence[Expression],
        hidden: frozenset[str] = frozenset(),
    ) -> Solutions:
        """Join parts, the smallest first, and test each condition as soon as possible."""
        order = list(greedy([Estimate(frozenset(each.names), each.height) for each in frames]))
        found = frames[order[0]]
        left = list(conditions)
        for step, place in enumerate(order[1:], start=2):
            found = join(found, frames[place], self.budget)
            rest = [frames[each] for each in order[step:]]
            for condition in list(left):
                if _is_about(condition, found):
                    around = [found, *rest]
                    self._leave_out({condition: 0}, around)
                    found, rest = self._tested(condition, around[0]), around[1:]
                    left.remove(condition)
            later = frozenset[str]().union(*(each.names for each in rest))
            found = without(found, hidden - later - _read_by(left))
        for condition in left:
            found = self._tested(condition, found)
        return found.without_repeats()


def without(found: Solutions, names: frozenset[str]) -> Solutions:
    """Drop columns, and the values that came along with them.

    Solutions that differ in these columns only stay apart, so repeats are removed before.
    """
    gone = [
        each
        for name in names
        for each in (name, kind_of(name), number_of(name))
        if each in found.frame.columns
    ]
    if not gone:
        return found
    found = found.without_repeats()
    told_apart = found.identified_by
    if told_apart is not None and not told_apart.isdisjoint(gone):
        told_apart = None
    return replace(found, frame=found.frame.drop(gone), identified_by=told_apart)


def _read_by(conditions: Iterable[Expression]) -> frozenset[str]:
    return frozenset[str]().union(*map(_read_by_one, conditions))


@lru_cache(1024)
def _read_by_one(condition: Expression) -> frozenset[str]:
    return frozenset(map(column, mentioned(condition)))


def _is_about(condition: Expression, found: Solutions) -> bool:
    names = _read_by_one(condition)
    return names <= set(found.frame.columns) and not any(
        found.frame[name].has_nulls() for name in names
    )


def _place_of(condition: Expression, frames: Sequence[Solutions]) -> int | None:
    """The smallest part that has all that a condition reads."""
    places = [place for place, each in enumerate(frames) if _is_about(condition, each)]
    return min(places, key=lambda place: frames[place].height, default=None)


def _inputs(condition: Expression, found: Solutions) -> int:
    """How many distinct inputs a condition has."""
    present = [name for name in _read_by_one(condition) if name in found.frame.columns]
    return found.frame.select(present).n_unique() if present else 1


def _look(frames: Sequence[Solutions]) -> float:
    """Seconds that it takes to look for partners in all parts."""
    return _LOOK * (len(frames) - 1) + _LOOKED_AT * sum(each.height for each in frames)


def _leave_out_unmet(frames: list[Solutions], root: int, both_ways: bool = False) -> None:
    """Leave out of parts what has no partner in others: one hears of all, or all of all."""
    order, parents = [root], {root: root}
    for place in order:  # which grows meanwhile
        for other, each in enumerate(frames):
            if other not in parents and not set(each.names).isdisjoint(frames[place].names):
                parents[other] = place
                order.append(other)
    for place in reversed(order[1:]):
        parent = parents[place]
        frames[parent] = _with_partner(frames[parent], frames[place])
    for place in order[1:] if both_ways else ():
        frames[place] = _with_partner(frames[place], frames[parents[place]])


def _with_partner(found: Solutions, other: Solutions) -> Solutions:
    shared = [name for name in found.names if name in other.frame.columns]
    if any(each.frame[name].has_nulls() for each in (found, other) for name in shared):
        return found
    # Where rows hold at several instants, a partner at another one counts as well.
    at_instants = found.keyed and other.keyed and not (found.has_intervals or other.has_intervals)
    on = [*([INSTANT] if at_instants else []), *shared]
    if not on:
        return found if other.height else replace(found, frame=found.frame.clear())
    return replace(found, frame=found.frame.join(other.frame.select(on), on=on, how="semi"))
