"""Evaluations as a person reads them, on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headrace.algebra.query import Form
from headrace.results.terminal import evaluation_text
from headrace.sinks.memory import MemorySink


class ConsoleSink(MemorySink):
    """Shows each evaluation; those of the last batch again after a crash."""

    def __init__(self, forms: Mapping[str, Form], show: Callable[[str], object]) -> None:
        """Say who shows a text, which has its line ends."""
        super().__init__(forms, lambda evaluation: show(evaluation_text(evaluation)))
