"""What a step reports of a query: its instants, and what was emitted at each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import overload

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
        stretches: the stretches of instants that an evaluation stands for, likewise.
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


class SlicedReports(Sequence[Report]):
    """Reports that do not fit into memory together: a slice of them is read when it is needed."""

    def __init__(self, slices: Sequence[Callable[[], Sequence[Report]]]) -> None:
        """Take what reads each slice."""
        self._slices = slices

    def slices(self) -> Iterator[Sequence[Report]]:
        """Read one slice after the other."""
        for read in self._slices:
            yield read()

    def __iter__(self) -> Iterator[Report]:
        """Read all of them, in order."""
        for each in self.slices():
            yield from each

    def __len__(self) -> int:
        """How many there are."""
        return sum(map(len, self.slices()))

    def __bool__(self) -> bool:
        """Whether there is one."""
        return any(self.slices())

    @overload
    def __getitem__(self, place: int) -> Report: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Report]: ...

    def __getitem__(self, place: int | slice) -> Report | Sequence[Report]:
        """Return some of them."""
        if isinstance(place, slice):
            return [*self][place]
        return next(islice(self, range(len(self))[place], None))


def slices_of(reports: Sequence[Report]) -> Iterator[Sequence[Report]]:
    """Return reports in parts of which each fits into memory."""
    return reports.slices() if isinstance(reports, SlicedReports) else iter([reports])
