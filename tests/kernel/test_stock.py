"""What can be said of the matches of a pattern while they come and go."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from headrace.kernel import stock
from headrace.kernel.lasting import BEGIN, END, TURN
from headrace.kernel.stock import Stock
from headrace.rdf.ids import text_ids


def terms(numbers: np.ndarray) -> np.ndarray:
    return text_ids([f"<http://x/{number}>".encode() for number in numbers.tolist()], 0)


def matches(numbers: np.ndarray, begin: int, end: int) -> pl.DataFrame:
    size = numbers.size
    lasting = {BEGIN: np.full(size, begin), END: np.full(size, end), TURN: np.full(size, -1)}
    return pl.DataFrame({"?x": terms(numbers), **lasting})


def test_what_is_over_is_counted_no_more() -> None:
    kept = Stock()
    old, new = np.repeat(np.arange(10), 100), np.repeat(np.arange(10, 20), 3)
    kept.add(matches(old, 0, 10))
    asked = matches(np.array([3, 13]), 0, 10)
    assert kept.meets(asked, "?x") == pytest.approx(100)
    kept.add(matches(new, 5, 50))
    assert kept.meets(asked, "?x") == pytest.approx(103, rel=0.01)
    kept.drop(11)
    assert kept.meets(asked, "?x") == pytest.approx(3, rel=0.01)
    assert kept.distinct(["?x"]) == pytest.approx(10, abs=1)


def test_many_small_parts_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stock, "_MOST_PARTS", 4)
    kept = Stock()
    kept.add(matches(np.arange(5), 0, 100))
    asked = matches(np.arange(5), 0, 0)
    kept.meets(asked, "?x")
    for time in range(1, 40):
        kept.add(matches(np.arange(5), time, 100 + time))
        kept.tidy(0)
    assert kept.meets(asked, "?x") == pytest.approx(200)
    assert len(kept._counted) <= 5
    kept.drop(1_000)
    assert kept.meets(asked, "?x") == 0


def test_a_glance_leaves_all_that_may_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stock, "_SMALL", 0)
    kept = Stock()
    kept.add(matches(np.arange(0, 2_000, 2), 0, 100))
    asked = matches(np.arange(1_000), 0, 100)
    for _ in range(3):
        left = kept.fitting(asked, ["?x"])
        assert set(terms(np.arange(0, 1_000, 2)).tolist()) <= set(left["?x"].to_list())
        assert left.height < 510
        kept.add(matches(np.arange(5_000, 15_000), 0, 100))
    assert Stock().fitting(asked, ["?x"]).is_empty()
