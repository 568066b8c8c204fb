"""The matches of triple patterns that must all match, found as their last triple comes.

Each pattern has a memory of what matched it, and all of them together one of their matches. What is
new of a pattern is joined with the memories of the others: those before it as they were, those
after it with what is new of them, so that no match is found twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from headrace.algebra.expressions import Expression
from headrace.algebra.scope import mentioned, possible
from headrace.kernel.arrived import Arrived, active_graph
from headrace.kernel.budget import Budget
from headrace.kernel.columns import (
    INSTANT,
    TIME,
    column,
)
from headrace.kernel.data import Data
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.found import Found
from headrace.kernel.grid import NEVER
from headrace.kernel.lasting import ALWAYS, LASTING, from_on, in_past, joined, names_of
from headrace.kernel.lookup import Lookup
from headrace.kernel.remembered import put_together
from headrace.kernel.scan import scan
from headrace.kernel.solutions import Solutions, complete
from headrace.kernel.stock import Counts, Stock
from headrace.planning.matching import Branch, Scanned, StaticPart
from headrace.planning.routing import Leg, Router, Start

_VARIES: Final = 1.5
"""Where matches meet more than these on average, it pays to see how many they really meet."""
_AT_A_GLANCE: Final = 16
"""So many rows are looked at in the time in which one is made."""
_PATHS_PAY: Final = 4
_MOST_OF_PATHS: Final = 10_000_000
"""Static parts are joined beforehand if that makes at most so many times the larger, and rows."""
_STATIC: Final = -1
"""The route of what matches in static data alone."""
_HIDDEN_TIME: Final = "?_:.time"
_HIDDEN_ROW: Final = "?_:.row"


@dataclass(frozen=True, slots=True)
class Asking:
    """How patterns and conditions are looked at outside of an evaluation.

    Attributes:
        dictionary: the terms.
        static: what is the same at every instant.
        budget: what a step may cost.
        solve: finds the solutions of a pattern in static data.
        holds: which of some solutions meet a condition on their terms.
        word: puts the texts of their answers beside matches, where they are kept so.
    """

    dictionary: Dictionary
    static: Data
    budget: Budget
    solve: Callable[[StaticPart], Solutions]
    holds: Callable[[Expression, Solutions], pl.Series]
    word: Callable[[pl.DataFrame], pl.DataFrame] | None = None


@dataclass(frozen=True, slots=True)
class _Operand:
    """A part of a branch that matches are joined with.

    Attributes:
        names: the columns that it binds.
        memory: what windows hold of it.
        new: what is new in windows, if that is looked at too.
        always: what is in static data.
    """

    names: frozenset[str]
    memory: Stock | None = None
    new: pl.DataFrame | None = None
    always: Lookup | None = None

    def fan_out(self, on: list[str]) -> float:
        """How many matches one that agrees on some columns meets, as far as is known."""
        found = 0.0 if self.always is None else self.always.fan_out(on)
        rows = sum(frame.height for frame in self._lasting())
        known = 0 if self.memory is None or not on else self.memory.distinct(on)
        if known == 0 and on and self.new is not None:
            known = self.new.select(on).n_unique()
        return found + rows / max(1, known)

    def leg(self) -> Leg:
        """What a route goes by."""
        rows = sum(frame.height for frame in self._lasting())
        return Leg(self.names, lambda shared: self.fan_out(sorted(shared)), rows / _AT_A_GLANCE)

    def meets(self, found: pl.DataFrame) -> float | None:
        """How many of it these very matches meet, where one column says it and it is worth it."""
        shared = [name for name in found.columns if name in self.names]
        if len(shared) != 1 or self.fan_out(shared) < _VARIES:
            return None
        [name] = shared
        static = 0 if self.always is None else self.always.meets(found, name)
        if static is None:
            return None
        known = 0.0 if self.memory is None else self.memory.meets(found, name)
        new = 0.0
        if self.new is not None and self.new.height:
            new = Counts.of(self.new[name]).meets(found[name].to_numpy())
        return static + known + new

    def _lasting(self) -> Iterator[pl.DataFrame]:
        if self.memory is not None and self.memory.frame is not None:
            yield self.memory.frame
        if self.new is not None:
            yield self.new

    def _meeting(
        self, found: pl.DataFrame, on: list[str]
    ) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
        """What is to be joined with what: few matches meet what has come long before."""
        if self.memory is not None and self.memory.frame is not None:
            yield self.memory.fitting(found, on), self.memory.frame
        if self.new is not None:
            yield found, self.new

    def joined(
        self, found: pl.DataFrame, on: list[str], floor: int, budget: Budget
    ) -> pl.DataFrame:
        """Matches with those of this part that fit."""
        if not on:
            budget.check(round(found.height * self.fan_out(on)), "a join without a shared variable")
        names = sorted({*names_of(found), *self.names})
        pieces = []
        for ours, theirs in self._meeting(found, on):
            if ours.height and theirs.height:
                pieces.append(from_on(joined(ours, theirs, on, names), floor))
        if self.always is not None and self.always.frame.height:
            pieces.append(self.always.joined(found, on).select(*names, *LASTING))
        pieces = [piece for piece in pieces if piece.height]
        both = pieces[0] if len(pieces) == 1 else _all(pieces, names)
        budget.check(both.height, "a join of what is new")
        return both


def _all(pieces: list[pl.DataFrame], names: Iterable[str]) -> pl.DataFrame:
    """Matches of several pieces, or of none."""
    if pieces:
        return pl.concat(pieces)
    return pl.DataFrame(schema=dict.fromkeys([*names, *LASTING], pl.Int64))


class _Pattern:
    """A triple pattern, what matched it, and what of that is in static data."""

    def __init__(self, number: int, scanned: Scanned, conditions: Sequence[Expression]) -> None:
        self.scanned = scanned
        self.names = frozenset(column(each) for each in scanned.variables)
        self.time = f"{_HIDDEN_TIME}{number}"
        self.conditions = [each for each in conditions if mentioned(each) <= scanned.variables]
        self.memory = Stock()
        self.always: Lookup | None = None

    def look_at_static(self, asking: Asking) -> None:
        if self.scanned.over_static:
            active = active_graph(self.scanned.graph, asking.dictionary)
            data = asking.static.within(active)
            found = scan(data, self.scanned.pattern, asking.dictionary)
            kept = _holding(found.frame.drop(INSTANT), self.conditions, asking)
            self.always = Lookup(kept.unique()) if kept.height else None

    def new(self, arrived: Arrived, timed: bool, asking: Asking) -> pl.DataFrame:
        """What is new of it, each match once."""
        found = arrived.matching(self.scanned, asking.dictionary)
        found = found.rename({TIME: self.time}) if timed else found.drop(TIME)
        return _holding(found, self.conditions, asking)

    def operand(self, timed: bool, new: pl.DataFrame | None = None) -> _Operand:
        """What others are joined with: its memory, and what is new if that is asked for."""
        names = self.names | {self.time} if timed else self.names
        return _Operand(names, self.memory, new, self.always)


class Matches:
    """The matches of a branch."""

    def __init__(
        self,
        branch: Branch,
        timed: bool,
        adapts: bool = True,
        asked: frozenset[str] | None = None,
    ) -> None:
        """Begin with none.

        Args:
            branch: what must all match.
            timed: whether equal triples of different times are matches of their own.
            adapts: whether the order of joins follows what they cost.
            asked: the columns that somebody asks for; all if not given.
        """
        self._asked = asked
        self.branch, self.timed = branch, timed
        self.patterns = [
            _Pattern(number, each, branch.conditions) for number, each in enumerate(branch.scanned)
        ]
        own = {id(each) for pattern in self.patterns for each in pattern.conditions}
        self.conditions = [each for each in branch.conditions if id(each) not in own]
        self.static: list[_Operand] = []
        self.found: Found | None = None
        self.router = Router(adapts)

    def begin(self, asking: Asking) -> None:
        """Look at static data, and find what matches in them alone."""
        parts = [_named(asking.solve(part), part) for part in self.branch.static]
        tables = put_together(parts, asking.budget, _PATHS_PAY, _MOST_OF_PATHS) if parts else []
        for number, table in enumerate(tables):
            rest = [each for each in tables if each is not table]
            frame = self._needed(table.frame.drop(INSTANT), rest)
            if frame.n_unique() < frame.height:  # equal solutions are several
                rows = pl.int_range(frame.height, dtype=pl.Int64, eager=True)
                frame = frame.with_columns(rows.alias(f"{_HIDDEN_ROW}{number}"))
            self.static.append(_Operand(frozenset(frame.columns), always=Lookup(frame)))
        for pattern in self.patterns:
            pattern.look_at_static(asking)
        operands = [*(pattern.operand(self.timed) for pattern in self.patterns), *self.static]
        if all(each.always is not None and each.always.frame.height for each in operands):
            first, *others = operands
            assert first.always is not None, "all have static data"
            start = first.always.frame.with_columns(ALWAYS)
            found = self._along(_STATIC, start, others, NEVER, asking)
            self._keep(found, asking)

    def _needed(self, frame: pl.DataFrame, others: Sequence[Solutions]) -> pl.DataFrame:
        """The columns of a static table that it is joined by, or that somebody asks for."""
        if self._asked is None:
            return frame
        needed = self._asked.union(*(each.frame.columns for each in others))
        needed = needed.union(*(pattern.names for pattern in self.patterns))
        needed = needed.union(*map(_columns, self.conditions))
        kept = [name for name in frame.columns if name in needed]
        return frame.select(kept) if kept else frame

    def take(
        self,
        arrived: Mapping[tuple[int, ...], Arrived],
        floor: int,
        asking: Asking,
    ) -> None:
        """Find the matches that new statements complete."""
        for pattern in self.patterns:
            pattern.memory.drop(floor)
        if self.found is not None:
            self.found = self.found.without_over(floor)
        new = [
            pattern.new(arrived[pattern.scanned.windows], self.timed, asking)
            for pattern in self.patterns
        ]
        found = list[pl.DataFrame]()
        for number, delta in enumerate(new):
            if delta.height:
                # One match is found once: with what is new only of the patterns that follow.
                others = [
                    pattern.operand(self.timed, new[place] if place > number else None)
                    for place, pattern in enumerate(self.patterns)
                    if place != number
                ]
                operands = [*others, *self.static]
                found.append(self._along(number, delta, operands, floor, asking))
        found = [each for each in found if each.height]
        if found:
            self._keep(pl.concat(found), asking)
        for pattern, delta in zip(self.patterns, new, strict=True):
            pattern.memory.add(in_past(delta))
            pattern.memory.tidy(floor)

    def _keep(self, found: pl.DataFrame, asking: Asking) -> None:
        if found.height:
            new = found if asking.word is None else asking.word(found)
            self.found = Found.first(new) if self.found is None else self.found.and_more(new)

    def ids(self) -> Iterator[pl.Series]:
        """All columns of terms that are kept."""
        memories = [pattern.memory.frame for pattern in self.patterns]
        memories.append(None if self.found is None else self.found.frame)
        frames = [each for each in memories if each is not None]
        frames += [each.always.frame for each in self.static if each.always is not None]
        for frame in frames:
            yield from (frame[name] for name in names_of(frame))

    def over(self, floor: int, *, at_leisure: bool) -> None:
        """The step in which the elements had their turns is over; maybe nobody waits for it."""
        if self.found is not None:
            self.found = self.found.tidied(floor, at_leisure=at_leisure)

    def route(
        self, pattern: int, found: pl.DataFrame, operands: Sequence[_Operand]
    ) -> tuple[int, ...]:
        """The order in which what is new of a pattern is joined with other parts."""
        if not self.router.adapts:
            start = Start(frozenset(names_of(found)), found.height)
        else:
            start = _start(found, operands)
        return self.router.route(pattern, start, [each.leg() for each in operands])

    def _along(
        self,
        pattern: int,
        found: pl.DataFrame,
        operands: Sequence[_Operand],
        floor: int,
        asking: Asking,
    ) -> pl.DataFrame:
        """Matches joined with one part after the other, on the route that costs least."""
        conditions = list(self.conditions)
        order = self.route(pattern, found, operands)
        for place, number in enumerate(order):
            if found.height == 0:
                left = [operands[each].names for each in order[place:]]
                return _all([], sorted(frozenset(names_of(found)).union(*left)))
            shared = sorted(set(found.columns) & operands[number].names)
            found = operands[number].joined(found, shared, floor, asking.budget)
            ready = [each for each in conditions if _columns(each) <= set(found.columns)]
            conditions = [each for each in conditions if each not in ready]
            found = _holding(found, ready, asking)
        return _holding(found, conditions, asking)


def _start(found: pl.DataFrame, operands: Sequence[_Operand]) -> Start:
    """What is new, and how many of each part it meets where there is a choice."""
    names = frozenset(names_of(found))
    meets: dict[int, float] = {}
    if sum(bool(names & each.names) for each in operands) > 1:
        known = {number: each.meets(found) for number, each in enumerate(operands)}
        meets = {number: each for number, each in known.items() if each is not None}
    return Start(names, found.height, meets)


def _columns(condition: Expression) -> set[str]:
    return {column(each) for each in mentioned(condition)}


def _holding(found: pl.DataFrame, conditions: Sequence[Expression], asking: Asking) -> pl.DataFrame:
    """Those of some matches that meet conditions."""
    for each in conditions:
        if found.height:
            rows = pl.int_range(found.height, dtype=pl.Int64, eager=True).alias(INSTANT)
            kept = asking.holds(each, Solutions(found.with_columns(rows), keyed=True))
            found = found.filter(kept.fill_null(value=False))
    return found


def _named(solutions: Solutions, part: StaticPart) -> Solutions:
    """Solutions with the names that their variables have in matches."""
    whole = complete(solutions.frame, sorted(column(each) for each in possible(part.operator)))
    return Solutions(whole.rename({column(old): column(new) for old, new in part.names}))
