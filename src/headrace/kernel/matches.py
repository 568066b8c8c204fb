"""The matches of triple patterns that must all match, found as their last triple comes.

Each pattern has a memory of what matched it, and all of them together one of their matches. What is
new of a pattern is joined with the memories of the others: those before it as they were, those
after it with what is new of them, so that no match is found twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from headrace.algebra.expressions import Expression
from headrace.algebra.scope import mentioned
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
from headrace.kernel.grid import FOREVER, NEVER
from headrace.kernel.instants import Instants
from headrace.kernel.lasting import BEGIN, END, LASTING, TURN, in_past, names_of
from headrace.kernel.lookup import Lookup
from headrace.kernel.scan import scan
from headrace.kernel.solutions import Solutions
from headrace.kernel.stock import Indexed, Stock
from headrace.kernel.table import Flags, Ids, Table, stacked
from headrace.kernel.tables import StaticTable, Wish, static_tables
from headrace.kernel.wording import Kept
from headrace.planning.matching import Branch, Scanned, StaticPart
from headrace.planning.routing import Leg, Router, Start

_VARIES: Final = 1.5
"""Where matches meet more than these on average, it pays to see how many they really meet."""
_ENOUGH: Final = 128
"""What so many of them meet says enough of all of them."""
_STATIC: Final = -1
"""The route of what matches in static data alone."""
_HIDDEN_TIME: Final = "?_:.time"


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
    word: Callable[[Table], Kept] | None = None


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
    new: Indexed | None = None
    always: StaticTable | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing meets it."""
        static = self.always is not None and self.always.frame.height > 0
        return not static and next(self._lasting(), None) is None

    def fan_out(self, on: list[str]) -> float:
        """How many matches one that agrees on some columns meets, as far as is known."""
        found = 0.0 if self.always is None else self.always.fan_out(on)
        rows = sum(each.height for each in self._lasting())
        known = 0.0 if self.memory is None or not on else self.memory.distinct(on)
        if known == 0 and on and self.new is not None:
            known = self.new.distinct(on)
        return found + rows / max(1, known)

    def leg(self) -> Leg:
        """What a route goes by."""
        return Leg(self.names, lambda shared: self.fan_out(sorted(shared)))

    def meets(self, found: Table) -> float | None:
        """How many of it these very matches meet, where one column says it and it is worth it."""
        shared = [name for name in found.columns if name in self.names]
        if len(shared) != 1 or self.fan_out(shared) < _VARIES:
            return None
        [name] = shared
        static = 0 if self.always is None else self.always.meets(found, name)
        if static is None:
            return None
        known = 0.0 if self.memory is None else self.memory.meets(found, name)
        new = 0 if self.new is None else self.new.count(found[name], name)
        return static + known + new

    def _lasting(self) -> Iterator[Indexed]:
        yield from (each for each in (self.memory, self.new) if each is not None and each.height)

    def joined(self, found: Table, on: list[str], floor: int, budget: Budget) -> Table:
        """Matches with those of this part that fit."""
        what = "a join of what is new" if on else "a join without a shared variable"

        def allow(rows: int) -> None:
            budget.check(rows, what)

        others = [name for name in self.names if name not in on]
        pieces = []
        for each in self._lasting():
            ours, theirs = each.meeting(found, on, allow)
            pieces.append(_lasting_both(found, each.table, ours, theirs, others, floor))
        if self.always is not None and self.always.frame.height:
            ours, theirs = self.always.meeting(found, on, allow)
            table = self.always.table
            static = {name: table[name][theirs] for name in others}
            pieces.append(found.taken(ours).with_columns(static))
        pieces = [piece for piece in pieces if piece.height]
        if not pieces:
            return Table.without_rows([*found.columns, *others])
        both = stacked(pieces)
        allow(both.height)
        return both


def _lasting_both(
    found: Table, table: Table, ours: Ids, theirs: Ids, others: Iterable[str], floor: int
) -> Table:
    """Pairs of matches, as long as both last, if they do and not before a moment only."""
    begins = np.maximum(found[BEGIN][ours], table[BEGIN][theirs])
    ends = np.minimum(found[END][ours], table[END][theirs])
    kept = (begins <= ends) & (ends >= floor)
    if not kept.all():
        ours, theirs, begins, ends = ours[kept], theirs[kept], begins[kept], ends[kept]
    turns = np.maximum(found[TURN][ours], table[TURN][theirs])
    lasting = {BEGIN: begins, END: ends, TURN: turns}
    joined = found.taken(ours).with_columns(lasting)
    return joined.with_columns({name: table[name][theirs] for name in others})


class _Pattern:
    """A triple pattern, what matched it, and what of that is in static data."""

    def __init__(self, number: int, scanned: Scanned, conditions: Sequence[Expression]) -> None:
        self.scanned = scanned
        self.names = frozenset(column(each) for each in scanned.variables)
        self.time = f"{_HIDDEN_TIME}{number}"
        self.conditions = [each for each in conditions if mentioned(each) <= scanned.variables]
        self.memory = Stock([*self.names, self.time, *LASTING])
        self.always: Lookup | None = None

    def look_at_static(self, asking: Asking) -> None:
        if self.scanned.over_static:
            active = active_graph(self.scanned.graph, asking.dictionary)
            data = asking.static.within(active)
            found = scan(data, self.scanned.pattern, asking.dictionary)
            frame = found.frame.drop(INSTANT)
            flags = _flags(Table.of_frame(frame), self.conditions, asking)
            kept = frame.filter(pl.Series(flags))
            self.always = Lookup(kept.unique()) if kept.height else None

    def new(self, arrived: Arrived, timed: bool, asking: Asking) -> Table:
        """What is new of it, each match once."""
        found = arrived.matching(self.scanned, asking.dictionary)
        times, found = found[TIME], found.but(TIME)
        found = found.with_columns({self.time: times}) if timed else found
        return _holding(found, self.conditions, asking)

    def operand(self, timed: bool, new: Indexed | None = None) -> _Operand:
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
        for table in static_tables(self._wish(), asking):
            self.static.append(_Operand(table.names, always=table))
        for pattern in self.patterns:
            pattern.look_at_static(asking)
        operands = [*(pattern.operand(self.timed) for pattern in self.patterns), *self.static]
        if all(each.always is not None and each.always.frame.height for each in operands):
            first, *others = operands
            assert first.always is not None, "all have static data"
            known = first.always.table
            lasting = {BEGIN: NEVER, END: FOREVER, TURN: -1}
            always = {name: np.full(known.height, each) for name, each in lasting.items()}
            start = known.with_columns(always)
            found = self._along(_STATIC, start, others, NEVER, asking)
            self._keep(found, asking)

    def _wish(self) -> Wish:
        """What is asked of the static parts."""
        keys = frozenset[str]().union(*(pattern.names for pattern in self.patterns))
        conditions = frozenset[str]().union(*map(_columns, self.conditions))
        asked = None if self._asked is None else self._asked | conditions
        return Wish(self.branch.static, asked, keys)

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
            Indexed(pattern.new(arrived[pattern.scanned.windows], self.timed, asking))
            for pattern in self.patterns
        ]
        found = list[Table]()
        for number, delta in enumerate(new):
            if delta.height:
                # One match is found once: with what is new only of the patterns that follow.
                others = [
                    pattern.operand(self.timed, new[place] if place > number else None)
                    for place, pattern in enumerate(self.patterns)
                    if place != number
                ]
                operands = [*others, *self.static]
                found.append(self._along(number, delta.table, operands, floor, asking))
        found = [each for each in found if each.height]
        if found:
            self._keep(stacked(found), asking)
        for pattern, delta in zip(self.patterns, new, strict=True):
            pattern.memory.add(in_past(delta.table))
            pattern.memory.tidy(floor)

    def _keep(self, found: Table, asking: Asking) -> None:
        if found.height:
            new = Kept(found) if asking.word is None else asking.word(found)
            self.found = Found.first(new) if self.found is None else self.found.and_more(new)

    def tell(self, instants: Instants) -> None:
        """Take note that what holds at some instants has been told."""
        self.found = None if self.found is None else self.found.told(instants)

    def ids(self) -> Iterator[pl.Series]:
        """All columns of terms that are kept."""
        tables = [pattern.memory.table for pattern in self.patterns]
        tables += [] if self.found is None else [self.found.table]
        for table in tables:
            yield from (pl.Series(table[name]) for name in names_of(table))
        for each in self.static:
            if each.always is not None:
                yield from each.always.frame.get_columns()

    def over(self, floor: int, *, at_leisure: bool) -> None:
        """The step in which the elements had their turns is over; maybe nobody waits for it."""
        if self.found is not None:
            self.found = self.found.tidied(floor, at_leisure=at_leisure)

    def route(self, pattern: int, found: Table, operands: Sequence[_Operand]) -> tuple[int, ...]:
        """The order in which what is new of a pattern is joined with other parts."""
        known = self.router.again(pattern, found.height, len(operands))
        if known is not None:
            return known
        if not self.router.adapts:
            start = Start(frozenset(names_of(found)), found.height)
        else:
            start = _start(found, operands)
        return self.router.route(pattern, start, [each.leg() for each in operands])

    def _along(
        self,
        pattern: int,
        found: Table,
        operands: Sequence[_Operand],
        floor: int,
        asking: Asking,
    ) -> Table:
        """Matches joined with one part after the other, on the route that costs least."""
        if any(each.is_empty for each in operands):
            return Table.without_rows(found.columns)  # whatever it is joined with first
        conditions = list(self.conditions)
        order = self.route(pattern, found, operands)
        for place, number in enumerate(order):
            if found.height == 0:
                left = [operands[each].names for each in order[place:]]
                return Table.without_rows(frozenset(found.columns).union(*left))
            shared = sorted(operands[number].names & found.columns.keys())
            found = operands[number].joined(found, shared, floor, asking.budget)
            ready = [each for each in conditions if _columns(each) <= found.columns.keys()]
            conditions = [each for each in conditions if each not in ready]
            found = _holding(found, ready, asking)
        return _holding(found, conditions, asking)


def _start(found: Table, operands: Sequence[_Operand]) -> Start:
    """What is new, and how many of each part it meets where there is a choice."""
    names = frozenset(names_of(found))
    meets: dict[int, float] = {}
    if sum(bool(names & each.names) for each in operands) > 1:
        some = found.taken(slice(None, None, -(-found.height // _ENOUGH) or 1))
        known = {number: each.meets(some) for number, each in enumerate(operands)}
        scale = found.height / max(1, some.height)
        meets = {number: each * scale for number, each in known.items() if each is not None}
    return Start(names, found.height, meets)


def _columns(condition: Expression) -> set[str]:
    return {column(each) for each in mentioned(condition)}


def _holding(found: Table, conditions: Sequence[Expression], asking: Asking) -> Table:
    """Those of some matches that meet conditions."""
    for each in conditions:
        found = found.where(_flags(found, [each], asking))
    return found


def _flags(found: Table, conditions: Sequence[Expression], asking: Asking) -> Flags:
    """Which of some matches meet conditions."""
    kept = np.ones(found.height, np.bool_)
    for each in conditions if found.height else ():
        rows = pl.int_range(found.height, dtype=pl.Int64, eager=True).alias(INSTANT)
        names = [name for name in found.columns if name in _columns(each)]
        terms = [pl.Series(name, found[name]) for name in names]
        met = asking.holds(each, Solutions(pl.DataFrame([rows, *terms]), keyed=True))
        kept &= met.fill_null(value=False).to_numpy()
    return kept
