"""Checks and repairs of the directory of a server, for `headrace doctor`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from headrace.doctor import Finding, Status, checkpoint, is_ready, render
from headrace.doctor.ingest_logs import examine_logs, logs_in, repair_logs
from headrace.durable import sync_directory
from headrace.errors import DamagedError, HeadraceError, MachineError, SettingError, counted
from headrace.pipeline.deployment import is_in_use
from headrace.pipeline.layout import Layout
from headrace.pipeline.manifest import latest
from headrace.pipeline.records import sealed
from headrace.pipeline.settled import settled_marks
from headrace.pipeline.tables import SERVED
from headrace.serve.catalogue import CatalogueRecord, read_catalogue, replace_file
from headrace.serve.place import Place
from headrace.serve.retained import SINK, check_results, write_whole_end
from headrace.serve.static_graphs import INDEX, check_graphs, write_empty_index
from headrace.sinks.base import Mark

if TYPE_CHECKING:
    from rich.console import Console

ASIDE: Final = "taken-back"
"""Where damaged files are stored as they were."""
_NOT_MENDABLE: Final = "nothing was repaired: each line below says what else helps"


def main(directory: Path, console: Console | None = None, *, mend: bool = False) -> int:
    """Print the state of a server's directory; the exit status is 1 if it cannot be served.

    Args:
        directory: that of the server.
        console: where to print.
        mend: whether to repair it first.

    Raises:
        SettingError: it is in use.
    """
    from rich.console import Console  # noqa: PLC0415 - importing this module must stay cheap

    console = console or Console()
    done = repair(directory) if mend else []
    findings = list(examine(directory))
    if mend and not done:
        mended = "nothing is damaged" if is_ready(findings) else _NOT_MENDABLE
        done = [mended]
    for line in done:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
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
        remedy = f"{mendable} keeps the evaluations after the damage, and no others"
        yield Finding("results", Status.FAIL, results, remedy)
    missing = _missing_results(place)
    if missing is not None:
        remedy = "put it back from a backup; without it, only what comes from now on has results"
        yield Finding("results", Status.WARN, missing, remedy)
    source_log = Layout(place.deployment).source_log
    yield from examine_logs(_logs(place), source_log, mendable)
    yield from checkpoint.examine(place.deployment)


def repair(directory: Path) -> list[str]:
    """Repair what can be repaired; what was done, a line each, and nothing about the rest.

    Raises:
        SettingError: a server is running here.
    """
    place = Place(directory.resolve())
    if is_in_use(Layout(place.deployment)):
        raise SettingError(f"{directory} is in use by a server; stop it first")
    aside = place.location / ASIDE
    done = [*_catalogue_put_back(place, aside), *_results_set_aside(place, aside)]
    if any(each.status is Status.FAIL for each in checkpoint.examine(place.deployment)):
        with suppress(SettingError):  # what cannot be repaired is found again, with its remedy
            done += checkpoint.repair(place.deployment, aside / SERVED).splitlines()
    done += _empty_index_written(place)
    # The source log, which may be new, says what was read of the logs.
    done += repair_logs(_logs(place), Layout(place.deployment).source_log, aside)
    return done


# -- the catalogue ---------------------------------------------------------------------------------


def _of_catalogue(place: Place) -> Iterator[Finding]:
    problem = _problem_of_catalogue(place)
    if problem is not None:
        yield Finding("catalogue", Status.FAIL, *problem)
        return
    found = read_catalogue(place.catalogue) or CatalogueRecord()
    queries = f"{len(found.queries):,} {'query' if len(found.queries) == 1 else 'queries'}"
    detail = f"{counted(len(found.streams), 'stream')} and {queries}"
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
        yield f"{place.catalogue} is moved to {_set_aside(place.catalogue, aside)}"
    replace_file(place.catalogue, sealed(copy))
    yield f"{place.catalogue} is {place.catalogue_copy} again"


# -- graphs, results and logs ----------------------------------------------------------------------


def _of_graphs(place: Place) -> Iterator[Finding]:
    try:
        check_graphs(place.static)
        if _problem_of_catalogue(place) is None:
            place.check_graph_index()
    except HeadraceError as error:
        problem, _, remedy = str(error).partition("; ")
        yield Finding("graphs", Status.FAIL, problem, remedy)


def _empty_index_written(place: Place) -> Iterator[str]:
    """Write an empty index of static graphs if it and all graphs are lost."""
    if _problem_of_catalogue(place) is not None or not place.lacks_graph_index:
        return
    with suppress(MachineError):  # a graph is there that an index would have to name
        check_graphs(place.static)
        place.static.mkdir(mode=0o700, exist_ok=True)
        write_empty_index(place.static)
        yield f"{place.static / INDEX} names no graph now: write the static graphs again"


def _logs(place: Place) -> list[Path]:
    """List the folders of logs: those that are there, and those that the catalogue names."""
    named: set[Path] = set()
    with suppress(MachineError):  # reported as damage of the catalogue
        found = read_catalogue(place.catalogue) or CatalogueRecord()
        named = {place.log_of(each) for each in found.streams}
    return sorted(named.union(logs_in(place.logs)))


def _problem_of_results(place: Place) -> str | None:
    try:
        check_results(place.results, _mark(place))
    except MachineError as error:
        return str(error).partition("; ")[0]
    return None


def _missing_results(place: Place) -> str | None:
    mark = _mark(place)
    if place.results.exists() or not isinstance(mark, int) or mark == 1:
        return None
    return f"{place.results} is missing: the results of the last evaluations are gone"


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
        kept = _set_aside(place.results, aside)
        number = write_whole_end(kept, place.results, _mark(place))
        left = counted(number, "evaluation")
        yield f"{place.results} is moved to {kept}; {left} after the damage are kept"


def _set_aside(path: Path, aside: Path) -> Path:
    """Move a file; where it is then."""
    kept = checkpoint.free_name(aside / path.name)
    kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.replace(kept)
    sync_directory(path.parent)
    return kept
