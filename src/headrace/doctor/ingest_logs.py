"""Checks and repairs of ingest logs, for `headrace doctor`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from headrace.doctor import Finding, Status
from headrace.errors import DamagedError, MachineError
from headrace.ingest.log import LOCK
from headrace.ingest.log_repair import (
    damaged_ids,
    damaged_records,
    fill_end,
    misplaced_folders,
    repair_log,
)
from headrace.pipeline.log_ends import lost_ends

_MOST_SHOWN: Final = 20


def logs_in(folder: Path) -> list[Path]:
    """List the folders of the logs in a folder."""
    return sorted(each for each in folder.iterdir() if each.is_dir()) if folder.is_dir() else []


def examine_logs(folders: Sequence[Path], source_log: Path, command: str) -> Iterator[Finding]:
    """Find what is damaged in some logs.

    Args:
        folders: the logs.
        source_log: which of their bytes were read.
        command: repairs them.
    """
    for folder in folders:
        misplaced = misplaced_folders(folder)
        for path in misplaced:
            detail = f"{path} is a folder, and has to be a file"
            yield Finding("log", Status.FAIL, detail, _remedy_of_folder(path))
        if misplaced:
            continue
        try:
            yield from _of_log(folder, command)
        except DamagedError as error:
            detail, _, remedy = str(error).partition("; ")
            yield Finding("log", Status.FAIL, detail, remedy)
    for detail, remedy in _lost(folders, source_log, command):
        yield Finding("log", Status.FAIL, detail, remedy)


def _remedy_of_folder(path: Path) -> str:
    if path.name == LOCK:
        return "move it out of the way"
    return "put the file back from a backup, or start in a new directory"


def _of_log(folder: Path, command: str) -> Iterator[Finding]:
    problem = damaged_ids(folder)
    if problem is not None:
        remedy = f"{command} begins it anew; a push that is repeated may then be taken twice"
        yield Finding("log", Status.FAIL, problem.partition("; ")[0], remedy)
    for number, record in enumerate(damaged_records(folder)):
        if number == _MOST_SHOWN:
            yield Finding("log", Status.FAIL, f"{folder} has more damaged records", command)
            break
        yield Finding("log", Status.FAIL, record.text(), f"{command} makes it a rejected record")


def _lost(folders: Sequence[Path], source_log: Path, command: str) -> Iterator[tuple[str, str]]:
    readable = [each for each in folders if not misplaced_folders(each)]
    try:
        for lost in lost_ends(source_log, readable):
            yield lost.text(), f"{command} puts a rejected record in the place of what is lost"
    except MachineError:  # a source log that cannot be read is reported as damage of its own
        return


def repair_logs(folders: Sequence[Path], source_log: Path, aside: Path) -> Iterator[str]:
    """Repair some logs.

    Yields:
        What was done.
    """
    readable = [each for each in folders if not misplaced_folders(each)]
    for folder in readable:
        with suppress(DamagedError, OSError):  # what cannot be read is found again, with its remedy
            yield from repair_log(folder, aside)
    try:
        for lost in list(lost_ends(source_log, readable)):
            yield fill_end(lost, aside)
    except MachineError:  # as above
        return
