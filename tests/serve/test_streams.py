from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from rdflib import Graph
from starlette.testclient import TestClient

from headrace.serve.limits import Limits
from tests.serve.clients import CARS, TIMED, passages, push, served, socket, until, with_cars


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with served(tmp_path_factory.mktemp("serve") / "data") as found:
        with_cars(found)
        yield found


def test_a_stream_is_made_once(client: TestClient) -> None:
    said = {"name": "made", "iri": "http://example.org/made", "delay": "5s", "title": "Made"}
    first = client.post("/streams", json=said)
    assert first.status_code == 201
    assert first.headers["location"].endswith("/streams/made")
    assert client.post("/streams", json=said).status_code == 200
    other = client.post("/streams", json={**said, "delay": "6s"})
    assert other.status_code == 409
    assert other.headers["content-type"] == "application/problem+json"
    same_iri = client.put("/streams/another", json={"iri": "http://example.org/made"})
    assert same_iri.status_code == 409
    assert client.delete("/streams/made").status_code == 204
    assert client.get("/streams/made").status_code == 404


@pytest.mark.parametrize(
    "said",
    [
        {"name": "../x"},
        {"name": ""},
        {"name": "a" * 65},
        {"name": "x", "iri": "not an iri"},
        {"name": "x", "iri": 7},
        {"name": "x", "time": "never"},
        {"name": "x", "delay": "soon"},
        {"name": "x", "colour": "red"},
        [],
    ],
)
def test_a_wrong_stream_is_refused(client: TestClient, said: object) -> None:
    assert client.post("/streams", json=said).status_code == 400


def test_a_stream_without_an_iri_is_known_by_its_url(client: TestClient) -> None:
    made = client.put("/streams/plain", json={}).json()
    assert made["iri"] == made["url"]
    assert made["time"] == "arrival"


@pytest.mark.parametrize(
    ("media_type", "text", "elements"),
    [
        ("text/turtle", "@prefix : <http://e.x/> . :a :b :c ; :d 1 .", 1),
        ("application/n-triples", "<x:a> <x:b> <x:c> .\n<x:a> <x:b> <x:d> .", 1),
        ("application/n-quads", "<x:a> <x:b> <x:c> <x:g> .\n<x:a> <x:b> <x:d> <x:h> .", 2),
        ("application/trig", "<x:g> { <x:a> <x:b> <x:c> }", 1),
        ("application/ld+json", '{"@id": "x:a", "x:b": {"@id": "x:c"}}', 1),
        (TIMED, "1000\t<x:a> <x:b> <x:c> .\n2000\t<x:a> <x:b> <x:c> .\n3000\n", 2),
        ("application/x-ndjson", '{"time": 5, "data": "<x:a> <x:b> <x:c> ."}\n', 1),
        ("text/turtle-star", "<< <x:a> <x:b> <x:c> >> <x:d> 1 .", 1),
    ],
)
def test_elements_of_all_types(
    client: TestClient, media_type: str, text: str, elements: int
) -> None:
    client.put("/streams/types", json={})
    answer = client.post("/streams/types", content=text, headers={"Content-Type": media_type})
    assert answer.status_code == 200, answer.text
    assert answer.json() == {"stream": "types", "elements": elements, "duplicate": False}


def test_pushed_elements_are_counted_and_shown(client: TestClient) -> None:
    client.put("/streams/shown", json={})
    for at in ("1000", "1970-01-01T00:00:02Z"):
        client.post(
            "/streams/shown/input",
            content="<x:a> <x:b> 'c' .",
            params={"at": at},
            headers={"Content-Type": "text/turtle"},
        )
    until(lambda: client.get("/streams/shown").json()["elements"] == 2)
    stream = client.get("/streams/shown").json()
    assert (stream["late"], stream["rejected"], stream["high"]) == (0, 0, 2000)
    messages = stream["accepted"] + stream["heartbeats"] + stream["rejected_messages"]
    assert stream["messages"] == messages
    assert stream["elements"] == stream["on_time"] + stream["late"] + stream["rejected"]
    assert stream["accepted"] == stream["on_time"] > 0
    assert len(stream["rates"]) == 60
    assert stream["log_bytes"] > 0
    found = client.get("/streams/shown/elements", params={"last": 1}).json()["elements"]
    assert found == [{"at": 2000, "quads": '<x:a> <x:b> "c" .\n'}]


def test_wrong_data_say_where(client: TestClient) -> None:
    answer = client.post(
        "/streams/cars", content="<x:a> <x:b> .", headers={"Content-Type": "application/n-triples"}
    )
    assert answer.status_code == 400
    [error] = answer.json()["errors"]
    assert error["line"] == 1
    assert error["message"]


@pytest.mark.parametrize(
    ("media_type", "body", "status"),
    [
        ("application/json", '{"speed": 7}', 400),
        ("application/ld+json", '{"speed": 7}', 400),
        ("text/json", '{"speed": 7}', 415),
    ],
)
def test_plain_json_is_refused_with_what_to_do(
    client: TestClient, media_type: str, body: str, status: int
) -> None:
    found = client.post("/streams/cars", content=body, headers={"Content-Type": media_type})
    assert found.status_code == status
    assert "JSON has" in found.json()["detail"]
    assert "'@context'" in found.json()["detail"]
    assert "ld+json" not in found.json()["detail"]


def test_nothing_of_a_push_is_taken_if_a_part_is_wrong(client: TestClient) -> None:
    client.put("/streams/whole", json={})
    text = "1000\t<x:a> <x:b> <x:c> .\n2000\t<x:a> <x:b> .\n"
    answer = client.post("/streams/whole", content=text, headers={"Content-Type": TIMED})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["line"] == 2
    assert client.get("/streams/whole/elements").json() == {"elements": []}


def test_types_and_times_that_do_not_fit_are_refused(client: TestClient) -> None:
    def status(content: str, media_type: str, **params: str) -> int:
        headers = {"Content-Type": media_type} if media_type else {}
        return client.post(
            "/streams/cars", content=content, params=params, headers=headers
        ).status_code

    assert status("<x:a> <x:b> <x:c> .", "application/rdf+xml") == 415
    assert status("<x:a> <x:b> <x:c> .", "image/png") == 415
    assert status("<x:a> <x:b> <x:c> .", "") == 415
    assert status("1\t<x:a> <x:b> <x:c> .", TIMED, at="5") == 400
    assert status("<x:a> <x:b> <x:c> .", "text/turtle", at="soon") == 400
    assert status("", "text/turtle") == 400
    assert status("<x:a> <x:b> <x:c> .", "text/turtle") == 400, "it does not say its time"


def test_a_key_is_taken_once(client: TestClient) -> None:
    client.put("/streams/keys", json={})
    headers = {"Content-Type": "text/turtle", "Idempotency-Key": "first"}
    first = client.post("/streams/keys", content="<x:a> <x:b> 1 .", headers=headers).json()
    again = client.post("/streams/keys", content="<x:a> <x:b> 1 .", headers=headers).json()
    assert (first["duplicate"], again["duplicate"], again["elements"]) == (False, True, 0)
    assert len(client.get("/streams/keys/elements").json()["elements"]) == 1


def test_packed_bodies_are_unpacked_within_limits(client: TestClient) -> None:
    client.put("/streams/packed", json={})
    headers = {"Content-Type": "text/turtle", "Content-Encoding": "gzip"}
    good = gzip.compress(b"<x:a> <x:b> <x:c> .")
    assert client.post("/streams/packed", content=good, headers=headers).status_code == 200
    half = client.post("/streams/packed", content=good[:-9], headers=headers)
    assert half.status_code == 400
    bomb = gzip.compress(b" " * (Limits().body + 1))
    assert client.post("/streams/packed", content=bomb, headers=headers).status_code == 413
    other = {**headers, "Content-Encoding": "br"}
    assert client.post("/streams/packed", content=good, headers=other).status_code == 415


@pytest.mark.parametrize(
    ("accept", "syntax"),
    [
        ("text/turtle", "turtle"),
        ("application/n-triples", "nt"),
        ("application/ld+json", "json-ld"),
    ],
)
@pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated")
def test_streams_describe_themselves(client: TestClient, accept: str, syntax: str) -> None:
    for path in ("/streams/cars", "/streams"):
        answer = client.get(path, headers={"Accept": accept})
        assert answer.headers["content-type"].startswith(accept)
        assert answer.headers["vary"] == "Accept"
        graph = Graph().parse(data=answer.text, format=syntax)
        found = graph.query(f"ASK {{ <{CARS}> a <http://w3id.org/rsp/vocals#RDFStream> }}")
        assert found.askAnswer
        found = graph.query("ASK { ?s <http://www.w3.org/ns/dcat#accessURL> ?url }")
        assert found.askAnswer


def test_what_cannot_be_had_is_not_acceptable(client: TestClient) -> None:
    answer = client.get("/streams/cars", headers={"Accept": "image/png"})
    assert answer.status_code == 406
    assert "text/turtle" in answer.json()["detail"]


def test_a_full_log_asks_to_wait_and_goes_on_when_it_was_read(tmp_path: Path) -> None:
    with served(tmp_path / "data", limits=Limits(log_bytes=2_000)) as client:
        with_cars(client)
        refused = None
        for start in range(0, 1_000, 5):
            answer = client.post(
                "/streams/cars",
                content=passages(start, start + 5),
                headers={"Content-Type": TIMED},
            )
            if answer.status_code == 429:
                refused = answer
                break
        assert refused is not None
        assert int(refused.headers["retry-after"]) >= 1
        until(lambda: _pushed(client, passages(2_000, 2_005)) == 200)


def _pushed(client: TestClient, text: str) -> int:
    return client.post("/streams/cars", content=text, headers={"Content-Type": TIMED}).status_code


def test_messages_of_a_socket_are_acknowledged_in_turn(client: TestClient) -> None:
    client.put("/streams/socket", json={})
    with socket(client, "/streams/socket/socket", subprotocols=["headrace"]) as opened:
        assert opened.accepted_subprotocol == "headrace"
        opened.send_text(json.dumps({"time": 1000, "data": "<x:a> <x:b> <x:c> ."}))
        opened.send_text("2000\t<x:a> <x:b> <x:c> .\n3000\t<x:a> <x:b> <x:c> .\n")
        opened.send_text("nonsense")
        opened.send_bytes(b"4000\t<x:a> <x:b> <x:c> .")
        assert opened.receive_json() == {"ack": 1, "elements": 1}
        assert opened.receive_json() == {"ack": 2, "elements": 2}
        wrong = opened.receive_json()
        assert (wrong["message"], wrong["error"]["status"]) == (3, 400)
        assert opened.receive_json() == {"ack": 4, "elements": 1}
    assert len(client.get("/streams/socket/elements").json()["elements"]) == 4


def test_what_was_pushed_is_there_after_a_restart(tmp_path: Path) -> None:
    with served(tmp_path / "data") as client:
        with_cars(client)
        push(client, passages(0, 10), **{"Idempotency-Key": "one"})
    with served(tmp_path / "data") as client:
        assert len(client.get("/streams/cars/elements").json()["elements"]) == 10
        assert push(client, passages(0, 10), **{"Idempotency-Key": "one"})["duplicate"]
        until(lambda: client.get("/streams/cars").json()["elements"] == 10)


def test_a_stream_that_is_made_again_begins_anew(client: TestClient) -> None:
    """Also if no batch has come between."""
    said = {"iri": "http://example.org/again", "time": "said"}
    statement = "<http://x/a> <http://x/b> <http://x/c> ."
    for at in (9_000_000, 1_000):
        assert client.put("/streams/again", json=said).status_code == 201
        assert client.get("/streams/again").json()["elements"] == 0
        body = f"{at}\t{statement}\n"
        pushed = client.post("/streams/again", content=body, headers={"Content-Type": TIMED})
        assert pushed.status_code == 200
        until(lambda: client.get("/streams/again").json()["elements"] == 1)
        found = client.get("/streams/again").json()
        assert (found["high"], found["late"]) == (at, 0)
        assert client.delete("/streams/again").status_code == 204
