"""Every example of the repository runs and says something."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.shared import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs(example: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(example)], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout
