"""The figures of the Sparkwave experiment: only what was measured, and no difference in noise."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.shared import ROOT, needs_data

pytestmark = needs_data("sparkwave-bsbm")


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return import_module("sparkwave")


def test_a_short_stream_gives_figures_or_the_reason_why_not(
    bench: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "rows.json"
    words = "--only windows --offers 2000 --patterns 1 --windows 1 25 --repeats 2 --json"
    monkeypatch.setattr(sys, "argv", ["sparkwave", *words.split(), str(out)])
    bench.main()
    rows = json.loads(out.read_text("utf-8"))
    assert [row["what"] for row in rows] == [
        "pattern 1, window 1 s, reasoning",
        "pattern 1, window 1 s, types in the stream",
    ]
    for row in rows:
        assert row["offers"] > 0
        assert row["triples"] == pytest.approx(11 * row["offers"])
    printed = capsys.readouterr().out
    assert "window 25 s" in printed
    assert "not measured: too few steps are left once the window is full" in printed


def test_steps_are_timed_after_the_window_is_full(bench: Any) -> None:
    streams = bench.Streams(2_000)
    assert sum(streams.triples) == 22_000
    assert streams.warm(0.1) == bench.WARM
    assert sum(streams.triples[: streams.warm(1)]) >= 10_000
    assert streams.warm(2.1) is None, "no step is left to be timed"
    with pytest.raises(SystemExit, match="--offers 10 is too few"):
        bench.Streams(10)


def test_a_ratio_inside_the_noise_is_no_figure(bench: Any) -> None:
    one = bench.Timed((1.0, 1.1, 1.2), 1_000, None)
    same = bench.Timed((1.15, 1.0, 1.1), 1_000, None)
    half = bench.Timed((2.0, 2.2, 2.4), 1_000, None)
    assert "no difference beyond noise" in bench.ratio_text(*same.ratio_to(one))
    assert bench.ratio_text(*half.ratio_to(one)).strip() == "0.50 (0.42 to 0.60)"
    alone = bench.Timed((2.0,), 1_000, None)
    assert "the noise is not known" in bench.ratio_text(*alone.ratio_to(bench.Timed((1.0,), 9, 0)))
