"""More than the server can take, and then less: it asks to wait, and loses nothing it has taken."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from headrace.serve.limits import Limits
from tests.serve.clients import CARS, register, served, until

QUERY = (
    f"SELECT (COUNT(DISTINCT ?s) AS ?n) FROM STREAM <{CARS}> [RANGE 1s STEP 1s] "
    "WHERE { ?s ?p ?o }"
)


def pushed(client: TestClient, number: int) -> int:
    """Push an element of some statements; the status."""
    text = "".join(f"<x:{number}> <x:p> <x:{number}-{each}> .\n" for each in range(20))
    headers = {"Content-Type": "application/n-triples"}
    answer = client.post("/streams/cars", content=text, headers=headers)
    if answer.status_code == 429:
        assert int(answer.headers["retry-after"]) >= 1
    return answer.status_code


class Pusher(threading.Thread):
    """Pushes as fast as it can, whatever it is told, and notes what was acknowledged."""

    def __init__(self, client: TestClient, place: int, of: int, refusals: int) -> None:
        super().__init__(daemon=True)
        self.acknowledged = 0
        self.refused = 0
        self.others: set[int] = set()
        self._client, self._place, self._of, self._refusals = client, place, of, refusals

    def run(self) -> None:
        number = self._place
        while self.refused < self._refusals and not self.others:
            status = pushed(self._client, number)
            if status == 200:
                self.acknowledged += 1
            elif status == 429:
                self.refused += 1
            else:
                self.others.add(status)
            number += self._of


def overloaded(location: Path, pushers: int, refusals: int) -> None:
    limits = Limits(log_bytes=60_000)
    with served(location, limits=limits, interval=0.2) as client:
        client.put("/streams/cars", json={"iri": CARS}).raise_for_status()
        register(client, QUERY, name="all")
        every = [Pusher(client, place, pushers, refusals) for place in range(pushers)]
        for each in every:
            each.start()
        for each in every:
            each.join()
        assert set().union(*(each.others for each in every)) == set()
        assert all(each.refused >= refusals for each in every)
        taken = sum(each.acknowledged for each in every)
        assert taken > 0
        # Then things are as usual again: who comes back later is let in, and all of it is read.
        until(lambda: pushed(client, -1) == 200)
        until(lambda: client.get("/streams/cars").json()["elements"] > taken)
        figures = client.get("/streams/cars").json()
        assert (figures["elements"], figures["late"], figures["rejected"]) == (taken + 1, 0, 0)
        assert figures["log_bytes"] <= limits.log_bytes


def test_overload_is_refused_and_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    overloaded(tmp_path / "data", pushers=4, refusals=10)


@pytest.mark.long
def test_long_overload_is_refused_and_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    overloaded(tmp_path / "data", pushers=8, refusals=2_000)
