"""What a deployment is, from its first run to its last: its directory, its id, its seed."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from headrace.errors import SettingError
from headrace.pipeline.layout import Layout, create
from headrace.pipeline.manifest import FORMAT, check_format
from headrace.pipeline.pieces import damaged
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
    if directory.is_dir() and any(directory.iterdir()) and not layout.identity.exists():
        raise SettingError(
            f"{directory} is no checkpoint of Headrace, and not empty; choose another directory"
        )
    layout.make()
    lock = _locked(layout)
    try:
        if not layout.identity.exists():
            record = {
                "format": FORMAT,
                "version": __version__,
                "id": secrets.token_hex(8),
                "seed": secrets.randbits(64) if seed is None else seed,
            }
            create(layout.identity, json.dumps(record).encode())
        found = _identity(layout.identity)
    except BaseException:
        os.close(lock)
        raise
    return Deployment(layout, str(found["id"]), int(found["seed"]), lock)


def _identity(path: Path) -> dict[str, int | str]:
    try:
        found: dict[str, int | str] = json.loads(path.read_bytes())
        check_format(path, found["format"])
        int(found["seed"])
        str(found["id"])
    except (ValueError, KeyError, TypeError) as error:
        raise damaged(path, f"it does not say whose it is ({error})") from None
    return found


def _locked(layout: Layout) -> int:
    lock = os.open(layout.directory / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise SettingError(
            f"{layout.directory} is in use by another run; wait for it, or choose another directory"
        ) from None
    return lock
