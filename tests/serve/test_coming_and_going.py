"""Streams and queries that come and go in any order, with restarts in between, against a model."""

from __future__ import annotations

import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from starlette.testclient import TestClient

from tests.fuzzing import runs
from tests.serve.clients import TIMED, served

STREAMS = ("cars", "vans", "ships")
NAMES = ("a", "b", "c", "d")
streams, names = st.sampled_from(STREAMS), st.sampled_from(NAMES)


def iri(stream: str) -> str:
    return f"http://example.org/{stream}"


def query(stream: str, seconds: int) -> str:
    return (
        f"SELECT (COUNT(*) AS ?n) FROM STREAM <{iri(stream)}> "
        f"[RANGE {seconds}s STEP 1s] WHERE {{ ?s ?p ?o }}"
    )


class ComingAndGoing(RuleBasedStateMachine):
    """The catalogue is what a model of dictionaries says, whatever was asked before."""

    @initialize()
    def begin(self) -> None:
        self.threads = {each.name for each in threading.enumerate()}
        self.around = ExitStack()
        self.folder = Path(self.around.enter_context(tempfile.TemporaryDirectory())) / "data"
        self.streams: dict[str, int] = {}
        self.queries: dict[str, tuple[str, bool]] = {}
        self.clock = 0
        self.open()

    def open(self) -> None:
        self.opened = ExitStack()
        self.client: TestClient = self.opened.enter_context(served(self.folder))

    def readers(self, stream: str) -> list[str]:
        return [name for name, (of, paused) in self.queries.items() if of == stream and not paused]

    @rule(stream=streams)
    def make(self, stream: str) -> None:
        answer = self.client.put(f"/streams/{stream}", json={"iri": iri(stream), "time": "said"})
        assert answer.status_code == (200 if stream in self.streams else 201)
        self.streams.setdefault(stream, 0)

    @rule(stream=streams)
    def drop(self, stream: str) -> None:
        answer = self.client.delete(f"/streams/{stream}")
        if stream not in self.streams:
            assert answer.status_code == 404
        elif self.readers(stream):
            assert answer.status_code == 409
        else:
            assert answer.status_code == 204
            del self.streams[stream]

    @rule(name=names, stream=streams, seconds=st.integers(1, 5))
    def register(self, name: str, stream: str, seconds: int) -> None:
        said = {"text": query(stream, seconds), "name": name}
        answer = self.client.post("/queries", json=said)
        if stream not in self.streams:
            assert answer.status_code == 422, answer.text
        elif name in self.queries:
            assert answer.status_code == 409
        else:
            assert answer.status_code == 201, answer.text
            self.queries[name] = (stream, False)

    @rule(name=names)
    def remove(self, name: str) -> None:
        answer = self.client.delete(f"/queries/{name}")
        assert answer.status_code == (204 if name in self.queries else 404)
        self.queries.pop(name, None)

    @rule(name=names)
    def pause(self, name: str) -> None:
        answer = self.client.post(f"/queries/{name}/pause")
        assert answer.status_code == (200 if name in self.queries else 404), answer.text
        if name in self.queries:
            self.queries[name] = (self.queries[name][0], True)

    @rule(name=names)
    def resume(self, name: str) -> None:
        answer = self.client.post(f"/queries/{name}/resume")
        if name not in self.queries:
            assert answer.status_code == 404
            return
        stream, paused = self.queries[name]
        if paused and stream not in self.streams:
            assert answer.status_code == 422, answer.text
        else:
            assert answer.status_code == 200, answer.text
            self.queries[name] = (stream, False)

    @precondition(lambda self: self.streams)
    @rule(data=st.data(), number=st.integers(1, 5))
    def push(self, data: st.DataObject, number: int) -> None:
        stream = data.draw(st.sampled_from(sorted(self.streams)))
        text = ""
        for _ in range(number):
            self.clock += 500
            text += f"{self.clock}\t<x:s> <x:p> <x:{self.clock}> .\n"
        answer = self.client.post(
            f"/streams/{stream}", content=text, headers={"Content-Type": TIMED}
        )
        assert answer.status_code == 200, answer.text
        self.streams[stream] += number

    @rule()
    def restart(self) -> None:
        self.opened.close()
        left = {each.name for each in threading.enumerate()} - self.threads
        assert not {each for each in left if each.startswith(("deployment", "log"))}, left
        self.open()

    @invariant()
    def the_catalogue_is_the_model(self) -> None:
        if not hasattr(self, "client"):
            return
        said = self.client.get("/status").json()
        assert {each["name"] for each in said["streams"]} == set(self.streams)
        found = {each["name"]: each["state"] for each in said["queries"]}
        wanted = {
            name: "paused" if paused else "running" for name, (_, paused) in self.queries.items()
        }
        assert found == wanted
        assert len(list((self.folder / "streams").iterdir())) == len(self.streams)

    def nothing_is_counted_twice(self) -> None:
        """Restarts read nothing again; what came before a query may have been read or not."""
        for each in self.client.get("/status").json()["streams"]:
            assert each["elements"] <= self.streams[each["name"]], each

    def teardown(self) -> None:
        if not hasattr(self, "client"):
            return
        self.nothing_is_counted_twice()
        self.opened.close()
        self.around.close()


ComingAndGoing.TestCase.settings = settings(
    max_examples=runs(10, share=1 / 200),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestComingAndGoing = ComingAndGoing.TestCase
