"""Where a deployment keeps its files, and what it must never forget."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from headrace.errors import SettingError
from headrace.planning.plan import Plan
from headrace.spark.support import check_supported


@dataclass(frozen=True, slots=True)
class Layout:
    """The directories of a deployment."""

    directory: Path

    @property
    def panes(self) -> Path:
        """What batches brought, one Arrow file for each decode task."""
        return self.directory / "panes"

    @property
    def results(self) -> Path:
        """What steps reported, one Arrow file for each."""
        return self.directory / "results"

    @property
    def manifests(self) -> Path:
        """The commits: a file is part of the deployment if and only if one of these names it."""
        return self.directory / "manifest"

    @property
    def spark(self) -> Path:
        """Spark's own checkpoint."""
        return self.directory / "spark"

    @property
    def source_log(self) -> Path:
        """Which bytes of which files were given which ordinal."""
        return self.directory / "source.log"


@dataclass(frozen=True, slots=True)
class Deployment:
    """A plan and the place where it runs.

    Attributes:
        plan: what is run.
        layout: where.
        seed: what term ids are made with; secret, so that nobody can craft a collision.
    """

    plan: Plan
    layout: Layout
    seed: int


def open_deployment(directory: Path, plan: Plan) -> Deployment:
    """Make a deployment in a directory, or go on with the one that is there.

    Raises:
        UnsupportedError: this runtime cannot run the plan.
        SettingError: the directory holds a deployment of another plan.
    """
    check_supported(plan)
    layout = Layout(directory.resolve())
    for each in (layout.directory, layout.panes, layout.results, layout.manifests):
        each.mkdir(mode=0o700, parents=True, exist_ok=True)
    identity = layout.directory / "deployment.json"
    if not identity.exists():
        record = {"plan": plan.digest, "seed": secrets.randbits(64)}
        create(identity, json.dumps(record).encode())
    found = json.loads(identity.read_bytes())
    if found["plan"] != plan.digest:
        raise SettingError(
            f"{directory} belongs to another query or other settings; choose another directory"
        )
    return Deployment(plan, layout, found["seed"])


def create(path: Path, content: bytes) -> None:
    """Write a whole file durably, or fail because it is there: it never exists in part.

    Raises:
        FileExistsError: another writer was first.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)
    finally:
        draft.unlink()
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
