"""A SERVICE under a budget inside EXISTS and MINUS, against a plain one and against Python."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

from headrace import Engine, Evaluation
from headrace.background.config import ServiceConfig

from .endpoint_server import Endpoint, serving

STREAM = "http://example.org/s"
WINDOW = f"FROM STREAM <{STREAM}> [RANGE 4s STEP 1s]"
USERS = 9
Made = Callable[..., Engine]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serving("".join(f"<u:{user}> <p:n> {user % 3} .\n" for user in range(USERS))) as found:
        yield found


@pytest.fixture
def opened(endpoint: Endpoint) -> Iterator[Made]:
    engines: list[Engine] = []

    def made(**options: Any) -> Engine:
        allowed = {"allow": (endpoint.iri,), "private": ("127.0.0.1",), **options}
        engines.append(Engine(services=ServiceConfig(**allowed)))
        return engines[-1]

    yield made
    for each in engines:
        each.static.close()


WHERE = {
    "exists": "?u <p:m> ?x FILTER EXISTS { S{ ?u <p:n> 1 } }",
    "not exists": "?u <p:m> ?x FILTER NOT EXISTS { S{ ?u <p:n> 1 } }",
    "exists of a variable": "?u <p:m> ?x FILTER EXISTS { S{ ?u <p:n> ?n FILTER (?n > 0) } }",
    "beside a pattern": "?u <p:m> ?x FILTER EXISTS { ?u <p:k> ?k S{ ?u <p:n> 1 } }",
    "before a pattern": "?u <p:m> ?x FILTER EXISTS { S{ ?u <p:n> 1 } ?u <p:k> ?k }",
    "a key of the pattern inside": "?u <p:m> ?x FILTER EXISTS { ?x <p:by> ?v S{ ?v <p:n> 1 } }",
    "one of two": "?u <p:m> ?x FILTER (EXISTS { S{ ?u <p:n> 1 } } || EXISTS { S{ ?u <p:n> 2 } })",
    "a union": "?u <p:m> ?x FILTER EXISTS { { S{ ?u <p:n> 1 } } UNION { S{ ?u <p:n> 2 } } }",
    "or a condition": "?u <p:m> ?x FILTER (EXISTS { S{ ?u <p:n> 1 } } || ?u = <u:3>)",
    "not in words": "?u <p:m> ?x FILTER (!EXISTS { S{ ?u <p:n> 1 } })",
    "bind": "?u <p:m> ?x BIND (EXISTS { S{ ?u <p:n> 1 } } AS ?b)",
    "minus": "?u <p:m> ?x MINUS { S{ ?u <p:n> 1 } }",
    "minus of two": "?u <p:m> ?x MINUS { S{ ?u <p:n> 1 } S{ ?u <p:n> 2 } }",
    "minus beside a pattern": "?u <p:m> ?x MINUS { ?u <p:k> ?k S{ ?u <p:n> 1 } }",
    "minus of a union": "?u <p:m> ?x MINUS { { S{ ?u <p:n> 1 } } UNION { S{ ?u <p:n> 2 } } }",
    "minus a key of the pattern inside": "?u <p:m> ?x MINUS { ?x <p:by> ?v S{ ?v <p:n> 1 } }",
    "minus with optional": "?u <p:m> ?x MINUS { ?u <p:k> ?k OPTIONAL { S{ ?u <p:n> ?n } } }",
    "minus inside a filter": "?u <p:m> ?x S{ ?u <p:n> ?n } MINUS { S{ ?u <p:n> 1 } }",
    "nothing in common": "?u <p:m> ?x MINUS { ?a <p:k> ?b S{ ?a <p:n> 1 } }",
    "having": "?u <p:m> ?x",
}


def text_of(endpoint: Endpoint, shape: str, contract: str) -> str:
    service = f"SERVICE <{endpoint.iri}> {contract} "
    where = WHERE[shape].replace("S{", service + "{")
    if shape == "having":
        tail = f"GROUP BY ?u HAVING (EXISTS {{ {service}{{ ?u <p:n> 1 }} }})"
        return f"SELECT ?u (COUNT(*) AS ?k) {WINDOW} {{ {where} }} {tail}"
    return f"SELECT * {WINDOW} {{ {where} }}"


def played(engine: Engine, endpoint: Endpoint, seed: int = 1, seconds: int = 7) -> None:
    chance = random.Random(seed)
    stream = engine.stream(STREAM)
    for second in range(1, seconds + 1):
        user = chance.randrange(USERS)
        endpoint.store.update(f"DELETE WHERE {{ <u:{user}> <p:n> ?n }}")
        if chance.random() < 0.8:
            endpoint.store.update(f"INSERT DATA {{ <u:{user}> <p:n> {chance.randrange(3)} }}")
        for number in range(4):
            who, post = chance.randrange(USERS + 2), f"<x:{chance.randrange(5)}>"
            at = 1000 * second - 900 + number
            stream.push(f"<u:{who}> <p:m> {post} .", at=at)
            stream.push(f"<u:{chance.randrange(USERS)}> <p:k> {post} .", at=at)
            stream.push(f"{post} <p:by> <u:{chance.randrange(USERS)}> .", at=at)
        stream.push("<x:a> <x:tick> <x:b> .", at=1000 * second + 50)
        engine.step()


def rows_of(evaluation: Evaluation) -> list[str]:
    return sorted(str([str(term) for term in row]) for row in evaluation.rows)


@pytest.mark.parametrize("options", [{}, {"refresh": "bound"}, {"fill": "window", "block": 2}])
@pytest.mark.parametrize("shape", WHERE)
def test_without_a_limit_it_is_a_plain_service(
    endpoint: Endpoint, opened: Made, shape: str, options: dict[str, Any]
) -> None:
    engine = opened(**options)
    plain = engine.register(text_of(endpoint, shape, ""), name="plain")
    viewed = engine.register(text_of(endpoint, shape, "[POLICY WBM]"), name="viewed")
    played(engine, endpoint)
    ours, theirs = list(viewed.results()), list(plain.results())
    assert [rows_of(each) for each in ours] == [rows_of(each) for each in theirs]
    assert sum(len(each.rows) for each in ours) > 5
    assert viewed.error is None
    assert {(each.accuracy, each.completeness) for each in ours} == {(1.0, 1.0)}


@pytest.mark.parametrize("shape", WHERE)
def test_a_budget_is_kept(endpoint: Endpoint, opened: Made, shape: str) -> None:
    engine = opened(refresh="bound", fill="window")
    query = engine.register(text_of(endpoint, shape, "[POLICY LRU BUDGET 1]"))
    engine.stream(STREAM)
    [standing] = engine.runner.kernel.queries
    assert standing.remote is not None
    begin, counts = standing.remote.begin, list[int]()

    def counted() -> None:
        counts.append(len(endpoint.seen))
        begin()

    standing.remote.begin = counted  # type: ignore[method-assign]  # to see where evaluations begin
    played(engine, endpoint)
    counts.append(len(endpoint.seen))
    assert max(after - before for before, after in pairwise(counts)) <= len(standing.remote.views)
    assert len(endpoint.seen) > 0
    found = list(query.results())
    assert query.error is None
    assert all(each.accuracy is not None and 0 <= each.accuracy <= 1 for each in found)
    assert all(each.completeness is not None and 0 <= each.completeness <= 1 for each in found)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("negated", [False, True])
def test_against_python(endpoint: Endpoint, opened: Made, negated: bool, seed: int) -> None:
    """The users of a window whom the endpoint calls 1 at its end, or the others."""
    engine = opened()
    word = "NOT EXISTS" if negated else "EXISTS"
    query = engine.register(
        f"SELECT DISTINCT ?u {WINDOW} {{ ?u <p:m> ?x FILTER {word}"
        f" {{ SERVICE <{endpoint.iri}> [BUDGET 99 POLICY LRU] {{ ?u <p:n> 1 }} }} }}"
    )
    chance, stream = random.Random(seed), engine.stream(STREAM)
    mentions: list[tuple[int, int]] = []
    counts = {user: user % 3 for user in range(USERS)}
    for second in range(1, 10):
        for user in chance.sample(range(USERS), 3):
            counts[user] = chance.randrange(3)
            endpoint.store.update(
                f"DELETE {{ <u:{user}> <p:n> ?n }} INSERT {{ <u:{user}> <p:n> {counts[user]} }}"
                f" WHERE {{ <u:{user}> <p:n> ?n }}"
            )
        for _ in range(3):
            mentions.append((1000 * second - 500, chance.randrange(USERS)))
            stream.push(f"<u:{mentions[-1][1]}> <p:m> <x:p> .", at=mentions[-1][0])
        stream.push("<x:a> <x:tick> <x:b> .", at=1000 * second + 50)
        engine.step()
        close = 1000 * second
        inside = {user for at, user in mentions if close - 4000 < at <= close}
        wanted = {f"<u:{user}>" for user in inside if (counts[user] == 1) != negated}
        [found] = query.results()
        assert {str(row[0]) for row in found.rows} == wanted
        assert (found.accuracy, found.completeness) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("shape", "rows", "accuracy", "completeness"),
    [
        ("exists", 0, 1.0, 2 / 9),
        ("not exists", 9, 2 / 9, 1.0),
        ("minus", 9, 2 / 9, 1.0),
        ("bind", 9, 2 / 9, 1.0),
        ("not in words", 9, 2 / 9, 1.0),
    ],
)
def test_what_is_not_known_removes_rows_or_leaves_them(
    shape: str, rows: int, accuracy: float, completeness: float
) -> None:
    """Nine users of whom the endpoint knows nothing, two of them asked for."""
    with serving() as endpoint:
        engine = Engine(services=ServiceConfig((endpoint.iri,), ("127.0.0.1",), fill="window"))
        query = engine.register(text_of(endpoint, shape, "[BUDGET 2]"))
        for user in range(9):
            engine.stream(STREAM).push(f"<u:{user}> <p:m> <x:p> .", at=500)
        engine.finish()
        found = next(iter(query.results()))
        assert len(found.rows) == rows
        assert found.accuracy == pytest.approx(accuracy, abs=1e-5)
        assert found.completeness == pytest.approx(completeness, abs=1e-5)
        engine.static.close()
