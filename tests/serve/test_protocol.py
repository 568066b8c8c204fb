"""The SPARQL 1.1 Protocol and the Graph Store Protocol."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from headrace.serve.limits import Limits
from tests.serve.clients import CARS, COUNT, passages, push, served, until, with_cars

PEOPLE = "http://example.org/people"
ALL = "SELECT ?s WHERE { ?s ?p ?o } ORDER BY ?s"
JSON = "application/sparql-results+json"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("protocol")
    given = folder / "given.ttl"
    given.write_text("<x:given> <x:p> 1 .")
    static = [("http://example.org/given", given)]
    with served(folder / "data", static=static) as found:
        with_cars(found)
        push(found, passages(0, 4))
        put(found, "default", "<x:a> <x:p> 'one' . <x:b> <x:p> 'two' .")
        put(found, PEOPLE, "<x:ann> <x:knows> <x:bob> .")
        yield found


def put(client: TestClient, graph: str, text: str, method: str = "PUT") -> int:
    params = {"default": ""} if graph == "default" else {"graph": graph}
    headers = {"Content-Type": "text/turtle"}
    return client.request(
        method, "/store", params=params, content=text, headers=headers
    ).status_code


def subjects(text: str) -> list[str]:
    bindings = json.loads(text)["results"]["bindings"]
    return [each["s"]["value"] for each in bindings]


def test_a_query_by_get(client: TestClient) -> None:
    answer = client.get("/sparql", params={"query": ALL})
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith(JSON)
    assert answer.headers["vary"] == "Accept"
    assert subjects(answer.text) == ["x:a", "x:b"]


def test_what_a_query_could_not_compute_is_in_a_header(client: TestClient) -> None:
    text = """SELECT ?s { ?s ?p ?o FILTER(REGEX(?o, CONCAT("(", ?o))) }"""
    answer = client.get("/sparql", params={"query": text})
    assert subjects(answer.text) == []
    assert json.loads(answer.headers["headrace-notes"]) == [
        "2 patterns of REGEX could not be used; the first: "
        "RE2 does not accept the pattern '(one': missing ): (one"
    ]
    again = client.get("/sparql", params={"query": ALL})
    assert "headrace-notes" not in again.headers


def test_a_query_by_form(client: TestClient) -> None:
    answer = client.post("/sparql", data={"query": ALL})
    assert subjects(answer.text) == ["x:a", "x:b"]


def test_a_query_as_it_is(client: TestClient) -> None:
    headers = {"Content-Type": "application/sparql-query; charset=utf-8"}
    answer = client.post("/sparql", content=ALL, headers=headers)
    assert subjects(answer.text) == ["x:a", "x:b"]


@pytest.mark.parametrize("way", ["get", "form", "direct"])
def test_the_dataset_of_the_protocol_goes_before_that_of_the_query(
    client: TestClient, way: str
) -> None:
    text = ALL.replace("WHERE", "FROM <http://example.org/nothing> WHERE")
    params = {"default-graph-uri": PEOPLE}
    if way == "get":
        answer = client.get("/sparql", params={"query": text, **params})
    elif way == "form":
        answer = client.post("/sparql", data={"query": text, **params})
    else:
        headers = {"Content-Type": "application/sparql-query"}
        answer = client.post("/sparql", params=params, content=text, headers=headers)
    assert subjects(answer.text) == ["x:ann"]


def test_named_graphs_of_the_protocol(client: TestClient) -> None:
    text = "SELECT ?s { GRAPH ?g { ?s ?p ?o } }"
    params = {"query": text, "named-graph-uri": PEOPLE}
    assert subjects(client.get("/sparql", params=params).text) == ["x:ann"]


@pytest.mark.parametrize(
    ("accept", "begins"),
    [
        (JSON, "{"),
        ("application/json", "{"),
        ("application/sparql-results+xml", "<?xml"),
        ("text/csv", "s"),
        ("text/tab-separated-values", "?s"),
        ("text/csv;q=0.5, text/tab-separated-values", "?s"),
        ("*/*", "{"),
    ],
)
def test_rows_in_every_type(client: TestClient, accept: str, begins: str) -> None:
    answer = client.get("/sparql", params={"query": ALL}, headers={"Accept": accept})
    assert answer.status_code == 200
    assert answer.text.startswith(begins)


@pytest.mark.parametrize(
    "accept",
    [
        "text/turtle",
        "application/n-triples",
        "application/n-quads",
        "application/trig",
        "application/ld+json",
    ],
)
def test_graphs_in_every_type(client: TestClient, accept: str) -> None:
    text = "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }"
    answer = client.get("/sparql", params={"query": text}, headers={"Accept": accept})
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith(accept)
    assert "x:a" in answer.text
    described = client.get(
        "/sparql", params={"query": "DESCRIBE <x:a>"}, headers={"Accept": accept}
    )
    assert "one" in described.text


def test_truth(client: TestClient) -> None:
    answer = client.get("/sparql", params={"query": "ASK { <x:a> ?p ?o }"})
    assert answer.json() == {"head": {}, "boolean": True}
    csv = client.get(
        "/sparql", params={"query": "ASK { <x:a> ?p ?o }"}, headers={"Accept": "text/csv"}
    )
    assert csv.status_code == 406


def test_the_current_contents_of_streams_are_graphs(client: TestClient) -> None:
    text = f"SELECT (COUNT(*) AS ?s) {{ GRAPH <{CARS}> {{ ?gate ?p ?car }} }}"
    assert subjects(client.get("/sparql", params={"query": text}).text) == ["4"]
    text = f"SELECT (COUNT(*) AS ?s) FROM <{CARS}> {{ ?gate ?p ?car }}"
    assert subjects(client.get("/sparql", params={"query": text}).text) == ["4"]


@pytest.mark.parametrize(
    ("method", "options", "status"),
    [
        ("GET", {"params": {"query": "SELECT * {"}}, 400),
        ("GET", {"params": {"query": ""}}, 400),
        ("GET", {"params": [("query", ALL), ("query", ALL)]}, 400),
        ("POST", {"data": {"other": ALL}}, 400),
        ("POST", {"content": ALL, "headers": {"Content-Type": "text/plain"}}, 415),
        ("POST", {"content": ALL}, 415),
        ("POST", {"data": {"update": "CLEAR ALL"}}, 501),
        (
            "POST",
            {"content": "CLEAR ALL", "headers": {"Content-Type": "application/sparql-update"}},
            501,
        ),
        ("PUT", {"content": ALL}, 405),
        ("GET", {"params": {"query": ALL}, "headers": {"Accept": "image/png"}}, 406),
        ("GET", {"params": {"query": ALL, "default-graph-uri": "no iri"}}, 400),
        ("GET", {"params": {"query": COUNT}}, 422),
        (
            "GET",
            {"params": {"query": "ASK { SERVICE <http://127.0.0.1/> { ?s ?p ?o } }"}},
            403,
        ),
        (
            "POST",
            {"content": b"\xff\xfe", "headers": {"Content-Type": "application/sparql-query"}},
            400,
        ),
    ],
)
def test_errors_of_the_protocol(
    client: TestClient, method: str, options: dict[str, object], status: int
) -> None:
    answer = client.request(method, "/sparql", **options)  # type: ignore[arg-type]  # of each kind
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def test_who_asks_by_a_wrong_method_is_told_all_the_right_ones(client: TestClient) -> None:
    assert client.put("/sparql").headers["allow"] == "GET, HEAD, POST"
    assert client.patch("/queries").headers["allow"] == "GET, HEAD, POST"


def test_a_wrong_query_says_where(client: TestClient) -> None:
    [error] = client.get("/sparql", params={"query": "SELECT *\n{ ?s ?p }"}).json()["errors"]
    assert error["line"] == 2


def test_the_service_describes_itself(client: TestClient) -> None:
    answer = client.get("/sparql", headers={"Accept": "text/turtle"})
    assert "sd:Service" in answer.text
    assert "sd:endpoint" in answer.text
    assert CARS in answer.text
    page = client.get("/sparql", headers={"Accept": "text/html"}, follow_redirects=False)
    assert page.status_code == 303


def test_costly_queries_end(tmp_path: Path) -> None:
    limits = Limits(seconds=1.0, rows=1_000_000, answer_rows=50)
    with served(tmp_path / "data", limits=limits) as client:
        put(client, "default", "".join(f"<x:{n}> <x:p> {n} ." for n in range(200)))
        cross = "SELECT * { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f . ?g ?s ?h }"
        answer = client.get("/sparql", params={"query": cross})
        assert answer.status_code in {422, 504}, answer.text
        many = client.get("/sparql", params={"query": ALL})
        assert many.status_code == 422
        assert "LIMIT" in many.json()["detail"]
        few = client.get("/sparql", params={"query": f"{ALL} LIMIT 3"})
        assert few.status_code == 200


# -- the graph store -----------------------------------------------------------------------------


def test_graphs_are_made_replaced_added_to_and_removed(client: TestClient) -> None:
    graph = "http://example.org/own"
    assert put(client, graph, "<x:a> <x:b> 1 .") == 201
    assert put(client, graph, "<x:a> <x:b> 2 .") == 204
    assert put(client, graph, "<x:a> <x:b> 3 .", "POST") == 204
    own = client.get("/store", params={"graph": graph}, headers={"Accept": "text/turtle"})
    assert sorted(own.text.split()) == sorted(["<x:a>", "<x:b>", "2,", "3", "."])
    assert client.head("/store", params={"graph": graph}).status_code == 200
    assert client.delete("/store", params={"graph": graph}).status_code == 204
    assert client.get("/store", params={"graph": graph}).status_code == 404
    assert client.delete("/store", params={"graph": graph}).status_code == 404


def test_a_graph_may_be_empty(client: TestClient) -> None:
    graph = "http://example.org/empty"
    accept = {"Accept": "application/n-triples"}
    assert put(client, graph, "") == 201
    assert client.get("/store", params={"graph": graph}, headers=accept).text == ""
    assert put(client, graph, "<x:a> <x:b> 1 .", "POST") == 204
    assert put(client, graph, "") == 204
    assert client.get("/store", params={"graph": graph}).status_code == 200
    assert client.delete("/store", params={"graph": graph}).status_code == 204
    assert client.get("/store", params={"graph": graph}).status_code == 404


def test_the_graph_of_a_stream_is_not_removed(client: TestClient) -> None:
    assert client.delete("/store", params={"graph": CARS}).status_code == 403
    assert client.get("/store", params={"graph": CARS}).status_code == 200


def test_no_stream_has_the_name_of_a_static_graph(client: TestClient) -> None:
    for graph in (PEOPLE, "http://example.org/given"):
        answer = client.put("/streams/people", json={"iri": graph})
        assert answer.status_code == 409, answer.text
        assert "static graph" in answer.json()["detail"]


def test_blank_nodes_of_two_bodies_are_different(client: TestClient) -> None:
    graph = "http://example.org/blank"
    put(client, graph, "_:x <x:p> 1 .")
    put(client, graph, "_:x <x:p> 1 .", "POST")
    accept = {"Accept": "application/n-triples"}
    found = client.get("/store", params={"graph": graph}, headers=accept).text
    assert len(found.splitlines()) == 2


@pytest.mark.parametrize(
    ("params", "content", "media_type", "status"),
    [
        ({}, "<x:a> <x:b> 1 .", "text/turtle", 400),
        ({"graph": "x:g", "default": ""}, "<x:a> <x:b> 1 .", "text/turtle", 400),
        ({"graph": "no iri"}, "<x:a> <x:b> 1 .", "text/turtle", 400),
        ({"graph": "x:g"}, "<x:a> <x:b>", "text/turtle", 400),
        ({"graph": "x:g"}, "<x:a> <x:b> 1 <x:h> .", "application/n-quads", 400),
        ({"graph": "x:g"}, "<x:a> <x:b> 1 .", "application/rdf+xml", 415),
        ({"graph": CARS}, "<x:a> <x:b> 1 .", "text/turtle", 403),
        ({"graph": "http://example.org/given"}, "<x:a> <x:b> 1 .", "text/turtle", 403),
    ],
)
def test_wrong_writes_are_refused(
    client: TestClient, params: dict[str, str], content: str, media_type: str, status: int
) -> None:
    headers = {"Content-Type": media_type}
    answer = client.put("/store", params=params, content=content, headers=headers)
    assert answer.status_code == status, answer.text


def test_graphs_are_listed(client: TestClient) -> None:
    kinds = {each["iri"]: each["kind"] for each in client.get("/graphs").json()["graphs"]}
    assert kinds[CARS] == "stream"
    assert kinds["http://example.org/given"] == "static"
    assert None in kinds


def test_static_graphs_are_there_after_a_restart_and_queries_see_them(tmp_path: Path) -> None:
    graph = "http://example.org/names"
    text = (
        "PREFIX : <http://example.org/> SELECT ?name "
        f"FROM <{graph}> FROM STREAM <{CARS}> [RANGE 5s STEP 5s] "
        "WHERE { ?gate :name ?name . ?gate :registers ?car }"
    )
    with served(tmp_path / "data") as client:
        with_cars(client)
        put(client, graph, "<http://example.org/g0> <http://example.org/name> 'old' .")
    with served(tmp_path / "data") as client:
        assert client.get("/store", params={"graph": graph}).status_code == 200
        client.post("/queries", json={"text": text, "name": "names"})
        push(client, passages(1, 3))
        put(client, graph, "<http://example.org/g0> <http://example.org/name> 'new' .")
        push(client, passages(6, 7))

        def names() -> list[str]:
            found = client.get("/queries/names/results").json()["evaluations"]
            return [row["name"]["value"] for each in found for row in each["rows"]]

        assert until(names) == ["new"]


N_TRIPLES = {"Content-Type": "application/n-triples"}
ONE = '"1"^^<http://www.w3.org/2001/XMLSchema#integer>'


def values_of(client: TestClient, graph: str) -> set[str]:
    text = f"SELECT ?o {{ GRAPH <{graph}> {{ ?s ?p ?o }} }}"
    rows = client.get("/sparql", params={"query": text}).json()["results"]["bindings"]
    return {row["o"]["value"] for row in rows}


def test_answers_follow_changes_of_large_and_of_small_graphs(tmp_path: Path) -> None:
    def put(graph: str, values: range) -> None:
        content = "".join(f'<x:s> <x:p> "{each}" .\n' for each in values)
        answer = client.put("/store", params={"graph": graph}, content=content, headers=N_TRIPLES)
        assert answer.status_code < 300, answer.text
        expected[graph] = {str(each) for each in values}

    expected: dict[str, set[str]] = {}
    with served(tmp_path / "data") as client:
        for large, small in ((0, 0), (0, 1), (1, 1), (500, 3)):
            put("x:large", range(large, large + 1_500))
            put("x:small", range(small, small + 3))
            for graph, values in expected.items():
                assert values_of(client, graph) == values
        client.delete("/store", params={"graph": "x:large"}).raise_for_status()
        assert not values_of(client, "x:large")
        put("x:small", range(2_000))
        assert values_of(client, "x:small") == expected["x:small"]


@pytest.mark.parametrize("begin", ["GRAPH", "gr\\u0061ph", "<x:s> <x:p> 1GRAPH"])
def test_streams_are_read_however_the_keyword_is_written(tmp_path: Path, begin: str) -> None:
    with served(tmp_path / "data") as client:
        client.put("/streams/s", json={"iri": "x:stream"}).raise_for_status()
        statements = {"/streams/s": "<x:a> <x:b> <x:c> .", "/store?default": f"<x:s> <x:p> {ONE} ."}
        for path, content in statements.items():
            client.post(path, content=content, headers=N_TRIPLES).raise_for_status()
        text = f"SELECT ?s {{ {begin} <x:stream> {{ ?s <x:b> ?o }} }}"
        assert subjects(client.get("/sparql", params={"query": text}).text) == ["x:a"]
