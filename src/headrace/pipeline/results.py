"""What a batch has to tell: kept in a file from its commit until every sink has it."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
import pyarrow as pa

from headrace.diagnosis import Note
from headrace.functions.value_failures import ValueFailure
from headrace.kernel.columns import TIME
from headrace.kernel.instants import Span, Stretch
from headrace.kernel.remote import Contracted
from headrace.kernel.reports import Report
from headrace.pipeline.tables import frame_of, read_tables, with_schema, write_tables

SEQ: Final = "seq"
LATE: Final = pl.Schema({"stream": pl.String, TIME: pl.Int64, "quad": pl.String})
"""Each statement of the elements that missed a window."""
REJECTED: Final = pl.Schema(
    [
        ("stream", pl.String),
        ("reason", pl.String),
        (TIME, pl.Int64),
        ("quads", pl.List(pl.String)),
        ("text", pl.String),
    ]
)
"""What could not be taken; there is no time but a text if it could not even be read."""

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
        contracts: how queries stand with the endpoints that they ask under a budget; likewise.
        notes: the notes that are true after the batch; likewise.
        failures: what expressions of queries could not compute in this process; likewise.
    """

    reports: Sequence[Report] = ()
    late: pl.DataFrame = field(default_factory=LATE.to_frame)
    rejected: pl.DataFrame = field(default_factory=REJECTED.to_frame)
    spent: Mapping[str, float] = field(default_factory=dict)
    rerouted: Mapping[str, int] = field(default_factory=dict)
    contracts: Mapping[str, Contracted] = field(default_factory=dict)
    notes: Sequence[Note] = ()
    failures: Mapping[str, Sequence[ValueFailure]] = field(default_factory=dict)

    @property
    def is_nothing(self) -> bool:
        """Whether there is nothing to tell."""
        return not self.reports and self.late.is_empty() and self.rejected.is_empty()


def write_told(path: Path, told: Told) -> str:
    """Write what a batch has to tell to a new file, durably, and return its checksum."""
    bundles = [list(same) for _, same in groupby(told.reports, _sort_of)]
    tables = [_header(bundles), told.late.to_arrow(), told.rejected.to_arrow()]
    for bundle in bundles:
        tables += [_instants(bundle), pl.concat([report.rows for report in bundle]).to_arrow()]
    return write_tables(path, tables)


def _sort_of(report: Report) -> Hashable:
    """What reports that are written as one have in common."""
    return tuple(name for name, _ in report.windows), tuple(report.rows.schema.items())


def read_told(path: Path, checksum: str) -> Told:
    """Read it again.

    Raises:
        MachineError: the file is not what was written.
    """
    header, late, rejected, *tables = read_tables(path, checksum)
    heads = json.loads(header.column("reports")[0].as_py())
    pairs = zip(heads, tables[::2], tables[1::2], strict=True)
    reports = tuple(each for head, *both in pairs for each in _reports(head, *both))
    return Told(reports, frame_of(late).cast(LATE), with_schema(frame_of(rejected), REJECTED))


def _header(bundles: Sequence[Sequence[Report]]) -> pa.Table:
    heads = [
        {
            "windows": [name for name, _ in bundle[0].windows],
            "reports": [
                {
                    "query": report.query,
                    "instants": len(report),
                    "rows": report.rows.height,
                    "errors": list(report.errors.items()),
                    "skipped": sorted(report.skipped),
                    "accuracies": list(report.accuracies.items()),
                    "completenesses": list(report.completenesses.items()),
                    "stretches": [
                        [place, each.since, each.last, each.count]
                        for place, each in report.stretches.items()
                    ],
                }
                for report in bundle
            ],
        }
        for bundle in bundles
    ]
    return _table({"reports": [json.dumps(heads)]})


def _instants(bundle: Sequence[Report]) -> pa.Table:
    columns = {
        TIME: np.concatenate([report.times for report in bundle]),
        SEQ: np.concatenate([report.seqs for report in bundle]),
    }
    for number in range(len(bundle[0].windows)):
        spans = [report.windows[number][1] for report in bundle]
        columns |= {
            f"opens {number}": np.concatenate([span.opens for span in spans]),
            f"closes {number}": np.concatenate([span.closes for span in spans]),
        }
    return _table(columns)


def _table(columns: Mapping[str, object]) -> pa.Table:
    # Arrow would import Pandas to find out that these are not of Pandas, for a quarter of a second.
    return pl.DataFrame(columns).to_arrow()


def _reports(head: dict[str, Any], instants: pa.Table, rows: pa.Table) -> Iterator[Report]:
    """Read the reports that were written as one."""
    columns = {name: instants.column(name).to_numpy() for name in instants.column_names}
    frame = frame_of(rows)
    first, row = 0, 0
    if "query" in head:  # an older version has written each on its own
        head = {**head, "reports": [{**head, "instants": len(instants), "rows": len(rows)}]}
    for each in head["reports"]:
        own = {name: array[first : first + each["instants"]] for name, array in columns.items()}
        windows = tuple(
            (name, Span(own[f"opens {number}"], own[f"closes {number}"], _NONE, _NONE))
            for number, name in enumerate(head["windows"])
        )
        yield Report(
            each["query"],
            own[TIME],
            own[SEQ],
            windows,
            frame.slice(row, each["rows"]),
            {int(place): text for place, text in each["errors"]},
            frozenset(each.get("skipped", ())),
            {int(place): value for place, value in each.get("accuracies", ())},
            {int(place): value for place, value in each.get("completenesses", ())},
            {int(place): Stretch(*stretch) for place, *stretch in each.get("stretches", ())},
        )
        first, row = first + each["instants"], row + each["rows"]
