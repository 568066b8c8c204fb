"""Counts of terms that come and go, against counting them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.kernel.tally import Tally
from headrace.rdf.ids import text_ids


def ids(numbers: list[int]) -> np.ndarray:
    """Terms by number, as hashes."""
    return text_ids([f"<http://x/{number}>".encode() for number in numbers], 0)


columns = st.lists(st.integers(0, 40), max_size=60)


@given(columns, st.lists(columns, max_size=5))
def test_few_terms_are_counted_exactly(first: list[int], more: list[list[int]]) -> None:
    tally = Tally(ids(first))
    counted = Counter(first)
    for each in more:
        tally.add(ids(each))
        counted.update(each)
    for gone in more[:2]:
        tally.take_away(ids(gone))
        counted.subtract(gone)
    numbers = list(range(45))
    found = np.rint(tally.of(ids(numbers))).tolist()
    assert found == [counted[number] for number in numbers]
    assert tally.total == counted.total()


def test_what_is_often_there_is_exact_among_many() -> None:
    chance = np.random.default_rng(3)
    often = ids([1, 2])
    rare = ids(chance.integers(10, 200_000, size=100_000).tolist())
    tally = Tally(np.concatenate([np.repeat(often, 5_000), rare]))
    assert tally.of(often).tolist() == [5_000, 5_000]
    tally.add(np.repeat(often, 7))
    tally.take_away(rare[:50_000])
    assert tally.of(often).tolist() == [5_007, 5_007]


def test_what_is_rare_is_about_right_among_many() -> None:
    chance = np.random.default_rng(4)
    numbers = chance.integers(0, 50_000, size=100_000)
    terms = ids(list(range(60_000)))
    tally = Tally(terms[numbers])
    true = np.bincount(numbers, minlength=60_000)
    error = np.abs(tally.of(terms) - true)
    assert error.mean() < 0.3
    assert tally.of(terms).sum() == pytest.approx(true.sum(), rel=0.1)
    assert tally.distinct == pytest.approx(np.count_nonzero(true), rel=0.05)


def test_nothing_is_left_of_what_was_taken_away() -> None:
    terms = ids(list(range(5_000)))
    tally = Tally(terms)
    tally.take_away(terms)
    assert (tally.total, tally.of(terms).sum(), tally.distinct) == (0, 0, 0)


def test_no_term_is_there_in_an_empty_column() -> None:
    assert Tally(ids([])).of(ids([1, 2])).tolist() == [0, 0]
