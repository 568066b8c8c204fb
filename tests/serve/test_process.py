"""`headrace serve` in a process of its own: killed, followed, and asked by other programs."""

from __future__ import annotations

import io
import json
import logging
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from SPARQLWrapper import CSV, JSON, POST, POSTDIRECTLY, TURTLE, XML, SPARQLWrapper

from headrace.errors import SettingError
from headrace.serve.place import Place
from headrace.serve.starting import Redacting
from tests.serve.clients import (
    CARS,
    COUNT,
    PATIENCE,
    TIMED,
    Process,
    passages,
    process,
    until,
)

COMMAND = [sys.executable, "-m", "headrace", "serve"]


def make(client: httpx2.Client) -> None:
    client.put("/streams/cars", json={"iri": CARS, "time": "said"}).raise_for_status()
    client.post("/queries", json={"text": COUNT, "name": "gates"}).raise_for_status()


def push(client: httpx2.Client, start: int, stop: int) -> None:
    headers = {"Content-Type": TIMED}
    text = passages(start, stop)
    client.post("/streams/cars", content=text, headers=headers).raise_for_status()


def events(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """Server-sent events, as a browser would take them apart."""
    said: dict[str, Any] = {}
    for line in lines:
        if not line:
            if "event" in said:
                yield {**said, "data": json.loads(said["data"])}
            said = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            said[name] = value


def windows(server: Process, number: int, after: str | None = None) -> list[dict[str, Any]]:
    """So many evaluations of the query, with their rows, from a connection of its own."""
    headers = {"Accept": "text/event-stream"}
    if after is not None:
        headers["Last-Event-ID"] = after
    found: list[dict[str, Any]] = []
    rows: list[Any] = []
    # The address stays as it was when a browser comes back: what it has seen is in the header.
    params = {"last": "1000"} if after is None else {"after": "0"}
    with (
        server.client() as client,
        client.stream("GET", "/queries/gates/events", headers=headers, params=params) as answer,
    ):
        assert answer.headers["content-type"].startswith("text/event-stream")
        for each in events(answer.iter_lines()):
            if each["event"] == "sparql_results_binding":
                rows.append(each["data"])
            elif each["event"] == "rsp_window":
                assert each["data"]["rows"] == len(rows)
                assert each["id"] == str(each["data"]["id"])
                found.append({**each["data"], "rows": rows})
                rows = []
                if len(found) == number:
                    break
    return found


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    acknowledged: list[int] = []
    with process(tmp_path) as server:
        with server.client() as client:
            make(client)
        ended = threading.Event()

        def pushing(place: int) -> None:
            with server.client() as own:
                number = 0
                while not ended.is_set():
                    at = place + 4 * number
                    try:
                        push(own, at, at + 1)
                    except httpx2.HTTPError:
                        return
                    acknowledged.append(at)
                    number += 1

        threads = [threading.Thread(target=pushing, args=(place,)) for place in range(4)]
        for each in threads:
            each.start()
        until(lambda: len(acknowledged) > 200)
        server.kill()
        ended.set()
        for each in threads:
            each.join()
    with process(tmp_path) as server, server.client() as client:
        lines = [
            json.loads(line)["data"]
            for segment in (tmp_path / "data" / "streams").glob("*/*.ndjson")
            for line in segment.read_text().splitlines()
        ]
        assert {f"{at * 1000 + 500}" for at in acknowledged} <= {
            line.partition("\t")[0] for line in lines
        }
        until(lambda: client.get("/streams/cars").json()["elements"] >= len(set(acknowledged)))
        assert server.stop() == 0


def test_results_are_the_same_after_a_kill_and_are_resumed(tmp_path: Path) -> None:
    with process(tmp_path) as server:
        with server.client() as client:
            make(client)
            push(client, 0, 27)
        before = windows(server, 5)
        assert [each["at"] for each in before] == [5000, 10000, 15000, 20000, 25000]
        server.kill()
    with process(tmp_path) as server:
        again = windows(server, 5)
        assert again == before
        resumed = windows(server, 3, after=str(before[1]["id"]))
        assert resumed == before[2:]
        with server.client() as client:
            push(client, 27, 41)
        following = windows(server, 3, after=str(before[4]["id"]))
        assert [each["at"] for each in following] == [30000, 35000, 40000]
        ids = [each["id"] for each in (*before, *following)]
        assert ids == sorted(set(ids))


def test_followers_are_told_of_the_end(tmp_path: Path) -> None:
    with process(tmp_path) as server, server.client() as client:
        make(client)
        with client.stream("GET", "/queries/gates/events") as answer:
            found = events(answer.iter_lines())
            assert next(found)["event"] == "sparql_results_head"
            with server.client() as other:
                other.delete("/queries/gates").raise_for_status()
            last = next(found)
            assert (last["event"], last["data"]) == ("end", {"reason": "removed"})
        make_again = client.post("/queries", json={"text": COUNT, "name": "gates"})
        make_again.raise_for_status()
        with client.stream("GET", "/queries/gates/events") as answer:
            found = events(answer.iter_lines())
            next(found)
            server.process.terminate()
            assert next(found)["data"] == {"reason": "shutdown"}
        assert server.process.wait(60) == 0


def test_curl_follows_results(tmp_path: Path) -> None:
    curl = shutil.which("curl")
    if curl is None:
        pytest.skip("there is no curl here")
    with process(tmp_path) as server, server.client() as client:
        make(client)
        push(client, 0, 7)
        with subprocess.Popen(
            [curl, "-sN", f"{server.url}/queries/gates/events?last=1"],
            stdout=subprocess.PIPE,
            text=True,
        ) as running:
            assert running.stdout is not None
            kinds = []
            for each in events(line.rstrip("\n") for line in running.stdout):
                kinds.append(each["event"])
                if each["event"] == "rsp_window":
                    break
            running.kill()
    assert kinds == ["sparql_results_head", *["sparql_results_binding"] * 2, "rsp_window"]


def test_sparql_wrapper_asks(tmp_path: Path) -> None:
    with process(tmp_path) as server, server.client() as client:
        client.put(
            "/store?default",
            content="<x:a> <x:p> 'one' . <x:b> <x:p> 'two' .",
            headers={"Content-Type": "text/turtle"},
        ).raise_for_status()
        wrapper: Any = SPARQLWrapper(f"{server.url}/sparql")
        text = "SELECT ?s ?o WHERE { ?s ?p ?o } ORDER BY ?s"
        wrapper.setQuery(text)
        wrapper.setReturnFormat(JSON)
        rows = wrapper.queryAndConvert()["results"]["bindings"]
        assert [row["o"]["value"] for row in rows] == ["one", "two"]
        for way in ("urlencoded", POSTDIRECTLY):
            wrapper.setMethod(POST)
            wrapper.setRequestMethod(way)
            assert len(wrapper.queryAndConvert()["results"]["bindings"]) == 2
        wrapper.setReturnFormat(XML)
        assert "one" in wrapper.queryAndConvert().toxml()
        wrapper.setReturnFormat(CSV)
        assert b"two" in wrapper.queryAndConvert()
        wrapper.setQuery("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }")
        wrapper.setReturnFormat(TURTLE)
        assert b"one" in wrapper.queryAndConvert()


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="sockets are listed by Linux only")
def test_only_loopback_is_listened_on(tmp_path: Path) -> None:
    with process(tmp_path, "--demo") as server:
        own = set()
        for handle in Path(f"/proc/{server.process.pid}/fd").iterdir():
            try:
                own.add(str(handle.readlink()))
            except OSError:
                continue
        found = []
        for table in ("tcp", "tcp6", "udp", "udp6"):
            for line in Path(f"/proc/{server.process.pid}/net/{table}").read_text().split("\n")[1:]:
                parts = line.split()
                listens = parts and (parts[3] == "0A" or table.startswith("udp"))
                if listens and f"socket:[{parts[9]}]" in own:
                    found.append((table, parts[1]))
        assert found == [("tcp", f"0100007F:{server.port:04X}")]


def test_a_second_server_of_the_same_place_ends(tmp_path: Path) -> None:
    with process(tmp_path) as server:
        second = subprocess.run(
            [*COMMAND, "--port", "0", "--location", str(tmp_path / "data")],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert second.returncode == 2
        assert "in use" in second.stderr
        assert "Traceback" not in second.stderr
        with server.client() as client:
            assert client.get("/readyz").status_code == 200


def test_a_token_is_in_no_list_of_processes(tmp_path: Path) -> None:
    token = "canary-token-0123456789"
    for option in ("--token", "--read-token"):
        refused = subprocess.run(
            [*COMMAND, "--port", "0", "--location", str(tmp_path / "data"), option, token],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert refused.returncode == 2
        assert f"give {option} @FILE" in refused.stderr
        assert token not in refused.stdout + refused.stderr
    (tmp_path / "token").write_text(f"{token}\n")
    with process(tmp_path, "--token", f"@{tmp_path / 'token'}") as server:
        line = Path(f"/proc/{server.process.pid}/cmdline").read_text()
        assert token not in line
        with server.client() as client:
            assert client.get("/status").status_code == 401
            right = {"Authorization": f"Bearer {token}"}
            assert client.get("/status", headers=right).status_code == 200


def test_secrets_are_not_logged(tmp_path: Path) -> None:
    token = "canary-token-0123456789"
    with process(tmp_path, HEADRACE_TOKEN=token) as server, server.client() as client:
        wrong = {"Authorization": f"Bearer {token}x"}
        assert client.get("/status", headers=wrong).status_code == 401
        right = {"Authorization": f"Bearer {token}"}
        assert client.get("/status", headers=right).status_code == 200
        assert client.get("/sparql", params={"query": "x"}, headers=right).status_code == 400
        assert token not in server.said()


def descendants(number: int) -> list[int]:
    """The processes that a process has started, and those that they have."""
    parents: dict[int, list[int]] = {}
    for each in Path("/proc").glob("[0-9]*"):
        try:
            parent = (each / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        parents.setdefault(int(parent), []).append(int(each.name))
    found, left = [], [number]
    while left:
        new = parents.get(left.pop(), [])
        found += new
        left += new
    return found


def test_a_token_is_in_no_environment_answer_or_dump(tmp_path: Path) -> None:
    token, reader = "canary-token-0123456789", "canary-reader-0123456789"
    given = {"HEADRACE_TOKEN": token, "HEADRACE_READ_TOKEN": reader, "PYTHONFAULTHANDLER": "1"}
    texts: list[str] = []
    with process(tmp_path, **given) as server, server.client() as client:
        right = {"Authorization": f"Bearer {token}"}
        for path in (
            "/status",
            "/metrics",
            "/nothing",
            "/openapi.json",
            "/sparql?query=SELECT%20*%20%7B%20%3Fs%20%3Fp%20%3Fo%20%7D",
            "/sparql?query=nonsense",
            "/streams",
        ):
            for headers in ({}, {"Authorization": f"Bearer {reader}x"}, right):
                texts.append(client.get(path, headers=headers).text)
        for number in (server.process.pid, *descendants(server.process.pid)):
            proc = Path(f"/proc/{number}")
            texts += [(proc / name).read_text(errors="replace") for name in ("environ", "cmdline")]
        [core] = [
            line
            for line in Path(f"/proc/{server.process.pid}/limits").read_text().splitlines()
            if line.startswith("Max core file size")
        ]
        assert core.split()[4] == "0"
        server.process.send_signal(signal.SIGABRT)
        server.process.wait(PATIENCE)
        assert "Fatal Python error: Aborted" in server.said()
        texts.append(server.said())
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    texts += [path.read_text(errors="replace") for path in kept]
    for secret in (token, reader):
        assert not any(secret in text for text in texts)


def test_a_token_is_in_no_traceback() -> None:
    token = "canary-token-0123456789"
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.addFilter(Redacting(token))
    logger = logging.getLogger("headrace.tests.secrets")
    logger.addHandler(handler)
    try:
        raise RuntimeError(f"the request was GET /?access_token=another, or {token}")
    except RuntimeError:
        logger.exception("a request with %s failed", token)
    finally:
        logger.removeHandler(handler)
    assert "RuntimeError: the request was" in stream.getvalue()
    assert token not in stream.getvalue()
    assert "another" not in stream.getvalue()


def test_a_directory_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(SettingError, match=r"has other files, such as 'notes.txt'"):
        Place(tmp_path).make()
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / ".keep").touch()
    Place(tmp_path / "new").make()
    Place(tmp_path / "new").make()  # again, with what was made
