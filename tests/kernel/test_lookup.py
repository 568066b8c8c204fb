"""Rows of a large table that a few others are joined with."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.kernel import lookup
from headrace.kernel.lookup import Lookup
from headrace.kernel.table import Table

NUMBERS = st.integers(-3, 3)
ROWS = st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=40)


@given(
    ROWS,
    ROWS,
    st.sampled_from([["a"], ["b"], ["a", "b"], ["a", "b", "c"]]),
    st.sampled_from([0, 2]),
)
def test_what_is_looked_up_is_what_a_join_finds(
    table: list[tuple[int, ...]], rows: list[tuple[int, ...]], on: list[str], many: int
) -> None:
    known = pl.DataFrame(table, schema=dict.fromkeys("abc", pl.Int64), orient="row")
    names = [*on, "z"][: len(on) + 1]
    found = pl.DataFrame(
        [(*row[: len(on)], place) for place, row in enumerate(rows)],
        schema=dict.fromkeys(names, pl.Int64),
        orient="row",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lookup, "_MANY", many)
        ours, theirs = Lookup(known).meeting(Table.of_frame(found), on, lambda _: None)
    joined = found.join(known, on=on)
    both = found[ours].hstack(known.drop(on)[theirs])
    assert sorted(both.select(joined.columns).rows()) == sorted(joined.rows())
