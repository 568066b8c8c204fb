"""What the members of a group emit, found by looking only where their matches change.

As long as the matches of a member are the same, so is its answer, and nothing is new in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from headrace.algebra.reporting import Emit
from headrace.kernel.columns import FIRST, INSTANT, LAST
from headrace.kernel.contents import BLOCK_ROWS
from headrace.kernel.emission import compared, counted
from headrace.kernel.evaluation import Around, answers_given
from headrace.kernel.grid import Times
from headrace.kernel.incremental import Matched
from headrace.kernel.members import MEMBER, OF_MEMBER
from headrace.kernel.solutions import Solutions

_OVER: Final = -1


@dataclass(frozen=True)
class Turns:
    """Instants of members, all those of a member after each other.

    Attributes:
        keys: in order: the number of the member times how many instants there are, plus the
            instant.
        number: how many instants there are.
    """

    keys: Times
    number: int

    @classmethod
    def of(cls, matched: Matched) -> Turns:
        """The first instant of each member, and each at which a match begins or is over."""
        number = len(matched.instants)
        keys = [np.arange(len(matched.plan.members)) * number]
        for frame in matched.found.values():
            own = frame[OF_MEMBER].to_numpy() * number
            after = frame[LAST].to_numpy() + 1
            inside = after < number
            keys += [own + frame[FIRST].to_numpy(), (own + after)[inside]]
        return cls(np.unique(np.concatenate(keys)), number)

    @cached_property
    def members(self) -> Times:
        """Whose each of them is."""
        return self.keys // self.number

    @cached_property
    def instants(self) -> Times:
        """Which instant each of them is."""
        return self.keys % self.number

    @cached_property
    def followed_by(self) -> Times:
        """The next of the same member, if there is one."""
        following = np.arange(1, self.keys.size + 1)
        ends = np.append(self.members[1:] != self.members[:-1], [True])
        return np.where(ends, _OVER, following)

    def spans(self, frame: pl.DataFrame) -> tuple[Times, Times]:
        """For each match the first of them at which it is one, and the first after these."""
        own = frame[OF_MEMBER].to_numpy() * self.number
        first, last = own + frame[FIRST].to_numpy(), own + frame[LAST].to_numpy()
        return np.searchsorted(self.keys, first), np.searchsorted(self.keys, last, side="right")

    def at_each(self, frame: pl.DataFrame) -> Solutions:
        """The matches at each of them, as if each were an instant of its own."""
        first, after = self.spans(frame)
        counts = after - first
        rows = np.repeat(np.arange(frame.height), counts)
        places = np.arange(rows.size) - np.repeat(np.cumsum(counts) - counts, counts) + first[rows]
        own = frame.drop(FIRST, LAST, OF_MEMBER)[rows]
        return Solutions(own.with_columns(pl.Series(INSTANT, places, pl.Int64)), keyed=True)


def changes_of_members(
    matched: Matched, emit: Emit, previous: pl.DataFrame | None, around: Around
) -> tuple[pl.DataFrame, pl.DataFrame] | None:
    """What members emit, with their numbers, and what their next answers are compared with.

    None if it has to be found otherwise.
    """
    frames: Mapping[int, pl.DataFrame] = matched.found
    if not all(OF_MEMBER in frame.columns for frame in frames.values()):
        return None
    turns = Turns.of(matched)
    ends = [turns.spans(frame) for frame in frames.values()]
    if sum(int((after - first).sum()) for first, after in ends) > BLOCK_ROWS:
        return None
    given = {operator: turns.at_each(frame) for operator, frame in frames.items()}
    answers = counted(answers_given(matched.plan, given, range(turns.keys.size), around))
    numbers = answers[INSTANT].to_numpy()
    following = pl.Series(INSTANT, turns.followed_by[numbers], pl.Int64)
    before = answers.with_columns(following).filter(pl.col(INSTANT) != _OVER)
    if previous is not None:
        firsts = np.searchsorted(turns.members, previous[MEMBER].to_numpy())
        first = previous.with_columns(pl.Series(INSTANT, firsts, pl.Int64))
        before = pl.concat([first.select(before.columns), before])
    members = pl.Series(MEMBER, turns.members[numbers], pl.Int64)
    last = answers.with_columns(members).filter(following == _OVER).drop(INSTANT)
    rows = compared(answers, before, emit)
    places = rows[INSTANT].to_numpy()
    return rows.with_columns(
        pl.Series(INSTANT, turns.instants[places], pl.Int64),
        pl.Series(MEMBER, turns.members[places], pl.Int64),
    ), last
