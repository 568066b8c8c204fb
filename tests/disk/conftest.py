"""What tests of failing disks share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.disk.faulty import compiled


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that makes operations on files fail."""
    return compiled(tmp_path_factory.mktemp("library"))
