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


class MemorySink:
    """Hands each evaluation to a function, such as the `append` of a list."""

    def __init__(self, forms: Mapping[str, Form], publish: Callable[[Evaluation], object]) -> None:
        """Say who is called."""
        self._forms = forms
        self._publish = publish

    def mark(self) -> Mark:
        """Always the start: what was handed over cannot be taken back."""
        return None

    def recover(self, mark: Mark) -> None:
        """Do nothing."""

    def write(self, label: str, reports: Sequence[Report]) -> None:  # noqa: ARG002
        """Hand over what a batch reported."""
        for report in reports:
            for evaluation in evaluations(report, self._forms[report.query]):
                self._publish(evaluation)

    def close(self) -> None:
        """Do nothing."""
