from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from headrace.functions.numerals import double_text
from headrace.kernel.values import double_texts


@given(
    st.lists(st.one_of(st.floats(), st.floats(1, 1e16), st.integers(-(10**9), 10**9).map(float)))
)
def test_texts_of_a_column_are_those_of_each_double(numbers: list[float]) -> None:
    column = pl.Series(numbers, dtype=pl.Float64)
    assert double_texts(column).to_list() == [double_text(number) for number in numbers]
