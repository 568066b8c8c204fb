"""What a cache of static data holds, and how to make it smaller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.doctor import GIGABYTE, Finding, Status, render
from headrace.errors import SettingError
from headrace.pipeline.keeper import Cache
from headrace.pipeline.kept import KeptTables
from headrace.rdf.times import iso_text

if TYPE_CHECKING:
    from rich.console import Console


def main(folder: Path, clean: float | None = None, console: Console | None = None) -> int:
    """Print what there is to say of a cache; the exit status is 0.

    Args:
        folder: the cache.
        clean: how many gigabytes may stay; all if not given.
        console: where to print.

    Raises:
        SettingError: there is no such folder.
    """
    from rich.console import Console  # noqa: PLC0415  # as for the machine

    console = console or Console()
    if not folder.is_dir():
        raise SettingError(f"there is no folder '{folder}'")
    tables = Cache(folder).tables
    if clean is not None:
        removed = tables.tidy(round(clean * GIGABYTE))
        console.print(f"removed {_size(removed)}", highlight=False)
    for finding in examine(tables):
        render(finding, console)
    return 0


def examine(tables: KeptTables) -> Iterator[Finding]:
    """Say what is there, version by version, the last used first."""
    entries = tables.entries()
    sizes, numbers, used = Counter[str](), Counter[str](), dict[str, float]()
    for each in entries:
        version = each.key.split(" ", 1)[0]
        sizes[version] += each.size
        numbers[version] += 1
        used.setdefault(version, each.used)
    for version, last in used.items():
        when = iso_text(round(last * 1_000_000))
        yield Finding(
            "static",
            Status.OK,
            f"version {version[:12]}: {numbers[version]:,} tables, {_size(sizes[version])}, "
            f"last used {when}",
        )
    total = sum(each.size for each in entries)
    yield Finding("all", Status.OK, f"{len(entries):,} tables, {_size(total)}")


def _size(number: int) -> str:
    return f"{number / GIGABYTE:.2f} GB"
