"""A server whose clock is set back or ahead, while it runs and while it is down."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from headrace.arrival_times import SECOND, wall_clock
from headrace.ingest.log import segments_of
from headrace.ingest.records import received_of_line
from headrace.serve.limits import Limits
from tests.serve.clients import CARS, register, served, socket, until

COUNT = (
    f"SELECT (COUNT(DISTINCT ?s) AS ?n) FROM STREAM <{CARS}> [RANGE 1s STEP 1s] "
    "WHERE { ?s ?p ?o }"
)
DAY = 86_400
LIMITS = Limits(clock_seconds=0.25)


class Clock:
    """The clock of this machine, wrong by some seconds."""

    wrong = 0.0

    def __call__(self) -> int:
        return wall_clock() + round(self.wrong * SECOND)


class Pushes:
    """Pushes elements of one statement and counts those that are acknowledged."""

    def __init__(self, client: TestClient) -> None:
        self._client = client
        self.acknowledged = 0

    def push(self, number: int = 1) -> None:
        for _ in range(number):
            answer = self._client.post(
                "/streams/cars",
                content=f"<x:{self.acknowledged}> <x:p> <x:o> .",
                headers={"Content-Type": "application/n-triples"},
            )
            assert answer.status_code == 200, answer.text
            self.acknowledged += 1

    def pushed(self) -> bool:
        """Push one more."""
        self.push()
        return True


def counted(client: TestClient) -> int:
    """How many elements were in windows so far."""
    answer = client.get("/queries/all/results", params={"last": 1000}).json()
    return sum(int(each["rows"][0]["n"]["value"]) for each in answer["evaluations"])


def stamps(location: Path) -> list[int]:
    """The times of arrival in the logs of all streams."""
    folders = (location / "streams").iterdir()
    paths = [path for folder in folders for path in segments_of(folder)]
    found = [received_of_line(line) for path in paths for line in path.read_bytes().splitlines()]
    return [each for each in found if each is not None]


def figures(client: TestClient) -> tuple[int, int, int]:
    said: Any = client.get("/streams/cars").json()
    return said["elements"], said["late"], said["rejected"]


def measured(client: TestClient, name: str) -> float:
    [value] = re.findall(rf"^{re.escape(name)} (\S+)$", client.get("/metrics").text, re.MULTILINE)
    return float(value)


def with_query(client: TestClient) -> Pushes:
    client.put("/streams/cars", json={"iri": CARS}).raise_for_status()
    register(client, COUNT, name="all")
    return Pushes(client)


AHEAD = f'headrace_arrival_ahead_seconds{{stream="{CARS}"}}'


@pytest.mark.parametrize("wrong", [300.0, 2.0 * DAY, 400.0 * DAY])
def test_a_stream_goes_on_after_its_clock_was_corrected(tmp_path: Path, wrong: float) -> None:
    clock = Clock()
    with served(tmp_path / "data", clock=clock, limits=LIMITS) as client:
        pushes = with_query(client)
        pushes.push(3)
        clock.wrong = wrong
        until(lambda: measured(client, 'headrace_clock_jumps_total{direction="ahead"}') == 1)
        until(lambda: pushes.pushed() and measured(client, AHEAD) >= 0)
        pushes.push(3)
        until(lambda: counted(client) == pushes.acknowledged)
        clock.wrong = 0.0
        until(lambda: measured(client, 'headrace_clock_jumps_total{direction="back"}') == 1)
        pushes.push(3)
        until(lambda: counted(client) == pushes.acknowledged)
        assert wrong - 120 < measured(client, AHEAD) < wrong
        pushes.push(3)
        until(lambda: counted(client) == pushes.acknowledged)
        assert figures(client) == (pushes.acknowledged, 0, 0)
    found = stamps(tmp_path / "data")
    assert found == sorted(found)


def test_a_mistake_of_a_clock_that_is_corrected_at_once_has_no_effect(tmp_path: Path) -> None:
    clock = Clock()
    limits = Limits(clock_seconds=600.0)
    with served(tmp_path / "data", clock=clock, limits=limits) as client:
        pushes = with_query(client)
        for wrong in (DAY, 0.0, -DAY, 0.0, 5000 * DAY, 0.0):
            clock.wrong = wrong
            pushes.push(2)
        until(lambda: counted(client) >= 1)
        assert measured(client, AHEAD) <= limits.clock_seconds
        assert figures(client)[1:] == (0, 0)
    found = stamps(tmp_path / "data")
    assert found == sorted(found)
    assert found[-1] - wall_clock() <= limits.clock_seconds * SECOND


@pytest.mark.parametrize("wrong", [60.0, 3.0 * DAY])
def test_pushes_after_a_restart_with_a_corrected_clock_are_not_late(
    tmp_path: Path, wrong: float, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    clock.wrong = wrong
    with served(tmp_path / "data", clock=clock, limits=LIMITS) as client:
        pushes = with_query(client)
        pushes.push(5)
        until(lambda: counted(client) == 5)
        pushes.push(5)  # some of these may be unread at the restart
    clock.wrong = 0.0
    with served(tmp_path / "data", clock=clock, limits=LIMITS) as client:
        again = Pushes(client)
        again.push(5)
        until(lambda: counted(client) == 15)
        assert figures(client) == (15, 0, 0)
        assert wrong - 120 < measured(client, AHEAD) < wrong
        until(lambda: "times of arrival of stream 'cars' are up to" in caplog.text)
    found = stamps(tmp_path / "data")
    assert found == sorted(found)


def test_elements_of_a_websocket_have_such_times_too(tmp_path: Path) -> None:
    clock = Clock()
    clock.wrong = DAY
    with served(tmp_path / "data", clock=clock, limits=LIMITS) as client:
        with_query(client)
        with socket(client, "/streams/cars/socket") as found:
            for wrong in (DAY, 0.0, 0.0):
                clock.wrong = wrong
                found.send_text('{"data": "<x:a> <x:b> <x:c> ."}')
                assert found.receive_json()["elements"] == 1
        until(lambda: counted(client) >= 1)
        assert figures(client) == (3, 0, 0)
    assert stamps(tmp_path / "data") == sorted(stamps(tmp_path / "data"))


def test_a_demo_goes_on_after_its_clock_was_corrected(tmp_path: Path) -> None:
    clock = Clock()
    with served(tmp_path / "data", clock=clock, limits=LIMITS) as client:
        name = client.get("/demos").json()["demos"][0]["name"]
        [stream] = client.post(f"/demos/{name}").json()["streams"]

        def elements() -> int:
            said: Any = client.get(f"/streams/{stream}").json()
            assert (said["late"], said["rejected"]) == (0, 0)
            return int(said["elements"])

        def has_more(than: int) -> bool:
            return elements() > than + 10

        until(partial(has_more, 0))
        for wrong in (2.0 * DAY, 0.0):
            clock.wrong = wrong
            before = elements()
            until(partial(has_more, before))
