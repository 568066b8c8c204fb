"""A deployment that cannot go on says so everywhere, and what would help can still be done."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from headrace.errors import DamagedError
from headrace.kernel.step import Kernel
from headrace.serve.stall_reporter import LOGGER, STARTING, StallReporter
from tests.serve.clients import (
    COUNT,
    evaluations,
    passages,
    push,
    register,
    served,
    until,
    with_cars,
)


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        """Begin at zero."""
        self.now = 0.0

    def __call__(self) -> float:
        """Read it."""
        return self.now


def test_a_reason_is_logged_at_growing_intervals(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    stall = StallReporter(clock)
    assert stall.problem == STARTING
    assert stall.seconds == 0
    times = []
    with caplog.at_level(logging.WARNING, LOGGER.name):
        for second in range(2 * 3_600):
            clock.now = second
            before = len(caplog.records)
            stall.fail(DamagedError(f"{second:032x}.arrow is damaged"))
            times += [second] * (len(caplog.records) > before)
        assert times == [0, 60, 180, 420, 900, 1860, 3780]
        assert stall.problem == f"{7_199:032x}.arrow is damaged"
        stall.fail(DamagedError("another file is damaged"))
        assert "another file" in caplog.records[-1].message
        assert stall.seconds == 2 * 3_600 - 1
        stall.clear()
        assert "goes on after" in caplog.records[-1].message
        assert stall.seconds == 0
        said = len(caplog.records)
        stall.clear()
        assert len(caplog.records) == said


def test_a_batch_that_fails_again_and_again_stalls_until_its_query_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    slices = Kernel.slices

    def poisoned(kernel: Kernel, *arguments: Any) -> Any:
        if any(query.plan.name == "poison" for query in kernel.queries):
            raise ZeroDivisionError("of the query")
        return slices(kernel, *arguments)

    with served(tmp_path / "calm") as client:
        with_cars(client)
        register(client, COUNT, name="counts")
        push(client, passages(0, 22))
        calm = evaluations(client, "counts", 4)
    monkeypatch.setattr(Kernel, "slices", poisoned)
    with served(tmp_path / "data") as client, caplog.at_level(logging.WARNING, LOGGER.name):
        with_cars(client)
        register(client, COUNT, name="counts")
        register(client, COUNT, name="poison")
        register(client, COUNT, name="resting")
        client.post("/queries/resting/pause").raise_for_status()
        push(client, passages(0, 22))
        until(lambda: client.get("/readyz").status_code == 503)
        for _ in range(20):  # also while it is tried again
            assert client.get("/readyz").status_code == 503
            assert states(client) == {
                "counts": "stalled",
                "poison": "stalled",
                "resting": "paused",
            }
        reason = client.get("/queries/counts").json()["error"]
        assert reason.startswith("ZeroDivisionError: of the query; please report it")
        assert client.get("/readyz").json()["detail"] == reason
        assert client.get("/status").json()["problem"] == reason
        assert 'headrace_queries{state="stalled"} 2' in client.get("/metrics").text
        assert client.post("/queries/resting/resume").status_code == 200
        assert client.delete("/queries/poison").status_code == 204
        assert evaluations(client, "counts", 4) == calm
        until(lambda: client.get("/readyz").status_code == 200)
        assert states(client) == {"counts": "running", "resting": "running"}
    said = [each for each in caplog.records if "cannot go on" in each.message]
    assert len(said) == 1
    assert said[0].exc_info is not None


def states(client: TestClient) -> dict[str, str]:
    return {each["name"]: each["state"] for each in client.get("/queries").json()["queries"]}
