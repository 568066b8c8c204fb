from __future__ import annotations

import polars as pl
import pytest

from headrace.errors import LimitError
from headrace.kernel import budget
from headrace.kernel.budget import first_rows
from headrace.metering import EvaluationLimits, MemoryGauge, Meter, metered

ROWS = pl.DataFrame({"a": [n % 7 for n in range(1_000)], "b": [n % 3 for n in range(1_000)]})


def short_of(room: int) -> Meter:
    """A meter of a process that may use so many bytes more."""
    memory = MemoryGauge()
    memory.start(1_000_000 + room, lambda: 1_000_000)
    return Meter(EvaluationLimits(), memory=memory)


@pytest.mark.parametrize("names", [None, ["a"], ["b", "a"]])
def test_first_rows_are_the_same_in_chunks(
    names: list[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = first_rows(ROWS, names, "distinct")
    monkeypatch.setattr(budget, "_CHUNK", 10)
    with metered(short_of(100_000)):  # less than all rows at once would need
        assert first_rows(ROWS, names, "distinct").equals(every)


def test_many_different_rows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "_CHUNK", 10)
    with metered(short_of(200_000)), pytest.raises(LimitError, match="distinct"):
        first_rows(ROWS.with_row_index("n"), None, "distinct")
