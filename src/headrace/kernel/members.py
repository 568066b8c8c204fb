"""The members of a group of queries as instants of their own.

What stands above matches is computed instant by instant, whatever the operator. So what a member
makes of its matches at an instant is computed as if that were one more instant: the number of the
real one times the number of members, plus that of the member.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from headrace.kernel.budget import Budget
from headrace.kernel.columns import INSTANT, column
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.solutions import Solutions
from headrace.planning.matching import Matching
from headrace.planning.plan import Plan
from headrace.planning.sharing import MEMBER as MEMBER_VARIABLE
from headrace.planning.sharing import Parameters, is_parameter

MEMBER: Final = "member"
"""Which member an answer is of, by number."""
OF_MEMBER: Final = column(MEMBER_VARIABLE)
"""The same in matches, where it stands beside the terms."""


@dataclass(frozen=True, slots=True)
class Apart:
    """What has solutions of all members, each of which is an instant of its own for what is above.

    Attributes:
        operators: by their identities.
        members: how many there are.
        instants: the instants below.
    """

    operators: frozenset[int]
    members: int
    instants: Sequence[int]

    @classmethod
    def of(cls, plan: Plan, instants: Sequence[int]) -> Apart | None:
        """What is apart in a plan; nothing if it is that of one query."""
        if not plan.members:
            return None
        return cls(_operators(plan.matching), len(plan.members), instants)

    def spread(self, found: Solutions, budget: Budget) -> Solutions:
        """Solutions at the instants of members; those that all have in common are repeated."""
        found = found.expanded(self.instants)
        frame = found.frame
        if OF_MEMBER not in frame.columns:
            rows = frame.height * self.members
            budget.check(rows, "what members have in common", frame.width + 1)
            everyone = pl.int_range(self.members, dtype=pl.Int64, eager=True).alias(OF_MEMBER)
            frame = frame.join(everyone.to_frame(), how="cross")
        number = pl.col(INSTANT) * self.members + pl.col(OF_MEMBER)
        hidden = [name for name in frame.columns if is_hidden(name)]
        return Solutions(frame.with_columns(number.alias(INSTANT)).drop(hidden), keyed=True)


def _operators(matching: Matching) -> frozenset[int]:
    return frozenset(id(core.operator) for core in matching.cores)


_HIDDEN: Final = "?"


def is_hidden(name: str) -> bool:
    """Whether a column says of which member a match is, and no more."""
    return name == OF_MEMBER or is_parameter(name.removeprefix(_HIDDEN))


def told_apart(frame: pl.DataFrame, members: int) -> pl.DataFrame:
    """Rows at the instants of members as rows of real instants with the number of the member."""
    numbers = pl.col(INSTANT)
    return frame.select(
        (numbers // members).alias(INSTANT),
        (numbers % members).alias(MEMBER),
        pl.exclude(INSTANT),
    )


def put_back(frame: pl.DataFrame, members: int) -> pl.DataFrame:
    """The reverse: one number for the instant and the member."""
    number = pl.col(INSTANT) * members + pl.col(MEMBER)
    return frame.select(number.alias(INSTANT), pl.exclude(INSTANT, MEMBER))


def table_of(parameters: Parameters, dictionary: Dictionary) -> Solutions:
    """The members with the terms that their parameters stand for."""
    first, *others = parameters.variables
    numbers = pl.int_range(parameters.number, dtype=pl.Int64, eager=True)
    columns = [
        dictionary.encode_all(values).alias(column(variable))
        for variable, values in zip(others, parameters.columns, strict=True)
    ]
    instants = pl.repeat(0, parameters.number, dtype=pl.Int64, eager=True).alias(INSTANT)
    frame = pl.DataFrame([instants, numbers.alias(column(first)), *columns])
    return Solutions(frame, identified_by=frozenset({column(first)}))
