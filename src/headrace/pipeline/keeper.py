"""Who keeps the tables that follow from a version of static data."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from shutil import rmtree
from typing import Any, Final
from uuid import uuid4

import polars as pl

from headrace.durable import claim, is_claimed
from headrace.kernel.data import Quads
from headrace.kernel.keeping import Asked, KeptTable, is_a_scan, named
from headrace.pipeline.kept import MOST_BYTES, KeptTables
from headrace.pipeline.layout import create
from headrace.pipeline.records import sealed, unsealed
from headrace.pipeline.static_parts import MOST_PARTS, StaticRequest, Tasks, read_parts
from headrace.pipeline.tables import unwritable
from headrace.planning.cut import cut_by

_SCRATCH: Final = "scratch-"
_LEFT: Final = 86_400.0
"""After so many seconds, a folder is what a run that has crashed has left behind."""

LEAST_ROWS: Final = 20_000
"""Tables of fewer rows than these are not kept: to make them again takes no time."""
LARGE: Final = 2_000_000
"""Patterns over fewer statements than these are not worth a job of Spark's."""
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
        large: from how many statements on tasks find what follows from them.
    """

    folder: Path
    most: int = MOST_BYTES
    least: int = LEAST_ROWS
    most_in_memory: int = MOST_IN_MEMORY
    large: int = LARGE

    def seed(self) -> int:
        """The seed of the deployments that begin with this cache, so that they share tables.

        Raises:
            MachineError: it cannot be read or written.
        """
        path = self.folder / "seed.json"
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileExistsError):
                create(path, sealed({"seed": secrets.randbits(64)}))
            return int(unsealed(path.read_bytes(), path)["seed"])
        except OSError as error:
            raise unwritable(path, error) from error

    @cached_property
    def tables(self) -> KeptTables:
        """What is there."""
        return KeptTables(self.folder / "tables", self.most)


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
        self.tasks: Tasks | None = None

    @property
    def least(self) -> int:
        """Tables of fewer rows than these are made again in no time."""
        return self.cache.least

    @property
    def most_in_memory(self) -> int:
        """Of tables with more rows than these, no index is held in memory."""
        return self.cache.most_in_memory

    def under(self, schema: str) -> VersionKeeper:
        """Who keeps what follows from these statements and those that a schema adds to them.

        Tasks see only what is in the files of this version, and solve nothing there.

        Args:
            schema: what tells the schema from others.
        """
        version = f"{self.version}-{schema}"
        return VersionKeeper(self.cache, version, self.seed, self._quads, self._terms)

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

    def solved(self, asked: Asked) -> tuple[pl.DataFrame, pl.DataFrame] | None:
        """Solutions that tasks find, each those of its part; none if they are found here."""
        key = None
        tasks = self.tasks
        if tasks is not None and self._quads.frame.height >= self.cache.large:
            key = None if named(asked.operator) is None else cut_by(asked.operator)
        if tasks is None or key is None or is_a_scan(asked.operator):
            return None
        quads, terms = self._files
        if quads is None or terms is None:
            return None
        parts = min(tasks.parts, MOST_PARTS)
        with scratch(self.cache.folder) as folder:
            requests = [
                StaticRequest(
                    asked.operator,
                    asked.default,
                    asked.named,
                    key,
                    part,
                    parts,
                    self.seed,
                    asked.rows,
                    str(quads),
                    str(terms),
                    str(folder),
                )
                for part in range(parts)
            ]
            tasks.work(requests)
            return read_parts(requests)

    @property
    def _files(self) -> tuple[Path | None, Path | None]:
        tables = self.cache.tables
        return tables.place(statements_of(self.version)), tables.place(terms_of(self.version))


def statements_of(version: str) -> str:
    """What the statements of a version are kept as."""
    return f"{version} statements"


def terms_of(version: str) -> str:
    """What the terms of a version are kept as."""
    return f"{version} terms"


@contextmanager
def scratch(within: Path) -> Iterator[Path]:
    """A folder for what tasks write, until the end of the block.

    Raises:
        MachineError: it cannot be made.
    """
    folder = within / f"{_SCRATCH}{uuid4().hex}"
    with ExitStack() as stack:
        try:
            folder.mkdir(mode=0o700, parents=True)
            stack.callback(rmtree, folder, ignore_errors=True)
            handle = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, handle)
            with suppress(OSError):  # some file systems have no locks
                claim(handle, f"{folder} is in use")
            for each in within.glob(f"{_SCRATCH}*"):
                if _is_abandoned(each):
                    rmtree(each, ignore_errors=True)
        except OSError as error:
            raise unwritable(folder, error) from error
        yield folder


def _is_abandoned(folder: Path) -> bool:
    """Test whether a run that has crashed has left a folder behind.

    A folder in use looks old too, where the clock was set ahead after it was made.
    """
    with suppress(OSError):  # another run was first
        return time.time() - folder.stat().st_mtime > _LEFT and not is_claimed(folder)
    return False
