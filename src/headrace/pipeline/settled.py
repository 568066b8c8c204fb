"""Whether all that was committed has been published: a run that ends well says so.

Without that, the next run publishes the last batch again. It can only do so for queries that it
knows, so it is the runs that ended well whose queries may change.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import xxhash

from headrace.durable import sync_directory
from headrace.pipeline.layout import Layout
from headrace.pipeline.manifest import Manifest
from headrace.pipeline.records import read_record, sealed
from headrace.pipeline.tables import private, unwritable
from headrace.sinks.base import Mark


def settle(layout: Layout, last: Manifest, marks: Mapping[str, Mark]) -> None:
    """Say that the last manifest has been published.

    Args:
        layout: the deployment.
        last: what was committed last.
        marks: how far each sink has come with it.

    Raises:
        MachineError: there is no space for that.
    """
    path = layout.settled
    draft = path.with_name(f".{path.name}")
    record = {"manifest": _digest(layout, last), "marks": marks}
    try:
        with private(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as file:
            file.write(sealed(record))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        raise unwritable(path, error) from error


def settled_marks(layout: Layout, last: Manifest) -> Mapping[str, Mark] | None:
    """How far sinks had come when the last manifest had been published; none if nobody says so.

    Raises:
        MachineError: the file is not what was written, or of another version.
    """
    if not layout.settled.exists() or last.batch < 0:
        return None
    found = read_record(layout.settled)
    # The digest, not the number: a batch whose manifest was lost is done again.
    marks: Mapping[str, Mark] = found["marks"]
    return marks if found["manifest"] == _digest(layout, last) else None


def _digest(layout: Layout, manifest: Manifest) -> str:
    content = (layout.manifests / f"{manifest.label}.json").read_bytes()
    return xxhash.xxh3_64_hexdigest(content)
