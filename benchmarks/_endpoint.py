"""A SPARQL endpoint on loopback that takes its time, and evaluations within a time beside it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from threading import Lock

import numpy as np
import pyoxigraph as ox
from _loopback import endpoint_process, results_of, serve_queries

from headrace import Engine
from headrace.background.config import ServiceConfig

STREAM = "http://example.org/mentions"
USERS = 100
MENTIONED = 9
"""How many users are mentioned in a second; windows are of four."""


def serve(pipe: Connection, delay: float) -> None:
    """Serve an endpoint that takes its time; each command returns the number of queries so far."""
    store, lock, seen = ox.Store(), Lock(), [0]
    text = "".join(f"<u:{user}> <p:followers> {user} .\n" for user in range(USERS + 1))
    # One more than there are users: of a round number of rows views ask whether it is a limit.
    store.load(text.encode(), ox.RdfFormat.TURTLE)

    def answer(_path: str, query: str) -> bytes:
        with lock:
            seen[0] += 1
        time.sleep(delay)
        return results_of(store, query)

    def count_queries(_command: object) -> int:
        with lock:
            return seen[0]

    # A client that gives up is what is measured.
    serve_queries(pipe, answer, count_queries, is_quiet=True)


@contextmanager
def slow_endpoint(delay: float) -> Iterator[tuple[str, Connection]]:
    """Start a slow endpoint; yield its address, and the pipe that returns its count."""
    with endpoint_process(serve, delay) as (address, pipe):
        yield f"{address}/sparql", pipe


@dataclass(frozen=True, slots=True)
class Latency:
    """How long evaluations took beside an endpoint that takes its time.

    Attributes:
        delay: seconds that the endpoint takes for a request.
        within: seconds that an evaluation may take.
        refresh: whether mappings are asked for in blocks or one by one.
        seconds: of each evaluation, from its last element to its answer.
        requests: of each evaluation, as the endpoint counts them.
        accuracy: of each answer, as estimated.
    """

    delay: float
    within: float
    refresh: str
    seconds: list[float]
    requests: list[int]
    accuracy: list[float]

    def __str__(self) -> str:
        """A line for the terminal."""
        p50, p99 = np.quantile(self.seconds, [0.5, 0.99])
        return (
            f"delay {self.delay * 1000:4.0f} ms, {self.refresh:6}: p50 {p50 * 1000:6.1f} ms, "
            f"p99 {p99 * 1000:6.1f} ms, most {max(self.seconds) * 1000:6.1f} ms, within "
            f"{self.within * 1000:.0f} ms {'yes' if p99 <= self.within else 'NO'}; "
            f"requests {sum(self.requests)}, at most {max(self.requests[1:])} in an evaluation; "
            f"estimated accuracy {np.mean(self.accuracy):.2f}"
        )


def latency(delay: float, within: float, budget: int, evaluations: int, refresh: str) -> Latency:
    """Evaluate a query once for each second of a stream, and see how long it takes."""
    with slow_endpoint(delay) as (iri, counter):
        config = ServiceConfig(allow=(iri,), private=("127.0.0.1",), refresh=refresh)
        engine = Engine(services=config)
        stream = engine.stream(STREAM)
        query = engine.register(
            f"SELECT ?u ?n FROM STREAM <{STREAM}> [RANGE 4s STEP 1s] {{ ?u <p:in> ?post "
            f"SERVICE <{iri}> [WITHIN {within * 1000:.0f}ms POLICY LRU BUDGET {budget}] "
            "{ ?u <p:followers> ?n } }"
        )
        chance = np.random.default_rng(1)
        found = Latency(delay, within, refresh, [], [], [])
        before = 0
        for second in range(1, evaluations + 1):
            for place, user in enumerate(chance.choice(USERS, MENTIONED, replace=False)):
                at = 1000 * second - 900 + place
                stream.push(f"<u:{user}> <p:in> <post:{second}> .", at=at)
            began = time.perf_counter()
            stream.push("<x:a> <x:tick> <x:b> .", at=1000 * second + 50)
            engine.step()
            found.seconds.append(time.perf_counter() - began)
            counter.send("how many?")
            seen = counter.recv()
            found.requests.append(seen - before)
            before = seen
        found.accuracy.extend(each.accuracy or 0.0 for each in query.results())
        engine.static.close()
    return found
