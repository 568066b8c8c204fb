"""What a query answers at an instant, read from what steps have committed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headrace.algebra.query import Select
from headrace.kernel.columns import INSTANT, column
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
    if report.name is None or report.checksum is None:
        return
    path = deployment.layout.results / report.name
    instants, solutions = read_tables(path, report.checksum)
    form = deployment.plan.query.form
    assert isinstance(form, Select), "nothing else is run here"
    names = [column(variable) for variable in form.variables]
    rows: dict[int, list[tuple[str | None, ...]]] = {}
    if solutions.num_rows:
        columns = [solutions.column(name).to_pylist() for name in (INSTANT, *names)]
        for instant, *values in zip(*columns, strict=True):
            rows.setdefault(instant, []).append(tuple(values))
    opens, closes = (instants.column(name).to_numpy().tolist() for name in ("opens", "closes"))
    for number in range(instants.num_rows):
        yield Answer(opens[number], closes[number], tuple(rows.get(number, ())))
