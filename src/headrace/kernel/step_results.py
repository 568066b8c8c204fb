"""Results of a step of the kernel, and of several slices of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from headrace.kernel.grid import Times
from headrace.kernel.reports import Report
from headrace.rdf.terms import Iri

Placed = tuple[int, int]
"""The number of elements that a query has seen, and of those between its windows."""


@dataclass(frozen=True, slots=True)
class Results:
    """What a step gives.

    Attributes:
        reports: of each query that had something due.
        late: the statements of the elements that missed a window, by stream; of those, the ones
            that were not dropped.
        late_positions: which elements these are.
        failed: the queries that have stopped, and why.
        placed: how many elements each query has seen, and how many of them lie between its windows,
            by its name; queries that are evaluated as one have one entry, by the name of the first.
    """

    reports: tuple[Report, ...]
    late: Mapping[Iri, pl.DataFrame]
    failed: Mapping[str, str]
    late_positions: Mapping[Iri, Times] = field(default_factory=dict)
    placed: Mapping[str, Placed] = field(default_factory=dict)


def unite_results(some: Sequence[Results]) -> Results:
    """Concatenate the results of several slices of a step."""
    if len(some) == 1:
        return some[0]
    reports: list[Report] = []
    late: dict[Iri, pl.DataFrame] = {}
    failed: dict[str, str] = {}
    positions: dict[Iri, Times] = {}
    placed: dict[str, Placed] = {}
    for each in some:
        reports += each.reports
        failed |= each.failed
        for stream, found in each.late_positions.items():
            known = stream in positions
            positions[stream] = np.union1d(positions[stream], found) if known else found
            rows = each.late[stream]
            late[stream] = pl.concat([late[stream], rows]) if known else rows
        for name, (offered, outside) in each.placed.items():
            before = placed.get(name, (0, 0))
            placed[name] = before[0] + offered, before[1] + outside
    return Results(tuple(reports), late, failed, positions, placed)
