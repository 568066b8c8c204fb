"""Who keeps the tables that follow from a version of static data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import polars as pl

from headrace.kernel.data import Quads
from headrace.kernel.keeping import KeptTable
from headrace.pipeline.kept import MOST_BYTES, KeptTables

LEAST_ROWS: Final = 20_000
"""Tables of fewer rows than these are not kept: to make them again takes no time."""
MOST_IN_MEMORY: Final = 50_000_000
"""Tables of more rows than these are looked up on disk alone."""


@dataclass(frozen=True)
class Cache:
    """Where static data are kept, and how much of it.

    Attributes:
        folder: where.
        most: how many bytes.
        least: how many rows a table must have.
        most_in_memory: how many rows a table may have for which an index is in memory.
    """

    folder: Path
    most: int = MOST_BYTES
    least: int = LEAST_ROWS
    most_in_memory: int = MOST_IN_MEMORY

    @cached_property
    def tables(self) -> KeptTables:
        """What is there."""
        return KeptTables(self.folder, self.most)


class VersionKeeper:
    """Keeps what follows from one version of static data."""

    def __init__(
        self, cache: Cache, version: str, seed: int, quads: KeptTable, terms: KeptTable
    ) -> None:
        """Keep tables beside the statements and the terms that they follow from.

        Args:
            cache: where.
            version: of the static data.
            seed: of the ids.
            quads: the statements.
            terms: their terms.
        """
        self.cache, self.version, self.seed = cache, version, seed
        self._quads, self._terms = quads, terms
        self.before: Quads | None = None

    @property
    def least(self) -> int:
        """Tables of fewer rows than these are made again in no time."""
        return self.cache.least

    @property
    def most_in_memory(self) -> int:
        """Of tables with more rows than these, no index is held in memory."""
        return self.cache.most_in_memory

    def follow(self, before: Quads) -> None:
        """Have tables made from those of other statements, by what differs."""
        self.before = before
        if isinstance(before.keeper, VersionKeeper):
            before.keeper.before = None  # else all that ever were would stay

    def get(self, key: str) -> KeptTable | None:
        """A table, if it is there and as it was put."""
        return self.cache.tables.get(f"{self.version} {key}")

    def put(
        self, key: str, frame: pl.DataFrame, note: Mapping[str, Any] | None = None
    ) -> KeptTable:
        """Keep a table; what comes back is used in its place."""
        return self.cache.tables.put(f"{self.version} {key}", frame, note)
