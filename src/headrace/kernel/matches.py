"""The matches of triple patterns that must all match, found as their last triple comes.

Each pattern has a memory of what matched it, and all of them together one of their matches. What is
new of a pattern is joined with the memories of the others: those before it as they were, those
after it with what is new of them, so that no match is found twice. Or, where all patterns lead to
one term, all of them are joined once for the terms of which something is new (`hub`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
from headrace.kernel.grid import NEVER
from headrace.kernel.hub import Hub, hub_of
from headrace.kernel.instants import Instants
from headrace.kernel.lasting import LASTING, NO_TURN, TURN, names_of
from headrace.kernel.lookup import Lookup
from headrace.kernel.operand import Operand, all_met, always_ones, of_each
from headrace.kernel.scan import scan
from headrace.kernel.solutions import Solutions
from headrace.kernel.stock import Stock
from headrace.kernel.table import Flags, Ids, Table, stacked
from headrace.kernel.tables import Wish, static_tables
from headrace.kernel.wording import Kept
from headrace.planning.matching import Branch, Scanned, StaticPart
from headrace.planning.routing import Router, Start

_ENOUGH: Final = 128
"""What so many of them meet says enough of all of them."""
_SEVERAL: Final = 3
"""If fewer patterns have new matches than these, each of them is looked at alone."""
_ABOUT_ONE: Final = 1.5
"""How many matches of each pattern the terms at a hub may have on average."""
STATIC_ROUTE: Final = -1
"""The route of what matches in static data alone."""
HUB_ROUTE: Final = -2
"""The route of the terms at the hub of all patterns."""
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

    def operand(self, timed: bool, *, new: bool) -> Operand:
        """What others are joined with: its memory, with what is new in it if that is asked for."""
        names = self.names | {self.time} if timed else self.names
        rows = self.memory.height if new else self.memory.known
        return Operand(names, self.memory, rows, self.always)


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
        self.static: list[Operand] = []
        self.found: Found | None = None
        self.router = Router(adapts)
        self.hub = hub_of([each.names for each in self.patterns]) if adapts else None

    def begin(self, asking: Asking) -> None:
        """Look at static data, and find what matches in them alone."""
        for table in static_tables(self._wish(), asking):
            self.static.append(Operand(table.names, always=table))
        for pattern in self.patterns:
            pattern.look_at_static(asking)
        operands = self._operands()
        if all(each.always is not None and each.always.frame.height for each in operands):
            first, *others = operands
            assert first.always is not None, "all have static data"
            known = first.always.table
            start = always_ones(known)
            found = self._along(STATIC_ROUTE, start, others, NEVER, asking)
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
        if self.found is not None:
            self.found = self.found.without_over(floor)
        for pattern in self.patterns:
            new = pattern.new(arrived[pattern.scanned.windows], self.timed, asking)
            pattern.memory.add(new)
        found = self._by_hub(floor, asking) if self._meets_at_hub else self._by_each(floor, asking)
        if found.height:
            self._keep(found, asking)
        for pattern in self.patterns:
            pattern.memory.settle(floor)

    def _operands(self) -> list[Operand]:
        """All parts, with what is new in them."""
        return [*(each.operand(self.timed, new=True) for each in self.patterns), *self.static]

    def _by_each(self, floor: int, asking: Asking) -> Table:
        """What is new of each pattern, joined with the others."""
        found = list[Table]()
        for number, pattern in enumerate(self.patterns):
            if pattern.memory.new.height:
                # One match is found once: with what is new only of the patterns that follow.
                others = [
                    other.operand(self.timed, new=place > number)
                    for place, other in enumerate(self.patterns)
                    if place != number
                ]
                operands = [*others, *self.static]
                found.append(self._along(number, pattern.memory.new, operands, floor, asking))
        found = [each for each in found if each.height]
        return stacked(found) if found else Table.without_rows(())

    @property
    def _meets_at_hub(self) -> bool:
        """Whether terms at a hub have about one match of each pattern, and several a new one."""
        if self.hub is None:
            return False
        spokes = [self.patterns[number] for number in self.hub.spokes]
        if sum(each.memory.new.height > 0 for each in spokes) < _SEVERAL:
            return False
        on = [self.hub.name]
        return all(each.operand(self.timed, new=True).fan_out(on) < _ABOUT_ONE for each in spokes)

    def _by_hub(self, floor: int, asking: Asking) -> Table:
        """The matches of terms at the hub of which something is new, that are new themselves."""
        hub, operands = self.hub, self._operands()
        assert hub is not None, "who asks for it knows it"
        if any(each.is_empty for each in operands):
            return Table.without_rows(())
        terms = self._new_at_hub(hub, operands, floor, asking)
        spokes = [operands[number] for number in hub.spokes]
        once, often = of_each(spokes, hub.name, terms, floor)
        found = [once]
        if often.size:
            start = always_ones(Table.of({hub.name: often}))
            found.append(all_met(start, spokes, floor, asking.budget))
        others = [each for number, each in enumerate(operands) if number not in hub.spokes]
        found = [each for each in found if each.height]
        if not found:
            return Table.without_rows(())
        matches = self._along(HUB_ROUTE, stacked(found), others, floor, asking)
        return matches.where(matches[TURN] > NO_TURN)

    def _new_at_hub(self, hub: Hub, operands: Sequence[Operand], floor: int, asking: Asking) -> Ids:
        """The terms at the hub of which something is new, in order."""
        terms = [self.patterns[number].memory.new[hub.name] for number in hub.spokes]
        for number, way in hub.ways.items():
            reached = self.patterns[number].memory.new
            for each in way:
                if reached.height:
                    reached = operands[each].met(reached, floor, asking.budget)
            if reached.height:
                terms.append(reached[hub.name])
        return np.unique(np.concatenate(terms))

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

    def route(self, pattern: int, found: Table, operands: Sequence[Operand]) -> tuple[int, ...]:
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
        operands: Sequence[Operand],
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
            found = operands[number].met(found, floor, asking.budget)
            ready = [each for each in conditions if _columns(each) <= found.columns.keys()]
            conditions = [each for each in conditions if each not in ready]
            found = _holding(found, ready, asking)
        return _holding(found, conditions, asking)


def _start(found: Table, operands: Sequence[Operand]) -> Start:
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
