from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyoxigraph import QueryResultsFormat, QuerySolutions, parse_query_results
from starlette.testclient import TestClient

from headrace.errors import SettingError
from headrace.serve import retained
from headrace.serve.limits import Limits
from headrace.serve.settings import Settings
from tests.serve.clients import (
    CARS,
    COUNT,
    counts,
    evaluations,
    passages,
    push,
    register,
    served,
    socket,
    until,
    with_cars,
)

WRONG = f"SELECT ?gate\nFROM STREEM <{CARS}> [RANGE 10s STEP 5s] {{ ?gate ?p ?o }}"
TRIPLES = (
    "PREFIX : <http://example.org/> CONSTRUCT { ?car :passed ?gate } "
    f"FROM STREAM <{CARS}> [RANGE 10s STEP 5s] WHERE {{ ?gate :registers ?car }}"
)
ASKS = f"ASK FROM STREAM <{CARS}> [RANGE 10s STEP 5s] {{ ?gate ?p ?car }}"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with served(tmp_path / "data") as found:
        with_cars(found)
        yield found


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [("nonsense", "3", "nonsense"), ("delay", "soon", "soon"), ("service.accuracy", "9", "9")],
)
def test_a_server_with_a_wrong_setting_does_not_start(
    key: str, value: str, named: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingError, match=f"'{named}'"):
        Settings(tmp_path, settings={key: value})


def test_a_query_runs_from_now_on(client: TestClient) -> None:
    push(client, passages(0, 3))
    until(lambda: client.get("/streams/cars").json()["elements"] == 3)
    made = register(client, COUNT, name="gates")
    assert (made["state"], made["dialect"], made["form"]) == ("running", "csparql", "select")
    assert made["vars"] == ["gate", "n"]
    push(client, passages(3, 21))
    found = evaluations(client, "gates", 4)
    assert [each["at"] for each in found] == [5000, 10000, 15000, 20000]
    assert [counts(each) for each in found[:3]] == [
        {"g0": 1, "g1": 1},
        {"g0": 3, "g1": 4},
        {"g0": 5, "g1": 5},
    ]
    shown = client.get("/queries/gates").json()
    assert shown["evaluations"] == 4
    assert shown["last"]["id"] == found[-1]["id"]
    assert client.get("/streams/cars").json()["queries"] == ["gates"]


def test_registering_and_removing_leaves_the_others_as_they_are(client: TestClient) -> None:
    register(client, COUNT, name="kept")
    push(client, passages(0, 8))
    until(lambda: client.get("/streams/cars").json()["elements"] == 8)
    register(client, COUNT, name="second")
    push(client, passages(8, 13))
    until(lambda: client.get("/streams/cars").json()["elements"] == 13)
    assert client.delete("/queries/second").status_code == 204
    push(client, passages(13, 21))
    found = evaluations(client, "kept", 4)
    assert [counts(each) for each in found] == [
        {"g0": 3, "g1": 2},
        {"g0": 5, "g1": 5},
        {"g0": 5, "g1": 5},
        {"g0": 5, "g1": 5},
    ]
    assert client.get("/queries/second").status_code == 404


def test_a_wrong_query_is_marked(client: TestClient) -> None:
    answer = client.post("/queries", content=WRONG, headers={"Content-Type": "text/plain"})
    assert answer.status_code == 400
    [error] = answer.json()["errors"]
    assert (error["line"], error["column"], error["end_column"]) == (2, 6, 12)
    assert WRONG[error["start"] : error["end"]] == "STREEM"
    assert "^^^^^^" in error["excerpt"]


def test_a_query_over_an_unknown_stream_is_marked(client: TestClient) -> None:
    text = COUNT.replace(CARS, "http://example.org/carz")
    answer = client.post("/queries", content=text, headers={"Content-Type": "text/plain"})
    assert answer.status_code == 422
    [error] = answer.json()["errors"]
    assert "http://example.org/carz" in error["message"]
    assert error["line"] == 1
    assert CARS in error["hint"]


def test_names_are_taken_once(client: TestClient) -> None:
    assert register(client, COUNT)["name"] == "q1"
    assert register(client, COUNT)["name"] == "q2"
    said = {"text": COUNT, "name": "q1"}
    assert client.post("/queries", json=said).status_code == 409
    named = register(
        client,
        f"REGISTER QUERY own AS {COUNT.partition('> ')[2]}".replace(
            ":registers", "<http://example.org/registers>"
        ),
    )
    assert named["name"] == "own"


def test_plain_queries_and_unknown_settings_are_refused(client: TestClient) -> None:
    def status(**said: object) -> int:
        return client.post("/queries", json=said).status_code

    assert status(text="SELECT * { ?s ?p ?o }") == 422
    assert status(text=COUNT, settings={"colour": "red"}) == 400
    assert status(text=COUNT, dialect="klingon") == 400
    assert status(text=COUNT, settings={"delay": 5}) == 400
    assert status(text="") == 400
    assert status(text=COUNT, name="../x") == 400
    assert status(text=COUNT, extra=1) == 400


def test_settings_of_a_query_are_its_own(client: TestClient) -> None:
    settings = {"emit": "istream", "delay": "2s"}
    made = client.post("/queries", json={"text": COUNT, "name": "own", "settings": settings})
    assert made.status_code == 201
    assert made.json()["settings"] == settings
    push(client, passages(0, 9))
    [first] = evaluations(client, "own", 1)
    assert first["op"] == "istream"


def test_a_paused_query_is_not_evaluated(client: TestClient) -> None:
    register(client, COUNT, name="gates")
    push(client, passages(0, 7))
    evaluations(client, "gates", 1)
    assert client.post("/queries/gates/pause").json()["state"] == "paused"
    push(client, passages(7, 17))
    until(lambda: client.get("/streams/cars").json()["elements"] == 17)
    assert len(evaluations(client, "gates", 1)) == 1
    assert client.post("/queries/gates/resume").json()["state"] == "running"
    push(client, passages(17, 27))
    found = evaluations(client, "gates", 3)
    assert found[-1]["at"] == 25000


def test_a_stopped_query_is_not_resumed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with served(tmp_path / "data", limits=Limits(rows=3)) as client:
        with_cars(client)
        register(client, f"SELECT * FROM STREAM <{CARS}> [RANGE 5s STEP 5s] "
            "WHERE { ?a ?b ?c . ?d ?e ?f }", name="product")  # fmt: skip
        push(client, passages(0, 12))
        until(lambda: client.get("/queries/product").json()["state"] == "stopped")
        answer = client.post("/queries/product/resume")
        assert answer.status_code == 409
        assert "query 'product' has stopped: " in answer.json()["detail"]
        assert "(limit 'rows')" in answer.json()["detail"]
        logged = [each.getMessage() for each in caplog.records]
        assert sum("query 'product' has stopped: " in each for each in logged) == 1


def _failing(client: TestClient) -> None:
    """Let a query stop because the join of two windows has too many rows."""
    text = f"SELECT * FROM STREAM <{CARS}> [RANGE 10s STEP 10s] WHERE {{ ?a ?b ?c . ?d ?e ?f }}"
    register(client, text, name="costly")
    push(client, passages(0, 11))
    until(lambda: client.get("/queries/costly").json()["state"] == "stopped")


def test_a_stopped_query_begins_anew_when_it_is_registered_again(tmp_path: Path) -> None:
    with served(tmp_path / "data", limits=Limits(rows=50)) as client:
        with_cars(client)
        _failing(client)
        text = client.get("/queries/costly").json()["text"]
        client.delete("/queries/costly").raise_for_status()
        again = register(client, text, name="costly")  # no batch came in between
        assert (again["state"], again["error"], again["evaluations"]) == ("running", None, 0)
        push(client, passages(11, 12) + passages(30, 31))
        assert evaluations(client, "costly", 1)[0]["count"] == 1
        assert client.get("/queries/costly").json()["state"] == "running"


def test_another_query_under_a_name_has_nothing_of_the_first(tmp_path: Path) -> None:
    with served(tmp_path / "data", limits=Limits(rows=50)) as client:
        with_cars(client)
        _failing(client)
        client.delete("/queries/costly").raise_for_status()
        other = register(client, COUNT, name="costly")
        assert (other["state"], other["error"], other["failed"]) == ("running", None, 0)


def test_a_stopped_query_can_be_paused_and_resumed(tmp_path: Path) -> None:
    with served(tmp_path / "data", limits=Limits(rows=50)) as client:
        with_cars(client)
        _failing(client)
        assert client.post("/queries/costly/pause").json()["state"] == "paused"
        resumed = client.post("/queries/costly/resume").json()
        assert (resumed["state"], resumed["error"]) == ("running", None)
    with served(tmp_path / "data", limits=Limits(rows=50)) as client:  # also after a restart
        assert client.get("/queries/costly").json()["state"] == "running"
        push(client, passages(11, 12) + passages(30, 31))
        until(lambda: client.get("/queries/costly").json()["evaluations"])


def test_too_many_queries_are_refused(tmp_path: Path) -> None:
    with served(tmp_path / "data", limits=Limits(queries=1)) as client:
        with_cars(client)
        register(client, COUNT)
        answer = client.post("/queries", json={"text": COUNT})
        assert answer.status_code == 429
        assert "retry-after" in answer.headers


def test_streams_of_queries_are_streams(client: TestClient) -> None:
    made = "http://example.org/made"
    text = f"REGISTER STREAM <{made}> AS {TRIPLES.partition('> ')[2]}".replace(
        ":passed", "<http://example.org/passed>"
    ).replace(":registers", "<http://example.org/registers>")
    maker = register(client, text, name="maker", dialect="csparql")
    assert maker["stream"] == made
    reader = f"SELECT ?car FROM STREAM <{made}> [RANGE 5s STEP 5s] {{ ?car ?p ?gate }}"
    register(client, reader, name="reader")
    kinds = {each["iri"]: each["kind"] for each in client.get("/streams").json()["streams"]}
    assert kinds[made] == "derived"
    assert client.delete("/queries/maker").status_code == 409
    assert client.post("/queries/maker/pause").status_code == 409
    assert client.delete("/streams/cars").status_code == 409
    pushed = client.post(
        "/streams/maker", content="<x:a> <x:b> 1 .", headers={"Content-Type": "text/turtle"}
    )
    assert pushed.status_code == 405
    push(client, passages(0, 22))
    assert evaluations(client, "reader", 2)


@pytest.mark.parametrize("form", ["text", "json", "mermaid", "svg"])
def test_plans_are_shown(client: TestClient, form: str) -> None:
    register(client, COUNT, name="gates")
    push(client, passages(0, 12))
    answer = client.get("/queries/gates/plan", params={"format": form})
    assert answer.status_code == 200, answer.text
    explained = client.post(
        "/explain", content=COUNT, params={"format": form}, headers={"Content-Type": "text/plain"}
    )
    assert explained.status_code == 200
    if form == "json":
        assert "live" in answer.json()
        live = client.get("/queries/gates/plan", params={"format": form, "live": "true"})
        assert live.status_code == 200, live.text
        assert live.text != answer.text
    if form == "svg":
        assert answer.text.startswith("<svg")
        assert "sandbox" in answer.headers["content-security-policy"]


def test_checks_never_fail(client: TestClient) -> None:
    def checked(text: str) -> dict[str, object]:
        answer = client.post("/check", json={"text": text})
        assert answer.status_code == 200
        found: dict[str, object] = answer.json()
        return found

    good = checked(COUNT)
    assert (good["ok"], good["vars"], good["unknown_streams"]) == (True, ["gate", "n"], [])
    unknown = checked(COUNT.replace(CARS, "http://example.org/other"))
    assert unknown["unknown_streams"] == ["http://example.org/other"]
    assert unknown["warnings"]
    wrong = checked(WRONG)
    assert not wrong["ok"]
    assert wrong["errors"]
    stamped = COUNT.replace(
        "WHERE {", "WHERE { FILTER EXISTS { ?a ?b ?c FILTER (timestamp(?a) > 3) }"
    )
    assert not checked(stamped)["ok"], "what cannot be run is wrong"
    assert checked("SELECT * { ?s ?p ?o }")["continuous"] is False


def test_editors_are_told_the_words(client: TestClient) -> None:
    push(client, passages(0, 2))
    said = client.get("/vocabulary").json()
    words = {each["name"]: each["keywords"] for each in said["dialects"]}
    assert "STREAM" in words["csparql"]
    assert "STRLEN" in said["functions"]
    assert said["streams"] == [CARS]
    assert said["predicates"] == ["http://example.org/registers"]


def test_results_in_every_type(client: TestClient) -> None:
    register(client, COUNT, name="gates")
    register(client, TRIPLES, name="triples")
    register(client, ASKS, name="asks")
    push(client, passages(0, 7))
    for name in ("gates", "triples", "asks"):
        evaluations(client, name, 1)

    def got(name: str, accept: str) -> str:
        answer = client.get(f"/queries/{name}/results", headers={"Accept": accept})
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"].startswith(accept)
        assert answer.headers["vary"] == "Accept"
        return answer.text

    formats = {
        "application/sparql-results+json": QueryResultsFormat.JSON,
        "application/sparql-results+xml": QueryResultsFormat.XML,
        "text/tab-separated-values": QueryResultsFormat.TSV,
    }
    for accept, form in formats.items():
        solutions = parse_query_results(got("gates", accept), form)
        assert isinstance(solutions, QuerySolutions)
        assert len(list(solutions)) == 2
    assert len(got("gates", "text/csv").splitlines()) == 3
    assert "passed" in got("triples", "text/turtle")
    assert len(got("triples", "application/n-triples").splitlines()) == 5
    assert "passed" in got("triples", "application/ld+json")
    assert "passed" in got("triples", "application/trig")
    assert '"boolean": true' in got("asks", "application/sparql-results+json")
    assert len(got("gates", "application/x-ndjson").splitlines()) == 1
    refused = client.get("/queries/gates/results", headers={"Accept": "text/turtle"})
    assert refused.status_code == 406
    chosen = client.get("/queries/gates/results", params={"format": "csv"})
    assert chosen.headers["content-type"].startswith("text/csv")


def test_evaluations_over_a_socket(client: TestClient) -> None:
    register(client, COUNT, name="gates")
    with socket(client, "/queries/gates/socket") as opened:
        assert opened.receive_json()["type"] == "head"
        push(client, passages(0, 12))
        first, second = opened.receive_json(), opened.receive_json()
        assert [first["at"], second["at"]] == [5000, 10000]
        client.delete("/queries/gates")
        assert opened.receive_json() == {"type": "end", "reason": "removed"}
    register(client, COUNT, name="gates")
    push(client, passages(12, 30))
    every = evaluations(client, "gates", 3)
    with socket(client, f"/queries/gates/socket?after={every[0]['id']}") as opened:
        assert opened.receive_json()["type"] == "head"
        assert opened.receive_json()["id"] == every[1]["id"]


@pytest.mark.parametrize("limits", [Limits(kept_evaluations=3), Limits(kept_seconds=0)])
def test_who_was_away_too_long_is_told(
    limits: Limits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retained, "_LEAST_KEPT", 3)
    with served(tmp_path / "data", limits=limits) as client:
        with_cars(client)
        register(client, COUNT, name="gates")
        push(client, passages(0, 7))
        [first] = evaluations(client, "gates", 1)
        push(client, passages(7, 52))
        until(lambda: client.get("/queries/gates").json()["evaluations"] == 10)
        kept = evaluations(client, "gates", 3)
        assert [each["at"] for each in kept] == [40000, 45000, 50000]
        assert [each["number"] for each in kept] == [8, 9, 10]
        with socket(client, f"/queries/gates/socket?after={first['id']}") as opened:
            assert opened.receive_json()["type"] == "head"
            lagged = opened.receive_json()
            assert lagged["type"] == "lagged"
            assert lagged["resumed_after"] == kept[0]["id"] - 1
            assert opened.receive_json()["id"] == kept[0]["id"]


def test_long_answers_are_cut_and_say_so(tmp_path: Path) -> None:
    with served(tmp_path / "data", limits=Limits(kept_rows=1)) as client:
        with_cars(client)
        register(client, COUNT, name="gates")
        push(client, passages(0, 7))
        [first] = evaluations(client, "gates", 1)
        assert (len(first["rows"]), first["count"], first["truncated"]) == (1, 2, 1)


def test_windows_of_streams_by_arrival_close_although_nothing_follows(tmp_path: Path) -> None:
    with served(tmp_path / "data") as client:
        client.put("/streams/cars", json={"iri": CARS})
        text = f"SELECT ?s FROM STREAM <{CARS}> [RANGE 2s STEP 1s] {{ ?s ?p ?o }}"
        register(client, text, name="seen")
        turtle = {"Content-Type": "text/turtle"}
        client.post("/streams/cars", content="<x:a> <x:b> 1 .", headers=turtle)
        found = until(lambda: [each for each in evaluations(client, "seen", 1) if each["rows"]])
        assert found[0]["rows"][0]["s"]["value"] == "x:a"
        until(lambda: not evaluations(client, "seen", 1)[-1]["rows"])


def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    location = tmp_path / "data"
    with served(location) as client:
        with_cars(client)
        register(client, COUNT, name="gates")
        register(client, COUNT, name="paused")
        client.post("/queries/paused/pause")
        push(client, passages(0, 8))
        before = evaluations(client, "gates", 1)
    with served(location) as client:
        states = {each["name"]: each["state"] for each in client.get("/queries").json()["queries"]}
        assert states == {"gates": "running", "paused": "paused"}
        push(client, passages(8, 16))
        after = evaluations(client, "gates", 3)
        assert after[0] == before[0]
        assert [counts(each) for each in after] == [
            {"g0": 3, "g1": 2},
            {"g0": 5, "g1": 5},
            {"g0": 5, "g1": 5},
        ]


def test_demos_move(client: TestClient) -> None:
    names = [each["name"] for each in client.get("/demos").json()["demos"]]
    assert names == ["tollgates", "tunnel", "conference"]
    for name in names:
        assert client.post(f"/demos/{name}").json()["running"]
        assert client.post(f"/demos/{name}").status_code == 200
    for query in ("passages-per-gate", "tunnel-temperatures", "people-per-room"):
        assert any(each["rows"] for each in evaluations(client, query, 2))
    for name in names:
        assert client.delete(f"/demos/{name}").status_code == 204
    left = client.get("/status").json()
    assert [each["name"] for each in left["streams"]] == ["cars"]
    assert left["queries"] == []
    assert client.post("/demos/other").status_code == 404


def test_a_query_may_come_after_what_nobody_has_read(tmp_path: Path) -> None:
    with served(tmp_path / "data") as client:
        with_cars(client)
        push(client, passages(0, 5))
        until(lambda: list((tmp_path / "data" / "deployment" / "manifest").glob("*.json")))
        register(client, COUNT, name="gates")
        push(client, passages(5, 12))
        assert evaluations(client, "gates", 1)
    with served(tmp_path / "data") as client:
        assert client.get("/queries/gates").json()["state"] == "running"


def test_the_last_stream_may_be_removed(tmp_path: Path) -> None:
    with served(tmp_path / "data") as client:
        with_cars(client)
        register(client, COUNT, name="gates")
        push(client, passages(0, 7))
        assert evaluations(client, "gates", 1)
        assert client.delete("/queries/gates").status_code == 204
        push(client, passages(7, 9))
        assert client.delete("/streams/cars").status_code == 204
        with_cars(client)
        register(client, COUNT, name="gates")
        push(client, passages(20, 32))
        assert evaluations(client, "gates", 1)
