"""A contract with an endpoint that is broken, and kept again: clients of the server are told."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2

from tests.background.endpoint_server import Endpoint, serving
from tests.background.endpoint_server import status as answers
from tests.serve.clients import CARS, TIMED, Process, process, until

DATA = "".join(f"<u:{user}> <p:n> {user} .\n" for user in range(4))


def text_of(endpoint: Endpoint) -> str:
    return (
        f"SELECT ?u ?n FROM STREAM <{CARS}> [RANGE 4s STEP 1s] {{ ?u <p:m> ?post "
        f"SERVICE <{endpoint.iri}> [POLICY LRU BUDGET 4] {{ ?u <p:n> ?n }} }}"
    )


def mention(client: httpx2.Client, second: int) -> None:
    """Mention everybody, let the second pass, and wait for its answer."""
    lines = [f"{1000 * second - 500}\t<u:{user}> <p:m> <x:p> .\n" for user in range(4)]
    lines.append(f"{1000 * second + 50}\t<x:a> <x:tick> <x:b> .\n")
    headers = {"Content-Type": TIMED}
    client.post("/streams/cars", content="".join(lines), headers=headers).raise_for_status()
    until(lambda: client.get("/queries/some").json()["evaluations"] >= second)


class Heard(threading.Thread):
    """Follows the status of a server, and keeps what it hears of contracts."""

    def __init__(self, server: Process) -> None:
        super().__init__(daemon=True)
        self.began = threading.Event()
        self.alerts: list[dict[str, Any]] = []
        self._server = server

    def run(self) -> None:
        with (
            suppress(httpx2.HTTPError),
            self._server.client() as client,
            client.stream("GET", "/status/events") as answer,
        ):
            kind = ""
            for line in answer.iter_lines():
                self.began.set()
                if line.startswith("event: "):
                    kind = line.removeprefix("event: ")
                elif line.startswith("data: ") and kind == "alert":
                    self.alerts.append(json.loads(line.removeprefix("data: ")))


def test_broken_contracts_are_events_of_the_status(tmp_path: Path) -> None:
    with serving(DATA) as endpoint:
        allowed = ("--service-allow", endpoint.iri, "--service-private", "127.0.0.1")
        with process(tmp_path, *allowed) as server, server.client() as client:
            client.put("/streams/cars", json={"iri": CARS, "time": "said"}).raise_for_status()
            answer = client.post("/queries", json={"text": text_of(endpoint), "name": "some"})
            assert answer.status_code == 201, answer.text
            heard = Heard(server)
            heard.start()
            assert heard.began.wait(60)
            mention(client, 1)
            assert client.get("/queries/some").json()["alerts"] == []
            endpoint.always = answers(500, "broken")
            for second in (2, 3):
                mention(client, second)
            [standing] = until(lambda: client.get("/queries/some").json()["alerts"])
            assert standing["endpoint"] == endpoint.iri
            assert "500" in standing["problem"]
            until(lambda: heard.alerts)
            endpoint.always = None
            until(lambda: _kept_again(client))
            until(lambda: len(heard.alerts) == 2)
            broken, kept = heard.alerts
            assert (broken["query"], broken["problem"]) == ("some", standing["problem"])
            assert "cannot meet its contract" in broken["says"]
            assert (kept["query"], kept["problem"]) == ("some", None)
            assert 'headrace_service_alert{query="some"} 0' in client.get("/metrics").text


def test_answers_that_lack_rows_say_so_over_http(tmp_path: Path) -> None:
    rates = tmp_path / "rates.csv"
    rates.write_text("key,changes\nu:1,PT10M\n")
    with serving(DATA) as endpoint:
        endpoint.always = answers(500, "broken")
        options = (
            *("--service-allow", endpoint.iri, "--service-private", "127.0.0.1"),
            *("--service-changes", str(rates), "--service-changes-by", "p:every"),
            *("--set", "service.rate=1"),
        )
        with process(tmp_path, *options) as server, server.client() as client:
            client.put("/streams/cars", json={"iri": CARS, "time": "said"}).raise_for_status()
            text = text_of(endpoint).replace("[POLICY", "[ACCURACY 0.5 POLICY")
            answer = client.post("/queries", json={"text": text, "name": "some"})
            assert answer.status_code == 201, answer.text
            mention(client, 1)
            [standing] = until(lambda: client.get("/queries/some").json()["alerts"])
            assert standing["completeness"] == 0
            assert 'headrace_service_completeness{query="some"} 0' in client.get("/metrics").text
            windows = client.get("/queries/some/results").json()["evaluations"]
            assert [(each["accuracy"], each["completeness"]) for each in windows] == [(1.0, 0.0)]


def _kept_again(client: httpx2.Client) -> bool:
    said = client.get("/queries/some").json()
    if not said["alerts"]:
        return True
    mention(client, said["evaluations"] + 1)
    return False
