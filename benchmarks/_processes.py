"""What a process and those that it has started use, as the system counts it."""

from __future__ import annotations

import os
from collections.abc import Container, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


class Role(StrEnum):
    """What a process of a run does."""

    DRIVER = "driver"
    JVM = "jvm"
    WORKERS = "workers"


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process uses.

    Attributes:
        role: what it does.
        memory: resident bytes; those that it shares with its parent count too.
        files: how many files and sockets it has open.
        seconds: how long it has been at work, with those it has started that have ended.
    """

    role: Role
    memory: int
    files: int
    seconds: float


def usages(driver: int, apart: Container[int] = ()) -> Iterator[Usage]:
    """What a process and its descendants use; those that end meanwhile are left out.

    Args:
        driver: the process.
        apart: descendants that are no part of the run.
    """
    children: dict[int, list[int]] = {}
    for folder in PROC.iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                children.setdefault(int(_stat(folder)[1]), []).append(int(folder.name))
    found = [driver]
    for process in found:
        found += [child for child in children.get(process, []) if child not in apart]
    for process in found:
        with suppress(OSError):
            yield _usage(PROC / str(process), is_driver=process == driver)


def seconds(driver: int) -> float:
    """How long a process and its descendants have been at work, on all cores together."""
    return sum(usage.seconds for usage in usages(driver))


def _stat(folder: Path) -> list[str]:
    """The fields after the name, which may have spaces: the state, the parent and so on."""
    return (folder / "stat").read_text().rpartition(")")[2].split()


def _usage(folder: Path, is_driver: bool) -> Usage:
    fields = _stat(folder)
    is_java = (folder / "comm").read_text().strip() == "java"
    role = Role.DRIVER if is_driver else Role.JVM if is_java else Role.WORKERS
    worked = sum(map(int, fields[11:15])) / _TICKS
    return Usage(role, int(fields[21]) * _PAGE, len(list((folder / "fd").iterdir())), worked)
