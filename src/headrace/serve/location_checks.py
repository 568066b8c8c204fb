"""Checks and repairs of the directory of a server, for `headrace doctor`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from headrace.doctor import Finding, Status, checkpoint, is_ready, render
from headrace.durable import sync_directory
from headrace.errors import DamagedError, HeadraceError, MachineError, SettingError
from headrace.ingest.log_repair import damaged_ids, damaged_records, repair_log
from headrace.pipeline.deployment import is_in_use
from headrace.pipeline.layout import Layout
from headrace.pipeline.manifest import latest
from headrace.pipeline.records import sealed
from headrace.pipeline.settled import settled_marks
from headrace.serve.catalogue import CatalogueRecord, read_catalogue, replace_file
from headrace.serve.place import LOST_END, Place
from headrace.serve.retained import SINK, check_results
from headrace.serve.static_graphs import check_graphs
from headrace.sinks.base import Mark

if TYPE_CHECKING:
    from rich.console import Console

ASIDE: Final = "taken-back"
"""Where damaged files are stored as they were."""
_MOST_SHOWN: Final = 20


def main(directory: Path, console: Console | None = None, *, mend: bool = False) -> int:
    """Print the state of a server's directory; the exit status is 1 if it cannot be served.

    Args:
        directory: that of the server.
        console: where to print.
        mend: whether to repair it first.

    Raises:
        SettingError: it is in use, or nothing of it can be repaired.
    """
    from rich.console import Console  # noqa: PLC0415 - importing this module must stay cheap

    console = console or Console()
    if mend:
        for line in repair(directory):
            console.print(line, highlight=False, markup=False, soft_wrap=True)
    findings = list(examine(directory))
    for finding in findings:
        render(finding, console)
    return 0 if is_ready(findings) else 1


def examine(directory: Path) -> Iterator[Finding]:
    """Look at all files of a server, and change nothing."""
    place = Place(directory.resolve())
    mendable = f"`headrace doctor --checkpoint {directory} --repair`"
    yield from _of_catalogue(place)
    yield from _of_graphs(place)
    results = _problem_of_results(place)
    if results is not None:
        yield Finding("results", Status.FAIL, results, f"{mendable} moves the file out of the way")
    for problem in place.shortened_logs(_logs(place)):
        yield Finding("log", Status.FAIL, problem, LOST_END)
    for problem in _problems_of_logs(place):
        yield Finding("log", Status.FAIL, problem, f"{mendable} makes it a rejected record")
    yield from checkpoint.examine(place.deployment)


def repair(directory: Path) -> list[str]:
    """Repair what can be repaired; what was done, a line each.

    Raises:
        SettingError: a server is running here.
    """
    place = Place(directory.resolve())
    if is_in_use(Layout(place.deployment)):
        raise SettingError(f"{directory} is in use by a server; stop it first")
    aside = place.location / ASIDE
    done = [*_catalogue_put_back(place, aside), *_results_set_aside(place, aside)]
    for folder in _logs(place):
        done += repair_log(folder, aside)
    if any(each.status is Status.FAIL for each in checkpoint.examine(place.deployment)):
        done.append(checkpoint.repair(place.deployment))
    return done or ["nothing is damaged"]


# -- the catalogue ---------------------------------------------------------------------------------


def _of_catalogue(place: Place) -> Iterator[Finding]:
    problem = _problem_of_catalogue(place)
    if problem is not None:
        yield Finding("catalogue", Status.FAIL, *problem)
        return
    found = read_catalogue(place.catalogue) or CatalogueRecord()
    detail = f"{len(found.streams):,} streams and {len(found.queries):,} queries"
    yield Finding("catalogue", Status.OK, detail)


def _problem_of_catalogue(place: Place) -> tuple[str, str] | None:
    """What keeps a server from using its catalogue, and the remedy."""
    try:
        place.check_catalogue()
    except DamagedError as error:
        problem, _, remedy = str(error).partition(": ")
        return problem, remedy
    return None


def _catalogue_put_back(place: Place, aside: Path) -> Iterator[str]:
    if _problem_of_catalogue(place) is None:
        return
    try:
        copy = read_catalogue(place.catalogue_copy)
    except DamagedError:
        copy = None
    if copy is None:
        return
    if place.catalogue.exists():
        _set_aside(place.catalogue, aside)
    replace_file(place.catalogue, sealed(copy))
    yield f"{place.catalogue} is its copy again"


# -- graphs, results and logs ----------------------------------------------------------------------


def _of_graphs(place: Place) -> Iterator[Finding]:
    if not place.static.is_dir():
        return
    try:
        check_graphs(place.static)
    except HeadraceError as error:
        problem, _, remedy = str(error).partition("; ")
        yield Finding("graphs", Status.FAIL, problem, remedy)


def _problem_of_results(place: Place) -> str | None:
    try:
        check_results(place.results, _mark(place))
    except MachineError as error:
        return str(error).partition("; ")[0]
    return None


def _mark(place: Place) -> Mark | None:
    """Read the last mark of the results that the deployment has, as far as it can be read."""
    layout = Layout(place.deployment)
    try:
        last = latest(layout)
        marks = settled_marks(layout, last)
    except MachineError:  # reported as damage of the deployment
        return None
    return (last.marks if marks is None else marks).get(SINK)


def _results_set_aside(place: Place, aside: Path) -> Iterator[str]:
    if _problem_of_results(place) is not None:
        _set_aside(place.results, aside)
        yield f"{place.results} is moved to {aside}: old results are gone"


def _logs(place: Place) -> list[Path]:
    return sorted(place.logs.iterdir()) if place.logs.is_dir() else []


def _problems_of_logs(place: Place) -> Iterator[str]:
    for folder in _logs(place):
        problem = damaged_ids(folder)
        if problem is not None:
            yield problem
        for number, record in enumerate(damaged_records(folder)):
            if number == _MOST_SHOWN:
                yield f"{folder} has more damaged records"
                break
            yield record.text()


def _set_aside(path: Path, aside: Path) -> None:
    aside.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.replace(aside / path.name)
    sync_directory(path.parent)
