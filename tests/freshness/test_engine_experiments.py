"""The experiments through the engine are the simulation's, where nothing is left to chance."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.shared import ROOT

EVALUATIONS = 6


@pytest.fixture(scope="module")
def modules() -> Iterator[tuple[Any, Any]]:
    folder = str(ROOT / "benchmarks")
    sys.path.insert(0, folder)  # also for the process of the endpoint
    import _local_views
    import acqua

    yield acqua, _local_views
    sys.path.remove(folder)
    for name in ("acqua", "_local_views"):
        sys.modules.pop(name, None)


@pytest.mark.slow
def test_an_engine_that_refreshes_nothing_is_as_accurate_as_the_simulation(
    modules: tuple[Any, Any],
) -> None:
    acqua, views = modules
    contracts = {"WST": "[BUDGET 0]", "all": "[POLICY LRU BUDGET 99]", "some": "[BUDGET 5]"}
    found = views.through_the_engine(acqua.world(0), contracts, 120, evaluations=EVALUATIONS)
    # The simulation knows nothing of mentions before the start, which the first window has.
    simulated = acqua.run(0, "WST", 0).accuracy[1:EVALUATIONS]
    assert np.allclose(found["WST"].accuracy[1:], simulated)
    assert found["WST"].most == 0
    assert set(found["all"].accuracy) == {1.0}
    assert found["all"].error(0) == 0
    assert all(each.completeness == [1.0] * EVALUATIONS for each in found.values())
    assert found["WST"].mean < found["some"].mean < 1
    assert 0 < found["some"].most <= 5


def test_intervals_are_those_of_students_t(modules: tuple[Any, Any]) -> None:
    _, views = modules
    assert views.half_width([1.0]) == float("inf")
    assert views.half_width([1.0, 2.0, 3.0]) == pytest.approx(4.303 / 3**0.5, rel=1e-3)
    assert str(views.Interval.of([0.5] * 5)) == "0.500 ± 0.000"
