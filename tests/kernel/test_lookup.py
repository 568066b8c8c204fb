"""Rows of a large table that a few others are joined with."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.kernel import lookup
from headrace.kernel.lookup import Lookup

NUMBERS = st.integers(-3, 3)
ROWS = st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=40)


@given(ROWS, ROWS, st.sampled_from([["a"], ["b"], ["a", "b"], ["a", "b", "c"]]))
def test_what_is_looked_up_is_what_a_join_finds(
    table: list[tuple[int, ...]], rows: list[tuple[int, ...]], on: list[str]
) -> None:
    known = pl.DataFrame(table, schema=dict.fromkeys("abc", pl.Int64), orient="row")
    names = [*on, "z"][: len(on) + 1]
    found = pl.DataFrame(
        [(*row[: len(on)], place) for place, row in enumerate(rows)],
        schema=dict.fromkeys(names, pl.Int64),
        orient="row",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lookup, "_LARGE", 0)
        patch.setattr(lookup, "_FEW", 0)
        patch.setattr(lookup, "_MANY", 0)
        looked_up = Lookup(known).joined(found, on)
    joined = found.join(known, on=on)
    assert sorted(looked_up.select(joined.columns).rows()) == sorted(joined.rows())
