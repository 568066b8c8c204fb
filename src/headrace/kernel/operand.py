"""A part of a branch that matches are joined with: what windows hold of it, and static data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from headrace.kernel.budget import Budget
from headrace.kernel.grid import FOREVER, NEVER
from headrace.kernel.lasting import BEGIN, END, NO_TURN, TURN
from headrace.kernel.stock import Stock
from headrace.kernel.table import Ids, Table, stacked
from headrace.kernel.tables import StaticTable
from headrace.planning.routing import Leg

_VARIES: Final = 1.5
"""Where matches meet more than these on average, it pays to see how many they really meet."""
_OF_BOTH: Final = {BEGIN: np.maximum, END: np.minimum, TURN: np.maximum}
"""What is left of both where two matches are joined."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A part of a branch that matches are joined with.

    Attributes:
        names: the columns that it binds.
        memory: what windows hold of it.
        rows: how many rows of that are looked at, the first of them.
        always: what is in static data.
    """

    names: frozenset[str]
    memory: Stock | None = None
    rows: int = 0
    always: StaticTable | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing meets it."""
        return self.rows == 0 and (self.always is None or self.always.frame.height == 0)

    def fan_out(self, on: list[str]) -> float:
        """How many matches one that agrees on some columns meets, as far as is known."""
        found = 0.0 if self.always is None else self.always.fan_out(on)
        if self.memory is None or not self.rows:
            return found
        return found + self.rows / max(1, self.memory.distinct(on) if on else 1)

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
        return static + (0.0 if self.memory is None else self.memory.meets(found, name))

    def met(self, found: Table, floor: int, budget: Budget) -> Table:
        """Matches with those of this part that agree with them on all that both bind."""
        on = sorted(self.names & found.columns.keys())
        return self.joined(found, on, floor, budget)

    def joined(self, found: Table, on: list[str], floor: int, budget: Budget) -> Table:
        """Matches with those of this part that agree with them on some columns."""
        what = "a join of what is new" if on else "a join without a shared variable"

        others = [name for name in self.names if name not in on]
        columns = len(found.columns) + len(others)

        def allow(rows: int) -> None:
            budget.check(rows, what, columns)

        pieces = []
        if self.memory is not None and self.rows:
            ours, theirs = self.memory.meeting(found, on, allow)
            if self.rows < self.memory.height:
                known = theirs < self.rows
                ours, theirs = ours[known], theirs[known]
            pieces.append(_lasting_both(found, self.memory.table, ours, theirs, others, floor))
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


def of_each(spokes: Sequence[Operand], name: str, terms: Ids, floor: int) -> tuple[Table, Ids]:
    """The matches of terms that meet one of each part, and the terms that meet more of some."""
    if any(each.always is not None for each in spokes):
        return Table.without_rows(()), terms
    memories = [each.memory for each in spokes if each.memory is not None]
    counts, rows = zip(*(each.counted(terms, name) for each in memories), strict=True)
    least, most = np.minimum.reduce(counts), np.maximum.reduce(counts)
    once = np.flatnonzero((least == 1) & (most == 1))
    columns, kept = {name: terms[once]}, np.ones(once.size, np.bool_)
    for each, where in zip(memories, rows, strict=True):
        for other, values in each.table.taken(where[once]).columns.items():
            known = columns.get(other)
            if known is None:
                columns[other] = values
            elif other in _OF_BOTH:
                columns[other] = _OF_BOTH[other](known, values)
            else:  # a variable that patterns share besides
                kept &= known == values
    kept &= (columns[BEGIN] <= columns[END]) & (columns[END] >= floor)
    return Table(columns, once.size).where(kept), terms[(least > 0) & (most > 1)]


def all_met(found: Table, parts: Sequence[Operand], floor: int, budget: Budget) -> Table:
    """Matches with those of each part that agree with them."""
    for each in parts:
        found = each.met(found, floor, budget)
    return found


def always_ones(table: Table) -> Table:
    """Matches that are always ones."""
    lasting = {BEGIN: NEVER, END: FOREVER, TURN: NO_TURN}
    return table.with_columns({name: np.full(table.height, each) for name, each in lasting.items()})
