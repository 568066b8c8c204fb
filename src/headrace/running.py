"""What `headrace run` does in this process: files in, results out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from headrace.background.config import ServiceConfig
from headrace.dialects import Parsed
from headrace.engine import Engine
from headrace.errors import SettingError
from headrace.inline import Counters, LateElement, RejectedElement
from headrace.rdf.times import milliseconds
from headrace.rdf.writing import nquads_statement
from headrace.results.evaluations import Evaluation
from headrace.results.ndjson import ndjson_lines
from headrace.sources import files_of


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be run.

    Attributes:
        queries: the queries, parsed.
        streams: the sources of each stream: files, folders or patterns.
        static: files of the default graph and of named graphs.
        settings: what `--set` takes.
        services: which endpoints SERVICE may ask.
        timeout: how many seconds an evaluation may take.
    """

    queries: Sequence[Parsed]
    streams: Mapping[str, Sequence[str]]
    static: Sequence[tuple[str | None, Path]] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    services: ServiceConfig | None = None
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run.

    Attributes:
        evaluations: how many there were.
        failed: how many of them failed.
        counters: of each stream.
        stopped: the queries that stopped, and why.
        rejected: what could not be taken, and why.
        late: what missed a window.
    """

    evaluations: int
    failed: int
    counters: Mapping[str, Counters]
    stopped: Mapping[str, str]
    rejected: Sequence[RejectedElement]
    late: Sequence[LateElement]


def prepared(job: Job) -> Engine:
    """An engine that is ready to run: whatever is wrong with a job is said here.

    Raises:
        HeadraceError: a query, an option or a file is wrong.
    """
    engine = Engine(settings=job.settings, services=job.services, timeout=job.timeout)
    for iri, sources in job.streams.items():
        for source in sources:
            files_of(source)
        engine.stream(iri, source=sources)
    for number, parsed in enumerate(job.queries, 1):
        engine.register_parsed(parsed, _name_of(parsed, number, job.queries))
    for graph, path in job.static:
        for problem in engine.static.load(path, graph):
            raise problem
    engine.start()
    return engine


def notes(job: Job, engine: Engine) -> Iterator[str]:
    """What is not wrong, but almost never meant."""
    for parsed in job.queries:
        yield from (f"{note.text}\n{note.at}".rstrip() for note in parsed.notes)
        dataset = parsed.query.dataset
        for graph in (*dataset.default, *dataset.named):
            if not engine.static.has_graph(graph.value):
                yield (
                    f"FROM <{graph.value}> names no static graph: load it with "
                    f"--static {graph.value}=FILE"
                )


def run_once(
    engine: Engine, publish: Callable[[Evaluation], None], progress: Callable[[str], None]
) -> Outcome:
    """Read what is there, close every window that holds an element, and end."""
    published = failed = 0

    def count(evaluation: Evaluation) -> None:
        nonlocal published, failed
        published += 1
        failed += evaluation.error is not None
        publish(evaluation)

    for query in engine.queries.values():
        query.on_result(count)
    engine.run(once=True, progress=progress)
    stopped = {name: query.error for name, query in engine.queries.items() if query.error}
    return Outcome(published, failed, engine.counters, stopped, engine.rejected, engine.late)


def _name_of(parsed: Parsed, number: int, every: Sequence[Parsed]) -> str:
    """The name a query gives itself, else that of its file."""
    if parsed.query.registration is not None:
        return parsed.query.registration.name
    source = parsed.source.name or ""
    stem = Path(source).stem if source not in {"query", "standard input", ""} else ""
    named = [Path(each.source.name or "").stem for each in every]
    return stem if stem and named.count(stem) == 1 else f"q{number}"


# -- what goes out -----------------------------------------------------------------------------

SINKS = (".ndjson", ".jsonl")


@contextmanager
def publisher(
    out: str | None, show: Callable[[Evaluation], None]
) -> Iterator[Callable[[Evaluation], None]]:
    """A function that writes evaluations where they are to go.

    Raises:
        SettingError: there is no such way out.
    """
    if out is None or out == "-":
        yield show
        return
    path = Path(out)
    if path.suffix not in SINKS:
        raise SettingError(f"expected --out FILE{SINKS[0]} or -, found '{out}'")
    with written(path) as file:
        assert file is not None, "there is a path"

        def write(evaluation: Evaluation) -> None:
            file.writelines(f"{line}\n" for line in ndjson_lines(evaluation))

        yield write


def written(path: Path | None) -> IO[str] | nullcontext[None]:
    """A file to write to, opened before a run so that the run is not for nothing.

    Raises:
        SettingError: it cannot be written.
    """
    if path is None:
        return nullcontext()
    try:
        return path.open("w", encoding="utf-8")
    except OSError as error:
        raise SettingError(f"cannot write {path}: {error.strerror}") from None


def write_late(late: Sequence[LateElement], file: IO[str]) -> None:
    """Write the elements that missed a window, each statement with its stream and its time."""
    for each in late:
        time = milliseconds(each.element.time)
        for quad in each.element.quads:
            record = {"stream": each.stream, "time": time, "quad": nquads_statement(quad)}
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def write_rejected(rejected: Sequence[RejectedElement], file: IO[str]) -> None:
    """Write what could not be taken, and why."""
    for each in rejected:
        record: dict[str, object] = {"stream": each.stream, "reason": each.reason}
        if each.element is not None:
            record["time"] = milliseconds(each.element.time)
            record["quads"] = [nquads_statement(quad) for quad in each.element.quads]
        file.write(json.dumps(record, ensure_ascii=False) + "\n")
