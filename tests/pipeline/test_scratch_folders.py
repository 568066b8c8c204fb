"""Folders for what tasks write: those of crashed runs are removed, those in use are not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headrace.pipeline.keeper import scratch
from tests.clock.set_clock import DAY


def test_a_folder_in_use_stays_where_the_clock_is_set_ahead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scratch(tmp_path) as first:
        (first / "part").touch()
        present = first.stat().st_mtime
        monkeypatch.setattr("time.time", lambda: present + 2 * DAY)
        with scratch(tmp_path) as second:
            assert (first / "part").exists()
            assert second.is_dir()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_a_crashed_run_is_removed_after_a_day(tmp_path: Path) -> None:
    left, young = tmp_path / "scratch-left", tmp_path / "scratch-young"
    for each in (left, young):
        each.mkdir()
        (each / "part").touch()
    os.utime(left, (0, 0))
    with scratch(tmp_path):
        assert not left.exists()
        assert (young / "part").exists()
