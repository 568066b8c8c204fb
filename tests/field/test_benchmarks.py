"""What benchmarks print is a figure, or a word why there is none."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

import pytest
from typer.testing import CliRunner

from headrace.cli import app
from tests.shared import ROOT


def benchmark(name: str) -> ModuleType:
    folder = str(ROOT / "benchmarks")
    if folder not in sys.path:
        sys.path.append(folder)
    return import_module(name)


def test_gains_that_are_noise_are_not_divided_by_each_other() -> None:
    figure = benchmark("csparql").Figure
    assert figure(1, 1, 10, 100.0, 40.0, 80.0, 30.0, 5).sum_of_gains == pytest.approx(70 / 80)
    assert figure(1, 1, 90, 100.0, 99.0, 100.5, 110.0, 5).sum_of_gains is None
    assert figure(1, 1, 90, 100.0, 110.0, 120.0, 90.0, 5).sum_of_gains is None


def test_one_seed_has_no_standard_error() -> None:
    acqua = benchmark("acqua")
    one, two = (acqua.Figure("WSJ-WBM", 3, "periodic", values) for values in ([0.3], [0.4]))
    assert one.above(two) is None
    names = [*(f"{way}-{each}" for way in ("GNR", "WSJ") for each in ("RND", "LRU"))]
    same = {
        (name, budget): acqua.Figure(name, budget, "periodic", [0.3])
        for name in ("WST", "BST", "WSJ-WBM", "WSJ-WBM*", *names)
        for budget in acqua.BUDGETS
    }
    assert not any("standard errors" in said for said in acqua.orders(same))
    more = acqua.Figure("WSJ-WBM", 3, "periodic", [0.5, 0.6, 0.8])
    less = acqua.Figure("WSJ-LRU", 3, "periodic", [0.4, 0.4, 0.5])
    assert more.above(less) == pytest.approx(0.2 / (0.1 / 3**0.5))


def test_a_soak_that_reads_nothing_has_no_figures() -> None:
    soak = benchmark("soak")
    memory = dict.fromkeys(soak.Role, 100.0)
    files = dict.fromkeys(soak.Role, 1)
    sample = soak.Sample(1.5, memory, files, 0.0, 1, 0.0, elements=0, batch=0)
    with pytest.raises(SystemExit, match="nothing was read"):
        soak.show([sample, sample])


def test_both_sides_take_turns() -> None:
    order: list[str] = []

    def side(name: str) -> int:
        order.append(name)
        return 0

    def ready() -> object:
        order.append("ready")
        return lambda: side("ours")

    theirs, ours = benchmark("windows").turns(lambda: side("theirs"), ready, 2)
    assert order == ["ready", "theirs", "ours"] * 2
    assert len(theirs) == len(ours) == 2


def test_what_is_around_the_stages_is_found_run_by_run() -> None:
    figures = benchmark("throughput").Figures(1, 1.0, 1, 1.0)
    figures.headrace = [10.0, 4.0]
    figures.stages = {"decode": [1.0, 3.0], "kernel": [2.0, 0.5]}
    assert figures.around == [7.0, 0.5]


@pytest.mark.parametrize("options", [("soak", "--minutes", "0.1"), ("latency", "--seconds", "20")])
def test_a_run_that_is_too_short_to_be_measured_is_refused(
    options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", [*sys.path])
    done = CliRunner().invoke(app, ["bench", *options])
    assert done.exit_code == 2
    assert "must be at least" in done.output
