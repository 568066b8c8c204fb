"""Where the test data of the field stands, and a reason to skip where it does not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("HEADRACE_DATA", ROOT.parent / "shared" / "data"))


def needs_data(folder: str) -> pytest.MarkDecorator:
    """Skip a test where a folder of the shared data is absent."""
    absent = not (DATA / folder).is_dir()
    return pytest.mark.skipif(absent, reason=f"no test data at {DATA / folder}")
