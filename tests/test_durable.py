"""Errors of the operating system, as durable files report them."""

from __future__ import annotations

import errno
from pathlib import Path

import polars as pl
import pytest

from headrace.durable import os_errors


def test_a_full_disk_is_an_error_of_the_system(tmp_path: Path) -> None:
    """Polars reports it as a ComputeError from some version on."""
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("/dev/full is needed")
    frame = pl.DataFrame({"a": range(100_000)})
    with (
        full.open("wb") as file,
        pytest.raises(OSError, match="No space left") as caught,
        os_errors(),
    ):
        frame.write_parquet(file)
    assert caught.value.errno == errno.ENOSPC
    with pytest.raises(FileNotFoundError), os_errors():
        frame.write_parquet(tmp_path / "missing" / "a.parquet")


def test_other_errors_of_polars_stay_what_they_are() -> None:
    with pytest.raises(pl.exceptions.ColumnNotFoundError), os_errors():
        pl.DataFrame().select("a")
