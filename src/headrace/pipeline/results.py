"""What a batch has to tell: kept in a file from its commit until every sink has it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
import pyarrow as pa

from headrace.kernel.columns import TIME
from headrace.kernel.instants import Span
from headrace.kernel.reports import Report
from headrace.pipeline.tables import frame_of, read_tables, write_tables

SEQ: Final = "seq"
LATE: Final = pl.Schema({"stream": pl.String, TIME: pl.Int64, "quad": pl.String})
"""Each statement of the elements that missed a window."""
REJECTED: Final = pl.Schema(
    [
        ("stream", pl.String),
        ("reason", pl.String),
        (TIME, pl.Int64),
        ("quads", pl.List(pl.String)),
    ]
)
"""What could not be taken; there is no time if it could not even be read."""

_NONE: Final = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Told:
    """What a batch has to tell.

    Attributes:
        reports: what queries emitted, and when.
        late: which elements missed a window.
        rejected: what could not be taken, and why.
        spent: seconds by stage, of the process that tells it; not kept with the rest.
        rerouted: how often each query has changed the order of its joins in this process; likewise.
    """

    reports: Sequence[Report] = ()
    late: pl.DataFrame = field(default_factory=LATE.to_frame)
    rejected: pl.DataFrame = field(default_factory=REJECTED.to_frame)
    spent: Mapping[str, float] = field(default_factory=dict)
    rerouted: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_nothing(self) -> bool:
        """Whether there is nothing to tell."""
        return not self.reports and self.late.is_empty() and self.rejected.is_empty()


def write_told(path: Path, told: Told) -> str:
    """Write what a batch has to tell to a new file, durably, and return its checksum."""
    tables = [_header(told.reports), told.late.to_arrow(), told.rejected.to_arrow()]
    for report in told.reports:
        tables += [_instants(report), report.rows.to_arrow()]
    return write_tables(path, tables)


def read_told(path: Path, checksum: str) -> Told:
    """Read it again.

    Raises:
        MachineError: the file is not what was written.
    """
    header, late, rejected, *tables = read_tables(path, checksum)
    heads = json.loads(header.column("reports")[0].as_py())
    pairs = zip(heads, tables[::2], tables[1::2], strict=True)
    reports = tuple(_report(head, instants, rows) for head, instants, rows in pairs)
    return Told(reports, frame_of(late).cast(LATE), frame_of(rejected).cast(REJECTED))


def _header(reports: Sequence[Report]) -> pa.Table:
    heads = [
        {
            "query": report.query,
            "windows": [name for name, _ in report.windows],
            "errors": list(report.errors.items()),
            "skipped": sorted(report.skipped),
        }
        for report in reports
    ]
    return _table({"reports": [json.dumps(heads)]})


def _instants(report: Report) -> pa.Table:
    columns = {TIME: report.times, SEQ: report.seqs}
    for number, (_, span) in enumerate(report.windows):
        columns |= {f"opens {number}": span.opens, f"closes {number}": span.closes}
    return _table(columns)


def _table(columns: Mapping[str, object]) -> pa.Table:
    # Arrow would import Pandas to find out that these are not of Pandas, for a quarter of a second.
    return pl.DataFrame(columns).to_arrow()


def _report(head: dict[str, Any], instants: pa.Table, rows: pa.Table) -> Report:
    columns = {name: instants.column(name).to_numpy() for name in instants.column_names}
    windows = tuple(
        (name, Span(columns[f"opens {number}"], columns[f"closes {number}"], _NONE, _NONE))
        for number, name in enumerate(head["windows"])
    )
    return Report(
        head["query"],
        columns[TIME],
        columns[SEQ],
        windows,
        frame_of(rows),
        {int(place): text for place, text in head["errors"]},
        frozenset(head.get("skipped", ())),
    )
