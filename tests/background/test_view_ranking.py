"""Which mappings WBM refreshes: by the window that binds the key, and by evaluations."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from headrace import Engine
from headrace.background.config import ServiceConfig
from headrace.dialects import parse
from headrace.freshness.policies import Sliding
from headrace.kernel.needed import Used
from headrace.planning.contracts import Contract
from headrace.planning.plan import make_plan

from .endpoint_server import Endpoint, serving

SECOND = 1_000_000
LONG, SHORT = "http://example.org/long", "http://example.org/short"
TWO = (
    f"FROM NAMED WINDOW <w:long> ON <{LONG}> [RANGE PT1M STEP PT10S] "
    f"FROM NAMED WINDOW <w:short> ON <{SHORT}> [RANGE PT4S STEP PT1S] "
)
ASK = "SERVICE <http://e/> [BUDGET 1] { ?u <p:n> ?n }"


def contract_of(text: str) -> Contract:
    [contract] = make_plan(parse(text).query).contracts
    return contract


@pytest.mark.parametrize(
    ("text", "window"),
    [
        (f"{TWO} WHERE {{ WINDOW <w:short> {{ ?u <p:m> ?x }} WINDOW <w:long> {{ ?y <p:k> ?z }} "
         f"{ASK} }}", Sliding(4 * SECOND, SECOND)),
        (f"{TWO} WHERE {{ WINDOW <w:long> {{ ?u <p:m> ?x }} WINDOW <w:short> {{ ?y <p:k> ?z }} "
         f"{ASK} }}", Sliding(60 * SECOND, SECOND)),
        (f"{TWO} WHERE {{ WINDOW <w:long> {{ ?u <p:m> ?x {ASK} }} }}",
         Sliding(60 * SECOND, SECOND)),
        (f"{TWO} WHERE {{ WINDOW ?w {{ ?u <p:m> ?x }} {ASK} }}", Sliding(4 * SECOND, SECOND)),
        ("FROM STREAM <s> [RANGE 4s STEP 1s] { ?u <p:m> ?x " + ASK + " }",
         Sliding(4 * SECOND, SECOND)),
    ],
)  # fmt: skip
def test_the_window_is_the_one_that_binds_the_key(text: str, window: Sliding) -> None:
    assert contract_of("SELECT * " + text).window == window


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("REGISTER QUERY q COMPUTED EVERY 4s AS SELECT * FROM STREAM <s> [RANGE 10s STEP 2s]",
         Sliding(10 * SECOND, 4 * SECOND)),
        ("REGISTER QUERY q COMPUTED EVERY 1s AS SELECT * FROM STREAM <s> [RANGE 4s TUMBLING]",
         Sliding(4 * SECOND, SECOND)),
        ("REGISTER QUERY q COMPUTED EVERY 9s AS SELECT * FROM STREAM <s> [RANGE 4s STEP 1s]",
         Sliding(4 * SECOND, 9 * SECOND)),
    ],
)  # fmt: skip
def test_evaluations_are_counted_where_they_have_a_period(text: str, window: Sliding) -> None:
    assert contract_of(f"{text} {{ ?u <p:m> ?x {ASK} }}").window == window


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serving("".join(f"<u:{user}> <p:n> {user} .\n" for user in range(9))) as found:
        yield found


def lives(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> list[dict[int, int]]:
    """In each evaluation, in how many more of them each user is used."""
    found: list[dict[int, int]] = []
    of = Used.of.__func__  # type: ignore[attr-defined]  # a method of the class

    def noted(cls: type[Used], contract: Contract, *others: object) -> Used:
        used: Used = of(cls, contract, *others)
        window, now = contract.window, others[1].now  # type: ignore[attr-defined]  # a Moment
        left = -((now - used.entered - window.width) // window.slide)
        terms = engine.around().dictionary.terms(used.keys["?u"])
        users = [int(re.findall(r"\d+", str(term))[0]) for term in terms]
        found.append(dict(zip(users, left.tolist(), strict=True)))
        return used

    monkeypatch.setattr(Used, "of", classmethod(noted))
    return found


def opened(endpoint: Endpoint, text: str) -> Engine:
    engine = Engine(services=ServiceConfig((endpoint.iri,), ("127.0.0.1",)))
    for stream in (LONG, SHORT):
        if stream in text:
            engine.stream(stream)
    engine.register(text.replace("http://e/", endpoint.iri))
    return engine


def test_how_long_a_key_stays_follows_its_own_window(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        f"SELECT * {TWO} WHERE {{ WINDOW <w:short> {{ ?u <p:m> ?x }} "
        f"WINDOW <w:long> {{ ?y <p:k> ?z }} {ASK} }}"
    )
    engine = opened(endpoint, text)
    found = lives(engine, monkeypatch)
    engine.stream(LONG).push("<x:y> <p:k> <x:z> .", at=500)
    for user, at in ((1, 17_500), (2, 18_500), (3, 19_500)):
        engine.stream(SHORT).push(f"<u:{user}> <p:m> <x:p> .", at=at)
    for stream in (SHORT, LONG):
        engine.stream(stream).push("<x:a> <x:tick> <x:b> .", at=20_050)
    engine.step()
    assert found[-1] == {1: 2, 2: 3, 3: 4}
    engine.static.close()


def test_a_key_that_two_windows_bind_leaves_with_the_first(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        f"SELECT * {TWO} WHERE {{ WINDOW <w:short> {{ ?u <p:m> ?x }} "
        f"WINDOW <w:long> {{ ?u <p:k> ?z }} {ASK} }}"
    )
    engine = opened(endpoint, text)
    found = lives(engine, monkeypatch)
    for user in (1, 2):
        engine.stream(LONG).push(f"<u:{user}> <p:k> <x:z> .", at=500 + 3000 * user)
    engine.stream(SHORT).push("<u:1> <p:m> <x:p> .", at=17_500)
    engine.stream(SHORT).push("<u:2> <p:m> <x:p> .", at=19_500)
    for stream in (SHORT, LONG):
        engine.stream(stream).push("<x:a> <x:tick> <x:b> .", at=20_050)
    engine.step()
    assert found[-1] == {1: 2, 2: 4}
    engine.static.close()


@pytest.mark.parametrize(
    ("every", "frame", "expected"),
    [
        (4, "RANGE 10s STEP 2s", {1: 1, 2: 2, 3: 3}),
        (1, "RANGE 10s STEP 2s", {1: 4, 2: 6, 3: 10}),
        (1, "RANGE 4s TUMBLING", {3: 4}),
    ],
)
def test_how_many_evaluations_a_key_stays_for(
    endpoint: Endpoint,
    monkeypatch: pytest.MonkeyPatch,
    every: int,
    frame: str,
    expected: dict[int, int],
) -> None:
    """At 20 s: elements of 13.5, 15.5 and 19.5 s, in windows that end at 24, 26 and 30 s."""
    text = (
        f"REGISTER QUERY q COMPUTED EVERY {every}s AS SELECT * FROM STREAM <{LONG}> [{frame}] "
        f"{{ ?u <p:m> ?x {ASK} }}"
    )
    engine = opened(endpoint, text)
    found = lives(engine, monkeypatch)
    for user, at in ((1, 13_500), (2, 15_500), (3, 19_500)):
        engine.stream(LONG).push(f"<u:{user}> <p:m> <x:p> .", at=at)
    engine.stream(LONG).push("<x:a> <x:tick> <x:b> .", at=20_050)
    engine.step()
    assert found[-1] == expected
    engine.static.close()
