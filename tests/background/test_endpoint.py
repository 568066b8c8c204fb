"""The client against a real server on loopback, in good days and bad."""

from __future__ import annotations

import gc
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from headrace.algebra.expressions import Operation, TriplePattern, Variable
from headrace.algebra.operators import Bgp, Filter, LeftJoin, Operator, Values
from headrace.background.blocks import blocks
from headrace.background.config import Basic, Bearer, Credentials, ServiceConfig
from headrace.background.endpoint import EndpointClient
from headrace.background.errors import RefusedError, ServiceError
from headrace.errors import UnsupportedError
from headrace.metering import EvaluationLimits, Meter, metered
from headrace.rdf.terms import BlankNode, Iri, Literal, QuotedTriple, Term
from headrace.rdf.vocabulary import XSD_INTEGER
from headrace.results.table import Table
from tests.background import endpoint_server as server
from tests.background.endpoint_server import Endpoint, Fault, Sleeps, serving

DATA = "".join(
    f"<http://x/s{n}> <http://x/value> {n} ; <http://x/next> <http://x/s{n + 1}> ; "
    f"<http://x/note> [] . "
    for n in range(120)
)
ALL = "SELECT ?s ?v WHERE { ?s <http://x/value> ?v }"
PATTERN = Bgp((TriplePattern(Variable("s"), Iri("http://x/value"), Variable("v")),))
NODES = Bgp((TriplePattern(Variable("s"), Iri("http://x/note"), Variable("n")),))


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serving(DATA) as running:
        yield running


def config(endpoint: Endpoint) -> ServiceConfig:
    return ServiceConfig(allow=(endpoint.iri,), private=("127.0.0.1",), backoff=0.001)


def number(value: int) -> Literal:
    return Literal(str(value), XSD_INTEGER)


def subject(value: int) -> Iri:
    return Iri(f"http://x/s{value}")


# -- good days -----------------------------------------------------------------------------


def test_a_pattern_is_evaluated_elsewhere(endpoint: Endpoint) -> None:
    with EndpointClient(config(endpoint)) as client:
        table = client.solutions(Iri(endpoint.iri), PATTERN)
    assert table.variables == ("s", "v")
    assert Counter(table.rows) == Counter((subject(n), number(n)) for n in range(120))


def test_bindings_are_sent_in_blocks_and_only_once(endpoint: Endpoint) -> None:
    rows = tuple((subject(n % 110), Literal("other")) for n in range(300))
    bindings = Table(("s", "unrelated"), rows)
    with EndpointClient(config(endpoint)) as client:
        table = client.solutions(Iri(endpoint.iri), PATTERN, bindings)
    assert Counter(table.rows) == Counter((subject(n), number(n)) for n in range(110))
    assert [seen.query.count("<http://x/s") for seen in endpoint.seen] == [50, 50, 10]
    assert "unrelated" not in endpoint.seen[0].query


def test_the_size_of_blocks_is_configured(endpoint: Endpoint) -> None:
    bindings = Table(("s",), tuple((subject(n),) for n in range(7)))
    with EndpointClient(replace(config(endpoint), block=3)) as client:
        assert len(client.solutions(Iri(endpoint.iri), PATTERN, bindings).rows) == 7
    assert len(endpoint.seen) == 3


def test_without_any_binding_nobody_is_asked(endpoint: Endpoint) -> None:
    with EndpointClient(config(endpoint)) as client:
        assert client.solutions(Iri(endpoint.iri), PATTERN, Table(("s",))) == Table(("s", "v"))
    assert endpoint.seen == []


def test_short_queries_go_by_get_and_long_ones_by_post(endpoint: Endpoint) -> None:
    with EndpointClient(replace(config(endpoint), url_characters=1_000)) as client:
        client.solutions(Iri(endpoint.iri), PATTERN)
        many = Table(("s",), tuple((subject(n),) for n in range(50)))
        client.solutions(Iri(endpoint.iri), PATTERN, many)
    assert [seen.method for seen in endpoint.seen] == ["GET", "POST"]


def test_an_endpoint_with_a_query_of_its_own_keeps_it(endpoint: Endpoint) -> None:
    for url_characters, method in ((2_000, "GET"), (0, "POST")):
        settings = replace(config(endpoint), url_characters=url_characters)
        with EndpointClient(settings) as client:
            client.solutions(Iri(endpoint.iri + "?api=1"), PATTERN)
        assert endpoint.seen[-1].method == method
        assert endpoint.seen[-1].parameters["api"] == ["1"]


def test_json_is_asked_for_first_and_xml_is_read_too(endpoint: Endpoint) -> None:
    with EndpointClient(config(endpoint)) as client:
        wanted = client.solutions(Iri(endpoint.iri), PATTERN)
        accepted = endpoint.seen[0].headers["Accept"]
        assert accepted.index(server.JSON) < accepted.index(server.XML)
        xml = (
            '<sparql xmlns="http://www.w3.org/2005/sparql-results#"><head><variable name="v"/>'
            '</head><results><result><binding name="v"><literal>a</literal></binding></result>'
            "</results></sparql>"
        )
        endpoint.faults = [server.body(xml, server.XML + "; charset=utf-8")]
        table = client.solutions(Iri(endpoint.iri), PATTERN)
        assert table == Table(("s", "v"), ((None, Literal("a")),))
    assert len(wanted.rows) == 120


def test_answers_may_be_compressed(endpoint: Endpoint) -> None:
    answer = b'{"head":{"vars":["s"]},"results":{"bindings":[{}]}}'
    endpoint.faults = [server.zipped(answer)]
    with EndpointClient(config(endpoint)) as client:
        assert client.solutions(Iri(endpoint.iri), PATTERN).rows == ((None, None),)


def test_blank_nodes_of_two_answers_are_two(endpoint: Endpoint) -> None:
    bindings = Table(("s",), ((subject(1),), (subject(2),)))
    with EndpointClient(replace(config(endpoint), block=1)) as client:
        table = client.solutions(Iri(endpoint.iri), NODES, bindings, scope="one")
    labels = [str(row[1]) for row in table.rows]
    assert labels[0].startswith("_:one-0.")
    assert labels[1].startswith("_:one-1.")


def test_a_pattern_without_variables_gives_rows_without_columns(endpoint: Endpoint) -> None:
    ground = Bgp((TriplePattern(subject(1), Iri("http://x/value"), Variable("_:b")),))
    with EndpointClient(config(endpoint)) as client:
        assert client.solutions(Iri(endpoint.iri), ground) == Table((), ((),))


def test_credentials_go_to_their_endpoint_only(endpoint: Endpoint) -> None:
    base = endpoint.iri.removesuffix("/sparql")
    settings = replace(
        config(endpoint),
        allow=(base,),
        credentials=(
            Credentials(base + "/basic", Basic("me", "p\u00e4ss")),
            Credentials(base + "/bearer", Bearer("token")),
        ),
    )
    with EndpointClient(settings) as client:
        for path in ("/basic", "/bearer/sparql", "/open"):
            client.select(Iri(base + path), ALL)
    sent = [seen.headers.get("Authorization") for seen in endpoint.seen]
    assert sent == ["Basic bWU6cMOkc3M=", "Bearer token", None]


def test_connections_are_kept_and_cookies_are_not(endpoint: Endpoint) -> None:
    empty = '{"head":{"vars":[]},"results":{"bindings":[]}}'
    endpoint.faults = [server.body(empty, Set_Cookie="a=b; Path=/")]
    with EndpointClient(config(endpoint)) as client:
        client.select(Iri(endpoint.iri), ALL)
        client.select(Iri(endpoint.iri), ALL)
    assert "Cookie" not in endpoint.seen[1].headers


def test_several_threads_may_ask_at_once(endpoint: Endpoint) -> None:
    found: list[int] = []
    with EndpointClient(config(endpoint)) as client:

        def ask() -> None:
            found.append(len(client.solutions(Iri(endpoint.iri), PATTERN).rows))

        threads = [threading.Thread(target=ask) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    assert found == [120] * 6


# -- what is sent --------------------------------------------------------------------------

OPTIONAL = LeftJoin(
    PATTERN, Bgp((TriplePattern(Variable("s"), Iri("http://x/next"), Variable("n")),))
)


def sent(pattern: Operator, bindings: Table) -> list[Values | None]:
    return list(blocks(pattern, bindings, 50))


def test_a_variable_that_is_unbound_somewhere_is_not_sent() -> None:
    rows: tuple[tuple[Term | None, ...], ...] = ((subject(1), number(1)), (subject(1), None))
    [block] = sent(PATTERN, Table(("s", "v"), rows))
    assert block == Values((Variable("s"),), ((subject(1),),))


def test_rows_that_bind_nothing_ask_for_everything() -> None:
    assert sent(PATTERN, Table(("s",), ((None,),))) == [None]
    assert sent(PATTERN, Table(("other",), ((subject(1),),))) == [None]
    assert sent(PATTERN, Table((), ((),))) == [None]


def test_local_blank_nodes_fit_nothing_elsewhere() -> None:
    about = QuotedTriple(BlankNode("b"), Iri("x:p"), Iri("x:o"))
    bindings = Table(("s",), ((BlankNode("b"),), (about,), (subject(1),)))
    [block] = sent(PATTERN, bindings)
    assert block == Values((Variable("s"),), ((subject(1),),))
    assert sent(PATTERN, Table(("s",), ((BlankNode("b"),),))) == []


def test_unless_the_pattern_may_leave_their_variable_unbound() -> None:
    assert sent(OPTIONAL, Table(("n",), ((BlankNode("b"),), (subject(1),)))) == [None]


# -- bad days ------------------------------------------------------------------------------

EMPTY = '{"head":{"vars":["s","v"]},"results":{"bindings":[]}}'
LASTING: dict[str, tuple[Fault, int | None, str]] = {
    "bad request": (server.status(400, "no such\x1b[31m function"), 400, "with 400: no such [31m"),
    "not found": (server.status(404), 404, "it answers with 404"),
    "unauthorised": (server.status(401), 401, "configure credentials for it"),
    "forbidden": (server.status(403), 403, "configure credentials for it"),
    "no content": (server.status(204), 204, "it answers with 204"),
    "redirect": (server.status(302, Location="http://127.0.0.1:9/"), 302, "are not followed"),
    "moved": (server.status(308, Location="http://good.example/"), 308, "are not followed"),
    "html": (server.body("<html>", "text/html"), 200, "found 'text/html'"),
    "no type": (server.body(EMPTY, ""), 200, "found 'no media type'"),
    "wrong json": (server.body('{"head": {}'), 200, "its answer is wrong: "),
    "not results": (server.body("[]"), 200, "expected an object of JSON for an answer"),
    "yes": (server.body('{"boolean": true}'), 200, "expected a table, found yes or no"),
    "other variables": (
        server.body('{"head":{"vars":["evil"]},"results":{"bindings":[]}}'),
        None,
        "expected only the variables that were asked for, found ?evil",
    ),
    "wrong xml": (server.body("<sparql", server.XML), 200, "its answer is wrong: "),
    "billion laughs": (server.body("<!DOCTYPE a>", server.XML), 200, "DOCTYPE"),
    "not utf-8": (lambda handler: handler.answer(b"\xff"), 200, "expected UTF-8"),
    "endless": (server.endless, 200, "its answer is larger than 1,000,000 bytes"),
    "bomb": (server.zipped(b" " * 50_000_000), 200, "larger than 1,000,000 bytes"),
    "not gzip": (server.body(EMPTY, Content_Encoding="gzip"), 200, "expected an answer in gzip"),
    "unknown coding": (server.zipped(b"", "br"), 200, "found 'br'"),
    "rows": (
        server.body('{"head":{"vars":[]},"results":{"bindings":[' + "{}," * 500 + "{}]}}"),
        200,
        "at most 500 rows",
    ),
}
PASSING: dict[str, tuple[Fault, int | None, str]] = {
    "500": (server.status(500, "oops"), 500, "it answers with 500: oops"),
    "503": (server.status(503), 503, "it answers with 503"),
    "429": (server.status(429), 429, "it answers with 429"),
    "reset": (server.reset, None, "it cannot be reached"),
    "truncated": (server.truncated, 200, "its answer is cut off"),
}


@pytest.mark.parametrize("kind", LASTING)
def test_failures_that_will_last_are_reported_at_once(endpoint: Endpoint, kind: str) -> None:
    endpoint.always, status, problem = LASTING[kind]
    settings = replace(config(endpoint), response_bytes=1_000_000, rows=500)
    started = time.monotonic()
    with EndpointClient(settings) as client, pytest.raises(ServiceError) as caught:
        client.solutions(Iri(endpoint.iri), PATTERN)
    assert time.monotonic() - started < 25  # a time-out would take 30
    assert problem in str(caught.value)
    assert caught.value.status == status
    assert caught.value.endpoint == endpoint.iri
    assert "\x1b" not in str(caught.value)
    assert len(endpoint.seen) == 1


@pytest.mark.parametrize("kind", PASSING)
def test_failures_that_may_pass_are_tried_again(endpoint: Endpoint, kind: str) -> None:
    fault, status, problem = PASSING[kind]
    sleeps = Sleeps()
    with EndpointClient(config(endpoint), sleep=sleeps) as client:
        endpoint.faults = [fault, fault]
        assert len(client.solutions(Iri(endpoint.iri), PATTERN).rows) == 120
        assert len(endpoint.seen) == 3
        endpoint.always = fault
        with pytest.raises(ServiceError) as caught:
            client.solutions(Iri(endpoint.iri), PATTERN)
    assert len(endpoint.seen) == 6
    assert caught.value.attempts == 3
    assert caught.value.status == status
    assert problem in str(caught.value)
    assert "asked 3 times" in str(caught.value)
    assert len(sleeps.waited) == 4


def test_waits_grow_and_are_the_same_in_a_replay(endpoint: Endpoint) -> None:
    endpoint.always = server.status(503)
    settings = replace(config(endpoint), retries=6, backoff=0.1, longest_backoff=0.8)
    waited = []
    for _ in range(2):
        sleeps = Sleeps()
        with EndpointClient(settings, sleep=sleeps) as client, pytest.raises(ServiceError):
            client.select(Iri(endpoint.iri), ALL)
        waited.append(sleeps.waited)
    assert waited[0] == waited[1]
    assert len(waited[0]) == 6
    for wait, most in zip(waited[0], (0.1, 0.2, 0.4, 0.8, 0.8, 0.8), strict=True):
        assert most / 2 <= wait <= most


def test_a_server_is_left_alone_for_as_long_as_it_asks(endpoint: Endpoint) -> None:
    sleeps = Sleeps()
    endpoint.faults = [server.status(429, Retry_After="7")]
    with EndpointClient(config(endpoint), sleep=sleeps) as client:
        client.select(Iri(endpoint.iri), ALL)
        assert sleeps.waited == [7.0]
        endpoint.faults = [server.status(429, Retry_After="3600")]
        with pytest.raises(ServiceError, match="it answers with 429"):
            client.select(Iri(endpoint.iri), ALL)
    assert len(endpoint.seen) == 3


@pytest.mark.parametrize("fault", [server.dripping_body, server.dripping_head, server.late(30)])
def test_slow_servers_are_given_up_in_time(endpoint: Endpoint, fault: Fault) -> None:
    endpoint.always = fault
    started = time.monotonic()
    settings = replace(config(endpoint), total=1.0)
    with (
        EndpointClient(settings) as client,
        pytest.raises(ServiceError, match="not answer in time"),
    ):
        client.solutions(Iri(endpoint.iri), PATTERN)
    assert 0.9 < time.monotonic() - started < 20  # 1.00 on an idle machine, and 30 if it waited


@pytest.mark.parametrize("fault", [server.dripping_body, server.dripping_head, server.late(30)])
def test_slow_servers_are_given_up_before_the_evaluation_ends(
    endpoint: Endpoint, fault: Fault
) -> None:
    endpoint.always = fault
    started = time.monotonic()
    with (
        EndpointClient(config(endpoint)) as client,
        metered(Meter(EvaluationLimits(seconds=2.0))) as meter,
    ):
        with pytest.raises(ServiceError, match="not answer in time"):
            client.solutions(Iri(endpoint.iri), PATTERN)
        meter.check("what follows")  # there is time left
    assert time.monotonic() - started > 1.5


def test_the_time_is_for_all_blocks_and_retries_together(endpoint: Endpoint) -> None:
    endpoint.always = server.late(0.3)
    bindings = Table(("s",), tuple((subject(n),) for n in range(100)))
    settings = replace(config(endpoint), block=10)
    started = time.monotonic()
    with (
        EndpointClient(settings) as client,
        pytest.raises(ServiceError, match="not answer in time"),
    ):
        client.solutions(Iri(endpoint.iri), PATTERN, bindings, within=1.0)
    assert time.monotonic() - started > 0.9
    assert 1 <= len(endpoint.seen) <= 4  # of ten


def test_rows_of_all_blocks_together_are_limited(endpoint: Endpoint) -> None:
    bindings = Table(("s",), tuple((subject(n),) for n in range(100)))
    settings = replace(config(endpoint), rows=60)
    with EndpointClient(settings) as client, pytest.raises(ServiceError, match="than 60 rows"):
        client.solutions(Iri(endpoint.iri), PATTERN, bindings)


def test_nobody_listening(endpoint: Endpoint) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    iri = f"http://127.0.0.1:{port}/"
    settings = ServiceConfig(allow=(iri,), private=("127.0.0.1",), backoff=0.0)
    with EndpointClient(settings) as client, pytest.raises(ServiceError, match="be reached"):
        client.select(Iri(iri), ALL)
    assert endpoint.seen == []


def test_clients_leave_nothing_open(endpoint: Endpoint) -> None:
    for fault in (server.reset, server.truncated, server.status(500), None):
        endpoint.faults = [] if fault is None else [fault]
        with EndpointClient(replace(config(endpoint), retries=0)) as client:
            try:
                client.select(Iri(endpoint.iri), ALL)
            except ServiceError:
                assert fault is not None
    gc.collect()  # a socket left open would be a warning, and so an error


@dataclass(frozen=True)
class Always:
    """Every host has this address."""

    address: str

    def __call__(self, host: str, port: int, within: float) -> list[str]:
        assert within > 0, f"no time left to look up {host}:{port}"
        return [self.address]


# -- who may be asked ----------------------------------------------------------------------


def test_loopback_is_refused_unless_it_is_named(endpoint: Endpoint) -> None:
    unnamed = replace(config(endpoint), private=())
    with EndpointClient(unnamed) as client, pytest.raises(RefusedError, match="is not public"):
        client.select(Iri(endpoint.iri), ALL)
    assert endpoint.seen == []


def test_a_name_that_leads_to_a_private_address_is_refused(endpoint: Endpoint) -> None:
    port = endpoint.server_address[1]
    iri = f"http://rebound.example:{port}/sparql"
    settings = ServiceConfig(allow=(iri,))
    for address in ("127.0.0.1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "169.254.169.254"):
        client = EndpointClient(settings, resolve=Always(address))
        with client, pytest.raises(RefusedError, match="is not public"):
            client.select(Iri(iri), ALL)
    assert endpoint.seen == []


def test_the_checked_address_is_the_one_connected_to(endpoint: Endpoint) -> None:
    # The name changes its meaning after it was checked: it is not looked up a second time.
    answers = [["127.0.0.1"], ["169.254.169.254"]]
    port = endpoint.server_address[1]
    iri = f"http://rebinding.example:{port}/sparql"
    settings = ServiceConfig(allow=(iri,), private=("127.0.0.1",))
    with EndpointClient(settings, resolve=lambda *_: answers.pop(0)) as client:
        assert len(client.select(Iri(iri), ALL).rows) == 120
    assert len(answers) == 1
    assert endpoint.seen[0].headers["Host"] == f"rebinding.example:{port}"


def test_proxies_of_the_environment_are_not_asked(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with EndpointClient(config(endpoint)) as client:
        assert len(client.select(Iri(endpoint.iri), ALL).rows) == 120


def test_a_bound_endpoint_is_checked_like_a_constant_one(endpoint: Endpoint) -> None:
    with EndpointClient(config(endpoint)) as client:
        for iri in ("http://evil.example/", endpoint.iri + "2", "file:///etc/passwd"):
            with pytest.raises(RefusedError):
                client.solutions(Iri(iri), PATTERN)
    assert endpoint.seen == []


def test_what_cannot_be_sent_is_refused_before_anything_is(endpoint: Endpoint) -> None:
    local = Filter(Operation("=", (Variable("s"), BlankNode("b"))), PATTERN)
    client = EndpointClient(config(endpoint))
    with client, pytest.raises(UnsupportedError, match="blank node _:b means nothing to a remote"):
        client.solutions(Iri(endpoint.iri), local)
    assert endpoint.seen == []


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate")
def test_certificates_are_checked_against_the_name_and_not_the_address(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    names = "subjectAltName=DNS:secure.example"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj"]
    command += ["/CN=secure.example", "-addext", names, "-keyout", str(key)]
    subprocess.run([*command, "-out", str(certificate)], check=True, capture_output=True)
    offered = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    offered.load_cert_chain(certificate, key)
    with serving(DATA) as endpoint:
        endpoint.socket = offered.wrap_socket(endpoint.socket, server_side=True)
        port = endpoint.server_address[1]
        good, other = (f"https://{name}.example:{port}/" for name in ("secure", "other"))
        settings = ServiceConfig(allow=(good, other), private=("127.0.0.1",), retries=0)
        trusting = ssl.create_default_context(cafile=str(certificate))
        with EndpointClient(settings, resolve=Always("127.0.0.1"), tls=trusting) as client:
            assert len(client.select(Iri(good), ALL).rows) == 120
            with pytest.raises(ServiceError, match="certificate verify failed"):
                client.select(Iri(other), ALL)
        suspicious = EndpointClient(settings, resolve=Always("127.0.0.1"))
        with suspicious, pytest.raises(ServiceError, match="certificate verify failed"):
            suspicious.select(Iri(good), ALL)
