"""What a server refuses, and why: the status and `/readyz` list it as long as it lasts."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from headrace.kernel.step import Kernel
from headrace.metering import MEMORY
from headrace.serve.limits import Limits
from tests.serve.clients import (
    CARS,
    COUNT,
    PATIENCE,
    TIMED,
    passages,
    push,
    register,
    served,
    until,
    with_cars,
)
from tests.serve.test_disk_faults import failing

MEGA = 1_000_000
FOREVER = 1_000_000


def refused(client: TestClient) -> list[dict[str, Any]]:
    """Return what the status lists; `/readyz` lists the same."""
    while True:
        found: list[dict[str, Any]] = client.get("/status").json()["refused"]
        ready = client.get("/readyz")
        if client.get("/status").json()["refused"] == found:
            break  # it has not changed meanwhile
    assert ready.json()["refused"] == found
    assert ready.status_code == (200 if all(each["is_ready"] for each in found) else 503)
    if ready.status_code == 503:
        assert found[0]["reason"] in ready.json()["detail"]
        assert int(ready.headers["retry-after"]) >= 1
    return found


def test_a_server_at_work_refuses_nothing(tmp_path: Path) -> None:
    with served(tmp_path / "data") as client:
        with_cars(client)
        register(client, COUNT)
        assert refused(client) == []


def test_a_shortage_of_memory_is_listed_until_it_has_passed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(tmp_path / "data") as client:
        with_cars(client)
        monkeypatch.setattr(MEMORY, "limit", 1_000 * MEGA)
        monkeypatch.setattr(MEMORY, "_measure", lambda: 950 * MEGA)
        (found,) = until(lambda: refused(client))
        assert client.get("/sparql", params={"query": "ASK {}"}).status_code == found["status"]
        answer = client.post("/queries", content=COUNT, headers={"Content-Type": "text/plain"})
        assert answer.json()["detail"] == found["reason"]
        assert (found["status"], found["limit"]) == (503, "memory")
        assert found["requests"] == "new queries, new static graphs and requests to /sparql"
        monkeypatch.setattr(MEMORY, "_measure", lambda: 500 * MEGA)
        until(lambda: not refused(client))
        register(client, COUNT)
        monkeypatch.setattr(MEMORY, "limit", None)


@pytest.mark.parametrize("kind", ["short", "fsync"])
def test_a_disk_that_takes_no_writes_is_listed_until_it_does(kind: str, tmp_path: Path) -> None:
    with served(tmp_path / "data") as client:
        with_cars(client)
        client.put("/streams/other", json={"iri": "http://example.org/other"})
        with failing("streams/", kind, times=FOREVER):
            answer = client.post(
                "/streams/cars", content=passages(0, 1), headers={"Content-Type": TIMED}
            )
            assert answer.status_code == 503
            for _ in range(2):
                (found,) = refused(client)
                assert found["requests"] == "pushes to stream 'cars'"
                assert "cannot write to" in found["reason"]
                assert (found["status"], found["limit"], found["is_ready"]) == (503, None, False)
        # Looking at the status is enough: a client that was refused may not come back by itself.
        until(lambda: not client.get("/status").json()["refused"])
        push(client, passages(0, 1))
        assert refused(client) == []


def test_a_full_log_is_listed_until_it_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slices, reads = Kernel.slices, threading.Event()

    def waiting_slices(kernel: Kernel, *arguments: Any) -> Any:
        reads.wait(PATIENCE)
        return slices(kernel, *arguments)

    with served(tmp_path / "data", limits=Limits(log_bytes=2_000)) as client:
        with_cars(client)

        def pushed(start: int) -> int:
            headers = {"Content-Type": TIMED}
            text = passages(start, start + 5)
            return client.post("/streams/cars", content=text, headers=headers).status_code

        monkeypatch.setattr(Kernel, "slices", waiting_slices)
        try:
            assert 429 in (pushed(start) for start in range(0, 200, 5))
            (found,) = refused(client)
        finally:
            reads.set()
        assert found["requests"] == "pushes to stream 'cars'"
        assert (found["status"], found["limit"]) == (429, "log_bytes")
        assert "of 2,000 bytes" in found["reason"]
        assert found["is_ready"]
        until(lambda: pushed(6_000) == 200)
        until(lambda: refused(client) == [])


def test_a_deployment_that_cannot_go_on_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slices = Kernel.slices

    def failing_slices(kernel: Kernel, *arguments: Any) -> Any:
        if kernel.queries:
            raise ZeroDivisionError("of a query")
        return slices(kernel, *arguments)

    with served(tmp_path / "data") as client:
        with_cars(client)
        register(client, COUNT, name="counts")
        monkeypatch.setattr(Kernel, "slices", failing_slices)
        push(client, passages(0, 22))
        (found,) = until(lambda: refused(client))
        assert "ZeroDivisionError: of a query" in found["reason"]
        assert found["reason"] == client.get("/queries/counts").json()["error"]
        assert found["requests"] == "changes of streams, queries and static graphs"
        monkeypatch.setattr(Kernel, "slices", slices)
        until(lambda: not refused(client))


def test_reached_limits_are_listed_and_the_server_is_ready(tmp_path: Path) -> None:
    limits = Limits(queries=1, streams=1, subscribers=0, evaluations=0, waiting=0)
    with served(tmp_path / "data", limits=limits) as client:
        with_cars(client)
        register(client, COUNT)
        found = {each["requests"]: each for each in refused(client)}
        other = {"iri": "http://example.org/other"}
        text = {"Content-Type": "text/plain"}
        answers = {
            "new streams": client.put("/streams/other", json=other),
            "new queries": client.post("/queries", content=COUNT, headers=text),
            "new followers of results": client.get("/queries/q1/events"),
            "requests to /sparql": client.get("/sparql", params={"query": "ASK {}"}),
        }
        assert found.keys() == answers.keys()
        for requests, answer in answers.items():
            assert answer.status_code == found[requests]["status"], requests
            assert f"'{found[requests]['limit']}'" in found[requests]["reason"]
        client.delete("/queries/q1")
        assert "new queries" not in {each["requests"] for each in refused(client)}
        assert CARS in client.get("/streams").text
