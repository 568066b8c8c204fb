"""What a deployment is, from its first run to its last: its directory, its id, its seed."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from headrace.durable import is_claimed, locked
from headrace.errors import SettingError
from headrace.pipeline.layout import Layout, create
from headrace.pipeline.records import read_record, sealed
from headrace.pipeline.tables import IDENTITY
from headrace.version import __version__


@dataclass(frozen=True, slots=True)
class Deployment:
    """A place where queries run, and what must never change there.

    Attributes:
        layout: its directories.
        id: what tells it from any other.
        seed: what term ids are made with; secret, so that nobody can craft a collision.
        lock: keeps others out while it is open.
    """

    layout: Layout
    id: str
    seed: int
    lock: int

    def __enter__(self) -> Self:
        """Use it until the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let others in."""
        self.close()

    def close(self) -> None:
        """Let others in."""
        os.close(self.lock)


@dataclass(frozen=True, slots=True)
class Identity:
    """What a deployment must never forget: its id, its seed, and the version that made it."""

    id: str
    seed: int
    version: str


LOCK: Final = ".lock"


def open_deployment(directory: Path, seed: int | None = None) -> Deployment:
    """Make a deployment in a directory, or go on with the one that is there.

    Args:
        directory: where.
        seed: of a new one; nobody knows it if not given.

    Raises:
        SettingError: the directory cannot be used, or is in use.
        MachineError: it is damaged, or of another version.
    """
    layout = Layout(directory.resolve())
    if not layout.identity.exists() and not _is_unused(layout):
        raise SettingError(
            f"{directory} is no checkpoint of Headrace (it has no {IDENTITY}), and not empty; put "
            "that file back if it was one, or choose another directory"
        )
    layout.make()
    lock = _locked(layout)
    try:
        if not layout.identity.exists():
            chosen = secrets.randbits(64) if seed is None else seed
            new = Identity(secrets.token_hex(8), chosen, __version__)
            create(layout.identity, sealed(new))
        found = read_identity(layout.identity)
    except BaseException:
        os.close(lock)
        raise
    return Deployment(layout, found.id, found.seed, lock)


def _is_unused(layout: Layout) -> bool:
    """Whether nothing is in a directory but what is made there before anything else."""
    if not layout.directory.is_dir():
        return True
    made = {folder.name for folder in layout.folders} | {LOCK}
    found = list(layout.directory.iterdir())
    return all(
        each.name in made or each.name.startswith(f".{IDENTITY}.") for each in found
    ) and not any(file for each in found if each.is_dir() for file in each.iterdir())


def read_identity(path: Path) -> Identity:
    """Whose a directory is.

    Raises:
        MachineError: the file is not what was written, or of another version.
    """
    return Identity(**read_record(path))


def _locked(layout: Layout) -> int:
    return locked(
        layout.directory / LOCK,
        f"{layout.directory} is in use by another run; wait for it, or choose another directory",
    )


def is_in_use(layout: Layout) -> bool:
    """Whether a run has a deployment open."""
    path = layout.directory / LOCK
    return path.exists() and is_claimed(path)
