"""What the kernel makes of a batch, inside a Spark task."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import uuid4

import pyarrow as pa

from headrace.kernel.columns import ELEMENTS, TERMS
from headrace.kernel.step import Kernel, Results
from headrace.kernel.windows import Progress
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
        watermark: how far the stream has come; none at the end of the input.
    """

    batch: int
    progress: Progress
    open_panes: tuple[Pane, ...]
    new_panes: tuple[Pane, ...] = ()
    watermark: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What a step has done."""

    report: Report
    progress: Progress
    late: int


def perform(request: Request, deployment: Deployment) -> Reply:
    """Load the windows, step once, and write what is reported to a new file."""
    layout, plan = deployment.layout, deployment.plan
    kernel = Kernel(plan, deployment.seed, request.progress)
    for pane in request.open_panes:
        kernel.remember(*read_pane(layout.panes, pane, plan.delay))
    results = _results(kernel, request, deployment)
    return Reply(_written(results, request.batch, deployment), kernel.progress, results.late)


def _results(kernel: Kernel, request: Request, deployment: Deployment) -> Results:
    if request.watermark is None:
        return kernel.finish()
    layout, plan = deployment.layout, deployment.plan
    read = [read_pane(layout.panes, pane, plan.delay) for pane in request.new_panes]
    elements, terms = ELEMENTS.to_frame(), TERMS.to_frame()
    for more_elements, more_terms in read:
        elements, terms = elements.vstack(more_elements), terms.vstack(more_terms)
    return kernel.step(elements, request.watermark, terms)


def _written(results: Results, batch: int, deployment: Deployment) -> Report:
    instants = (results.instants.start, results.instants.stop, results.instants.step)
    if not results.instants:
        return Report(instants)
    name = f"{batch}-{uuid4().hex}.arrow"
    solutions: pa.Table = results.solutions.to_arrow()
    checksum = write_tables(deployment.layout.results / name, solutions)
    return Report(instants, name, checksum)
