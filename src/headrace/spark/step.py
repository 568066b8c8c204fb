"""What the kernel makes of a batch, inside a Spark task."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import polars as pl
import pyarrow as pa

from headrace.errors import InternalError
from headrace.kernel.columns import ARRIVALS, POSITION
from headrace.kernel.data import NO_QUADS
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.progress import Progress
from headrace.kernel.standing import Around
from headrace.kernel.step import Arrivals, Kernel, Results
from headrace.spark.layout import Deployment
from headrace.spark.manifest import Report
from headrace.spark.panes import Pane, read_pane
from headrace.spark.tables import write_tables


@dataclass(frozen=True, slots=True)
class Request:
    """What a step is asked to do.

    Attributes:
        batch: its number, for the names of its files.
        progress: where the step before it stopped.
        open_panes: what open windows hold already.
        new_panes: what the batch brought, in the order of the stream.
        ended: whether the input has ended.
    """

    batch: int
    progress: Progress
    open_panes: tuple[Pane, ...]
    new_panes: tuple[Pane, ...] = ()
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """What a step has done.

    Attributes:
        report: what it reports.
        progress: where it stopped.
        late: how many elements missed a window.
        horizon: the time up to which no element is needed any more.
    """

    report: Report
    progress: Progress
    late: int
    horizon: int


def perform(request: Request, deployment: Deployment) -> Reply:
    """Load the windows, step once, and write what is reported to a new file."""
    plan, layout = deployment.plan, deployment.layout
    [stream] = plan.streams
    around = Around(Dictionary(deployment.seed), NO_QUADS)
    kernel = Kernel([plan], around)
    [query] = kernel.queries
    query.progress = request.progress
    kernel.remember(stream, _read(kernel, request.open_panes, layout.panes))
    if request.ended:
        results = kernel.finish()
    else:
        results = kernel.step({stream: _read(kernel, request.new_panes, layout.panes)})
    if results.failed:
        raise InternalError(f"the query failed: {'; '.join(results.failed.values())}")
    late = sum(frame[POSITION].n_unique() for frame in results.late.values())
    written = _written(results, request.batch, deployment)
    return Reply(written, query.progress, late, kernel.horizon(stream))


def _read(kernel: Kernel, panes: tuple[Pane, ...], directory: Path) -> Arrivals:
    """The elements of some panes, one after the other."""
    statements, high, position = [ARRIVALS.to_frame()], None, 0
    for pane in panes:
        elements, terms = read_pane(directory, pane)
        kernel.around.dictionary.learn(terms)
        statements.append(elements.with_columns(pl.col(POSITION) + position))
        position += pane.elements
        high = max(
            (each for each in (high, pane.before, pane.high) if each is not None), default=None
        )
    return Arrivals(pl.concat(statements), high)


def _written(results: Results, batch: int, deployment: Deployment) -> Report:
    if not results.reports:
        return Report()
    [found] = results.reports
    name = f"{batch}-{uuid4().hex}.arrow"
    [(_, span)] = found.windows
    columns = {"time": found.times, "opens": span.opens, "closes": span.closes}
    instants = pa.table({column: pa.array(values) for column, values in columns.items()})
    path = deployment.layout.results / name
    return Report(name, write_tables(path, instants, found.rows.to_arrow()))
