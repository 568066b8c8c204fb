"""Is this machine ready to run Headrace, and if not, what to do about it."""

from __future__ import annotations

import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from headrace.errors import HeadraceError, MachineError

if TYPE_CHECKING:
    from rich.console import Console

OLDEST_PYTHON: Final = (3, 11)
GIGABYTE: Final = 1 << 30
LEAST_MEMORY: Final = 2 * GIGABYTE
LEAST_DISK: Final = GIGABYTE
LOOPBACK: Final = "127.0.0.1"


class Status(StrEnum):
    """How a check went."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found, and what to do about it unless it is fine."""

    name: str
    status: Status
    detail: str
    remedy: str = ""


def examine(start_spark: bool = True) -> Iterator[Finding]:
    """Check this machine, one thing after the other.

    Args:
        start_spark: whether to start Spark too, which takes some seconds.
    """
    checks = [check_python, check_java, check_memory, check_disk, check_loopback]
    for check in [*checks, check_spark] if start_spark else checks:
        yield check()


def is_ready(findings: list[Finding]) -> bool:
    """Whether nothing failed; warnings are no obstacle."""
    return all(finding.status is not Status.FAIL for finding in findings)


def main(console: Console | None = None, start_spark: bool = True) -> int:
    """Print each finding as it is made; the exit status is 1 if any failed."""
    from rich.console import Console  # noqa: PLC0415  # importing this module must stay cheap

    console = console or Console()
    findings = []
    for finding in examine(start_spark):
        findings.append(finding)
        render(finding, console)
    return 0 if is_ready(findings) else 1


def render(finding: Finding, console: Console) -> None:
    """Print a finding in one line, and its remedy in another."""
    from rich.markup import escape  # noqa: PLC0415  # as in main

    colour = {Status.OK: "green", Status.WARN: "yellow", Status.FAIL: "red"}[finding.status]
    mark = f"[{colour}]{finding.status.value:<4}[/]"
    console.print(
        f"{mark}  {finding.name:<9} {escape(finding.detail)}", highlight=False, soft_wrap=True
    )
    if finding.remedy:
        console.print(f"{'':16}{finding.remedy}", highlight=False, markup=False, soft_wrap=True)


def check_python() -> Finding:
    """Whether this Python is new enough."""
    version = ".".join(map(str, sys.version_info[:3]))
    detail = f"{version} ({sys.executable})"
    if sys.version_info[:2] < OLDEST_PYTHON:
        needed = ".".join(map(str, OLDEST_PYTHON))
        return Finding("Python", Status.FAIL, detail, f"install Python {needed} or newer")
    return Finding("Python", Status.OK, detail)


def check_java() -> Finding:
    """Whether there is a Java that Spark can use."""
    from headrace.spark.java import REMEDY, find_java  # noqa: PLC0415  # only when asked

    try:
        java = find_java()
    except MachineError as error:
        problem = "; ".join(str(error).splitlines()[:-1])
        return Finding("Java", Status.FAIL, problem, REMEDY)
    return Finding("Java", Status.OK, f"{java.version} from {java.origin} ({java.home})")


def check_memory() -> Finding:
    """Whether there is memory for Spark and its workers."""
    available = _available_memory()
    if available is None:
        return Finding("memory", Status.WARN, "cannot be measured here")
    return _at_least(
        "memory", available, LEAST_MEMORY, "available", "close other programs, or use --master"
    )


def check_disk() -> Finding:
    """Whether temporary files can be written, and how many."""
    directory = Path(tempfile.gettempdir())
    try:
        with tempfile.NamedTemporaryFile(dir=directory) as file:
            file.write(b"headrace")
    except OSError as error:
        return Finding("disk", Status.FAIL, f"{error}", "set TMPDIR to a directory you can write")
    free = shutil.disk_usage(directory).free
    return _at_least("disk", free, LEAST_DISK, f"free in {directory}", "set TMPDIR to a larger one")


def check_loopback() -> Finding:
    """Whether Spark and its workers can talk to each other."""
    remedy = f"allow connections from this machine to itself ({LOOPBACK})"
    try:
        with socket.create_server((LOOPBACK, 0)) as server:
            port = server.getsockname()[1]
            with socket.create_connection((LOOPBACK, port), timeout=5):
                pass
    except OSError as error:
        return Finding("loopback", Status.FAIL, f"{error}", remedy)
    return Finding("loopback", Status.OK, f"{LOOPBACK} accepts connections")


def check_spark() -> Finding:
    """Whether Spark starts and runs a task in a worker that has Arrow and Polars."""
    from headrace.spark.probe import probe  # noqa: PLC0415  # only when asked

    remedy = "the lines above say what is missing; if none does, please report this"
    try:
        detail = probe()
    except HeadraceError as error:
        return Finding("Spark", Status.FAIL, str(error), remedy)
    return Finding("Spark", Status.OK, detail)


def _at_least(name: str, found: int, needed: int, what: str, remedy: str) -> Finding:
    detail = f"{found / GIGABYTE:.1f} GB {what}"
    if found >= needed:
        return Finding(name, Status.OK, detail)
    return Finding(
        name, Status.WARN, detail, f"{needed / GIGABYTE:.0f} GB are comfortable: {remedy}"
    )


def _available_memory() -> int | None:
    """What new programs can have: less than what the machine has where a container limits it."""
    measures: list[Callable[[], int]] = [_machine_memory, _container_memory]
    found = []
    for measure in measures:
        try:
            found.append(measure())
        except (OSError, ValueError):
            continue  # not this kind of system
    return min(found, default=None)


def _machine_memory() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines()
    [kilobytes] = (line.split()[1] for line in lines if line.startswith("MemAvailable:"))
    return int(kilobytes) * 1024


def _container_memory() -> int:
    group = Path("/sys/fs/cgroup")
    limit = int((group / "memory.max").read_text())
    return limit - int((group / "memory.current").read_text())
