"""What tests of clocks that are set share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clock.set_clock import SettableClock, compiled


@pytest.fixture(scope="session")
def clock_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that sets the clock of processes."""
    return compiled(tmp_path_factory.mktemp("clock_library"))


@pytest.fixture
def clock(clock_library: Path, tmp_path: Path) -> SettableClock:
    """The clock of the processes of a test, which is right at first."""
    return SettableClock.right(clock_library, tmp_path / "offset")
