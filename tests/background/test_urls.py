"""Which endpoints an allow-list lets through."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.background.config import Basic, Bearer, Credentials, ServiceConfig
from headrace.background.endpoint import EndpointClient
from headrace.background.errors import RefusedError
from headrace.background.urls import UrlError, normal
from headrace.errors import SettingError
from headrace.rdf.terms import Iri

CONFIG = ServiceConfig(
    allow=(
        "http://good.example",
        "https://data.example/sparql",
        "https://query.example:8443/a/",
        "http://[2001:db8::1]/sparql",
        "http://192.0.2.7/sparql",
        "http://keyed.example/sparql?key=1",
    )
)

ALLOWED = [
    "http://good.example",
    "http://good.example/",
    "http://good.example/any/path?with=query",
    "HTTP://GOOD.EXAMPLE/sparql",
    "http://good.example.",
    "http://good.example:80/sparql",
    "http://good.example:/sparql",
    "https://data.example/sparql",
    "https://data.example:443/sparql",
    "https://data.example/sparql/",
    "https://data.example/sparql/query?x=y",
    "https://data.example/sparql?default-graph-uri=http%3A%2F%2Fx",
    "https://query.example:8443/a/b",
    "http://[2001:DB8:0:0::1]/sparql",
    "http://192.0.2.7/sparql",
    "http://keyed.example/sparql?key=1",
    "http://keyed.example/sparql?key=1&more=2",
    "http://good.example/caf\u00e9",
]
REFUSED = [
    "http://good.example.evil/",
    "http://good.example.evil.com/sparql",
    "http://good.exampleevil/",
    "http://evil.good.example/",
    "http://evil/good.example",
    "http://evil/?http://good.example",
    "http://good.example:8080/",
    "http://good.example:0/",
    "http://good.example:99999/",
    "http://good.example:080000000000080/",
    "http://good.example:80:80/",
    "https://good.example/",
    "http://good.example@evil/",
    "http://good.example:80@evil/",
    "http://user@good.example/",
    "http://user:pass@good.example/",
    "http://@good.example/",
    "http://good.example%2eevil/",
    "http://good.example%00.evil/",
    "http://good.example\\@evil/",
    "http://good.example\\.evil/",
    "http://evil#@good.example/",
    "http://evil\\#good.example",
    "http://good.example/#fragment",
    "http:good.example/",
    "http:/good.example/",
    "http:///good.example/",
    "//good.example/",
    "good.example",
    "",
    "http://",
    "http:// good.example/",
    " http://good.example/",
    "http://good.example /",
    "http://good.example\t/",
    "http://good.example\r\nHost: evil/",
    "http://g\u00f6\u00f6d.example/",
    "http://good\u3002example/",
    "http://good..example/",
    "http://.good.example/",
    "http://-good.example/",
    "file:///etc/passwd",
    "file://good.example/etc/passwd",
    "ftp://good.example/",
    "gopher://good.example/",
    "unix:///var/run/docker.sock",
    "http+unix://good.example/",
    "javascript:alert(1)",
    "data:text/plain,a",
    "urn:good.example",
    "https://data.example/sparql-evil",
    "https://data.example/",
    "https://data.example/sparq",
    "https://data.example/sparql/../admin",
    "https://data.example/sparql/..%2fadmin",
    "https://data.example/sparql/%2e%2e/admin",
    "https://data.example/sparql/%252e%252e/admin",
    "https://data.example/sparql/..\\admin",
    "https://data.example/sparql/..;/admin",
    "https://data.example/./sparql",
    "https://query.example:8443/ab",
    "https://query.example/a/b",
    "http://[2001:db8::2]/sparql",
    "http://[::ffff:192.0.2.7]/sparql",
    "http://[2001:db8::1/sparql",
    "http://[2001:db8::1%25eth0]/sparql",
    "http://192.0.2.8/sparql",
    "http://192.0.519/sparql",
    "http://3221225991/sparql",
    "http://0xC0000207/sparql",
    "http://0300.0.2.7/sparql",
    "http://192.0.2.07/sparql",
    "http://192.0.2.7.evil/sparql",
    "http://keyed.example/sparql",
    "http://keyed.example/sparql?key=12",
    "http://keyed.example/sparql/x?key=1",
    "http://good.example/" + "a" * 3_000,
]


@pytest.fixture(scope="module")
def client() -> EndpointClient:
    def never(host: str, port: int, within: float) -> list[str]:
        raise AssertionError(f"looked up {host}:{port} within {within}")

    return EndpointClient(CONFIG, resolve=never)


@pytest.mark.parametrize("iri", ALLOWED)
def test_endpoints_below_an_allowed_prefix_are_admitted(client: EndpointClient, iri: str) -> None:
    assert client.admitted(Iri(iri)).scheme in {"http", "https"}


@pytest.mark.parametrize("iri", REFUSED)
def test_all_others_are_refused_before_anything_is_looked_up(
    client: EndpointClient, iri: str
) -> None:
    with pytest.raises(RefusedError) as caught:
        client.select(Iri(iri), "SELECT * {}")
    assert "user:pass" not in str(caught.value)
    assert caught.value.attempts == 0


def test_nothing_is_allowed_unless_configured() -> None:
    with pytest.raises(
        RefusedError, match=r"by a prefix of its IRI: --service-allow http://good\.example/$"
    ):
        EndpointClient(ServiceConfig()).admitted(Iri("http://good.example?key=secret"))


@given(st.text(max_size=40), st.sampled_from(["", "http://good.example", "http://", "https://"]))
def test_no_text_gets_to_another_host(text: str, start: str) -> None:
    try:
        url = normal(start + text)
    except UrlError:
        return
    assert normal(str(url)) == url, "the normal form is its own normal form"
    if CONFIG.allows(url):
        assert re.fullmatch(r"http://good\.example(/.*)?", str(url), re.DOTALL)


BAD_SETTINGS = [
    ({"allow": ("good.example",)}, "expected a prefix for an allowed endpoint"),
    ({"allow": ("http://*",)}, "expected a prefix for an allowed endpoint"),
    ({"allow": ("http://me:pw@good.example",)}, "credentials are configured apart"),
    ({"private": ("localhost",)}, "expected private addresses or networks"),
    ({"total": 0}, "expected a positive total"),
    ({"block": 0}, "expected a positive block"),
    ({"block": 10**6}, "at most 10,000 bindings"),
    ({"retries": -1}, "expected no negative retries"),
]


@pytest.mark.parametrize(("settings", "problem"), BAD_SETTINGS)
def test_settings_that_cannot_work_are_refused(settings: dict[str, object], problem: str) -> None:
    with pytest.raises(SettingError, match=re.escape(problem)):
        replace(ServiceConfig(), **settings)  # type: ignore[arg-type]  # wrong on purpose


def test_secrets_are_never_shown() -> None:
    config = ServiceConfig(
        credentials=(
            Credentials("http://a.example/", Basic("me", "hunter2")),
            Credentials("http://b.example/", Bearer("hunter2")),
        )
    )
    assert "hunter2" not in repr(config)
    assert "hunter2" not in str(config)
    assert "me" not in repr(Basic("me", "x")).removeprefix("Basic")


@pytest.mark.parametrize("secret", [Basic("a:b", "c"), Basic("a", "b\r\nX: y"), Bearer("\u00e9")])
def test_secrets_that_would_break_the_protocol_are_refused(secret: Basic | Bearer) -> None:
    with pytest.raises(SettingError) as caught:
        Credentials("http://a.example/", secret)
    assert "X: y" not in str(caught.value)


def test_the_longest_prefix_has_the_credentials() -> None:
    config = ServiceConfig(
        credentials=(
            Credentials("http://a.example/", Bearer("one")),
            Credentials("http://a.example/private", Bearer("two")),
        )
    )
    assert config.secret_for(normal("http://a.example/private/sparql")) == Bearer("two")
    assert config.secret_for(normal("http://a.example/public")) == Bearer("one")
    assert config.secret_for(normal("http://a.example.evil/")) is None
    assert config.secret_for(normal("https://a.example/")) is None
