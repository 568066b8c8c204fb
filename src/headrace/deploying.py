"""From queries and sources to a pipeline that is ready to run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from headrace.algebra.reporting import Semantics
from headrace.arrival_times import ArrivalTimes, Clock, SteadyClock, wall_clock
from headrace.ingest.log import IngestLog, last_received, segments_of
from headrace.ingest.receiving import BeatRule, Receiver
from headrace.kernel.arriving import Gate
from headrace.kernel.data import Quads
from headrace.kernel.evaluation import Around
from headrace.kernel.fair_share import FairShare
from headrace.pipeline.decode import Decoding
from headrace.pipeline.deployment import Deployment
from headrace.pipeline.heartbeats import schedule_heartbeats
from headrace.pipeline.messages import TopicSource, topic_source
from headrace.pipeline.parts import Allowed
from headrace.pipeline.setup import Outlet, Setup
from headrace.pipeline.statement_counts import choose_probes
from headrace.pipeline.streams import KAFKA, LOG, Declared, Sources
from headrace.pipeline.timing import rising_clock
from headrace.planning.plan import Plan, takes_arrivals_as_they_come
from headrace.planning.wanted import wanted_shapes
from headrace.rdf.terms import Iri
from headrace.rdf.timestamps import SAID_TIME, SOURCE_TIME
from headrace.reasoning.tables import Tables
from headrace.sinks.base import Sink
from headrace.timed_waits import wait_for_event

_LOOK: Final = 0.2
"""Seconds from one look at the receivers to the next."""


def setup_of(  # noqa: PLR0913 - each is a part of it
    deployment: Deployment,
    plans: Sequence[Plan],
    streams: Mapping[str, Sequence[Declared]],
    around: Callable[[], tuple[str, Around]],
    *,
    sinks: Mapping[str, Sink],
    outlets: Sequence[Outlet] = (),
    clock: Callable[[], int] | None = None,
    live: bool = False,
    partitions: int = 1,
    allowed: Allowed | None = None,
    tables: Tables | None = None,
    idles: Mapping[str, int] | None = None,
    share: FairShare | None = None,
) -> Setup:
    """Build the setup of a pipeline from plans and sources.

    Args:
        deployment: where.
        plans: the queries.
        streams: the streams that are read, and their sources.
        around: what the queries share, and the version of the static data in it.
        sinks: where results go.
        outlets: where late and rejected elements go.
        clock: the present in microseconds, which says in a live run what is too far ahead.
        live: whether empty windows are reported up to the watermark.
        partitions: in how many parts queries are evaluated that can be.
        allowed: what the evaluation in a part may use.
        tables: what follows from statements, where the queries have a schema.
        idles: the idle time-outs that streams declare; those of queries go together with them.
        share: divides the time of a live batch among the queries.
    """
    decodings = {
        iri: replace(_decoding(deployment, plans, iri, sources), tables=tables)
        for iri, sources in streams.items()
    }
    readers = {iri: _semantics(plans, iri) for iri in decodings}

    present = None if clock is None else _gate_clock(clock, deployment)

    def gate(iri: str) -> Gate:
        # A time of arrival may be ahead of a clock that was set back, and is no mistake then.
        now = None if present is None else max([present(), *last_arrivals(iri)])
        return Gate.of(readers[iri].max_ahead, now)

    def last_arrivals(iri: str) -> Iterator[int]:
        for source in streams[iri]:
            if source.kind == LOG or source.is_received:
                found = last_received(segments_of(source.log(deployment.layout.logs)))
                yield from () if found is None else (found,)

    return Setup(
        plans,
        decodings,
        around,
        gate,
        sinks,
        outlets,
        live,
        partitions,
        allowed or Allowed(deployment.seed),
        idles=_find_time_outs(plans, streams, idles or {}),
        sources={
            iri: [each.place for each in given if each.kind != LOG]
            for iri, given in streams.items()
        },
        logs={
            iri: Path(each.place).name
            for iri, given in streams.items()
            for each in given
            if each.kind == LOG
        },
        share=share,
    )


def _gate_clock(clock: Clock, deployment: Deployment) -> Clock:
    """Return the present that times are compared with, however the clock of the machine is set.

    It follows the clock ahead at once. While the clock is behind what it was before, in this run or
    when the last batch was committed, the present goes on from there, as times of arrival do: who
    sends elements may have a clock that is right.
    """
    if clock is not wall_clock:
        return rising_clock(clock)
    manifests = deployment.layout.manifests.glob("*.json")
    commits = [each.stat().st_mtime_ns // 1000 for each in manifests]
    steady = SteadyClock(clock, report=lambda _: None)
    return ArrivalTimes(steady, max([clock(), *commits])).latest


def _find_time_outs(
    plans: Sequence[Plan], streams: Iterable[str], own: Mapping[str, int]
) -> dict[str, int]:
    """Return the shortest idle time-out of each stream that has one."""
    found = {}
    for iri in streams:
        readers = [plan.semantics for plan in plans if Iri(iri) in plan.streams]
        asked = [own.get(iri), *(each.idle_of(iri) for each in readers)]
        known = [each for each in asked if each is not None]
        if known:
            found[iri] = min(known)
    return found


def _semantics(plans: Sequence[Plan], iri: str) -> Semantics:
    """What the queries of a stream declare of it; all of them agree."""
    readers = [plan.semantics for plan in plans if Iri(iri) in plan.streams]
    return readers[0] if readers else Semantics()


def _decoding(
    deployment: Deployment, plans: Sequence[Plan], iri: str, sources: Sequence[Declared]
) -> Decoding:
    semantics = _semantics(plans, iri)
    readers = [plan for plan in plans if Iri(iri) in plan.streams]
    delays = [0 if takes_arrivals_as_they_come(plan) else plan.delay(Iri(iri)) for plan in readers]
    return Decoding(
        iri,
        deployment.seed,
        deployment.layout.panes,
        semantics.blank_nodes,
        semantics.assert_quoted,
        sources[0].rule if sources else SAID_TIME,
        shapes=wanted_shapes(plans, Iri(iri)),
        delay=min(delays, default=0),
        probes=choose_probes(plans, iri),
    )


def topics_of(streams: Mapping[str, Sequence[Declared]]) -> list[TopicSource]:
    """The topics of Kafka that streams are read from.

    Raises:
        SettingError: a source names none.
    """
    return [
        topic_source(iri, source)
        for iri, sources in streams.items()
        for source in sources
        if source.kind == KAFKA
    ]


@contextmanager
def received(
    streams: Mapping[str, Sequence[Declared]], deployment: Deployment, plans: Sequence[Plan] = ()
) -> Iterator[tuple[Sources, list[Receiver]]]:
    """Receive the sources that cannot be read again, and yield the places of all sources.

    Args:
        streams: the sources of each stream.
        deployment: where what is received is kept.
        plans: the queries, whose windows the clock closes in streams that go by arrival.
    """
    clocked = _find_clocked(streams, deployment)
    is_due = schedule_heartbeats(plans).is_due
    clock = SteadyClock()  # one for all, so that a jump is reported once
    with ExitStack() as stack:
        places: dict[str, list[str]] = {}
        receivers: dict[Path, Receiver] = {}
        for iri, sources in streams.items():
            for source in sources:
                if source.is_received:
                    folder = source.log(deployment.layout.logs)
                    if folder not in receivers:  # else another stream is read from the same
                        rule = is_due if folder in clocked else None
                        receiver = _receiver(source, deployment, clock, rule)
                        receivers[folder] = stack.enter_context(receiver)
                    places.setdefault(iri, []).append(str(folder))
                elif source.kind != KAFKA:
                    places.setdefault(iri, []).append(source.place)
        yield Sources(places, clock), list(receivers.values())


def _find_clocked(streams: Mapping[str, Sequence[Declared]], deployment: Deployment) -> set[Path]:
    """Return the streams whose elements only have the time of their arrival."""
    received = [each for sources in streams.values() for each in sources if each.is_received]
    folders = {each: each.log(deployment.layout.logs) for each in received}
    others = {folder for each, folder in folders.items() if each.rule != SOURCE_TIME}
    return set(folders.values()) - others


@contextmanager
def _receiver(
    source: Declared, deployment: Deployment, clock: SteadyClock, beats: BeatRule | None
) -> Iterator[Receiver]:
    """Run a thread that writes received messages to a log."""
    deployment.layout.logs.mkdir(mode=0o700, exist_ok=True)
    folder = source.log(deployment.layout.logs)
    with IngestLog(folder) as log:
        receiver: Receiver
        if source.kind == "tcp":
            from headrace.ingest.tcp import TcpReceiver  # noqa: PLC0415

            receiver = TcpReceiver(source.place, log, clock=clock)
        else:
            from headrace.ingest.mqtt import MqttReceiver  # noqa: PLC0415

            # A broker takes two clients of one name for one that has come back.
            client_id = f"headrace-{deployment.id}-{folder.name}"
            receiver = MqttReceiver(source.place, log, client_id=client_id, clock=clock)
        if beats is not None:
            receiver.schedule_heartbeats(beats)
        receiver.start()
        try:
            yield receiver
        finally:
            receiver.stop()


@contextmanager
def watching(
    receivers: Sequence[Receiver], stop: Callable[[], None], note: Callable[[str], None]
) -> Iterator[None]:
    """Tell what keeps receivers from receiving, and end the run when one has given up.

    Args:
        receivers: those that are at work.
        stop: ends the run.
        note: tells the user something.

    Raises:
        HeadraceError: why a receiver has given up.
    """
    ended = threading.Event()

    def watch() -> None:
        told: dict[Receiver, str | None] = {}
        while not wait_for_event(ended, _LOOK):
            for receiver in receivers:
                if receiver.problem is not None:
                    stop()  # again and again: it may not have begun yet
                trouble = receiver.trouble
                if trouble is not None and trouble != told.get(receiver):
                    note(f"cannot receive from {receiver.source} now: {trouble}")
                told[receiver] = trouble

    thread = threading.Thread(target=watch, name="watch receivers", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    for receiver in receivers:
        if receiver.problem is not None:
            raise receiver.problem


def version_of(static: Quads) -> str:
    """What tells static data from other static data of the same deployment."""
    total = int(static.frame.hash_rows().sum() or 0)
    return f"{static.frame.height}-{total & (2**64 - 1):x}"


class Refreshing:
    """What queries share, with the static data as they are whenever it is asked for."""

    def __init__(self, around: Around, statements: Callable[[], Quads]) -> None:
        """Begin with what there is.

        Args:
            around: what they share.
            statements: the static data; the same as before if nothing was added.
        """
        self._around = around
        self._statements = statements
        self._version = version_of(around.static)

    def __call__(self) -> tuple[str, Around]:
        """The version of the static data, and all that is shared."""
        statements = self._statements()
        if self._around.static is not statements:
            self._around = replace(self._around, static=statements)
            self._version = version_of(self._around.static)
        return self._version, self._around
