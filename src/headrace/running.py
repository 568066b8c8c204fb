"""What `headrace run` does in this process: files in, results out."""

from __future__ import annotations

import glob
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO

from headrace.background.config import ServiceConfig
from headrace.dialects import Parsed
from headrace.engine import Engine
from headrace.errors import DataError, SettingError
from headrace.inline import Counters, LateElement, RejectedElement
from headrace.rdf.files import content
from headrace.rdf.formats import Format, format_of_path
from headrace.rdf.options import FILE_LIMITS, ReadOptions
from headrace.rdf.reading import read
from headrace.rdf.times import milliseconds
from headrace.rdf.timestamps import timed_elements
from headrace.rdf.writing import nquads_statement
from headrace.results.evaluations import Evaluation
from headrace.results.ndjson import ndjson_lines

PIECE = 16 << 20
"""So many bytes of a file of timed N-Quads are read and stepped at a time."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be run.

    Attributes:
        queries: the queries, parsed.
        streams: the files of each stream, in order.
        static: files of the default graph and of named graphs.
        settings: what `--set` takes.
        services: which endpoints SERVICE may ask.
        timeout: how many seconds an evaluation may take.
    """

    queries: Sequence[Parsed]
    streams: Mapping[str, Sequence[Path]]
    static: Sequence[tuple[str | None, Path]] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    services: ServiceConfig | None = None
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run.

    Attributes:
        evaluations: how many there were.
        counters: of each stream.
        stopped: the queries that stopped, and why.
        rejected: what could not be taken, and why.
        late: what missed a window.
    """

    evaluations: int
    counters: Mapping[str, Counters]
    stopped: Mapping[str, str]
    rejected: Sequence[RejectedElement]
    late: Sequence[LateElement]


def run_once(
    job: Job, publish: Callable[[Evaluation], None], progress: Callable[[str], None]
) -> Outcome:
    """Read what is there, close every window that holds an element, and end.

    Raises:
        HeadraceError: a query or an option is wrong; nothing has been run then.
    """
    engine = Engine(settings=job.settings, services=job.services, timeout=job.timeout)
    for iri in job.streams:
        engine.stream(iri)
    published = 0

    def count(evaluation: Evaluation) -> None:
        nonlocal published
        published += 1
        publish(evaluation)

    for number, parsed in enumerate(job.queries, 1):
        engine.register_parsed(parsed, _name_of(parsed, number, job.queries)).on_result(count)
    for graph, path in job.static:
        for problem in engine.static.load(path, graph):
            raise problem
    for piece in _interleaved(job.streams, engine):
        piece()
        engine.step()
        progress(f"{sum(each.elements for each in engine.counters.values()):,} elements")
    engine.finish()
    stopped = {name: query.error for name, query in engine.queries.items() if query.error}
    return Outcome(published, engine.counters, stopped, engine.rejected, engine.late)


def _name_of(parsed: Parsed, number: int, every: Sequence[Parsed]) -> str:
    """The name a query gives itself, else that of its file."""
    if parsed.query.registration is not None:
        return parsed.query.registration.name
    source = parsed.source.name or ""
    stem = Path(source).stem if source not in {"query", "standard input", ""} else ""
    named = [Path(each.source.name or "").stem for each in every]
    return stem if stem and named.count(stem) == 1 else f"q{number}"


# -- what comes in -----------------------------------------------------------------------------


def files_of(source: str) -> list[Path]:
    """The files that a source names: a file, those of a folder, or those of a pattern.

    Raises:
        SettingError: there is none, or it is not of a kind that can be read.
    """
    path = Path(source)
    if "://" in source or source.startswith(("rate:", "http-log:")):
        kind = source.split(":", 1)[0]
        raise SettingError(f"the inline runner reads files, not {kind}: sources ('{source}')")
    if path.is_dir():
        found = sorted(each for each in path.iterdir() if each.is_file() and _is_known(each))
    elif path.is_file():
        found = [path]
    else:
        matching = glob.glob(source)  # noqa: PTH207 - a pattern may be absolute
        found = sorted(Path(each) for each in matching if Path(each).is_file())
    if not found:
        raise SettingError(f"there is no file, folder or pattern '{source}' with RDF in it")
    for each in found:
        format_of_path(each)
    return found


def _is_known(path: Path) -> bool:
    try:
        format_of_path(path)
    except SettingError:
        return False
    return True


Piece = Callable[[], None]


def _interleaved(streams: Mapping[str, Sequence[Path]], engine: Engine) -> Iterator[Piece]:
    """The pieces of all streams, always one of the stream that is furthest behind.

    Answers do not depend on it, but what has to be kept in memory does.
    """
    waiting = {iri: _pieces(iri, files, engine) for iri, files in streams.items()}
    while waiting:
        iri = min(waiting, key=lambda each: _reached(engine, each))
        piece = next(waiting[iri], None)
        if piece is None:
            del waiting[iri]
        else:
            yield piece


def _reached(engine: Engine, iri: str) -> int:
    high = engine.feed(iri).high
    return -(2**62) if high is None else high


def _pieces(iri: str, files: Iterable[Path], engine: Engine) -> Iterator[Piece]:
    """What each step takes of a stream."""
    for path in files:
        try:
            data = content(path)
        except OSError as error:
            raise SettingError(f"cannot read {path}: {error.strerror}") from None
        if format_of_path(path) is Format.TIMED_N_QUADS:
            for piece in cut(data, PIECE):
                yield partial(engine.stream(iri).feed_timed, piece)
        else:
            yield partial(_push_document, engine, iri, path, data)


def cut(data: bytes, size: int) -> Iterator[bytes]:
    r"""A text of timed N-Quads in pieces of whole elements.

    >>> list(cut(b"1\ta b c g .\n1\ta b d g .\n2\ta b c .\n", 4))
    [b'1\ta b c g .\n1\ta b d g .\n', b'2\ta b c .\n']
    """
    start = 0
    while start < len(data):
        end = data.find(b"\n", min(start + size, len(data)))
        end = len(data) if end < 0 else end + 1
        time = data[data.rfind(b"\n", 0, end - 1) + 1 : end].split(b"\t", 1)[0]
        # Lines of one time may be one element: a piece ends where the time changes.
        while end < len(data) and data[end : end + len(time) + 1] == time + b"\t":
            following = data.find(b"\n", end)
            end = len(data) if following < 0 else following + 1
        yield data[start:end]
        start = end


def _push_document(engine: Engine, iri: str, path: Path, data: bytes) -> None:
    """Take a document whose graphs say when they happened."""
    feed = engine.feed(iri)
    options = ReadOptions(base=path.resolve().as_uri(), limits=FILE_LIMITS)
    problems: list[DataError] = []
    quads = list(
        read(
            data,
            format_of_path(path),
            name=str(path),
            scope=feed.scope(),
            options=options,
            on_error=problems.append,
        )
    )
    for problem in problems:
        feed.unreadable(problem)
    try:
        elements = sorted(timed_elements(quads, str(path)), key=lambda each: each.time)
    except DataError as error:
        feed.unreadable(error)
        return
    for element in elements:
        engine.runner.push(feed, element)


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
    with ExitStack() as stack:
        if out is None or out == "-":
            yield show
            return
        path = Path(out)
        if path.suffix not in SINKS:
            raise SettingError(f"expected --out FILE{SINKS[0]} or -, found '{out}'")
        try:
            file: IO[str] = stack.enter_context(path.open("w", encoding="utf-8"))
        except OSError as error:
            raise SettingError(f"cannot write {path}: {error.strerror}") from None

        def write(evaluation: Evaluation) -> None:
            file.writelines(f"{line}\n" for line in ndjson_lines(evaluation))

        yield write


def write_late(late: Sequence[LateElement], path: Path) -> None:
    """Write the elements that missed a window, each statement with its stream and its time."""
    with path.open("w", encoding="utf-8") as file:
        for each in late:
            time = milliseconds(each.element.time)
            for quad in each.element.quads:
                record = {"stream": each.stream, "time": time, "quad": nquads_statement(quad)}
                file.write(json.dumps(record, ensure_ascii=False) + "\n")


def write_rejected(rejected: Sequence[RejectedElement], path: Path) -> None:
    """Write what could not be taken, and why."""
    with path.open("w", encoding="utf-8") as file:
        for each in rejected:
            record: dict[str, object] = {"stream": each.stream, "reason": each.reason}
            if each.element is not None:
                record["time"] = milliseconds(each.element.time)
                record["quads"] = [nquads_statement(quad) for quad in each.element.quads]
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
