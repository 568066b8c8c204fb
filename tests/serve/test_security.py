"""Attacks on the server, each of which must be refused. docs/security.md names these tests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient, WebSocketDenialResponse

from headrace.background.config import Bearer, Credentials, ServiceConfig
from headrace.errors import SettingError
from headrace.serve.auth import changes
from headrace.serve.limits import Limits
from headrace.serve.openapi import document
from headrace.serve.routes import OPERATIONS
from headrace.serve.settings import Settings, token_of
from tests.serve.attacks import listener
from tests.serve.clients import CARS, COUNT, passages, push, register, served, socket, with_cars
from tests.shared import ROOT

TOKEN, READER = "canary-token-0123456789", "canary-reader-0123456789"
ENDPOINT_TOKEN = "canary-endpoint-0123456789"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("security")
    with served(folder / "data", limits=Limits(seconds=20.0)) as found:
        with_cars(found)
        push(found, passages(0, 4))
        yield found


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("guarded")
    with served_with_tokens(folder / "data") as found:
        yield found


@contextmanager
def served_with_tokens(location: Path, **options: Any) -> Iterator[TestClient]:
    tokens = {"token": TOKEN, "read_token": READER}
    with served_quietly(location, **tokens, **options) as found:
        yield found


@contextmanager
def served_quietly(location: Path, **options: Any) -> Iterator[TestClient]:
    from headrace.serve.app import application

    own = Settings(location, interval=0.02, **options)
    with TestClient(application(own), base_url="http://127.0.0.1:7870") as client:
        yield client


# -- S3, S4: nothing is fetched ------------------------------------------------------------------


def _addresses(port: int) -> list[str]:
    hosts = [
        "127.0.0.1", "localhost", "127.1", "0", "0.0.0.0", "2130706433", "0x7f000001",
        "017700000001",
        "127.0.0.1.", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[0:0:0:0:0:ffff:7f00:1]",
        "[64:ff9b::7f00:1]", "169.254.169.254", "[fe80::1]", "10.0.0.1",
        "192.168.0.1", "172.16.0.1",
        "metadata.google.internal", "user:pass@127.0.0.1", "example.org@127.0.0.1",
        "127.0.0.1%00", "①②⑦.⓪.⓪.①", "127.0.1", "0177.0.0.1", "0x7f.0.0.1", "0x7f.1",
        "00000127.0.0.1", "127.127.127.127", "[::127.0.0.1]", "[2002:7f00:1::]", "[::1%25lo]",
        "localhost.", "LOCALHOST", "localhost.localdomain", "ip6-localhost", "127。0。0。1",
        "100.64.0.1", "198.18.0.1", "224.0.0.1", "255.255.255.255", "[fc00::1]", "[ff02::1]",
    ]  # fmt: skip
    ways = [f"http://{host}:{port}/sparql" for host in hosts]
    ways += [f"https://127.0.0.1:{port}/", f"http://127.0.0.1:{port}/#http://allowed.example/"]
    ways += [f"http://127.0.0.1:{port}/?x=http://allowed.example/"]
    ways += ["file:///etc/passwd", "gopher://127.0.0.1:70/", "ftp://127.0.0.1/", "unix:/run/x.sock"]
    return ways


def test_service_reaches_nobody_who_is_not_allowed(client: TestClient) -> None:
    with listener() as (port, seen):
        for address in _addresses(port):
            for text in (
                f"SELECT * {{ SERVICE <{address}> {{ ?s ?p ?o }} }}",
                f"SELECT * {{ BIND(IRI('{address}') AS ?u) SERVICE ?u {{ ?s ?p ?o }} }}",
                f"SELECT * {{ VALUES ?u {{ <{address}> }} SERVICE ?u {{ ?s ?p ?o }} }}",
            ):
                answer = client.get("/sparql", params={"query": text})
                assert answer.status_code in {400, 403, 422}, (address, answer.text)
    assert seen == []
    assert len(_addresses(1)) >= 50


def test_an_allowed_prefix_does_not_allow_its_neighbours(tmp_path: Path) -> None:
    with listener() as (port, seen):
        allowed = ServiceConfig(allow=("http://allowed.example/sparql/",))
        with served(tmp_path / "data", services=allowed) as client:
            for address in (
                f"http://allowed.example.evil.example:{port}/sparql/",
                f"http://allowed.example@127.0.0.1:{port}/sparql/",
                f"http://127.0.0.1:{port}/http://allowed.example/sparql/",
            ):
                text = f"SELECT * {{ SERVICE <{address}> {{ ?s ?p ?o }} }}"
                assert client.get("/sparql", params={"query": text}).status_code == 403
        assert seen == []


def test_nothing_else_is_fetched(client: TestClient) -> None:
    with listener() as (port, seen):
        there = f"http://127.0.0.1:{port}/x"
        for text in (f"LOAD <{there}>", f"LOAD <{there}> INTO GRAPH <x:g>", "LOAD <file:///x>"):
            answer = client.post(
                "/sparql", content=text, headers={"Content-Type": "application/sparql-update"}
            )
            assert answer.status_code == 501
            assert client.get("/sparql", params={"query": text}).status_code in {400, 422}
        for text in (f"SELECT * FROM <{there}> {{ ?s ?p ?o }}", f"DESCRIBE <{there}>"):
            assert client.get("/sparql", params={"query": text}).status_code == 200
        params = {"query": "SELECT * { ?s ?p ?o }", "default-graph-uri": there}
        assert client.get("/sparql", params=params).json()["results"]["bindings"] == []
        context = json.dumps({"@context": there, "@id": "x:a", "x:b": "c"})
        headers = {"Content-Type": "application/ld+json"}
        pushed = client.post("/streams/cars?at=1", content=context, headers=headers)
        assert pushed.status_code == 400
        put = client.put("/store?default", content=context, headers=headers)
        assert put.status_code == 400
    assert seen == []


# -- S7: pages of other sites --------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example"}, 421),
        ({"Host": "localhost.evil.example:7870"}, 421),
        ({"Host": ""}, 421),
        ({"Host": "[::1"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:9999"}, 403),
        ({"Origin": "file://"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 403),
    ],
)
@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded"])
def test_pages_of_others_are_refused(
    client: TestClient, method: str, headers: dict[str, str], status: int, media_type: str
) -> None:
    for path in ("/sparql", "/queries", "/streams/cars", "/store", "/status"):
        answer = client.request(method, path, headers={"Content-Type": media_type, **headers})
        assert answer.status_code == status, path
        assert "access-control-allow-origin" not in answer.headers


def test_own_pages_and_tools_are_let_in(client: TestClient) -> None:
    for headers in (
        {},
        {"Origin": "http://127.0.0.1:7870", "Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
        {"Host": "localhost:7870"},
        {"Host": "[::1]:7870"},
    ):
        assert client.get("/status", headers=headers).status_code == 200, headers
    link = {
        "Sec-Fetch-Site": "cross-site",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Dest": "document",
    }
    assert client.get("/", headers=link).status_code == 200
    assert client.get("/status", headers=link).status_code == 403


@pytest.mark.parametrize("path", ["/streams/cars/socket", "/queries/none/socket"])
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Host": "evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_sockets_of_others_are_refused(
    client: TestClient, path: str, headers: dict[str, str]
) -> None:
    with pytest.raises(WebSocketDenialResponse), socket(client, path, headers=headers):
        pass


def test_preflights_are_not_granted(client: TestClient) -> None:
    headers = {"Origin": "http://evil.example", "Access-Control-Request-Method": "PUT"}
    answer = client.options("/store", headers=headers)
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


# -- S8: paths -----------------------------------------------------------------------------------

PARTS = st.sampled_from(
    ["..", ".", "/", "\\", "%2e", "%2f", "a", "etc", "passwd", "\x00", "~", "C:"]
)


@settings(
    max_examples=1_000, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(PARTS, min_size=1, max_size=8).map("".join))
def test_no_name_leaves_the_location(guarded: TestClient, name: str) -> None:
    own = {"Authorization": f"Bearer {TOKEN}"}
    path = quote(name, safe="/%.\\~")
    for url in (f"/console/{path}", f"/streams/{path}", f"/queries/{path}/results"):
        answer = guarded.get(url, headers=own)
        assert answer.status_code in {200, 400, 404, 405}
        assert "root:" not in answer.text
    made = guarded.post("/streams", json={"name": name}, headers=own)
    assert made.status_code in {200, 201, 400}
    if made.status_code == 201:
        assert guarded.delete(f"/streams/{name}", headers=own).status_code == 204


def test_names_are_no_paths(tmp_path: Path) -> None:
    with served(tmp_path / "data") as client:
        client.put("/streams/aux", json={"iri": "file:///etc/passwd"})
        headers = {"Content-Type": "text/turtle"}
        graph = "file:///../../../../tmp/headrace-attack"
        client.put("/store", params={"graph": graph}, content="<x:a> <x:b> 1 .", headers=headers)
    inside = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert all(path.is_relative_to(tmp_path / "data") for path in inside)
    assert not any("passwd" in path.name or "attack" in path.name for path in inside)


# -- S9: nothing is run by a browser -------------------------------------------------------------

SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(1)>"


def test_answers_cannot_be_taken_for_pages(client: TestClient) -> None:
    literal = json.dumps(SCRIPT)
    text = f"SELECT ?s {{ VALUES ?s {{ {literal} <javascript:alert(1)> }} }}"
    for accept in (None, "application/sparql-results+xml", "text/csv", "text/html"):
        headers = {} if accept is None else {"Accept": accept}
        answer = client.get("/sparql", params={"query": text}, headers=headers)
        assert "html" not in answer.headers["content-type"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
    xml = client.get(
        "/sparql", params={"query": text}, headers={"Accept": "application/sparql-results+xml"}
    )
    assert "<script>" not in xml.text
    wrong = client.get("/sparql", params={"query": SCRIPT})
    assert wrong.headers["content-type"] == "application/problem+json"
    assert client.get(f"/streams/{quote(SCRIPT, safe='')}").status_code == 404


def test_drawn_plans_have_no_scripts(client: TestClient) -> None:
    text = COUNT.replace("?gate :registers ?car", f"?gate :registers ?car . ?gate ?p '{SCRIPT}'")
    drawn = client.post(
        "/explain", content=text, params={"format": "svg"}, headers={"Content-Type": "text/plain"}
    )
    assert drawn.status_code == 200, drawn.text
    assert "<script" not in drawn.text
    assert "<img" not in drawn.text
    assert "sandbox" in drawn.headers["content-security-policy"]


def test_the_page_runs_own_scripts_only(client: TestClient) -> None:
    policy = client.get("/").headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe-eval" not in policy


# -- S11: tokens ---------------------------------------------------------------------------------


def test_a_server_for_others_needs_a_token(tmp_path: Path) -> None:
    for host in ("0.0.0.0", "::", "192.168.1.7", "example.org"):
        with pytest.raises(SettingError, match="token"):
            Settings(tmp_path, host=host)
    with pytest.raises(SettingError, match="16 or more"):
        Settings(tmp_path, host="0.0.0.0", token="short")
    with pytest.raises(SettingError, match="the same as the other one"):
        Settings(tmp_path, token=TOKEN, read_token=TOKEN)
    assert Settings(tmp_path, host="0.0.0.0", token=TOKEN)


def test_a_file_without_a_token_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "noise").write_bytes(b"\xff\xfe\x00\x80 and more than sixteen")
    with pytest.raises(SettingError, match="noise' is not text"):
        token_of("--token", f"@{tmp_path / 'noise'}", "HEADRACE_TOKEN")
    with pytest.raises(SettingError, match="which --token or HEADRACE_TOKEN names"):
        token_of("--token", "@", "HEADRACE_TOKEN")


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: f"{each.method} {each.path}")
@pytest.mark.parametrize("given_token", [None, "wrong", TOKEN[:-1], TOKEN + "x", "é", ""])
def test_every_path_needs_the_token(
    guarded: TestClient, operation: Any, given_token: str | None
) -> None:
    path = operation.path.replace("{name}", "any")
    given_header = None if given_token is None else f"Bearer {given_token}".encode()
    headers = {} if given_header is None else {b"Authorization": given_header}
    answer = guarded.request(operation.method, path, headers=headers)
    assert answer.status_code == (200 if path == "/healthz" else 401)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: f"{each.method} {each.path}")
def test_who_only_reads_changes_nothing(guarded: TestClient, operation: Any) -> None:
    path = operation.path.replace("{name}", "any")
    if path == "/status/events":
        return  # it never ends
    headers = {"Authorization": f"Bearer {READER}"}
    answer = guarded.request(operation.method, path, headers=headers)
    forbidden = changes({"type": "http", "method": operation.method, "path": path})
    assert (answer.status_code == 403) is forbidden, answer.text
    assert forbidden is (
        operation.method not in {"GET", "HEAD"} and path not in {"/sparql", "/check", "/explain"}
    )


def test_sockets_need_the_token_too(guarded: TestClient) -> None:
    own = {"Authorization": f"Bearer {TOKEN}"}
    guarded.put("/streams/any", json={}, headers=own)
    for protocols in ([], ["headrace"], ["headrace", "bearer.wrong"], [f"bearer.{READER}"]):
        with (
            pytest.raises(WebSocketDenialResponse),
            socket(guarded, "/streams/any/socket", subprotocols=protocols),
        ):
            pass
    with socket(
        guarded, "/streams/any/socket", subprotocols=["headrace", f"bearer.{TOKEN}"]
    ) as opened:
        assert opened.accepted_subprotocol == "headrace"


def test_tokens_are_compared_in_constant_time(
    guarded: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def noting(given: bytes, known: bytes) -> bool:
        compared.append((given, known))
        return given == known

    monkeypatch.setattr("headrace.serve.auth.hmac.compare_digest", noting)
    guarded.get("/status", headers={"Authorization": "Bearer wrong"})
    assert compared == [(b"wrong", TOKEN.encode()), (b"wrong", READER.encode())]


def test_the_document_describes_every_path() -> None:
    paths = document("http://127.0.0.1")["paths"]
    described = {(method.upper(), path) for path, of in paths.items() for method in of}
    assert described == {(each.method, each.path) for each in OPERATIONS}


# -- S14: secrets --------------------------------------------------------------------------------


def test_secrets_are_nowhere(tmp_path: Path) -> None:
    endpoint = "http://secret.example/sparql"
    services = ServiceConfig(
        allow=(endpoint,), credentials=(Credentials(endpoint, Bearer(ENDPOINT_TOKEN)),)
    )
    own = {"Authorization": f"Bearer {TOKEN}"}
    with served_with_tokens(tmp_path / "data", services=services) as client:
        client.headers.update(own)
        with_cars(client)
        register(client, COUNT, name="gates")
        push(client, passages(0, 8))
        client.get("/sparql", params={"query": f"ASK {{ SERVICE <{endpoint}> {{ ?s ?p ?o }} }}"})
        said = "".join(
            client.get(path).text
            for path in ("/status", "/metrics", "/openapi.json", "/queries/gates/plan", "/queries")
        )
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    for secret in (TOKEN, READER, ENDPOINT_TOKEN):
        assert secret not in said
        assert secret.encode() not in kept
    assert TOKEN not in repr(Settings(tmp_path, token=TOKEN, read_token=READER))


def test_files_are_for_the_owner_only(tmp_path: Path) -> None:
    with served(tmp_path / "data") as client:
        with_cars(client)
        push(client, passages(0, 3))
        folders = [path for path in (tmp_path / "data").iterdir() if path.is_dir()]
        files = [tmp_path / "data" / "catalogue.json", tmp_path / "data" / "results.ndjson"]
        assert all(path.stat().st_mode & 0o077 == 0 for path in (*folders, *files))


# -- S16 ----------------------------------------------------------------------------------------


def test_nothing_from_the_network_is_unpickled() -> None:
    for module in (ROOT / "src" / "headrace" / "serve").rglob("*.py"):
        text = module.read_text("utf-8")
        for word in ("pickle", "marshal", "eval(", "exec(", "yaml", "subprocess", "os.system"):
            if word not in ALLOWED.get(module.name, ()):
                assert word not in text, f"{module} has {word}"


ALLOWED = {
    "worker_pool.py": ("subprocess",),
    "sparql_messages.py": ("pickle",),
    "sparql_worker.py": ("pickle",),
}
"""The server sends pickles to the processes that evaluate queries, and reads none."""


def test_the_server_reads_no_pickles() -> None:
    loading = [
        module.name
        for module in (ROOT / "src" / "headrace" / "serve").rglob("*.py")
        if "pickle.load" in module.read_text("utf-8")
    ]
    assert loading == ["sparql_worker.py"]
    others = (ROOT / "src" / "headrace" / "serve").rglob("*.py")
    assert not [each for each in others if "import sparql_worker" in each.read_text("utf-8")]


PAYLOADS = [
    "x:g> { ?s ?p ?o } } #", "x:g> } UNION { ?s ?p ?o", "x:g>; DROP ALL", "x:g\n} { ?s",
    "x:g> FROM <x:h",
    "'\"><", "x:g}%3E", "x:g\u0000", "x:g\\u003E",
]  # fmt: skip


@pytest.mark.parametrize("payload", PAYLOADS)
def test_parameters_are_never_part_of_a_query(client: TestClient, payload: str) -> None:
    for name in ("default-graph-uri", "named-graph-uri"):
        params = {"query": "SELECT * { ?s ?p ?o }", name: payload}
        answer = client.get("/sparql", params=params)
        assert answer.status_code in {200, 400}
        assert answer.status_code == 400 or answer.json()["results"]["bindings"] == []
    stream = client.put("/streams/injected", json={"iri": payload})
    if stream.status_code == 201:
        assert stream.json()["iri"] == payload
        client.delete("/streams/injected")
    named = client.post("/queries", json={"text": COUNT, "name": payload})
    assert named.status_code == 400


def test_a_stream_is_read_by_its_own_name_only(client: TestClient) -> None:
    text = f"SELECT * {{ GRAPH <{CARS}> {{ ?s ?p ?o }} }}"
    found = client.get("/sparql", params={"query": text}).json()["results"]["bindings"]
    assert len(found) == 4


def test_every_test_that_the_page_of_threats_names_is_there() -> None:
    page = (ROOT / "docs" / "security.md").read_text("utf-8")
    defined = "".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    files = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    named = set(re.findall(r"`(?:[\w/]*/)?(test_\w+(?:\.py)?)`", page))
    assert len(named) > 40
    for each in named:
        assert each in files if each.endswith(".py") else f"def {each}(" in defined, each
