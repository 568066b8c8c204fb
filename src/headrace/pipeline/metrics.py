"""How a run is doing, in figures: for Python, and for Prometheus in a file or on a port."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

from headrace.diagnosis import Note
from headrace.errors import MachineError, SettingError
from headrace.functions.value_failures import ValueFailure
from headrace.kernel.remote import Contracted
from headrace.pipeline.layout import Layout
from headrace.pipeline.manifest import NOTHING, Manifest, QueryState, StreamState
from headrace.pipeline.results import Told
from headrace.pipeline.tables import unwritable
from headrace.version import __version__

LOOPBACK: Final = "127.0.0.1"
PATH: Final = "/metrics"
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_MICROSECONDS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Figures:
    """How a run stands after a batch.

    Attributes:
        manifest: what has been committed; its counters go on from run to run.
        seconds: how long the stages of the batch have taken.
        state: how many bytes the next batch needs of those before it.
        rerouted: how often each query has changed the order of its joins since the run began.
        contracts: how queries stand with the endpoints that they ask under a budget.
        notes: why queries give no rows, and what else should be known.
        failures: what expressions of queries could not compute since the run began.
    """

    manifest: Manifest = NOTHING
    seconds: Mapping[str, float] = field(default_factory=dict)
    state: int = 0
    rerouted: Mapping[str, int] = field(default_factory=dict)
    contracts: Mapping[str, Contracted] = field(default_factory=dict)
    notes: Sequence[Note] = ()
    failures: Mapping[str, Sequence[ValueFailure]] = field(default_factory=dict)

    @property
    def batch_seconds(self) -> float:
        """How long the batch has taken."""
        return sum(self.seconds.values())

    @property
    def elements(self) -> int:
        """How many elements have come on all streams."""
        return sum(each.elements for each in self.manifest.streams.values())

    @property
    def rows(self) -> int:
        """How much all queries have emitted."""
        return sum(each.rows for each in self.manifest.queries.values())

    @property
    def skipped(self) -> int:
        """At how many due instants queries were not evaluated."""
        return sum(each.skipped for each in self.manifest.queries.values())

    def lag(self, now: float) -> float | None:
        """How many seconds the stream that is furthest behind is behind a time; none if empty."""
        lags = [_lag(each, now) for each in self.manifest.streams.values()]
        return max((each for each in lags if each is not None), default=None)


Watch = Callable[[Figures], None]
"""Hears of each batch how the run stands."""


def figures_of(layout: Layout, manifest: Manifest, told: Told) -> Figures:
    """Compute the figures of a run after a batch."""
    state = _state(layout, manifest)
    return Figures(
        manifest,
        dict(told.spent),
        state,
        told.rerouted,
        told.contracts,
        told.notes,
        told.failures,
    )


def _state(layout: Layout, manifest: Manifest) -> int:
    kept = [layout.panes / pane.name for pane in manifest.panes]
    kept += [layout.memories / each.name for each in manifest.snapshots.values()]
    if manifest.memory is not None:
        kept.append(layout.memories / manifest.memory.name)
    # A pane that can be made again may have been lost.
    return sum(path.stat().st_size for path in kept if path.exists())


def _high(state: StreamState) -> float | None:
    return None if state.high is None else state.high / _MICROSECONDS


def _lag(state: StreamState, now: float) -> float | None:
    high = _high(state)
    return None if high is None else max(now - high, 0.0)


# -- Prometheus --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Measure:
    """A metric as Prometheus knows it: its name, what it says, and its value by label."""

    name: str
    kind: str
    says: str
    values: Sequence[tuple[Mapping[str, str], float]]


_STREAMS: Final[tuple[tuple[str, str, str, Callable[[StreamState], float | None]], ...]] = (
    ("headrace_elements_total", "counter", "Elements that have come.", lambda s: s.elements),
    (
        "headrace_on_time_total",
        "counter",
        "Elements that missed no window.",
        lambda s: s.counters.on_time,
    ),
    ("headrace_late_total", "counter", "Elements that missed a window.", lambda s: s.late),
    ("headrace_rejected_total", "counter", "Elements not taken.", lambda s: s.rejected),
    ("headrace_messages_total", "counter", "Messages that have come.", lambda s: s.messages),
    (
        "headrace_accepted_messages_total",
        "counter",
        "Messages with an element that was taken.",
        lambda s: s.counters.accepted,
    ),
    ("headrace_heartbeats_total", "counter", "Messages with a time only.", lambda s: s.heartbeats),
    (
        "headrace_rejected_messages_total",
        "counter",
        "Messages of which nothing was taken.",
        lambda s: s.rejected_messages,
    ),
    ("headrace_high_seconds", "gauge", "The event time reached, since the epoch.", _high),
)
_QUERIES: Final[tuple[tuple[str, str, str, Callable[[QueryState], float]], ...]] = (
    ("headrace_evaluations_total", "counter", "Evaluations.", lambda q: q.evaluations),
    ("headrace_failures_total", "counter", "Evaluations that failed.", lambda q: q.failed),
    ("headrace_rows_total", "counter", "Rows or statements emitted.", lambda q: q.rows),
    ("headrace_stopped", "gauge", "1 if the query has stopped.", lambda q: bool(q.failure)),
    ("headrace_skipped_total", "counter", "Due instants that were skipped.", lambda q: q.skipped),
    (
        "headrace_overloaded",
        "gauge",
        "1 while batches take too long for the query.",
        lambda q: q.pace.overloaded,
    ),
    (
        "headrace_stride",
        "gauge",
        "Of so many due instants one is evaluated.",
        lambda q: q.pace.stride,
    ),
)


_CONTRACTS: Final[tuple[tuple[str, str, str, Callable[[Contracted], float]], ...]] = (
    (
        "headrace_service_accuracy",
        "gauge",
        "The estimated accuracy of the last answer from local views.",
        lambda c: c.accuracy,
    ),
    (
        "headrace_service_completeness",
        "gauge",
        "The estimated share of the expected rows that the last answer from local views has.",
        lambda c: c.completeness,
    ),
    (
        "headrace_service_alert",
        "gauge",
        "1 while a contract with an endpoint is not met.",
        lambda c: bool(c.alerts),
    ),
    ("headrace_service_requests_total", "counter", "Requests for views.", lambda c: c.requests),
    (
        "headrace_service_between_total",
        "counter",
        "Those of the requests that were sent between evaluations.",
        lambda c: c.between,
    ),
    ("headrace_service_refreshed_total", "counter", "Mappings refreshed.", lambda c: c.refreshed),
    (
        "headrace_service_missing_total",
        "counter",
        "Mappings that windows asked for and views did not have.",
        lambda c: c.missing,
    ),
    ("headrace_service_mappings", "gauge", "Mappings in local views.", lambda c: c.mappings),
)


def measures(figures: Figures, now: float) -> Iterator[Measure]:
    """Yield all metrics of a run.

    Args:
        figures: how it stands.
        now: seconds since the epoch.
    """
    manifest = figures.manifest
    yield Measure("headrace_info", "gauge", "The version.", [({"version": __version__}, 1)])
    for name, kind, says, of_stream in _STREAMS:
        found = [(iri, of_stream(each)) for iri, each in manifest.streams.items()]
        yield Measure(name, kind, says, _labelled("stream", found))
    lags = [(iri, _lag(each, now)) for iri, each in manifest.streams.items()]
    says = "How far the event time reached is behind the clock."
    yield Measure("headrace_lag_seconds", "gauge", says, _labelled("stream", lags))
    panes = [
        (iri, float(sum(pane.stream == iri for pane in manifest.panes))) for iri in manifest.streams
    ]
    says = "Pieces of the stream that open windows hold."
    yield Measure("headrace_open_panes", "gauge", says, _labelled("stream", panes))
    for name, kind, says, of_query in _QUERIES:
        states = [(query, of_query(each)) for query, each in manifest.queries.items()]
        yield Measure(name, kind, says, _labelled("query", states))
    for name, kind, says, of_contract in _CONTRACTS:
        standing = [(query, of_contract(each)) for query, each in figures.contracts.items()]
        yield Measure(name, kind, says, _labelled("query", standing))
    yield _failures(figures.failures)
    says = "Changes of the order in which what is new is joined, since the run began."
    changes = _labelled("query", figures.rerouted.items())
    yield Measure("headrace_route_changes_total", "counter", says, changes)
    says = "1 for each note that is true: why a query gives no rows, for one."
    yield Measure("headrace_notes", "gauge", says, _count_notes(figures.notes))
    yield Measure(
        "headrace_batches_total", "counter", "Batches committed.", [({}, manifest.batch + 1)]
    )
    says = "How long the last batch has taken."
    yield Measure("headrace_batch_seconds", "gauge", says, [({}, figures.batch_seconds)])
    says = "How long each stage of the last batch has taken."
    stages = _labelled("stage", figures.seconds.items())
    yield Measure("headrace_stage_seconds", "gauge", says, stages)
    says = "Bytes that the next batch needs of those before it."
    yield Measure("headrace_state_bytes", "gauge", says, [({}, figures.state)])


def _count_notes(notes: Sequence[Note]) -> list[tuple[Mapping[str, str], float]]:
    """Count the notes by code, query and stream."""
    labels = [(str(note.code), note.query or "", note.stream or "") for note in notes]
    return [
        ({"code": code, "query": query, "stream": stream}, number)
        for (code, query, stream), number in Counter(labels).items()
    ]


def _failures(failures: Mapping[str, Sequence[ValueFailure]]) -> Measure:
    values = [
        ({"query": query, "cause": each.cause.value, "subject": each.subject}, float(each.count))
        for query, found in failures.items()
        for each in found
    ]
    says = "Values that could not be read, calls and aggregates without a result."
    return Measure("headrace_value_failures_total", "counter", says, values)


def _labelled(
    label: str, values: Iterable[tuple[str, float | None]]
) -> list[tuple[Mapping[str, str], float]]:
    return [({label: name}, value) for name, value in values if value is not None]


def exposition(every: Iterable[Measure]) -> str:
    r"""Metrics in the text format of Prometheus; those without a value are left out.

    >>> print(exposition([Measure("a_total", "counter", "Says.", [({"b": 'c"'}, 1)])]), end="")
    # HELP a_total Says.
    # TYPE a_total counter
    a_total{b="c\""} 1
    """
    lines = []
    for each in every:
        if each.values:
            lines += [f"# HELP {each.name} {each.says}", f"# TYPE {each.name} {each.kind}"]
        for labels, value in each.values:
            pairs = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
            lines.append(f"{each.name}{f'{{{pairs}}}' if pairs else ''} {value:.17g}")
    return "".join(f"{line}\n" for line in lines)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


# -- where they can be seen --------------------------------------------------------------------


class Metrics:
    """The metrics of a run, as they are now."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        """Begin with nothing; a clock says seconds since the epoch."""
        self._clock = clock
        self._figures = Figures()

    def hear(self, figures: Figures) -> None:
        """Take note of a batch."""
        self._figures = figures

    def text(self) -> str:
        """As Prometheus reads them."""
        return exposition(measures(self._figures, self._clock()))


def write_metrics(path: Path, metrics: Metrics) -> None:
    """Write metrics to a file, which is never there in part.

    Raises:
        MachineError: it cannot be written.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(metrics.text(), "utf-8")
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise unwritable(path, error) from error


@contextmanager
def serving(port: int, metrics: Metrics) -> Iterator[int]:
    """Answer on a port of this machine, which nobody reaches from another; which port it is.

    Args:
        port: the port; any free one if zero.
        metrics: what to answer with.

    Raises:
        SettingError: the port cannot be had.
    """
    try:
        server = _Server((LOOPBACK, port), _Handler)
    except (OSError, OverflowError) as error:
        raise SettingError(f"cannot serve metrics on port {port}: {error}") from None
    server.metrics = metrics
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def measuring(places: Sequence[str], note: Callable[[str], None]) -> Iterator[list[Watch]]:
    """Let metrics be seen at some places: files, or ports of this machine.

    Args:
        places: which.
        note: tells what should be known.

    Yields:
        What must hear of each batch for that.

    Raises:
        SettingError: a port cannot be had.
    """
    metrics = Metrics()
    watchers: list[Watch] = [metrics.hear] if places else []
    with ExitStack() as stack:
        for place in places:
            if place.isdecimal():
                port = stack.enter_context(serving(int(place), metrics))
                note(f"metrics are at http://{LOOPBACK}:{port}{PATH}")
            else:
                watchers.append(_writing(Path(place), metrics, note))
        yield watchers


def _writing(path: Path, metrics: Metrics, note: Callable[[str], None]) -> Watch:
    """Writes metrics to a file after each batch; if that fails, the run goes on."""
    told = ""

    def write(_figures: Figures) -> None:
        nonlocal told
        try:
            write_metrics(path, metrics)
        except MachineError as error:
            if str(error) != told:
                note(str(error))
            told = str(error)

    return write


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a client that never ends its request must not hold up the end
    metrics: Metrics


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 10.0

    def do_GET(self) -> None:
        if self.path.partition("?")[0] != PATH:
            self.send_error(404, f"metrics are at {PATH}")
            return
        content = self.server.metrics.text().encode()
        self.send_response(200)
        self.send_header("Content-Type", CONTENT_TYPE)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_arguments: object) -> None:
        """Say nothing: standard error is for the user of the run."""
