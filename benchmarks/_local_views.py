"""ACQUA's experiments through the engine: queries over HTTP against an endpoint that changes.

All policies that can be run, with each budget, are queries of one engine over the same stream of
mentions. Their endpoint is a process of its own on loopback, in which the counts of the followers
change before each evaluation, as the replay says; every policy has a path of its own there, so the
endpoint itself counts who asks how often. The true answer is known: it is the replay's.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isinf, sqrt
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import fmean, stdev
from threading import Lock
from typing import Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyoxigraph as ox
from _loopback import endpoint_process, results_of, serve_queries

from headrace import Engine, Evaluation
from headrace.background.change_intervals import read_change_intervals
from headrace.background.config import ServiceConfig

STREAM: Final = "http://example.org/mentions"
_SECOND: Final = 1000
_MINUTE: Final = 60
_FOLLOWERS: Final = ox.NamedNode("p:followers")

Ints: TypeAlias = npt.NDArray[np.int64]


class Replay(Protocol):
    """What happens: mentions, and changes of counts."""

    @property
    def intervals(self) -> Ints:
        """Seconds between the changes of each count."""

    @property
    def versions(self) -> Ints:
        """At each evaluation, how often each count has changed."""

    @property
    def mentions(self) -> tuple[Ints, Ints]:
        """When users are mentioned, in seconds, and who."""


# -- the endpoint ---------------------------------------------------------------------------------


def serve(pipe: Connection, users: int) -> None:
    """Serve an endpoint whose data change; a command changes counts and returns request counts."""
    store, lock, seen = ox.Store(), Lock(), dict[str, int]()

    def put(user: int, count: int) -> None:
        subject = ox.NamedNode(f"u:{user}")
        for quad in list(store.quads_for_pattern(subject, _FOLLOWERS, None)):
            store.remove(quad)
        store.add(ox.Quad(subject, _FOLLOWERS, ox.Literal(count)))

    for user in range(users):
        put(user, 0)

    def answer(path: str, query: str) -> bytes:
        name = path.rsplit("/", 1)[-1]
        with lock:
            seen[name] = seen.get(name, 0) + 1
            return results_of(store, query)

    def change(counts: Sequence[tuple[int, int]]) -> dict[str, int]:
        with lock:
            for user, count in counts:
                put(user, count)
            return dict(seen)

    serve_queries(pipe, answer, change)


# -- a run ----------------------------------------------------------------------------------------


@dataclass(slots=True)
class Measured:
    """What a query has given in one run, evaluation by evaluation.

    Attributes:
        accuracy: the share of its rows that are right.
        completeness: the share of the rows of the true answer that it has, right or not.
        said: the accuracy and the completeness that it has estimated.
        requests: how many requests the endpoint has had, the first included that fills a view.
        most: the most of them in one evaluation, without the first.
    """

    accuracy: list[float] = field(default_factory=list)
    completeness: list[float] = field(default_factory=list)
    said: list[tuple[float, float]] = field(default_factory=list)
    requests: int = 0
    most: int = 0

    @property
    def mean(self) -> float:
        """Its accuracy."""
        return fmean(self.accuracy)

    def error(self, what: int) -> float:
        """How far its estimate of accuracy (0) or completeness (1) is from the truth."""
        truth = (self.accuracy, self.completeness)[what]
        return fmean(abs(one - said[what]) for one, said in zip(truth, self.said, strict=True))


def through_the_engine(
    replay: Replay,
    contracts: Mapping[str, str],
    width: int,
    *,
    fill: str = "whole",
    evaluations: int | None = None,
) -> dict[str, Measured]:
    """Run a query for each contract over a replay, and compare each answer with the true one.

    Args:
        replay: what happens.
        contracts: what stands in brackets, by the names of queries.
        width: seconds of the window of the query, which slides by a minute.
        fill: what views begin with.
        evaluations: how many, from the first; all if not given.
    """
    users = replay.intervals.size
    number = len(replay.versions) if evaluations is None else evaluations
    found = {name: Measured() for name in contracts}
    with endpoint_process(serve, users) as (address, pipe), tempfile.TemporaryDirectory() as folder:
        rates = Path(folder) / "rates.csv"
        with rates.open("w", newline="") as file:
            csv.writer(file).writerows(
                [f"u:{user}", int(seconds)] for user, seconds in enumerate(replay.intervals)
            )
        config = ServiceConfig(
            (address,),
            ("127.0.0.1",),
            fill=fill,
            refresh="bound",
            each=read_change_intervals(rates),
        )
        engine = Engine(services=config)
        stream = engine.stream(STREAM)
        for name, contract in contracts.items():
            engine.register(
                f"SELECT ?u ?n FROM STREAM <{STREAM}> [RANGE {width}s STEP 1m] {{ ?u <p:in> ?post "
                f"SERVICE <{address}/{name}> {contract} {{ ?u <p:followers> ?n }} }}",
                name=name,
            )
        times, mentioned = replay.mentions
        counts = np.zeros(users, np.int64)
        before: dict[str, int] = {}
        place = int(np.searchsorted(times, -_MINUTE, side="right"))
        for row in range(-1, number):  # the view is filled at the start, before anything changes
            close = _MINUTE * (row + 1)
            if row >= 0:
                changed = np.flatnonzero(replay.versions[row] != counts)
                counts = replay.versions[row]
                pipe.send([(int(user), int(counts[user])) for user in changed])
                pipe.recv()
            while place < times.size and times[place] <= close:
                at = (int(times[place]) + _MINUTE) * _SECOND
                stream.push(f"<u:{mentioned[place]}> <p:in> <post:{place}> .", at=at)
                place += 1
            stream.push("<x:a> <x:tick> <x:b> .", at=(close + _MINUTE) * _SECOND + 1)
            engine.step()
            pipe.send([])
            seen = pipe.recv()
            for name, measured in found.items():
                [answer] = engine.queries[name].results()
                sent = seen.get(name, 0) - before.get(name, 0)
                measured.requests += sent
                if row >= 0:
                    ends = np.searchsorted(times, [close - width, close], side="right")
                    used = np.unique(mentioned[ends[0] : ends[1]])
                    _compare(measured, answer, used, counts)
                    measured.most = max(measured.most, sent)
            before = seen
        engine.static.close()
    return found


def _compare(measured: Measured, found: Evaluation, used: Ints, counts: Ints) -> None:
    """Compare an answer with the true one: a row for each user of the window."""
    assert found.error is None, found.error
    rows = {(str(user), str(count)) for user, count in found.rows}
    truth = {(f"<u:{user}>", int(counts[user])) for user in used.tolist()}
    said = {(user, int(count.split('"')[1])) for user, count in rows}
    measured.accuracy.append(len(said & truth) / len(said) if said else 1.0)
    measured.completeness.append(len(said) / len(truth) if truth else 1.0)
    assert {user for user, _ in said} <= {user for user, _ in truth}, "rows of other users"
    assert found.accuracy is not None
    assert found.completeness is not None
    measured.said.append((found.accuracy, found.completeness))


# -- intervals ------------------------------------------------------------------------------------

_STUDENT: Final = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                   2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093)  # fmt: skip
"""Student's t for 95 %, by degrees of freedom from 1; 1.96 beyond."""


def half_width(values: Sequence[float]) -> float:
    """Half of the interval that has the mean with a confidence of 95 %, by Student's t."""
    if len(values) < 2:  # noqa: PLR2004 - one value has no deviation
        return float("inf")
    freedom = len(values) - 1
    times = _STUDENT[freedom - 1] if freedom <= len(_STUDENT) else 1.96
    return times * stdev(values) / sqrt(len(values))


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over seeds, and how far from it the true one may be."""

    mean: float
    half: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Interval:
        """Of a value for each seed."""
        return cls(fmean(values), half_width(values))

    def __str__(self) -> str:
        """As a table has it."""
        if isinf(self.half):
            return f"{self.mean:.3f} (one seed)"
        return f"{self.mean:.3f} ± {self.half:.3f}"
