"""What endpoints may do to a local view, and what a view may do to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from headrace import Engine
from headrace.background.breaker import Breaker
from headrace.background.config import Basic, Bearer, Credentials, ServiceConfig
from headrace.errors import QueryError, SettingError

from . import endpoint_server as server
from .endpoint_server import Endpoint, Fault, serving

STREAM = "http://example.org/s"
DATA = "".join(f"<u:{user}> <p:n> {user} .\n" for user in range(8))


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serving(DATA) as found:
        yield found


@pytest.fixture
def opened(endpoint: Endpoint) -> Iterator[Callable[..., Engine]]:
    engines: list[Engine] = []

    def made(**options: object) -> Engine:
        allowed = {"allow": (endpoint.iri,), "private": ("127.0.0.1",), **options}
        config = ServiceConfig(**allowed)  # type: ignore[arg-type]  # options of it
        engines.append(Engine(services=config))
        return engines[-1]

    yield made
    for each in engines:
        each.static.close()


def text_of(endpoint: Endpoint, contract: str, pattern: str = "?u <p:n> ?n") -> str:
    return (
        f"SELECT ?u ?n FROM STREAM <{STREAM}> [RANGE 4s STEP 1s] {{ ?u <p:m> ?post "
        f"SERVICE <{endpoint.iri}> {contract} {{ {pattern} }} }}"
    )


def mention(engine: Engine, second: int, users: int = 8) -> None:
    for user in range(users):
        engine.stream(STREAM).push(f"<u:{user}> <p:m> <x:p> .", at=1000 * second - 500)
    engine.stream(STREAM).push("<x:a> <x:tick> <x:b> .", at=1000 * second + 50)
    engine.step()


# -- endpoints that want to be left alone ---------------------------------------------------------


@pytest.mark.parametrize("code", [429, 503])
def test_an_endpoint_is_left_alone_for_as_long_as_it_asks(
    endpoint: Endpoint, opened: Callable[..., Engine], code: int
) -> None:
    engine = opened(refresh="bound", lanes=1)
    query = engine.register(text_of(endpoint, "[POLICY LRU BUDGET 1]"))
    mention(engine, 1)
    endpoint.always = server.status(code, "later", Retry_After="3600")
    mention(engine, 2)
    asked = len(endpoint.seen)
    for second in range(3, 9):
        mention(engine, second)
    assert len(endpoint.seen) == asked
    found = list(query.results())
    assert all(each.error is None and each.rows for each in found)
    [alert] = engine.alerts.raised.values()
    assert f"it answers with {code}" in (alert.problem or "")
    assert alert.absent == 0
    assert "without the rows of" not in str(alert)


def test_an_alert_says_of_how_many_mappings_rows_are_missing(
    endpoint: Endpoint, opened: Callable[..., Engine]
) -> None:
    engine = opened(refresh="bound", lanes=1)
    query = engine.register(text_of(endpoint, "[POLICY LRU BUDGET 1]"))
    endpoint.always = server.status(503, "never", Retry_After="3600")
    mention(engine, 1, users=2)
    assert all(each.accuracy == 1 and not each.rows for each in query.results())
    [alert] = engine.alerts.raised.values()
    assert "without the rows of 2 mappings that are not known yet" in str(alert)


def test_an_endpoint_that_keeps_failing_is_left_alone(
    endpoint: Endpoint, opened: Callable[..., Engine]
) -> None:
    engine = opened(backoff=3600.0, longest_backoff=3600.0)
    engine.register(text_of(endpoint, "[POLICY LRU BUDGET 1]"))
    mention(engine, 1)
    endpoint.always = server.status(500, "broken")
    for second in range(2, 12):
        mention(engine, second)
    assert len(endpoint.asked) == 1 + 3, "three failures on end are enough"


def test_then_one_request_tries_whether_it_is_back(
    endpoint: Endpoint, opened: Callable[..., Engine]
) -> None:
    engine = opened(backoff=0.0, longest_backoff=0.0, refresh="bound")
    engine.register(text_of(endpoint, "[POLICY LRU BUDGET 4]"))
    mention(engine, 1)
    endpoint.always = server.status(500, "broken")
    counts = []
    for second in range(2, 8):
        before = len(endpoint.asked)
        mention(engine, second)
        counts.append(len(endpoint.asked) - before)
    assert counts == [4, 4, 4, 1, 1, 1]
    assert engine.alerts.raised
    endpoint.always = None
    mention(engine, 8)
    mention(engine, 9)
    assert not engine.alerts.raised


def test_pauses_grow_up_to_a_limit() -> None:
    breaker = Breaker(first=1.0, longest=5.0)
    pauses = []
    for _ in range(7):
        breaker.failed(0.0, "down")
        pauses.append(breaker.until)
    assert pauses == [0.0, 0.0, 1.0, 2.0, 4.0, 5.0, 5.0]
    breaker.failed(0.0, "down", wait=60.0)
    assert breaker.until == 60.0
    breaker.worked()
    assert breaker.refuses(0.0) is None


# -- what is sent, and what is taken --------------------------------------------------------------


@pytest.mark.parametrize(
    ("secret", "header"),
    [(Basic("me", "hush"), "Basic bWU6aHVzaA=="), (Bearer("token"), "Bearer token")],
)
def test_credentials_go_along_with_every_request(
    endpoint: Endpoint, opened: Callable[..., Engine], secret: Basic | Bearer, header: str
) -> None:
    engine = opened(credentials=(Credentials(endpoint.iri, secret),))
    engine.register(text_of(endpoint, "[POLICY LRU BUDGET 2]"))
    for second in range(1, 4):
        mention(engine, second)
    assert len(endpoint.seen) > 3
    assert {each.headers.get("Authorization") for each in endpoint.seen} == {header}


FAULTS: dict[str, Fault] = {
    "a redirect": server.status(302, Location="http://127.0.0.1:1/elsewhere"),
    "an endless answer": server.endless,
    "no answer to a query": server.body("{}"),
    "other variables": server.body('{"head":{"vars":["x"]},"results":{"bindings":[]}}'),
    "half an answer": server.truncated,
    "a reset": server.reset,
}


@pytest.mark.parametrize("kind", FAULTS)
def test_what_cannot_be_used_leaves_the_view_as_it_was(
    endpoint: Endpoint, opened: Callable[..., Engine], kind: str
) -> None:
    engine = opened(response_bytes=100_000)
    query = engine.register(text_of(endpoint, "[POLICY LRU BUDGET 2]"))
    mention(engine, 1)
    endpoint.always = FAULTS[kind]
    mention(engine, 2)
    first, second = query.results()
    assert sorted(map(str, first.rows)) == sorted(map(str, second.rows))
    assert len(first.rows) == 8
    assert second.error is None
    assert second.accuracy is not None
    assert second.accuracy < 1
    assert engine.alerts.raised


def test_an_answer_that_is_too_large_leaves_the_view_to_windows(
    endpoint: Endpoint, opened: Callable[..., Engine]
) -> None:
    engine = opened(response_bytes=700)
    query = engine.register(text_of(endpoint, "[BUDGET 2]"))
    mention(engine, 1)
    mention(engine, 2)
    first, second = query.results()
    assert [len(first.rows), len(second.rows)] == [2, 4]
    assert not engine.alerts.raised


# -- what is refused when a query is registered ---------------------------------------------------


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ("?u <p:m> ?x SERVICE <http://e/> [POLICY WST] { ?u <p:n> ?n }", "bound for experiments"),
        ("?u <p:m> ?x SERVICE <http://e/> [POLICY BST] { ?u <p:n> ?n }", "bound for experiments"),
        ("?u <p:m> ?e SERVICE ?e [BUDGET 1] { ?u <p:n> ?n }", "endpoint as an IRI"),
        ("?u <p:m> ?x SERVICE <http://e/> [BUDGET 1] { ?a <p:n> ?n }", "needs a variable"),
        ("SERVICE <http://e/> [BUDGET 1] { ?a <p:n> ?n }", "needs a variable"),
        ("?u <p:m> ?x MINUS { SERVICE <http://e/> [BUDGET 1] { ?a <p:n> ?n } }", "needs a vari"),
        (
            "?u <p:m> ?x OPTIONAL { ?x <p:y> ?k } SERVICE <http://e/> [BUDGET 1] { ?k <p:n> ?n }",
            "needs a variable",
        ),
        (
            "?u <p:m> ?x FILTER EXISTS "
            "{ ?u <p:o> ?o SERVICE <http://e/> [BUDGET 1] { ?u <p:n> 1 OPTIONAL { ?x ?y ?z } } }",
            "inside EXISTS",
        ),
    ],
)
def test_what_no_view_can_be_kept_of(where: str, problem: str) -> None:
    engine = Engine(services=ServiceConfig(allow=("http://e/",)))
    engine.stream(STREAM)
    with pytest.raises(QueryError, match=problem) as caught:
        engine.register(f"SELECT * FROM STREAM <{STREAM}> [RANGE 4s STEP 1s] {{ {where} }}")
    assert "line 1, column" in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"service.budget": "3"}, "at most 3 requests"),
        ({"service.within": "2s", "service.policy": "lru"}, "WSJ-LRU, within 2 s"),
        ({"service.accuracy": "0.5"}, "accuracy 0.5"),
        ({"service.policy": "GNR"}, "GNR-LRU"),
    ],
)
def test_settings_are_for_services_without_brackets(settings: dict[str, str], said: str) -> None:
    engine = Engine(services=ServiceConfig(allow=("http://e/",)), settings=settings)
    engine.stream(STREAM)
    where = "?u <p:m> ?x SERVICE <http://e/> { ?u <p:n> ?n }"
    other = "SERVICE <http://e/> [BUDGET 9 POLICY RND] { ?u <p:o> ?o }"
    engine.register(f"SELECT * FROM STREAM <{STREAM}> [RANGE 4s STEP 1s] {{ {where} {other} }}")
    [plan] = engine.plans()
    assert sorted(str(each).split("refreshed by ")[1] for each in plan.contracts) == sorted(
        ["WSJ-RND, at most 9 requests", said if "-" in said else f"WSJ-WBM, {said}"]
    )


@pytest.mark.parametrize(
    "settings",
    [
        {"service.budget": "-1"},
        {"service.budget": "many"},
        {"service.accuracy": "1.5"},
        {"service.within": "soon"},
        {"service.policy": "FIFO"},
        {"service.colour": "red"},
    ],
)
def test_settings_that_cannot_be(settings: dict[str, str]) -> None:
    engine = Engine(settings=settings)
    engine.stream(STREAM)
    with pytest.raises(SettingError):
        engine.register(f"SELECT * FROM STREAM <{STREAM}> [RANGE 4s STEP 1s] {{ ?u <p:m> ?x }}")


# -- who is refreshed -----------------------------------------------------------------------------


def asked_users(endpoint: Endpoint, since: int) -> list[int]:
    return [int(each.query.split("<u:")[1].split(">")[0]) for each in endpoint.asked[since:]]


@pytest.mark.parametrize(("policy", "everyone"), [("LRU", False), ("RND", False), ("GNR", True)])
def test_proposers(
    endpoint: Endpoint, opened: Callable[..., Engine], policy: str, everyone: bool
) -> None:
    """What no window holds is refreshed by GNR only."""
    engine = opened(refresh="bound")
    engine.register(text_of(endpoint, f"[POLICY {policy} BUDGET 2]"))
    for second in range(1, 12):
        mention(engine, second, users=3)
    asked = set(asked_users(endpoint, since=1))
    assert asked == (set(range(8)) if everyone else {0, 1, 2})


def test_the_least_recently_refreshed_goes_first(
    endpoint: Endpoint, opened: Callable[..., Engine]
) -> None:
    engine = opened(refresh="bound", lanes=1)
    engine.register(text_of(endpoint, "[POLICY LRU BUDGET 1]"))
    for second in range(1, 10):
        mention(engine, second, users=4)
    asked = asked_users(endpoint, since=1)
    assert sorted(asked[:4]) == [0, 1, 2, 3]
    assert asked[4:8] == asked[:4], "in turns"


def test_what_many_rows_are_made_of_goes_first(
    endpoint: Endpoint, opened: Callable[..., Engine]
) -> None:
    """One evaluation, in which all mappings are as stale and leave at the same time."""
    engine = opened(refresh="bound", lanes=1, changes=((endpoint.iri, 1.0),))
    engine.register(text_of(endpoint, "[POLICY WBM BUDGET 1]"))
    stream = engine.stream(STREAM)
    stream.push("<u:7> <p:m> <x:p> .", at=500)
    stream.push("<x:a> <x:tick> <x:b> .", at=1050)
    engine.step()
    for user in range(8):
        for post in range(5 if user == 5 else 1):
            stream.push(f"<u:{user}> <p:m> <post:{post}> .", at=6500)
    stream.push("<x:a> <x:tick> <x:b> .", at=7050)
    before = len(endpoint.asked)
    engine.step()
    assert asked_users(endpoint, since=before)[-1:] == [5]


@pytest.mark.parametrize(
    "pattern",
    [
        "?x ?k ?n",
        "?k <p:n> ?n",
        "?x <p:n> ?n . ?x ?k ?n",
        "{ ?x ?k ?n } UNION { ?x <p:says> ?k }",
        "?x <p:says> ?k OPTIONAL { ?x ?k ?n }",
        "?x <p:says> ?k OPTIONAL { ?k <p:n> ?n }",
        "?x ?k ?n FILTER(?n > 1)",
    ],
)
def test_keys_that_cannot_stand_where_they_would_have_no_solutions(pattern: str) -> None:
    data = DATA + '<u:1> <p:says> "hello" . <u:2> <p:says> <p:n> . <u:3> <p:n> "hello" .'
    answers: list[list[list[str]]] = []
    for refresh in ("bound", "blocks"):
        with serving(data) as endpoint:
            services = ServiceConfig(
                allow=(endpoint.iri,), private=("127.0.0.1",), refresh=refresh, fill="window"
            )
            engine = Engine(services=services)
            query = engine.register(
                f"SELECT * FROM STREAM <{STREAM}> [RANGE 4s STEP 1s] {{ ?m <x:says> ?k "
                f"SERVICE <{endpoint.iri}> [POLICY LRU BUDGET 9] {{ {pattern} }} }} "
            )
            for term in ('"hello"', "<p:n>", "<u:4>", '"2"^^<x:odd>'):
                engine.stream(STREAM).push(f"<x:m> <x:says> {term} .", at=500)
            engine.finish()
            found = list(query.results())
            assert all(each.error is None for each in found)
            answers.append([sorted(map(str, each.bindings())) for each in found])
            engine.static.close()
    assert answers[0] == answers[1]
    assert any(answers[0])


# -- views that are filled late -------------------------------------------------------------------


def twice(endpoint: Endpoint, contract: str) -> str:
    ask = f"SERVICE <{endpoint.iri}> {contract} {{ ?u <p:n> ?n }}"
    return (
        f"SELECT ?u ?n FROM STREAM <{STREAM}> [RANGE 4s STEP 1s] "
        f"{{ {{ ?u <p:m> ?post {ask} }} UNION {{ ?u <p:k> ?post {ask} }} }}"
    )


def test_a_fill_that_failed_is_not_sent_again_where_the_service_stands_again(
    endpoint: Endpoint, opened: Callable[..., Engine]
) -> None:
    engine = opened(backoff=0.0, longest_backoff=0.0)
    query = engine.register(twice(endpoint, "[BUDGET 5]"))
    endpoint.faults.append(server.status(500, "broken"))
    engine.stream(STREAM).push("<u:1> <p:m> <x:p> .", at=400)
    engine.stream(STREAM).push("<u:2> <p:k> <x:p> .", at=500)
    engine.stream(STREAM).push("<x:a> <x:tick> <x:b> .", at=1050)
    engine.step()
    assert len(endpoint.seen) == 1
    assert [each.rows for each in query.results()] == [()]
    [alert] = engine.alerts.raised.values()
    assert alert.absent == 2
    mention(engine, 2, users=1)
    assert not engine.alerts.raised


def test_without_a_budget_the_view_is_filled_as_soon_as_the_endpoint_is_there(
    endpoint: Endpoint, opened: Callable[..., Engine]
) -> None:
    engine = opened(backoff=0.0, longest_backoff=0.0)
    query = engine.register(text_of(endpoint, "[BUDGET 0]"))
    endpoint.always = server.status(500, "broken")
    mention(engine, 1, users=2)
    mention(engine, 2, users=2)
    assert engine.alerts.raised
    endpoint.always = None
    mention(engine, 3, users=2)
    assert not engine.alerts.raised
    asked = len(endpoint.seen)
    mention(engine, 4, users=2)
    assert len(endpoint.seen) == asked, "once filled, it is asked for nothing more"
    assert [len(each.rows) for each in query.results()] == [0, 0, 2, 2]
