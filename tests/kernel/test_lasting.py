"""Matches that last: each once for each time without a break, and what changes between instants."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.algebra.reporting import Emit
from headrace.kernel import alike
from headrace.kernel.columns import FIRST, INSTANT, LAST
from headrace.kernel.emission import Answers, changes, emitted
from headrace.kernel.lasting import BEGIN, END, TURN, united
from headrace.kernel.table import Table

Row = tuple[int, int, int, int, int]
ROWS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.integers(0, 1),
        st.integers(0, 20),
        st.integers(0, 5),
        st.integers(-1, 3),
    ),
    max_size=25,
)


def frame(rows: list[Row]) -> pl.DataFrame:
    schema = dict.fromkeys(("?a", "?b", BEGIN, END, TURN), pl.Int64)
    ended = [(a, b, begin, begin + more, turn) for a, b, begin, more, turn in rows]
    return pl.DataFrame(ended, schema=schema, orient="row")


def by_hand(rows: pl.DataFrame) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = []
    for a, b, begin, end, turn in sorted(rows.rows(), key=lambda row: (row[0], row[1], row[2])):
        if found and found[-1][:2] == (a, b) and begin <= found[-1][3] + 1:
            last = found.pop()
            found.append((a, b, last[2], max(last[3], end), max(last[4], turn)))
        else:
            found.append((a, b, begin, end, turn))
    return sorted(found)


@given(ROWS)
def test_what_overlaps_or_touches_is_one(rows: list[Row]) -> None:
    matches = frame(rows)
    found, chosen = united(Table.of_frame(matches))
    assert sorted(found.frame().rows()) == by_hand(matches)
    if chosen is not None:
        assert found.only(["?a", "?b"]).frame().equals(matches.select("?a", "?b")[chosen])


def test_rows_that_differ_are_told_apart_even_if_their_hashes_are_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        pl.DataFrame, "hash_rows", lambda self: pl.Series([7] * self.height, dtype=pl.UInt64)
    )
    rows = pl.DataFrame({"?a": [1, 2, 1, None], "?b": [5, 5, 5, 5]})
    same, example = alike.numbers(rows, ["?a", "?b"])
    assert same[0] == same[2]
    assert len(set(same.tolist())) == 3
    assert sorted(example.tolist()) == [0, 1, 3]


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 4)), max_size=12),
    st.lists(st.integers(0, 2), max_size=4),
    st.sampled_from([Emit.ISTREAM, Emit.DSTREAM]),
)
def test_changes_are_those_of_the_answers(
    lasting: list[tuple[int, int, int]], before: list[int], emit: Emit
) -> None:
    number = 5
    kept = [(what, first, min(4, first + more)) for what, first, more in lasting]
    schema = {"?x": pl.Int64, FIRST: pl.Int64, LAST: pl.Int64}
    rows = pl.DataFrame(kept, schema=schema, orient="row").select(FIRST, LAST, "?x")
    each = [(at, what) for at in range(number) for what, first, last in kept if first <= at <= last]
    every = pl.DataFrame(each, schema={INSTANT: pl.Int64, "?x": pl.Int64}, orient="row")
    start = pl.DataFrame({INSTANT: [0] * len(before), "?x": before}, schema=every.schema)
    _, previous = emitted(Answers(start, 1), emit, None)
    found, last = changes(rows, number, emit, previous)
    wanted, final = emitted(Answers(every, number), emit, previous)
    assert Counter(found.rows()) == Counter(wanted.rows())
    assert found[INSTANT].is_sorted()
    assert last is not None
    assert final is not None
    assert sorted(last.select("?x", "count").rows()) == sorted(final.select("?x", "count").rows())
