"""Harmless queries of a server beside hostile ones: their rate as a ratio to the rate alone.

Plain queries are sent one after the other by one client, each 20 ms after the answer to the last.
The continuous query reads a stream to which an element is pushed every 50 ms, and reports each
second; its rate is that of reports. Hostile queries of tests/hostile.py are sent by several clients
without a pause. Every phase beside hostile queries follows one without.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from itertools import product
from pathlib import Path
from typing import Final

import httpx2

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.hostile import HOSTILE, circle
from tests.serve.clients import Process, limited_process, until

PAUSE: Final = 0.02
STREAM: Final = "http://example.org/cars"
N_TRIPLES: Final = {"Content-Type": "application/n-triples"}
REPORTS: Final = f"SELECT (COUNT(*) AS ?n) FROM STREAM <{STREAM}> [RANGE 5s STEP 1s] {{ ?a ?b ?c }}"
PUSHING: Final = 0.05
PLAIN: Final = {
    "lookup": "SELECT * { ?s ?p ?o } LIMIT 3",
    "ask": "ASK {}",
    "groups": (
        "SELECT ?g (COUNT(*) AS ?n) "
        "{ GRAPH <x:groups> { ?s <x:in> ?g . ?s <x:has> ?v } } GROUP BY ?g"
    ),
}
"""Harmless queries; the last needs some tens of milliseconds of processor time."""
CONTINUOUS: Final = "reports"


@dataclass(frozen=True)
class Phase:
    """What came of a harmless query in some time."""

    seconds: float
    answers: int
    delays: list[float]

    @property
    def rate(self) -> float:
        """Answers or reports per second."""
        return self.answers / self.seconds


@dataclass
class Figures:
    """A harmless query alone, and beside hostile ones."""

    harmless: str
    hostile: str
    number: int
    alone: float
    beside: float
    ratio: float
    median_ms: tuple[float, float]
    longest_ms: tuple[float, float]
    statuses: dict[str, int] = field(default_factory=dict)


# -- the harmless queries ------------------------------------------------------------------------


def ask(client: httpx2.Client, text: str, ended: Callable[[], bool]) -> Phase:
    """Send a plain query again and again."""
    delays: list[float] = []
    answers, start = 0, time.monotonic()
    while not ended():
        now = time.monotonic()
        answers += client.get("/sparql", params={"query": text}).status_code == HTTPStatus.OK
        delays.append(time.monotonic() - now)
        time.sleep(PAUSE)
    return Phase(time.monotonic() - start, answers, delays)


def push(client: httpx2.Client, ended: Callable[[], bool]) -> Phase:
    """Push elements, and count the reports of the continuous query."""
    delays: list[float] = []
    before, start = _reports(client), time.monotonic()
    while not ended():
        now = time.monotonic()
        element = "<x:a> <x:b> <x:c> ."
        client.post("/streams/cars", content=element, headers=N_TRIPLES).raise_for_status()
        delays.append(time.monotonic() - now)
        time.sleep(PUSHING)
    return Phase(time.monotonic() - start, _reports(client) - before, delays)


def _reports(client: httpx2.Client) -> int:
    return int(client.get("/queries/reports").json()["evaluations"])


# -- the hostile ones ----------------------------------------------------------------------------


class Clients:
    """Clients that send hostile plain queries, each the next when the last was answered."""

    def __init__(self, server: Process, number: int, seed: int) -> None:
        """Start them."""
        self._server, self._ended = server, threading.Event()
        self.statuses: Counter[str] = Counter()
        self._threads = [
            threading.Thread(target=self._send, args=(random.Random(seed + n),), daemon=True)
            for n in range(number)
        ]
        for thread in self._threads:
            thread.start()

    def _send(self, chosen: random.Random) -> None:
        names = list(HOSTILE)
        with self._server.client() as client:
            while not self._ended.is_set():
                text = HOSTILE[chosen.choice(names)].plain()
                answer = client.post("/sparql", data={"query": text}, timeout=120)
                self.statuses[str(answer.status_code)] += 1
                if answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE:
                    time.sleep(0.1)

    def end(self) -> None:
        """Wait until the last queries are answered."""
        self._ended.set()
        for thread in self._threads:
            thread.join()


class Registered:
    """Hostile continuous queries over a stream of a hundred elements a second."""

    def __init__(self, server: Process, number: int, seed: int) -> None:
        """Register them."""
        self._client = server.client()
        names = random.Random(seed).sample(list(HOSTILE), number)
        self.statuses: Counter[str] = Counter()
        self._queries = []
        for name in names:
            text = HOSTILE[name].continuous(STREAM)
            answer = self._client.post("/queries", json={"text": text})
            answer.raise_for_status()
            self._queries.append(answer.json()["name"])

    def end(self) -> None:
        """Count their states, and remove them."""
        for name in self._queries:
            state = self._client.get(f"/queries/{name}").json()["state"]
            self.statuses[state] += 1
            self._client.delete(f"/queries/{name}").raise_for_status()
        self._client.close()


HOSTILE_AS: Final[dict[str, type[Clients] | type[Registered]]] = {
    "plain": Clients,
    "continuous": Registered,
}


def groups_data(size: int = 10_000) -> str:
    """Subjects of a hundred groups with a value each, as N-Triples."""
    return "".join(
        f"<x:s{n}> <x:in> <x:g{n % 100}> .\n<x:s{n}> <x:has> <x:v{n % 37}> .\n" for n in range(size)
    )


# -- the measurement -----------------------------------------------------------------------------


def measured(
    server: Process, client: httpx2.Client, case: tuple[str, str, int], options: argparse.Namespace
) -> Figures:
    """One harmless query, alone and beside so many hostile ones by turns."""
    harmless, hostile, number = case
    alone, beside, statuses = [], [], Counter[str]()

    def phase() -> Phase:
        end = time.monotonic() + options.seconds
        if harmless == CONTINUOUS:
            return push(client, lambda: time.monotonic() > end)
        return ask(client, PLAIN[harmless], lambda: time.monotonic() > end)

    phase()
    for turn in range(options.repeats):
        alone.append(phase())
        attack = HOSTILE_AS[hostile](server, number, turn)
        beside.append(phase())
        attack.end()
        statuses += attack.statuses
    rates = [statistics.median(each.rate for each in side) for side in (alone, beside)]
    delays = [[one for each in side for one in each.delays] for side in (alone, beside)]
    return Figures(
        harmless,
        hostile,
        number,
        round(rates[0], 2),
        round(rates[1], 2),
        round(statistics.median(b.rate / a.rate for a, b in zip(alone, beside, strict=True)), 2),
        _in_ms(statistics.median, delays),
        _in_ms(max, delays),
        dict(statuses),
    )


def _in_ms(
    statistic: Callable[[list[float]], float], sides: list[list[float]]
) -> tuple[float, float]:
    alone, beside = (round(1000 * statistic(side), 1) for side in sides)
    return alone, beside


def prepare(client: httpx2.Client) -> None:
    """Load the data of all queries, and register the harmless continuous one."""
    until(lambda: client.get("/readyz").status_code == HTTPStatus.OK)
    data = groups_data().encode()
    client.put("/store?default", content=circle(300), headers=N_TRIPLES).raise_for_status()
    client.put("/store?graph=x:groups", content=data, headers=N_TRIPLES).raise_for_status()
    client.put("/streams/cars", json={"iri": STREAM}).raise_for_status()
    client.post("/queries", json={"text": REPORTS, "name": CONTINUOUS}).raise_for_status()


def main() -> None:
    """Measure what the options ask for."""
    parser = argparse.ArgumentParser("headrace bench hostile", description=__doc__)
    every = [*PLAIN, CONTINUOUS]
    parser.add_argument("--harmless", nargs="+", default=every, choices=every)
    parser.add_argument("--hostile", nargs="+", default=[*HOSTILE_AS], choices=[*HOSTILE_AS])
    parser.add_argument("--clients", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument("--seconds", type=float, default=15, help="of one phase")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", action="append", default=["seconds=5", "memory=2000000000"])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    limits = {name: float(value) for name, _, value in (e.partition("=") for e in options.limit)}
    found = []
    print("                                   answers per second        median ms      longest ms")
    print("harmless  hostile     number   alone  beside   ratio     alone beside    alone beside")
    folder = Path(tempfile.mkdtemp())
    with limited_process(folder, **limits) as server, server.client() as client:
        prepare(client)
        for case in product(options.harmless, options.hostile, options.clients):
            found.append(each := measured(server, client, case, options))
            print(
                f"{each.harmless:9} {each.hostile:10} {each.number:7} {each.alone:7.2f} "
                f"{each.beside:7.2f} {each.ratio:7.2f} {each.median_ms[0]:9.1f} "
                f"{each.median_ms[1]:6.1f} {each.longest_ms[0]:8.0f} {each.longest_ms[1]:6.0f}  "
                f"{each.statuses}",
                flush=True,
            )
    shutil.rmtree(folder)
    if options.json:
        options.json.write_text(json.dumps([asdict(each) for each in found], indent=2))


if __name__ == "__main__":
    main()
