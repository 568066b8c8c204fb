"""Servers whose clock is set by a day, ahead and back, while they run and while they are down."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.clock.set_clock import DAY, SettableClock
from tests.clock.workload import (
    PACE,
    QUERIES,
    SECOND,
    Answers,
    Pulse,
    answers_of,
    check_answers,
    expected_answers,
    hold,
    logged_times,
    statement,
)
from tests.memory import MB, Peak
from tests.serve.clients import TIMED, Process, process, until

pytestmark = pytest.mark.slow

KEPT = ("--limit", "current_seconds=1000000")
"""Logs that have all elements at the end."""
QUICK = ("--limit", "clock_seconds=0.5")
RUNNERS = {"inline": ("--runner", "inline"), "spark": ("--runner", "spark")}
PATIENCE = {"inline": 10.0, "spark": 20.0}
"""Seconds without a result; others may be at work on the same machine."""
Phases = Sequence[tuple[float, float]]
"""By how many seconds the clock is wrong, and for how long."""


@dataclass
class Job:
    """Elements that are pushed to a server, over restarts.

    Attributes:
        location: the folder of the server.
        acknowledged: how many elements of each stream it has taken.
        said_times: the times that elements say.
        longest: the longest time without a result while elements were pushed, in seconds.
    """

    location: Path
    acknowledged: int = 0
    said_times: dict[int, int] = field(default_factory=dict)
    longest: float = 0.0
    _began: int = field(default_factory=lambda: round(time.time()) * SECOND)

    def declare(self, client: httpx2.Client) -> None:
        """Make the streams and the queries."""
        for name, where in (("a", "arrival"), ("b", "arrival"), ("said", "said")):
            made = client.put(f"/streams/{name}", json={"iri": f"x:{name}", "time": where})
            made.raise_for_status()
        for name, text in QUERIES.items():
            client.post("/queries", json={"text": text, "name": name}).raise_for_status()

    def push(self, client: httpx2.Client) -> None:
        """Push an element to each stream, and wait a little."""
        number = self.acknowledged
        moment = self._began + round(number * PACE * SECOND)
        timed = f"{moment // 1000}\t{statement('said', number)}"
        for name, content, media_type in (
            ("a", statement("a", number), "application/n-triples"),
            ("b", statement("b", number), "application/n-triples"),
            ("said", timed, TIMED),
        ):
            headers = {"Content-Type": media_type}
            answer = client.post(f"/streams/{name}", content=content, headers=headers)
            assert answer.status_code == 200, answer.text
        self.said_times[number] = moment
        self.acknowledged += 1
        time.sleep(PACE)

    def play(self, client: httpx2.Client, clock: SettableClock, phases: Phases) -> None:
        """Push while the clock is set."""

        def has_answers() -> bool:
            self.push(client)
            return bool(evaluations(client, "tumbling"))

        until(has_answers)
        pulse = Pulse()

        def work() -> None:
            for _ in range(4):
                self.push(client)
            pulse.note([each["at"] for each in evaluations(client, "tumbling")[-1:]])
            assert client.get("/readyz").status_code == 200
            assert client.get("/status").json()["streams"]

        for wrong, seconds in phases:
            clock.set(wrong)
            hold(seconds, work)
        self.longest = max(self.longest, pulse.longest)

    def wait(self, client: httpx2.Client) -> None:
        """Wait until each element that goes by arrival is in the answers."""

        def are_complete() -> bool:
            counted = answers(client, "tumbling").values()
            begun = answers(client, "begun").values()
            return (
                sum(each for each in counted if isinstance(each, int)) >= self.acknowledged
                and sum(len(each) for each in begun if not isinstance(each, int))
                >= self.acknowledged
            )

        until(are_complete)

    def check(self, client: httpx2.Client) -> None:
        """Compare all answers with the arithmetic of windows."""
        logged = logged_times(self.location / "data" / "streams")
        a, b = logged["a"], logged["b"]
        assert len(a) == len(b) == len(logged["said"]) == self.acknowledged
        expected = expected_answers(a, b, self.said_times)
        for query in QUERIES:
            check_answers(query, answers(client, query), expected[query])
        for name in ("a", "b", "said"):
            figures = client.get(f"/streams/{name}").json()
            counted = figures["elements"], figures["late"], figures["rejected"]
            assert counted == (self.acknowledged, 0, 0), name


def evaluations(client: httpx2.Client, query: str) -> list[dict[str, Any]]:
    """The evaluations that the server keeps of a query."""
    answer = client.get(f"/queries/{query}/results", params={"last": 1000})
    found: list[dict[str, Any]] = answer.json()["evaluations"]
    return found


def answers(client: httpx2.Client, query: str) -> Answers:
    """What a query has answered."""
    return answers_of(query, [(each["at"], each["rows"]) for each in evaluations(client, query)])


def run_server(
    job: Job, clock: SettableClock, runner: str, parts: Sequence[Phases], *options: str
) -> int:
    """Play phases on a server, restarted between the parts; the most memory that one needed."""
    job.location.mkdir()
    most = 0
    for number, phases in enumerate(parts):
        clock.set(phases[0][0])
        with ExitStack() as stack:
            arguments = (*RUNNERS[runner], *KEPT, *options)
            server = stack.enter_context(process(job.location, *arguments, **clock.environment))
            client = stack.enter_context(server.client())
            until(lambda client=client: client.get("/readyz").status_code == 200)  # type: ignore[misc]
            if number == 0:
                job.declare(client)
            job.play(client, clock, phases)
            if number + 1 == len(parts):
                job.wait(client)
                job.check(client)
            most = max(most, memory_of(server))
            assert server.stop() == 0, server.said()
    assert job.longest < PATIENCE[runner]
    assert "Traceback" not in server.said(), server.said()
    return most


def memory_of(server: Process) -> int:
    """How much memory a server and its processes use, in bytes."""
    return Peak(server.process.pid).measure()


@pytest.mark.parametrize("wrong", [DAY, -DAY])
def test_a_clock_that_is_set_by_a_day_changes_nothing(
    wrong: float, clock: SettableClock, tmp_path: Path
) -> None:
    phases = ((0.0, 0.5), (wrong, 1.2), (0.0, 0.8))
    run_server(Job(tmp_path / "server"), clock, "inline", [phases], *QUICK)


@pytest.mark.parametrize("wrong", [pytest.param(DAY, marks=pytest.mark.long), -DAY])
def test_a_restart_with_a_clock_that_is_set_by_a_day_changes_nothing(
    wrong: float, clock: SettableClock, tmp_path: Path
) -> None:
    parts = [((0.0, 0.5),), ((wrong, 1.0),)]
    run_server(Job(tmp_path / "server"), clock, "inline", parts, *QUICK)


@pytest.mark.long
@pytest.mark.parametrize("runner", RUNNERS)
def test_a_clock_that_is_set_again_and_again_changes_nothing(
    runner: str, clock: SettableClock, tmp_path: Path
) -> None:
    parts = [
        ((0.0, 3.0), (DAY, 14.0), (0.0, 5.0)),
        ((-DAY, 5.0), (0.0, 14.0)),
        ((DAY, 5.0), (-DAY, 5.0)),
    ]
    calm = [[(0.0, seconds) for _, seconds in phases] for phases in parts]
    usual = run_server(Job(tmp_path / "calm"), clock, runner, calm)
    jumped = run_server(Job(tmp_path / "jumped"), clock, runner, parts)
    assert jumped < 1.3 * usual + 50 * MB
