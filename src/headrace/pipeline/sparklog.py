"""What Spark has written down of a deployment, looked at without Spark.

Spark's files have no checksums, and what it says of damaged ones does not always name them. A batch
is planned in `offsets/N`, and done when there is `commits/N`; our manifest of it comes in between.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from headrace.pipeline.layout import Layout
from headrace.pipeline.manifest import Manifest

_VERSION: Final = re.compile(r"v[1-3]")
Problem = tuple[Path, str]


def metadata_of(layout: Layout) -> Path:
    """The file by which Spark knows its query again."""
    return layout.spark / "metadata"


def planned(layout: Layout) -> dict[int, Path]:
    """What Spark has planned, by batch."""
    return _numbered(layout.spark / "offsets")


def done(layout: Layout) -> dict[int, Path]:
    """What Spark takes for done, by batch."""
    return _numbered(layout.spark / "commits")


def _numbered(folder: Path) -> dict[int, Path]:
    found = folder.iterdir() if folder.is_dir() else ()
    return {int(each.name): each for each in found if each.name.isdigit()}


def spark_problems(layout: Layout, last: Manifest) -> Iterator[Problem]:
    """What keeps Spark from going on after a manifest, file by file.

    Args:
        layout: the deployment.
        last: what was committed last.
    """
    offsets, commits = planned(layout), done(layout)
    if not offsets and not commits:
        if last.batch >= 0:
            yield layout.spark, f"it is empty, and batch {last.batch} was committed"
        return
    if _json(metadata_of(layout)) is None:
        yield metadata_of(layout), "it is not what Spark writes"
    newest, latest = max(offsets, default=-1), max(commits, default=-1)
    if latest > last.batch:
        missing = layout.manifests / f"{latest}.json"
        yield missing, f"it is missing, and Spark has done batch {latest}"
    if latest >= 0 and records(commits[latest]) is None:
        yield commits[latest], "it is not what Spark writes"
    # Spark begins with its last plan, and reads from where the one before has ended.
    for batch in sorted({max(newest - 1, 0), newest, max(last.batch, 0)} - {-1}):
        problem = offsets_problem(layout, batch, last)
        if problem is not None:
            yield layout.spark / "offsets" / str(batch), problem


def offsets_problem(layout: Layout, batch: int, last: Manifest) -> str | None:
    """What is wrong with the plan of a batch, as far as a manifest tells."""
    path = layout.spark / "offsets" / str(batch)
    if not path.exists():
        return "it is missing"
    found = records(path)
    if found is None:
        return "it is not what Spark writes"
    pieces = [each["pieces"] for each in found if isinstance(each, dict) and "pieces" in each]
    for ends in pieces:
        wrong = ends != last.pieces if batch == last.batch else ends < last.pieces
        if batch >= last.batch and wrong:
            return f"it ends with piece {ends}, and {last.pieces} were read"
    return None


def records(path: Path) -> list[Any] | None:
    """The lines of a file of Spark's logs after the first, which has the version; none if damaged.

    >>> records(Path("/nowhere")) is None
    True
    """
    try:
        version, *lines = path.read_text("utf-8").split("\n")
        found = [json.loads(line) for line in lines if line != "-"]
    except (OSError, ValueError):
        return None
    return found if found and _VERSION.fullmatch(version) else None


def _json(path: Path) -> object | None:
    try:
        found: object = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found
