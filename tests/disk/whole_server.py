"""A server with every kind of file, and a part that is played on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx2

from headrace.serve.limits import Limits
from tests.serve.clients import CARS, COUNT, TIMED, evaluations, passages, register, served, until

VANS = "http://example.org/vans"
GRAPH = "http://example.org/gates"
SPARE = "http://example.org/spare"
OLD_GRAPH = "http://example.org/old-gates"
NEW = "http://example.org/new"
OWN = "http://example.org/"
KNOWN = f"<{OWN}g0> <{OWN}fee> 3 .\n<{OWN}g1> <{OWN}fee> 5 .\n"
PREFIX = f"PREFIX : <{OWN}> "
QUERIES: Mapping[str, str] = {
    "counts": COUNT,
    "seen": f"{PREFIX} SELECT ISTREAM ?gate ?car FROM STREAM <{CARS}> [RANGE 20s STEP 5s] "
    "WHERE { ?gate :registers ?car }",
    "busy": f"{PREFIX} REGISTER STREAM :busy AS CONSTRUCT {{ ?gate :count ?n }} "
    f"FROM STREAM <{CARS}> [RANGE 10s STEP 5s] "
    "WHERE { SELECT ?gate (COUNT(*) AS ?n) { ?gate :registers ?car } GROUP BY ?gate }",
    "top": f"{PREFIX} SELECT (MAX(?n) AS ?most) FROM STREAM :busy [RANGE 10s STEP 5s] "
    "WHERE { ?gate :count ?n }",
    "fees": f"{PREFIX} SELECT (SUM(?fee) AS ?sum) FROM <{GRAPH}> "
    f"FROM STREAM <{CARS}> [RANGE 10s STEP 5s] "
    "WHERE { ?gate :registers ?car . ?gate :fee ?fee }",
}
"""Queries with all that a checkpoint has: panes, memory, derived streams and static data."""
SPARES = ("paused", "removed")
BEFORE, AFTER = 60, 90
"""Seconds of passages that are pushed before the part is played, and in all."""
LAST = 1000 * (AFTER - 5)
_SEGMENT_BYTES = 2_500
SMALL = Limits(log_bytes=8 * _SEGMENT_BYTES)


def make(location: Path) -> None:
    """Make the directory of a server that has something of everything, and stop it."""
    with served(location, limits=SMALL) as client:
        for name, iri in (("cars", CARS), ("vans", VANS), ("spare", SPARE)):
            client.put(f"/streams/{name}", json={"iri": iri, "time": "said"}).raise_for_status()
        put_graph(client, GRAPH).raise_for_status()
        put_graph(client, OLD_GRAPH).raise_for_status()
        for name, text in QUERIES.items():
            register(client, text, name=name)
        for name in SPARES:
            register(client, COUNT, name=name)
        client.post("/queries/paused/pause").raise_for_status()
        for start in range(0, BEFORE, 2):
            push(client, start, start + 2).raise_for_status()
        evaluations(client, "counts", BEFORE // 5 - 1)
        all_read(client, BEFORE)
        # Segments that are read and in no open window are deleted, and their keys are kept.
        until(lambda: any(location.glob("streams/*/recent-ids")))


def all_read(client: httpx2.Client, seconds: int) -> None:
    """Wait until all passages are read: a log that is damaged then has nothing else."""
    until(lambda: client.get("/streams/cars").json()["elements"] == seconds)


def put_graph(client: httpx2.Client, name: str) -> Any:
    headers = {"Content-Type": "text/turtle"}
    return client.put("/store", params={"graph": name}, content=KNOWN, headers=headers)


def push(client: httpx2.Client, start: int, stop: int) -> Any:
    headers = {"Content-Type": TIMED, "Idempotency-Key": f"from {start}"}
    return client.post("/streams/cars", content=passages(start, stop), headers=headers)


def outcome(client: httpx2.Client) -> dict[str, list[tuple[float, Sequence[Any]]]]:
    """What the queries have reported, once the last windows have closed."""
    return {name: reported(client, name) for name in QUERIES}


def reported(client: httpx2.Client, name: str) -> list[tuple[float, Sequence[Any]]]:
    """The evaluations of a query, each with its instant and its content, in an order of its own."""

    def found() -> list[dict[str, Any]]:
        every: list[dict[str, Any]] = kept(client, name)
        return every if every and every[-1]["at"] >= LAST else []

    every = until(found)
    ids = [each["id"] for each in every]
    assert ids == sorted(set(ids)), "an evaluation is there twice"
    return [(each["at"], content_of(each)) for each in every]


def kept(client: httpx2.Client, name: str) -> list[dict[str, Any]]:
    answer = client.get(f"/queries/{name}/results", params={"last": 1000})
    assert answer.status_code == 200, answer.text
    every: list[dict[str, Any]] = answer.json()["evaluations"]
    return every


def content_of(evaluation: Mapping[str, Any]) -> list[str]:
    return sorted(map(repr, evaluation.get("rows", evaluation.get("triples", []))))


def states(client: httpx2.Client) -> dict[str, str]:
    return {each["name"]: each["state"] for each in client.get("/queries").json()["queries"]}


def graphs(client: httpx2.Client) -> list[str | None]:
    answer = client.get("/graphs")
    assert answer.status_code == 200, answer.text
    found = [each["iri"] for each in answer.json()["graphs"] if each["kind"] == "static"]
    return sorted(found, key=str)


def streams(client: httpx2.Client) -> list[str]:
    return sorted(each["name"] for each in client.get("/streams").json()["streams"])
