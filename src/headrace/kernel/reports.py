"""What a step reports of a query: its instants, and what was emitted at each of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from headrace.kernel.grid import Times
from headrace.kernel.instants import Span, Stretch


@dataclass(frozen=True, slots=True)
class Report:
    """The evaluations of one query in one step.

    Attributes:
        query: its name.
        times: when it was evaluated.
        seqs: which of the evaluations at the same time each is.
        windows: the names of its windows, and what they were at each instant.
        rows: `instant`, the number of an evaluation here, and canonical texts: of the variables,
            of the parts of a statement, or of a truth value.
        errors: what went wrong, by the number of the evaluation.
        skipped: the numbers of the instants at which it was not evaluated, for want of time.
        accuracies: how accurate the answers from local views of remote data are estimated to be, by
            the number of the evaluation.
        completenesses: what share of the expected rows such answers have, as estimated, likewise.
        stretches: the empty stretches of instants that an evaluation stands for, likewise.
    """

    query: str
    times: Times
    seqs: Times
    windows: tuple[tuple[str, Span], ...]
    rows: pl.DataFrame
    errors: dict[int, str] = field(default_factory=dict)
    skipped: frozenset[int] = frozenset()
    accuracies: dict[int, float] = field(default_factory=dict)
    completenesses: dict[int, float] = field(default_factory=dict)
    stretches: dict[int, Stretch] = field(default_factory=dict)

    def __len__(self) -> int:
        """How many instants there are."""
        return self.times.size
