"""The operators of a query as JSON, with what each finds in what its streams hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from headrace.dialects import parse
from headrace.graphs.drawing import GraphKind
from headrace.graphs.operator_graph import operator_graph, placed_operators
from headrace.serve.drawn import operators_as_json
from tests.graphs.queries import drawn_queries
from tests.serve.clients import CARS, COUNT, passages, push, register, served, until, with_cars

QUERIES = drawn_queries()
OBSERVED = f"""\
SELECT ?gate ?car
FROM STREAM <{CARS}> [RANGE 10s STEP 5s]
WHERE {{ ?seen <http://example.org/at> ?gate . ?seen <http://example.org/who> ?car }}
"""


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with served(tmp_path / "data") as found:
        with_cars(found)
        yield found


def plan(client: TestClient, name: str, **parameters: str) -> dict[str, Any]:
    answer = client.get(f"/queries/{name}/plan", params={"format": "json", **parameters})
    assert answer.status_code == 200, answer.text
    shown: dict[str, Any] = answer.json()
    return shown


@pytest.mark.parametrize("name", QUERIES)
def test_the_values_are_those_of_the_drawing(name: str) -> None:
    graph = operator_graph(QUERIES[name])
    shown = operators_as_json(QUERIES[name], GraphKind.OPERATORS)
    assert [(node["title"], node["details"]) for node in shown["nodes"]] == [
        (node.title, list(node.details)) for node in graph.nodes
    ]
    assert [(edge["source"], edge["target"], edge["label"]) for edge in shown["edges"]] == [
        (edge.source, edge.target, edge.label) for edge in graph.edges
    ]
    assert all(node["rows"] is None for node in shown["nodes"])


def test_each_operator_knows_its_node() -> None:
    query = parse("SELECT * { ?a <x:p> ?b FILTER (?b > 1) }").query
    graph, placed = placed_operators(query)
    assert graph.nodes[placed[id(query.pattern)]].title == "Projection"
    assert len(placed) == 3


def test_figures_are_there_if_they_are_asked_for(client: TestClient) -> None:
    register(client, COUNT, name="gates")
    push(client, passages(0, 21))
    until(lambda: client.get("/streams/cars").json()["elements"] == 21)
    still = plan(client, "gates", graph="rewritten")
    assert {node["rows"] for node in still["graph"]["nodes"]} == {None}
    shown = plan(client, "gates", graph="rewritten", live="true")
    rows = {node["title"]: node["rows"] for node in shown["graph"]["nodes"]}
    assert rows["Graph pattern"] > 0
    assert rows["Stream"] is None
    written = plan(client, "gates", graph="operators", live="true")
    assert {node["rows"] for node in written["graph"]["nodes"]} == {None}


def test_blank_nodes_of_an_element_are_one(client: TestClient) -> None:
    register(client, OBSERVED, name="observed")
    for second in range(12):
        text = (
            f"[] <http://example.org/at> <http://example.org/g> ; "
            f"<http://example.org/who> <http://example.org/c{second}> ."
        )
        answer = client.post(
            "/streams/cars",
            content=text,
            params={"at": str(second * 1000)},
            headers={"Content-Type": "text/turtle"},
        )
        assert answer.status_code == 200, answer.text
    until(lambda: client.get("/streams/cars").json()["elements"] == 12)
    shown = plan(client, "observed", graph="rewritten", live="true")
    [pattern] = [node for node in shown["graph"]["nodes"] if node["kind"] == "graph pattern"]
    assert pattern["rows"] > 0


def test_other_graphs_are_no_json(client: TestClient) -> None:
    register(client, COUNT, name="gates")
    for graph in ("denotational", "network", "reduced"):
        answer = client.get("/queries/gates/plan", params={"format": "json", "graph": graph})
        assert answer.status_code == 400
        assert "operators and rewritten" in answer.json()["detail"]


def test_a_query_that_is_not_registered_is_drawn_too(client: TestClient) -> None:
    answer = client.post(
        "/explain", params={"format": "json", "graph": "rewritten"}, json={"text": COUNT}
    )
    assert answer.status_code == 200
    assert answer.json()["graph"]["nodes"][-1]["title"] == "Result"
