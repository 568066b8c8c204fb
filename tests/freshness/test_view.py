"""What a local view learns of its mappings, and how likely it says they are fresh."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.errors import SettingError
from headrace.freshness.accuracy import Beliefs, estimated, fresh_until
from headrace.freshness.rates import (
    Evidence,
    Learning,
    Refreshes,
    expected_changes,
    intervals,
    learned,
    pooled,
)
from headrace.freshness.scores import NEVER_CHANGES, Ints
from headrace.freshness.view import LocalView


def ints(*numbers: int) -> Ints:
    return np.array(numbers, np.int64)


def flags(*values: bool) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.array(values, np.bool_)


def fixed(*declared: int) -> LocalView:
    view = LocalView(expected=100, learning=None)
    view.add(np.arange(len(declared)), 0, ints(*declared))
    return view


def test_a_new_mapping_is_best_before_now() -> None:
    view = fixed(5, 0)
    assert view.best_before.tolist() == [0, 0]
    assert view.interval(ints(0, 1)).tolist() == [5, 100], "what nobody declares is as expected"


def test_a_refresh_renews() -> None:
    view = fixed(5, 5)
    view.refresh(ints(1), flags(True), 8)
    assert view.best_before.tolist() == [0, 10]
    assert view.refreshed.tolist() == [0, 8]


def test_forgetting_keeps_the_rest() -> None:
    view = fixed(5, 6, 7)
    view.refresh(ints(2), flags(True), 8)
    view.keep(ints(2, 0))
    assert len(view) == 2
    assert view.identity.tolist() == [2, 0]
    assert view.interval(ints(0, 1)).tolist() == [7, 5]
    assert view.refreshed.tolist() == [8, 0]


# -- rates ----------------------------------------------------------------------------------------


def test_expected_changes_by_hand() -> None:
    # 2 / (1 - e^-2) = 2.313
    assert expected_changes(np.array([0.2]), ints(10)).round(3).tolist() == [2.313]
    assert expected_changes(np.array([0.0]), ints(10)).tolist() == [1.0]


def seen(interval: int, elapsed: int, ticks: int, changed: bool) -> Refreshes:
    return Refreshes(ints(interval), ints(elapsed), ints(ticks), flags(changed))


def test_evidence_by_chance() -> None:
    learning = Learning(keep=0.5, trust=1)
    before = Evidence(np.array([2.0]), np.array([20.0]))
    unchanged = learned(before, seen(10, 30, 3, False), 0.0, learning)
    assert (unchanged.changes.tolist(), unchanged.time.tolist()) == ([1.0], [40.0])
    # (1 + 1) / (40 + 10) = 1 / 25
    assert intervals(unchanged, ints(10), learning).tolist() == [25]
    changed = learned(before, seen(10, 30, 3, True), 0.0, learning)
    assert changed.changes.round(3).tolist() == [1 + 3.157]


def test_evidence_by_the_clock_confirms_it() -> None:
    learning = Learning(keep=0.5, trust=1)
    none = Evidence.none(1)
    kept = learned(none, seen(10, 34, 3, True), 1.0, learning)
    assert (kept.changes.tolist(), kept.time.tolist()) == ([3.0], [30.0])
    quiet = learned(none, seen(10, 4, 0, False), 1.0, learning)
    assert (quiet.changes.tolist(), quiet.time.tolist()) == ([0.0], [0.0])
    against = learned(none, seen(10, 34, 3, False), 1.0, learning)
    assert (against.changes.tolist(), against.time.tolist()) == ([0.0], [34.0])


def test_what_never_changes() -> None:
    nothing = Evidence(np.zeros(1), np.array([1e30]))
    assert intervals(nothing, ints(10), Learning()).tolist() == [NEVER_CHANGES]


def test_all_mappings_together() -> None:
    some = Evidence(np.array([3.0, 0.0]), np.array([30.0, 8.0]))
    assert pooled(some, 11, Learning(trust=2)) == 12  # (3 + 2) / (38 + 22)


@pytest.mark.parametrize(("keep", "trust"), [(1.0, 1.0), (-0.1, 1.0), (0.5, 0.0)])
def test_learning_that_cannot_be(keep: float, trust: float) -> None:
    with pytest.raises(SettingError):
        Learning(keep, trust)


def test_rates_are_learned_and_follow_a_drift() -> None:
    chance = np.random.default_rng(5)
    number, now, rate = 300, 0, 1 / 50
    view = LocalView(expected=1000)
    view.add(np.arange(number), 0)
    places = np.arange(number)
    believed = []
    for round_ in range(120):
        if round_ == 60:
            rate = 1 / 400
        now += 100
        view.refresh(places, chance.random(number) < 1 - np.exp(-rate * 100), now)
        believed.append(float(np.median(view.interval(places))))
    assert 35 < believed[59] < 75
    assert 250 < believed[119] < 650


def test_asking_twice_at_once_says_nothing() -> None:
    view = LocalView(expected=10)
    view.add(ints(1), 5)
    view.refresh(ints(0), flags(False), 5)
    assert view.evidence.time.tolist() == [0.0]
    assert view.beliefs == Beliefs()


# -- accuracy -------------------------------------------------------------------------------------


def test_an_empty_answer_is_right() -> None:
    assert estimated(np.zeros(0)) == 1.0


def test_the_first_expected_change() -> None:
    assert fresh_until(ints(0, 11, 0), ints(7, 5, 4), ints(0, 8, 9)).tolist() == [7, 11, 12]


def test_three_ways_by_hand() -> None:
    found = Beliefs().fresh(flags(True), ints(10), ints(5))
    assert found.round(4).tolist() == [round((0.98 + 0.5 + np.exp(-0.5)) / 3, 4)]


def test_the_way_that_is_right_wins() -> None:
    by_clock = flags(True, False)
    beliefs = Beliefs()
    for _ in range(30):
        beliefs = beliefs.after(by_clock, ints(10, 10), ints(9, 12), flags(False, True))
    assert beliefs.weights()[0] > 0.95, "it changed when the clock said, and not before"
    beliefs = Beliefs()
    for _ in range(30):
        beliefs = beliefs.after(flags(False), ints(10), ints(20), flags(False))
    assert beliefs.weights()[2] > 0.95, "twice the time has passed, and it is the same"


def test_budget_to_spare_makes_less_patient() -> None:
    view = LocalView(expected=10)
    for _ in range(100):
        view.spared(unused=True)
    low = view.patience
    assert 0 < low < 1
    for _ in range(500):
        view.spared(unused=False)
    assert view.patience == 1.0
