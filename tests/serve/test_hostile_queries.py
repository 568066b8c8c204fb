"""Hostile queries on a server: each is stopped, within the memory, and others go on beside them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest

from headrace.serve.limits import Limits
from headrace.serve.sparql_messages import Refusal
from headrace.serve.worker_pool import Worker, WorkerPool
from tests.hostile import HOSTILE, circle
from tests.memory import MB, Peak, peak_of
from tests.serve.clients import Process, evaluations, limited_process, register, served, until

STREAM, OTHER = "http://example.org/s", "http://example.org/other"
MEMORY = 1_500
QUICK = ("closure of alternatives", "texts that quadruple", "unions of products", "values")
COUNT = f"SELECT (COUNT(*) AS ?n) FROM STREAM <{OTHER}> [RANGE 2s STEP 1s] WHERE {{ ?s ?p ?o }}"
N_TRIPLES = {"Content-Type": "application/n-triples"}
SLOW = HOSTILE["coalesce"].plain()
"""It takes minutes, and little memory."""
HARMLESS = "SELECT * { ?s ?p ?o } LIMIT 3"


@contextmanager
def limited(folder: Path) -> Iterator[tuple[Process, httpx2.Client, Peak]]:
    """A server with data, whose memory is watched."""
    with (
        limited_process(folder, seconds=3, memory=MEMORY * MB) as server,
        server.client() as client,
    ):
        until(lambda: client.get("/readyz").status_code == 200)
        client.put("/store?default", content=circle(300), headers=N_TRIPLES).raise_for_status()
        for name, iri in (("s", STREAM), ("other", OTHER)):
            client.put(f"/streams/{name}", json={"iri": iri}).raise_for_status()
        with peak_of(server.process.pid) as peak:
            yield server, client, peak


def push(client: httpx2.Client, name: str, text: str) -> None:
    client.post(f"/streams/{name}", content=text, headers=N_TRIPLES).raise_for_status()


def stopped(client: httpx2.Client, name: str) -> Any:
    """A query that has stopped, once it has."""

    def found() -> Any:
        push(client, "s", circle(300))
        push(client, "other", "<x:a> <x:p> <x:b> .")
        said = client.get(f"/queries/{name}").json()
        return said if said["state"] == "stopped" else None

    return until(found)


def check_continuous(folder: Path, names: tuple[str, ...]) -> None:
    with limited(folder) as (_, client, peak):
        register(client, COUNT, name="harmless")  # type: ignore[arg-type]
        for number, name in enumerate(names):
            text = HOSTILE[name].continuous(STREAM, "RANGE 2s STEP 1s")
            answer = client.post("/queries", content=text, params={"name": f"q{number}"},
                headers={"Content-Type": "text/plain"})  # fmt: skip
            assert answer.status_code == 201, answer.text
            error = stopped(client, f"q{number}")["error"]
            assert "(limit '" in error, (name, error)
            assert client.get("/healthz").status_code == 200
            client.delete(f"/queries/q{number}").raise_for_status()
        assert peak.bytes < MEMORY * MB
        harmless = client.get("/queries/harmless").json()
        assert harmless["state"] == "running"
        every = evaluations(client, "harmless", 3)  # type: ignore[arg-type]
        closes = [each["at"] for each in every]
        assert closes == sorted(closes)
        gaps = {later - earlier for earlier, later in pairwise(closes)}
        assert gaps == {1_000}  # none is left out


def check_plain(folder: Path, names: tuple[str, ...]) -> None:
    with limited(folder) as (server, client, peak), ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(ask, server, HOSTILE[name].plain()) for name in names]
        answered = 0
        while not all(each.done() for each in asked):
            answer = client.get("/sparql", params={"query": HARMLESS})
            if answer.status_code == 200:
                answered += 1
            else:  # too many wait
                assert answer.status_code == 503
                time.sleep(0.1)
        assert answered
        for name, each in zip(names, asked, strict=True):
            status, said = each.result()
            assert status in {200, 422, 504}, (name, said)
            assert status == 200 or "(limit '" in said, (name, said)
        assert peak.bytes < MEMORY * MB


def ask(server: Process, text: str) -> tuple[int, str]:
    """A query's status and what is said, once it is let in."""
    with server.client() as client:
        while True:
            answer = client.post("/sparql", data={"query": text})
            if answer.status_code != 503:
                return answer.status_code, answer.text[:500]
            time.sleep(0.1)


def test_continuous_queries_are_stopped_and_others_go_on(tmp_path: Path) -> None:
    check_continuous(tmp_path, QUICK[:2])


def test_a_query_is_answered_between_hostile_queries_of_one_batch(tmp_path: Path) -> None:
    names = ["texts that quadruple", "coalesce", "random texts", "patterns", "a long list"]
    with limited(tmp_path) as (_, client, _peak):
        register(client, COUNT, name="harmless")  # type: ignore[arg-type]
        for name in names:
            text = HOSTILE[name].continuous(STREAM, "RANGE 2s STEP 1s")
            register(client, text, name=name.replace(" ", "-"))  # type: ignore[arg-type]
        answered: dict[int, int] = {}

        def all_stopped() -> bool:
            push(client, "s", circle(300))
            push(client, "other", "<x:a> <x:p> <x:b> .")
            states = [each["state"] for each in client.get("/queries").json()["queries"]]
            count = states.count("stopped")
            answered[count] = client.get("/queries/harmless").json()["evaluations"]
            return count == len(names)

        until(all_stopped, patience=120)
        numbers = [answered[count] for count in sorted(answered)]
        assert numbers == sorted(numbers)
        assert len(set(numbers)) >= 3  # it is answered between those that are stopped


@pytest.mark.long
def test_every_continuous_query_is_stopped_and_others_go_on(tmp_path: Path) -> None:
    check_continuous(tmp_path, tuple(HOSTILE))


def test_plain_queries_are_stopped_and_others_are_answered(tmp_path: Path) -> None:
    check_plain(tmp_path, QUICK)


@pytest.mark.long
def test_every_plain_query_is_stopped_and_others_are_answered(tmp_path: Path) -> None:
    check_plain(tmp_path, tuple(HOSTILE))


def test_a_process_that_ends_does_not_matter(tmp_path: Path) -> None:
    import psutil

    with limited_process(tmp_path) as server, server.client() as client:
        until(lambda: client.get("/readyz").status_code == 200)
        assert client.get("/sparql", params={"query": "ASK {}"}).json()["boolean"]
        for child in psutil.Process(server.process.pid).children():
            child.kill()
        until(lambda: client.get("/sparql", params={"query": "ASK {}"}).status_code == 200)
        children = psutil.Process(server.process.pid).children()
        assert children
        server.stop()
        assert not [child for child in children if child.is_running()]


def test_a_query_whose_client_has_gone_is_given_up(tmp_path: Path) -> None:
    with limited_process(tmp_path, seconds=600, waiting=1) as server, server.client() as client:
        until(lambda: client.get("/readyz").status_code == 200)
        client.put("/store?default", content=circle(300), headers=N_TRIPLES).raise_for_status()
        for _ in range(5):  # they would take all places
            with pytest.raises(httpx2.TimeoutException):
                client.post("/sparql", data={"query": SLOW}, timeout=0.5)
            until(lambda: client.get("/sparql", params={"query": "ASK {}"}).status_code == 200)


def test_queries_are_refused_while_the_server_stops(tmp_path: Path) -> None:
    with limited_process(tmp_path, seconds=600) as server, server.client() as client:
        until(lambda: client.get("/readyz").status_code == 200)
        client.put("/store?default", content=circle(300), headers=N_TRIPLES).raise_for_status()
        with ThreadPoolExecutor(5) as pool:
            asked = [pool.submit(ask_once, server, SLOW) for _ in range(5)]
            until(lambda: gauge(client, "headrace_limit_used", "waiting") == 3)
            server.stop()
            for each in asked:
                status, said = each.result()
                assert (status, "the server is stopping" in said) == (503, True), said


def ask_once(server: Process, text: str) -> tuple[int, str]:
    with server.client() as client:
        answer = client.post("/sparql", data={"query": text})
        return answer.status_code, answer.text


def gauge(client: httpx2.Client, name: str, limit: str) -> float:
    lines = client.get("/metrics").text.splitlines()
    begin = f'{name}{{limit="{limit}"}} '
    return next(float(line.removeprefix(begin)) for line in lines if line.startswith(begin))


def test_short_queries_do_not_wait_for_long_ones(tmp_path: Path) -> None:
    text = HOSTILE["texts that quadruple"].plain()
    limits = Limits(seconds=10.0, evaluations=1)
    with served(tmp_path / "data", limits=limits) as client, ThreadPoolExecutor(3) as pool:
        client.put("/store?default", content=circle(300), headers=N_TRIPLES)
        long = [pool.submit(client.post, "/sparql", data={"query": text}) for _ in range(3)]
        for _ in range(10):
            assert client.get("/sparql", params={"query": "ASK {}"}).status_code == 200
        assert not all(each.done() for each in long)
        assert {each.result().status_code for each in long} == {504}


def test_reading_static_graphs_takes_no_time_of_a_query(tmp_path: Path) -> None:
    with served(tmp_path / "data", limits=Limits(seconds=0.4)) as client:
        for size in (60_000, 60_001):
            text = "".join(f"<x:n{n}> <x:p> <x:m{n}> .\n" for n in range(size))
            client.put("/store?default", content=text, headers=N_TRIPLES).raise_for_status()
            query = "SELECT * { <x:n7> ?p ?o }"
            answer = client.get("/sparql", params={"query": query})
            assert answer.status_code == 200, answer.text
            assert len(answer.json()["results"]["bindings"]) == 1


def test_what_is_used_of_limits_is_measured(tmp_path: Path) -> None:
    with served(tmp_path / "data", limits=Limits(queries=3)) as client:
        client.put("/streams/other", json={"iri": OTHER})
        register(client, COUNT, name="one")
        lines = client.get("/metrics").text.splitlines()
        assert 'headrace_limit{limit="queries"} 3' in lines
        assert 'headrace_limit_used{limit="queries"} 1' in lines
        used = {line.split('"')[1] for line in lines if line.startswith("headrace_limit_used{")}
        every = {line.split('"')[1] for line in lines if line.startswith("headrace_limit{")}
        assert used <= every


def test_new_queries_are_refused_where_the_memory_is_used_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headrace.metering import MEMORY as GAUGE

    with served(tmp_path / "data") as client:
        client.put("/streams/other", json={"iri": OTHER})
        monkeypatch.setattr(GAUGE, "limit", 1_000 * MB)
        monkeypatch.setattr(GAUGE, "_measure", lambda: 950 * MB)
        until(lambda: client.get("/readyz").status_code == 503)
        for answer in (
            client.get("/readyz"),
            client.get("/sparql", params={"query": "ASK {}"}),
            client.post("/queries", content=COUNT, headers={"Content-Type": "text/plain"}),
            client.put("/store?default", content=circle(3), headers=N_TRIPLES),
        ):
            assert answer.status_code == 503
            assert "(limit 'memory')" in answer.json()["detail"]
            assert int(answer.headers["retry-after"]) >= 1
        monkeypatch.setattr(GAUGE, "_measure", lambda: 500 * MB)
        until(lambda: client.get("/readyz").status_code == 200)
        register(client, COUNT)
        monkeypatch.setattr(GAUGE, "limit", None)


class _Large(Worker):
    """A worker that uses much, without a process."""

    memory = 700
    ended: Refusal | None = None

    def end(self, verdict: Refusal | None = None) -> None:
        self.ended = verdict


@pytest.mark.parametrize(("own", "limit"), [(500, "sparql_memory"), (1_000, "memory")])
def test_who_is_ended_for_want_of_memory_is_told_which_limit(own: int, limit: str) -> None:
    settings = SimpleNamespace(memory=own)
    pool = WorkerPool(settings, 1, lambda: 600)  # type: ignore[arg-type]
    worker = _Large(None)  # type: ignore[arg-type]
    pool._busy.add(worker)
    if limit == "sparql_memory":
        pool.memory = lambda: 10_000
    pool._check_memory()
    assert worker.ended is not None
    assert f"(limit '{limit}')" in worker.ended.detail
