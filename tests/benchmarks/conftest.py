"""Makes the modules of benchmarks/ importable, as `headrace bench` does."""

from __future__ import annotations

import sys

from tests.shared import ROOT

FOLDER = str(ROOT / "benchmarks")
if FOLDER not in sys.path:
    sys.path.append(FOLDER)
