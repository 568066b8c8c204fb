"""The formulas of window-based maintenance, by hand: the worked example, and each boundary."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.errors import SettingError
from headrace.freshness.election import Candidates, Oracle, elected
from headrace.freshness.policies import RUNNABLE, Policy, Proposer, Ranker, Sliding
from headrace.freshness.scores import (
    NEVER_CHANGES,
    Ints,
    possibly_stale,
    remaining_life,
    renewed,
    scores,
    validity,
)

WINDOW = Sliding(width=3, slide=1)


def ints(*numbers: int) -> Ints:
    return np.array(numbers, np.int64)


def example() -> Candidates:
    """Mappings a, b, c, d at time 8: the triples of a, c, d leave at 9, 11 and 11."""
    return Candidates(
        identity=ints(1, 2, 3, 4),
        best_before=ints(7, 9, 6, 8),
        interval=ints(5, 4, 5, 1),
        refreshed=ints(2, 5, 1, 7),
        entered=ints(6, 7, 8, 8),
        weight=ints(1, 1, 1, 1),
    )


def test_the_worked_example() -> None:
    view, now = example(), 8
    stale = possibly_stale(view.best_before, now)
    assert stale.tolist() == [True, False, True, True], "b is best before 9"
    life = remaining_life(view.entered, WINDOW, now)[stale]
    assert life.tolist() == [1, 3, 3]
    until = renewed(view.best_before, view.interval, now)[stale]
    assert until.tolist() == [12, 11, 9]
    valid = validity(until, WINDOW, now)
    assert valid.tolist() == [4, 3, 1]
    assert scores(life, valid, WINDOW).tolist() == [1, 3, 1]
    assert elected(view, Ranker.WBM, 1, WINDOW, now).tolist() == [2], "c"
    assert elected(view, Ranker.WBM, 9, WINDOW, now).tolist()[0] == 2
    assert set(elected(view, Ranker.WBM, 9, WINDOW, now).tolist()) == {0, 2, 3}


@pytest.mark.parametrize(
    ("entered", "now", "width", "slide", "life"),
    [
        (0, 0, 10, 5, 2),
        (1, 5, 10, 5, 2),  # 6 / 5, and a part of an evaluation is one
        (0, 5, 10, 5, 1),
        (0, 6, 10, 5, 1),
        (0, 10, 10, 5, 0),
        (8, 10, 10, 10, 1),  # tumbling: the text's zero does not follow
        (10, 10, 10, 10, 1),
        (0, 0, 10, 20, 1),
    ],
)
def test_remaining_life(entered: int, now: int, width: int, slide: int, life: int) -> None:
    assert remaining_life(ints(entered), Sliding(width, slide), now).tolist() == [life]


@pytest.mark.parametrize(
    ("best_before", "interval", "now", "until"),
    [
        (7, 5, 8, 12),
        (3, 5, 8, 13),  # one step gives 8, which is no longer to come
        (2, 5, 8, 12),  # one step gives 7, which is past
        (0, 3, 100, 102),
        (9, 4, 8, 13),  # not due yet: k is at least 1
        (8, 1, 8, 9),
        (5, NEVER_CHANGES, 8, 5 + NEVER_CHANGES),
    ],
)
def test_renewed_best_before(best_before: int, interval: int, now: int, until: int) -> None:
    assert renewed(ints(best_before), ints(interval), now).tolist() == [until]


@pytest.mark.parametrize(
    ("until", "slide", "valid"), [(9, 1, 1), (9, 5, 1), (13, 5, 1), (14, 5, 2), (18, 5, 2)]
)
def test_validity(until: int, slide: int, valid: int) -> None:
    assert validity(ints(until), Sliding(20, slide), 8).tolist() == [valid]


@pytest.mark.parametrize("slide", [10, 15])
def test_windows_that_do_not_overlap_go_by_validity(slide: int) -> None:
    assert scores(ints(1, 1), ints(4, 7), Sliding(10, slide)).tolist() == [4, 7]
    assert scores(ints(1, 1), ints(4, 7), Sliding(10, 9)).tolist() == [1, 1]


# -- policies -------------------------------------------------------------------------------------


def test_the_oldest_goes_first() -> None:
    assert elected(example(), Ranker.LRU, 2, WINDOW, 8).tolist() == [2, 0]


def test_budgets() -> None:
    for ranker in (Ranker.WBM, Ranker.LRU, Ranker.RND):
        assert elected(example(), ranker, 0, WINDOW, 8).size == 0
    assert elected(example(), Ranker.WBM, 99, WINDOW, 8).size == 3, "unused budget stays unused"
    assert elected(example(), Ranker.RND, 99, WINDOW, 8).size == 4


def test_a_mapping_in_many_rows_goes_first() -> None:
    one = example()
    heavy = Candidates(
        one.identity, one.best_before, one.interval, one.refreshed, one.entered, ints(4, 1, 1, 1)
    )
    assert elected(heavy, Ranker.WBM, 1, WINDOW, 8).tolist() == [0], "4 * 1 is more than 1 * 3"


def test_ties_are_by_seed_and_time_and_by_no_order() -> None:
    number = 200
    ids = np.arange(number, dtype=np.int64)
    same = np.full(number, 5, np.int64)
    one = Candidates(ids, same, same, same, same, np.ones(number, np.int64))
    order = np.random.default_rng(1).permutation(number)
    other = Candidates(ids[order], same, same, same, same, np.ones(number, np.int64))
    for ranker in (Ranker.WBM, Ranker.LRU, Ranker.RND):
        found = elected(one, ranker, 20, WINDOW, 8, seed=3)
        assert order[elected(other, ranker, 20, WINDOW, 8, seed=3)].tolist() == found.tolist()
        assert elected(one, ranker, 20, WINDOW, 8, seed=4).tolist() != found.tolist()
        assert elected(one, ranker, 20, WINDOW, 9, seed=3).tolist() != found.tolist()


def test_chance_is_fair() -> None:
    ids = np.arange(10, dtype=np.int64)
    same = np.full(10, 5, np.int64)
    one = Candidates(ids, same, same, same, same, np.ones(10, np.int64))
    times = np.zeros(10, np.int64)
    for now in range(2000):
        times[elected(one, Ranker.RND, 3, WINDOW, now)] += 1
    assert times.min() > 500
    assert times.max() < 700


def test_bounds_need_an_oracle() -> None:
    for ranker in (Ranker.WST, Ranker.BST, Ranker.WBM_STAR):
        with pytest.raises(SettingError, match="needs to know what is stale"):
            elected(example(), ranker, 1, WINDOW, 8)
        with pytest.raises(SettingError, match="bound for experiments"):
            Policy.named(ranker.value)


def test_bounds_with_an_oracle() -> None:
    oracle = Oracle(np.array([False, True, False, True]), ints(30, 9, 30, 20))
    assert elected(example(), Ranker.WST, 4, WINDOW, 8, oracle=oracle).size == 0
    best = elected(example(), Ranker.BST, 4, WINDOW, 8, oracle=oracle)
    assert sorted(best.tolist()) == [1, 3], "b is stale, whatever its best-before time says"
    star = elected(example(), Ranker.WBM_STAR, 1, WINDOW, 8, oracle=oracle)
    assert star.tolist() == [3], "min(3, 12) is more than min(2, 1)"


def test_policies_by_name() -> None:
    assert RUNNABLE == ("WBM", "LRU", "RND", "GNR")
    assert Policy.named("WBM") == Policy()
    assert Policy.named("GNR") == Policy(Proposer.GNR, Ranker.LRU)
    with pytest.raises(SettingError, match="unknown policy 'FIFO'; policies are WBM, LRU, RND"):
        Policy.named("FIFO")
