"""The paper's experiments on a few seeds: what `headrace bench acqua` prints of twenty."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

import numpy as np
import pytest

from headrace.freshness.rates import Learning
from tests.shared import ROOT

SEEDS = range(4)


@pytest.fixture(scope="module")
def bench() -> Iterator[ModuleType]:
    spec = spec_from_file_location("bench_acqua", ROOT / "benchmarks" / "acqua.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["bench_acqua"] = module  # its dataclasses look themselves up there
    spec.loader.exec_module(module)
    yield module
    del sys.modules["bench_acqua"]


def test_the_replay_is_as_stated(bench: ModuleType) -> None:
    runs = [bench.run(seed, "WST", 0) for seed in SEEDS]
    assert abs(np.mean([each.sizes.mean() for each in runs]) - 33) <= 2
    assert abs(np.mean([each.mean for each in runs]) - 0.23) <= 0.02
    assert sum(each.requests.sum() for each in runs) == 0


def test_the_orders_of_the_tables(bench: ModuleType) -> None:
    found = bench.figures(SEEDS, bench.PERIODIC, list(bench.POLICIES))
    assert [claim for claim, holds in bench.orders(found).items() if not holds] == []


def test_estimates_are_near_the_truth(bench: ModuleType) -> None:
    assert max(bench.estimates(SEEDS).values()) < 0.07


def test_requests_are_saved(bench: ModuleType) -> None:
    _, accuracy, times = bench.saved(SEEDS)
    assert accuracy >= 0.8
    assert times >= 3


def test_learned_rates_are_better_than_fixed_ones_that_drift(bench: ModuleType) -> None:
    for budget in (5, 10):
        fixed = np.mean([bench.run(seed, "WSJ-WBM", budget, bench.DRIFT).mean for seed in SEEDS])
        learned = np.mean(
            [
                bench.run(seed, "WSJ-WBM", budget, bench.DRIFT, learning=Learning()).mean
                for seed in SEEDS
            ]
        )
        assert learned > fixed
