"""Elements as they come in: which of them are taken, and how far their stream had come before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from headrace.algebra.reporting import DAY
from headrace.kernel.columns import ID, OBJECT, POSITION, PREDICATE, SUBJECT
from headrace.kernel.grid import NEVER, Times
from headrace.kernel.holding import Flags
from headrace.planning.explain import length
from headrace.rdf.times import iso_text, plausible_unit

_MILLISECOND = 1_000

AHEAD_OF_OTHERS = "ahead of what came before it"
FURTHEST = 2**60
"""Times further from 1970 than these microseconds are taken for mistakes, and would overflow."""


@dataclass(frozen=True, slots=True)
class Gate:
    """What keeps elements out whose times cannot be right.

    Attributes:
        max_ahead: how far one may be ahead; as far as it is, if None.
        now: of what: the present, in a live run; else what came before it.
    """

    max_ahead: int | None = DAY
    now: int | None = None

    @classmethod
    def of(cls, max_ahead: int | None, now: int | None) -> Gate:
        """Make the gate of a stream; by default a day in a live run, and open in a replay."""
        return cls(DAY if max_ahead is None and now is not None else max_ahead, now)

    def passed(self, times: Times, high: int | None) -> tuple[Flags, Times]:
        """Select the elements that are taken; return the greatest time before each, or `NEVER`.

        Args:
            times: of the elements and heartbeats, in the order in which they came.
            high: the greatest time before them.
        """
        start = NEVER if high is None else high
        before = np.maximum.accumulate(np.concatenate(([start], times)))[:-1]
        limit = before if self.now is None else np.full(times.size, self.now)
        near = np.ones(times.size, np.bool_)
        if self.max_ahead is not None:
            near = (times <= limit + self.max_ahead) | (limit == NEVER)
        if np.all(near & (np.abs(times) <= FURTHEST)):
            return np.ones(times.size, np.bool_), before
        taken, highs, reached = np.ones(times.size, np.bool_), before.copy(), start
        for place, time in enumerate(times.tolist()):
            highs[place] = reached
            taken[place] = self.reason(time, None if reached == NEVER else reached) is None
            reached = max(reached, time) if taken[place] else reached
        return taken, highs

    def reason(self, time: int, high: int | None) -> str | None:
        """Return the reason why an element of some time is not taken; None if it is."""
        if abs(time) > FURTHEST:
            unit = plausible_unit(time // _MILLISECOND)
            hint = (
                ""
                if unit is None
                else f"; it looks like {unit}, and is read as milliseconds: {unit.remedy}"
            )
            return f"its time is tens of thousands of years away{hint}"
        limit = high if self.now is None else self.now
        if self.max_ahead is None or limit is None or time <= limit + self.max_ahead:
            return None
        of = AHEAD_OF_OTHERS if self.now is None else "ahead of the clock"
        return (
            f"its time {iso_text(time)}Z is more than max_ahead = {length(self.max_ahead)} {of}; "
            "if that is right, set a longer max_ahead"
        )


def with_quoted(statements: pl.DataFrame, parts: pl.DataFrame) -> pl.DataFrame:
    """Statements with the triples that they quote, at any depth, asserted beside them.

    Args:
        statements: those of an element stand together.
        parts: of quoted triples, by id.
    """
    every, new = [statements], statements
    while not new.is_empty():
        found = [
            new.drop(SUBJECT, PREDICATE, OBJECT)
            .with_columns(new[place].alias(ID))
            .join(parts, on=ID, how="inner")
            for place in (SUBJECT, PREDICATE, OBJECT)
        ]
        new = pl.concat(found).select(statements.columns)
        every.append(new)
    return pl.concat(every).unique(maintain_order=True).sort(POSITION, maintain_order=True)
