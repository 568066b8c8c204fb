"""Texts that are to end the server or keep it busy: all of them are refused, and others are served.

docs/security.md names these tests.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from headrace.serve.limits import Limits
from tests.serve.attacks import listener
from tests.serve.clients import CARS, passages, push, served, until, with_cars


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("bombs")
    with served(folder / "data", limits=Limits(seconds=20.0)) as found:
        with_cars(found)
        push(found, passages(0, 4))
        yield found


TEXT = {"Content-Type": "text/plain"}

# -- S1: depth -----------------------------------------------------------------------------------

QUERY_BOMBS = {
    "parentheses": lambda n: f"SELECT * {{ FILTER({'(' * n}1{')' * n}) }}",
    "groups": lambda n: f"SELECT * {'{' * n}{'}' * n}",
    "negations": lambda n: f"SELECT * {{ FILTER({'!' * n}true) }}",
    "paths": lambda n: f"SELECT * {{ ?s {'(' * n}<x:p>{')*' * n} ?o }}",
    "quoted": lambda n: f"SELECT * {{ {'<< ' * n}?s ?p ?o{' >> ?p ?o' * n} }}",
    "nodes": lambda n: f"SELECT * {{ ?s ?p {'[ ?p ' * n}?o{' ]' * n} }}",
    "lists": lambda n: f"SELECT * {{ ?s ?p {'( ' * n}1{' )' * n} }}",
    "selects": lambda n: f"{'SELECT * { ' * n}{'} ' * n}",
    "optionals": lambda n: f"SELECT * {{ {'OPTIONAL { ' * n}{'} ' * n} }}",
    "minus": lambda n: f"SELECT * {{ FILTER({'-' * n}1 = 1) }}",
}
QUOTED, TURTLE, JSON_LD = "application/n-triples", "text/turtle", "application/ld+json"
DATA_BOMBS = {
    "quoted": (QUOTED, "<< ", "<x:a> <x:b> <x:c>", " >> <x:p> <x:o>", "{} ."),
    "triples": (QUOTED, "<<( <x:a> <x:b> ", "<x:c>", " )>>", "<x:a> <x:b> {} ."),
    "turtle": (TURTLE, "[ <x:p> ", "1", " ]", "<x:a> <x:b> {} ."),
    "lists": (TURTLE, "( ", "1", " )", "<x:a> <x:b> {} ."),
    "json": (JSON_LD, '{"x:a": ', "1", "}", "{}"),
    "arrays": (JSON_LD, "[", "1", "]", '{{"x:a": {}}}'),
}


LONG_QUERIES = {
    "list": f"?s ?p ({' '.join(['?x'] * 20_000)})",
    "alternatives": f"?s {'|'.join(['<x:p>'] * 20_000)} ?o",
    "unions": " UNION ".join(["{ ?s ?p ?o }"] * 12_000),
}


@pytest.mark.parametrize("kind", LONG_QUERIES)
def test_long_queries_end_within_their_limit(tmp_path: Path, kind: str) -> None:
    pattern = LONG_QUERIES[kind]
    text = f"SELECT * FROM STREAM <{CARS}> [RANGE 1s STEP 1s] WHERE {{ {pattern} }}"
    with served(tmp_path / "data", limits=Limits(seconds=1.0)) as client:
        with_cars(client)
        answer = client.post("/queries?name=long", content=text, headers=TEXT)
        said = answer.json()
        assert answer.status_code in {201, 504}, said
        if answer.status_code == 201:
            push(client, passages(0, 3))
            until(lambda: client.get("/queries/long").json()["state"] == "stopped")
            said = client.get("/queries/long").json()
        assert "(limit 'seconds')" in str(said.get("detail", said.get("error")))
        explained = client.post("/explain", content=text, headers=TEXT)
        assert explained.status_code in {200, 504}, explained.text


@pytest.mark.parametrize("depth", [129, 10_000, 100_000, 1_000_000])
@pytest.mark.parametrize("kind", QUERY_BOMBS)
def test_deep_queries_are_refused(client: TestClient, kind: str, depth: int) -> None:
    text = QUERY_BOMBS[kind](depth)
    asked = client.post(
        "/sparql", content=text, headers={"Content-Type": "application/sparql-query"}
    )
    assert asked.status_code in {400, 413}, asked.text
    registered = client.post("/queries", content=text, headers={"Content-Type": "text/plain"})
    assert registered.status_code in {400, 413}
    checked = client.post("/check", content=text, headers={"Content-Type": "text/plain"})
    assert checked.status_code in {200, 413}
    assert checked.status_code == 413 or not checked.json()["ok"]


@pytest.mark.parametrize("depth", [129, 10_000, 100_000, 1_000_000])
@pytest.mark.parametrize("kind", DATA_BOMBS)
def test_deep_data_are_refused(client: TestClient, kind: str, depth: int) -> None:
    media_type, opens, core, closes, around = DATA_BOMBS[kind]
    text = around.format(f"{opens * depth}{core}{closes * depth}")
    headers = {"Content-Type": media_type}
    pushed = client.post("/streams/cars", content=text, headers=headers)
    assert pushed.status_code in {400, 413}, pushed.text
    written = client.put("/store?graph=x:g", content=text, headers=headers)
    assert written.status_code in {400, 413}


@pytest.mark.parametrize("kind", QUERY_BOMBS)
def test_deep_queries_are_refused_by_commands(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "bomb.rq"
    path.write_text(QUERY_BOMBS[kind](10_000))
    for command in ("check", "explain"):
        ended = subprocess.run(
            [sys.executable, "-m", "headrace", command, str(path)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ended.returncode == 2, ended.stderr
        assert "Traceback" not in ended.stderr


# -- S2: XML -------------------------------------------------------------------------------------

LAUGHS = (
    '<!DOCTYPE r [<!ENTITY a "ha">' + "".join(
        f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9)
    ) + "]><r>&j;</r>"
)  # fmt: skip
QUADRATIC = f'<!DOCTYPE r [<!ENTITY a "{"a" * 50_000}">]><r>{"&a;" * 50_000}</r>'
EXTERNAL = '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><r>&x;</r>'
OVER_HTTP = '<!DOCTYPE r [<!ENTITY x SYSTEM "http://127.0.0.1:PORT/x">]><r>&x;</r>'
PARAMETER = '<!DOCTYPE r [<!ENTITY % x SYSTEM "http://127.0.0.1:PORT/x.dtd"> %x;]><r/>'
EXTERNAL_DTD = '<!DOCTYPE r SYSTEM "http://127.0.0.1:PORT/x.dtd"><r/>'
INCLUDED = (
    '<r xmlns:xi="http://www.w3.org/2001/XInclude">'
    '<xi:include href="http://127.0.0.1:PORT/x" parse="text"/></r>'
)
XML = (LAUGHS, QUADRATIC, EXTERNAL, OVER_HTTP, PARAMETER, EXTERNAL_DTD, INCLUDED)


@pytest.mark.parametrize("text", XML)
@pytest.mark.parametrize("media_type", ["application/rdf+xml", "application/xml", "text/xml"])
def test_xml_is_not_read(client: TestClient, text: str, media_type: str) -> None:
    headers = {"Content-Type": media_type}
    with listener() as (port, seen):
        body = text.replace("PORT", str(port))
        assert client.post("/streams/cars", content=body, headers=headers).status_code == 415
        assert client.put("/store?default", content=body, headers=headers).status_code == 415
    assert seen == []


@pytest.mark.parametrize("text", XML)
def test_xml_under_another_name_is_no_data(client: TestClient, text: str) -> None:
    for media_type in ("text/turtle", "application/ld+json", "application/n-quads"):
        with listener() as (port, seen):
            answer = client.put(
                "/store?default",
                content=text.replace("PORT", str(port)),
                headers={"Content-Type": media_type},
            )
            assert answer.status_code == 400
            assert "root:" not in answer.text
        assert seen == []


# -- S5: regular expressions ---------------------------------------------------------------------

PATTERNS = [
    r"^(a+)+$", r"^(a|a)*$", r"^(a|aa)+$", r"^(.*a){12}$", r"^(([a-z])+.)+[A-Z]([a-z])+$",
    r"(.*)*b",
    r"^(a?){30}a{30}$", r"(x+x+)+y", r"^((a+)|(b+))+$", r"(\\w+\\s?)+$", r"^(\\d+)*x$",
    r"([a-z]+)*[0-9]",
    r"(a{1,100}){1,100}$", r"^(?:a*)*$", r"(a*)+b", r"^(a|b|ab)*c$", r"^(aa*)*$", r"(a+a?)*b",
    r"^((a|b)*)*$", r"(.+)+x", r"^(.|a)+$", r"(a|a|a|a)+b", r"^(a*a*)*b$", r"^(a*)*(a*)*b$",
    r"(?:(?:a+)+)+b", r"^.*.*.*.*.*b$", r"(a{0,9}){0,9}(a{0,9}){0,9}b", r"^(a+){20}b",
    r"(\\S+\\s*)*$", r"^([^b]+)*b", r"^(?:a?){50}(?:a){50}$", r"(a+)+\\1", r"(?=(a+)+b)a",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_regular_expressions_do_not_explode(client: TestClient, pattern: str) -> None:
    text = f'SELECT (REGEX("{"a" * 10_000}!", "{pattern}") AS ?s) {{}}'
    answer = client.post("/sparql", data={"query": text})
    assert answer.status_code in {200, 400, 422}, answer.text  # and no 504: there was time enough
    text = f'SELECT (REPLACE("{"a" * 10_000}!", "{pattern}", "-") AS ?s) {{}}'
    answer = client.post("/sparql", data={"query": text})
    assert answer.status_code in {200, 400, 422}, answer.text


# -- S6: cost ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { " + " ".join(f"?a{n} ?b{n} ?c{n} ." for n in range(10)) + " }",
        "SELECT * { ?s (<x:p>*)* ?o }",
        "SELECT * { VALUES ?x { " + "1 " * 100_000 + "} VALUES ?y { " + "2 " * 20_000 + "} }",
        "SELECT * { " + " UNION ".join(["{ ?s ?p ?o }"] * 1_000) + " }",
        "SELECT (GROUP_CONCAT(?x) AS ?y) { VALUES ?x { " + "1 " * 100_000 + "} }",
        "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i } ORDER BY ?c ?f ?i",
        "SELECT * { VALUES ?x { " + "1 " * 1_000_000 + "} }",
    ],
    ids=range(7),  # pytest has the name of a test in the environment, which has little room
)
def test_costly_queries_end_and_others_are_answered(tmp_path: Path, text: str) -> None:
    limits = Limits(seconds=2.0, rows=1_000_000, query=1_000_000)
    with served(tmp_path / "data", limits=limits) as client:
        triples = "".join(f"<x:{n}> <x:p> <x:{(n + 1) % 300}> ." for n in range(300))
        client.put("/store?default", content=triples, headers={"Content-Type": "text/turtle"})
        with ThreadPoolExecutor(1) as pool:
            costly = pool.submit(client.post, "/sparql", data={"query": text})
            answered = 0
            while not costly.done() or not answered:
                assert client.get("/sparql", params={"query": "ASK {}"}).status_code == 200
                answered += 1
        answer = costly.result()
        assert answer.status_code in {200, 400, 413, 422, 504}, answer.text
        assert client.get("/sparql", params={"query": "ASK {}"}).status_code == 200
