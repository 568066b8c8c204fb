"""Statistics of paired runs."""

from __future__ import annotations

import doctest
from collections.abc import Iterator
from importlib import import_module
from itertools import product

import pytest
from _paired_ratios import (
    LEAST,
    Pair,
    Run,
    Side,
    interval_of,
    ranks,
    run_pairs,
    sides_of,
    summarize,
)

QUIET = Run(processor=1, wall=1, others=0.5)
BUSY = Run(processor=1, wall=1, others=0.6)


def pair(ratio: float, number: int = 0, others: float = 0) -> Pair:
    return Pair(number, Run(ratio, 2, others), Run(1, 2, 0), load=0)


@pytest.mark.parametrize("name", ["_paired_ratios", "_processor_time", "_revisions", "compare"])
def test_examples_run(name: str) -> None:
    assert doctest.testmod(import_module(name)).failed == 0


@pytest.mark.parametrize("count", range(1, 13))
def test_coverage_is_that_of_all_ways_around_the_median(count: int) -> None:
    """Each value is below the median or above it: all ways are equally likely."""
    found = ranks(count)
    if found is None:
        assert count < LEAST
        return
    low, high, coverage = found
    ways = [sum(way) for way in product((0, 1), repeat=count)]
    assert coverage == sum(low <= below < high for below in ways) / len(ways)
    assert coverage >= 0.95
    narrower = sum(low + 1 <= below < high - 1 for below in ways) / len(ways)
    assert narrower < 0.95


def test_the_interval_of_nine_ratios_is_the_second_and_the_eighth() -> None:
    found = interval_of([9, 1, 8, 2, 7, 3, 6, 4, 5])
    assert found is not None
    assert (found.low, found.high, found.ranks) == (2, 8, (2, 8))
    assert found.coverage == pytest.approx(0.961, abs=0.0005)


def test_few_ratios_have_no_interval() -> None:
    assert interval_of([1.0] * (LEAST - 1)) is None
    assert interval_of([1.0] * LEAST) is not None


def test_others_may_use_half_a_core_on_average() -> None:
    assert QUIET.is_valid
    assert not BUSY.is_valid
    assert Run(1, wall=4, others=2).is_valid
    assert not Pair(0, QUIET, BUSY, 0).is_valid
    assert not Pair(0, BUSY, QUIET, 0).is_valid


def test_a_summary_is_of_valid_pairs() -> None:
    pairs = [pair(ratio) for ratio in (1.1, 1.2, 1.3, 1.4, 1.5, 1.7)] + [pair(9, others=2)] * 3
    found = summarize(pairs, asked=9)
    assert found.is_valid
    assert (found.pairs, found.valid) == (9, 6)
    assert found.median == pytest.approx(1.35)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == (1.1, 1.7)


def test_too_few_valid_pairs_are_no_result() -> None:
    found = summarize([pair(1)] * 5 + [pair(3, others=2)] * 6, asked=9)
    assert not found.is_valid
    assert found.median == 3, "all pairs are shown"
    assert summarize([pair(1)] * 2, asked=2).is_valid
    assert not summarize([pair(1), pair(1, others=2)], asked=2).is_valid


def test_sides_swap_with_each_pair() -> None:
    order: list[Side] = []

    def measure(side: Side) -> Run:
        order.append(side)
        return QUIET

    pairs = list(run_pairs(3, 3, measure, lambda: 1.5))
    assert [each.number for each in pairs] == [0, 1, 2]
    assert {each.load for each in pairs} == {1.5}
    tree, revision = Side.TREE, Side.REVISION
    assert order == [tree, revision, revision, tree, tree, revision]


def test_each_run_belongs_to_its_side() -> None:
    runs = {Side.TREE: Run(2, 1, 0), Side.REVISION: Run(4, 1, 0)}
    assert [each.ratio for each in run_pairs(2, 0, runs.__getitem__, lambda: 0)] == [0.5, 0.5]


def test_a_pair_that_is_not_valid_is_repeated_in_the_same_order() -> None:
    order: list[Side] = []
    runs = iter([QUIET, QUIET, QUIET, BUSY, BUSY, QUIET, QUIET, QUIET])

    def measure(side: Side) -> Run:
        order.append(side)
        return next(runs)

    pairs = list(run_pairs(2, 5, measure, lambda: 0))
    assert [(each.number, each.is_valid) for each in pairs] == [
        (0, True),
        (1, False),
        (1, False),
        (1, True),
    ]
    assert order == [*sides_of(0), *sides_of(1), *sides_of(1), *sides_of(1)]


def test_repetitions_are_bounded() -> None:
    def busy(pairs: Iterator[Pair]) -> list[int]:
        return [each.number for each in pairs]

    assert busy(run_pairs(3, 2, lambda _: BUSY, lambda: 0)) == [0, 0, 0, 1, 2]
    assert busy(run_pairs(3, 0, lambda _: BUSY, lambda: 0)) == [0, 1, 2]
