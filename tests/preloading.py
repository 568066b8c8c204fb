"""Libraries in C that are preloaded into processes, to change what the system does for them."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest


def compiler() -> Sequence[str] | None:
    """Find a C compiler: that of the system, or that of the package `ziglang`."""
    found = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if found is not None:
        return [found]
    if importlib.util.find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc"]
    return None


def build_library(source: Path, folder: Path) -> Path:
    """Compile a library into a folder; skip the test where that cannot be done."""
    if not sys.platform.startswith("linux"):
        pytest.skip(f"{source.name} is a preloaded library for Linux")
    command = compiler()
    if command is None:
        pytest.skip("there is no C compiler: install gcc, or pip install ziglang")
    library = folder / f"{source.stem}.so"
    options = ["-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl", "-lpthread"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return library
