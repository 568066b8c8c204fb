"""URLs of sources are read as they are written, and never shown with their password."""

from __future__ import annotations

import pytest

from headrace.errors import SettingError
from headrace.ingest.urls import parse_url

PORTS = {"mqtt": 1883, "tcp": None}


@pytest.mark.parametrize(
    ("text", "host", "port", "path"),
    [
        ("mqtt://broker/a", "broker", 1883, "a"),
        ("mqtt://broker:99/a/b", "broker", 99, "a/b"),
        ("mqtt://broker//a", "broker", 1883, "/a"),
        ("mqtt://broker/a/+/c/#", "broker", 1883, "a/+/c/#"),
        ("mqtt://broker/a/%2B/c/%23", "broker", 1883, "a/+/c/#"),
        ("mqtt://broker/what%3F", "broker", 1883, "what?"),
        ("mqtt://[::1]:5/a", "::1", 5, "a"),
        ("mqtt://user@broker/a@b", "broker", 1883, "a@b"),
        ("tcp://127.0.0.1:5", "127.0.0.1", 5, ""),
        ("tcp://127.0.0.1:5/", "127.0.0.1", 5, ""),
    ],
)
def test_where_to_connect_to(text: str, host: str, port: int, path: str) -> None:
    url = parse_url(text, PORTS, ())
    assert (url.host, url.port, url.path) == (host, port, path)


def test_options_follow_a_topic_with_a_number_sign() -> None:
    url = parse_url("mqtt://b/a/#?qos=0&type=application/ld+json", PORTS, ("qos", "type"))
    assert url.path == "a/#"
    assert url.options == {"qos": "0", "type": "application/ld+json"}


def test_a_password_is_read_and_not_shown() -> None:
    url = parse_url("mqtt://me:pa%40ss@broker/a", PORTS, ())
    assert (url.user, url.password) == ("me", "pa@ss")
    assert "pa@ss" not in f"{url} {url!r}"


@pytest.mark.parametrize(
    "text",
    ["mqtt:broker/a", "http://me:pass@broker/a", "mqtt://me:pass@/a", "mqtt://me:pass@b:0/a"],
)
def test_what_is_wrong_is_shown_without_a_password(text: str) -> None:
    with pytest.raises(SettingError) as error:
        parse_url(text, PORTS, ())
    assert "pass" not in str(error.value)


@pytest.mark.parametrize("text", ["tcp://host", "tcp://host:65536", "tcp://host:0"])
def test_a_port_is_needed_where_there_is_no_usual_one(text: str) -> None:
    with pytest.raises(SettingError, match="port from 1 to 65,535"):
        parse_url(text, PORTS, ())


def test_an_unknown_option_is_named_with_what_is_near() -> None:
    with pytest.raises(SettingError, match="found 'tipe'; did you mean 'type'"):
        parse_url("mqtt://b/a?tipe=text/turtle", PORTS, ("qos", "type"))
