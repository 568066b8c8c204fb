"""What a query answers at an instant, read from what steps have committed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headrace.kernel.columns import INSTANT, column
from headrace.kernel.windows import Sliding
from headrace.spark.layout import Deployment
from headrace.spark.manifest import Report
from headrace.spark.tables import read_tables


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of one window, which may be none.

    Attributes:
        opens: the moment after which the window begins.
        closes: the last moment in it, at which it is evaluated.
        rows: a canonical N-Triples form for each variable, or None where it is unbound.
    """

    opens: int
    closes: int
    rows: tuple[tuple[str | None, ...], ...]


def read_answers(deployment: Deployment, report: Report) -> Iterator[Answer]:
    """The answers of a step, in order; every instant has one."""
    rows: dict[int, list[tuple[str | None, ...]]] = {}
    if report.name is not None and report.checksum is not None:
        path = deployment.layout.results / report.name
        [solutions] = read_tables(path, report.checksum)
        names = [column(variable) for variable in deployment.plan.variables]
        columns = [solutions.column(name).to_pylist() for name in names]
        instants = solutions.column(INSTANT).to_pylist()
        for instant, *values in zip(instants, *columns, strict=True):
            rows.setdefault(instant, []).append(tuple(values))
    windows = Sliding.of(deployment.plan)
    for instant in range(*report.instants):
        yield Answer(windows.opens(instant), instant, tuple(rows.get(instant, ())))
