"""Which solutions of two patterns belong together."""

from __future__ import annotations

import polars as pl

from headrace.kernel.columns import INSTANT


def join(left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
    """Solutions of the same instant that agree on all variables of both, which are bound."""
    shared = [name for name in left.columns if name in right.columns and name != INSTANT]
    return left.join(right, on=[INSTANT, *shared], how="inner")
