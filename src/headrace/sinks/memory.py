"""Evaluations for the caller, with typed terms, one after the other.

Nothing is durable here: after a crash the evaluations of the last batch come again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from headrace.algebra.query import Form
from headrace.kernel.evaluations import evaluations
from headrace.kernel.reports import Report
from headrace.results.evaluations import Evaluation
from headrace.sinks.base import Mark


class ReportSink:
    """Hands what each batch reported to a function."""

    def __init__(self, deliver: Callable[[Sequence[Report]], object]) -> None:
        """Say who is called."""
        self._deliver = deliver

    def mark(self) -> Mark:
        """Always the start: what was handed over cannot be taken back."""
        return None

    def recover(self, mark: Mark) -> None:
        """Do nothing."""

    def write(self, label: str, reports: Sequence[Report]) -> None:  # noqa: ARG002
        """Hand over what a batch reported."""
        self._deliver(reports)

    def close(self) -> None:
        """Do nothing."""


class MemorySink(ReportSink):
    """Hands each evaluation to a function, such as the `append` of a list."""

    def __init__(self, forms: Mapping[str, Form], publish: Callable[[Evaluation], object]) -> None:
        """Say who is called."""

        def deliver(reports: Sequence[Report]) -> None:
            for report in reports:
                for evaluation in evaluations(report, forms[report.query]):
                    publish(evaluation)

        super().__init__(deliver)
