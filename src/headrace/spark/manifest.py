"""What has been committed: one manifest for each batch, and one for the end of the input."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headrace.kernel.progress import Progress
from headrace.spark.layout import Layout, create
from headrace.spark.panes import Pane


@dataclass(frozen=True, slots=True)
class Report:
    """The file that a step wrote what it found to; none if there was no instant."""

    name: str | None = None
    checksum: str | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """The state of a deployment after a batch.

    Attributes:
        batch: Spark's number of it.
        offsets: a digest of what Spark says the batch has read; none for the end of the input.
        panes: the panes that open windows still need.
        high: the greatest event time seen.
        progress: which windows have been evaluated; none before the first batch.
        report: what the batch reported.
        elements: how many elements have been read so far.
        late: how many of them missed a window.
        rejected: how many lines could not be read so far.
        reason: why the first of them could not.
        final: whether the input has ended with it.
    """

    batch: int
    offsets: str | None
    panes: tuple[Pane, ...]
    high: int | None
    progress: Progress | None
    report: Report
    elements: int = 0
    late: int = 0
    rejected: int = 0
    reason: str | None = None
    final: bool = False


NOTHING = Manifest(-1, None, (), None, None, Report())
"""Before the first batch."""


def commit(layout: Layout, manifest: Manifest) -> None:
    """Make a manifest part of the deployment, durably and at most once."""
    path = _path(layout, manifest.batch, manifest.final)
    create(path, json.dumps(asdict(manifest)).encode())


def read_manifest(layout: Layout, batch: int, final: bool = False) -> Manifest | None:
    """The manifest of a batch, if it was committed."""
    path = _path(layout, batch, final)
    if not path.exists():
        return None
    parts = json.loads(path.read_bytes())
    parts["panes"] = tuple(Pane(**pane) for pane in parts["panes"])
    parts["progress"] = _progress(parts["progress"])
    parts["report"] = Report(**parts["report"])
    return Manifest(**parts)


def _progress(parts: dict[str, Any] | None) -> Progress | None:
    """A progress whose tuples JSON has made lists."""
    if parts is None:
        return None
    listed = {name: tuple(value) for name, value in parts.items() if isinstance(value, list)}
    return Progress(**(parts | listed))


def read_manifests(layout: Layout) -> list[Manifest]:
    """All manifests, in the order in which they were committed."""
    manifests = []
    batch = 0
    while manifest := read_manifest(layout, batch):
        manifests.append(manifest)
        batch += 1
    if last := read_manifest(layout, batch - 1, final=True):
        manifests.append(last)
    return manifests


def _path(layout: Layout, batch: int, final: bool) -> Path:
    return layout.manifests / f"{batch}{'.final' if final else ''}.json"


def sweep(layout: Layout) -> None:
    """Delete all files that no manifest names: what crashed tasks have left behind."""
    manifests = read_manifests(layout)
    sweep_panes(layout, manifests[-2:])
    _keep(layout.results, {manifest.report.name for manifest in manifests})


def sweep_panes(layout: Layout, latest: Iterable[Manifest]) -> None:
    """Delete the panes of windows long closed.

    Those of the last two manifests stay, in case the last is lost and its batch is replayed.
    """
    _keep(layout.panes, {pane.name for manifest in latest for pane in manifest.panes})


def _keep(directory: Path, names: Container[str | None]) -> None:
    for file in directory.iterdir():
        if file.name not in names:
            file.unlink(missing_ok=True)
