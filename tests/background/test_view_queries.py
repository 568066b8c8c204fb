"""Queries of every shape over local views: without a limit they answer as a plain SERVICE does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import pyoxigraph as ox
import pytest

from headrace import Engine, Evaluation, Query
from headrace.background.config import ServiceConfig

from .endpoint_server import Endpoint, Handler, serving, status

STREAM = "http://example.org/s"
WINDOW = f"FROM STREAM <{STREAM}> [RANGE 4s STEP 1s]"
SECONDS = 7
DATA = """
<u:0> <p:n> 0 . <u:1> <p:n> 1 . <u:2> <p:n> 2, 22 . <u:4> <p:n> 4 . <u:5> <p:n> 5 .
<u:0> <p:f> _:b . _:b <p:name> "zero" . <u:1> <p:f> <u:2> .
<post:1-0> <p:by> <u:1> . <post:2-1> <p:by> <u:2> . <u:1> <p:g> 7 . <u:2> <p:blocked> <u:9> .
"""
Asked = Callable[[str], str]
"""A SERVICE of some pattern."""

SHAPES: dict[str, Callable[[Asked], str]] = {
    "before patterns that share no variable": lambda ask: (
        f"SELECT ?u ?n ?post {WINDOW} {{ {ask('?u <p:n> ?n')} ?u <p:m> ?some . ?post <p:x> 8 }}"
    ),
    "groups by what nothing binds": lambda ask: (
        f"SELECT ?no (COUNT(*) AS ?k) {WINDOW}"
        f" {{ ?u <p:m> ?post {ask('?u <p:n> ?n')} }} GROUP BY ?no"
    ),
    "two services": lambda ask: (
        f"SELECT ?u ?n ?g {WINDOW} {{ ?u <p:m> ?post {ask('?u <p:n> ?n')} {ask('?u <p:g> ?g')} }}"
    ),
    "the answer of one asks the other": lambda ask: (
        f"SELECT ?u ?f ?n {WINDOW} {{ ?u <p:m> ?post {ask('?u <p:f> ?f')} {ask('?f <p:n> ?n')} }}"
    ),
    "the same service twice": lambda ask: (
        f"SELECT ?u ?n {WINDOW} {{ {{ ?u <p:m> ?post {ask('?u <p:n> ?n')} }}"
        f" UNION {{ ?u <p:m> ?post . ?post <p:x> ?y {ask('?u <p:n> ?n')} }} }}"
    ),
    "the same service on both sides of a join": lambda ask: (
        f"SELECT ?u ?n ?y {WINDOW} {{ {{ ?u <p:m> ?post {ask('?u <p:n> ?n')} }}"
        f" {{ ?u <p:m> ?post . ?post <p:x> ?y {ask('?u <p:n> ?n')} }} }}"
    ),
    "optional": lambda ask: (
        f"SELECT ?u ?n {WINDOW} {{ ?u <p:m> ?post OPTIONAL {{ {ask('?u <p:n> ?n')} }} }}"
    ),
    "optional with a condition": lambda ask: (
        f"SELECT ?u ?n {WINDOW}"
        f" {{ ?u <p:m> ?post OPTIONAL {{ {ask('?u <p:n> ?n')} FILTER (?n > 1) }} }}"
    ),
    "optional with a pattern": lambda ask: (
        f"SELECT ?u ?n {WINDOW}"
        f" {{ ?u <p:m> ?post OPTIONAL {{ ?u <p:m> ?other {ask('?u <p:n> ?n')} }} }}"
    ),
    "filter": lambda ask: (
        f"SELECT ?u ?n {WINDOW} {{ ?u <p:m> ?post {ask('?u <p:n> ?n')} FILTER (?n > 1) }}"
    ),
    "filter inside": lambda ask: (
        f"SELECT ?u ?n {WINDOW} {{ ?u <p:m> ?post {ask('?u <p:n> ?n FILTER (?n > 1)')} }}"
    ),
    "filter inside that sees the key of another group": lambda ask: (
        f"SELECT ?u ?n {WINDOW} {{ ?u <p:m> ?post"
        f" {ask('?u <p:n> ?n { ?x <p:g> ?y FILTER (!BOUND(?u)) }')} }}"
    ),
    "optional inside": lambda ask: (
        f"SELECT ?u ?n ?g {WINDOW}"
        f" {{ ?u <p:m> ?post {ask('?u <p:n> ?n OPTIONAL { ?u <p:g> ?g }')} }}"
    ),
    "optional inside that meets the key of another group": lambda ask: (
        f"SELECT ?u ?n ?y {WINDOW} {{ ?u <p:m> ?post"
        f" {ask('?u <p:n> ?n { ?x <p:by> ?y OPTIONAL { ?u <p:g> ?g } }')} }}"
    ),
    "a variable that may be unbound on one side": lambda ask: (
        f"SELECT ?u ?n ?g {WINDOW} {{ ?u <p:m> ?post . ?post <p:x> ?g"
        f" {ask('?u <p:n> ?n OPTIONAL { ?u <p:g> ?g }')} }}"
    ),
    "a variable that may be unbound on the other": lambda ask: (
        f"SELECT ?u ?n ?g {WINDOW} {{ ?u <p:m> ?post OPTIONAL {{ ?post <p:y> ?g }}"
        f" {ask('?u <p:n> ?n OPTIONAL { ?u <p:g> ?g }')} }}"
    ),
    "minus inside": lambda ask: (
        f"SELECT ?u ?n {WINDOW}"
        f" {{ ?u <p:m> ?post {ask('?u <p:n> ?n MINUS { ?u <p:blocked> ?z }')} }}"
    ),
    "not exists inside": lambda ask: (
        f"SELECT ?u ?n {WINDOW} {{ ?u <p:m> ?post"
        f" {ask('?u <p:n> ?n FILTER NOT EXISTS { ?u <p:blocked> ?z }')} }}"
    ),
    "a path inside": lambda ask: (
        f"SELECT ?u ?x {WINDOW} {{ ?u <p:m> ?post {ask('?u <p:f>* ?x FILTER (isIRI(?x))')} }}"
    ),
    "union inside": lambda ask: (
        f"SELECT ?u ?n {WINDOW} {{ ?u <p:m> ?post {ask('{ ?u <p:n> ?n } UNION { ?u <p:g> ?n }')} }}"
    ),
    "a subquery inside": lambda ask: (
        f"SELECT ?u ?n {WINDOW} {{ ?u <p:m> ?post"
        f" {ask('SELECT ?u (MAX(?k) AS ?n) { ?u <p:n> ?k } GROUP BY ?u')} }}"
    ),
    "bind inside": lambda ask: (
        f"SELECT ?u ?k {WINDOW} {{ ?u <p:m> ?post {ask('?u <p:n> ?n BIND (?n * 2 AS ?k)')} }}"
    ),
    "a key of two variables": lambda ask: (
        f"SELECT ?u ?post ?n {WINDOW} {{ ?u <p:m> ?post {ask('?post <p:by> ?u . ?u <p:n> ?n')} }}"
    ),
    "a key that is all there is": lambda ask: (
        f"SELECT ?u ?post {WINDOW} {{ ?u <p:m> ?post {ask('?post <p:by> ?u')} }}"
    ),
    "a key that may be a literal": lambda ask: (
        f"SELECT ?u ?x ?n {WINDOW} {{ ?u <p:x>|<p:m> ?x {ask('?x <p:by> ?n')} }}"
    ),
    "many to many": lambda ask: (
        f"SELECT ?post ?n {WINDOW} {{ ?u <p:m> ?post . ?post <p:x> ?y {ask('?u <p:n> ?n')} }}"
    ),
    "through a blank node": lambda ask: (
        f"SELECT ?u ?n {WINDOW} {{ ?u <p:m> ?post {ask('?u <p:f> ?x . ?x <p:name> ?n')} }}"
    ),
    "a blank node": lambda ask: (
        f"SELECT ?u (isBlank(?x) AS ?n) {WINDOW} {{ ?u <p:m> ?post {ask('?u <p:f> ?x')} }}"
    ),
    "subquery": lambda ask: (
        f"SELECT ?u ?s {WINDOW} {{ ?u <p:m> ?post {{ SELECT ?u (SUM(?n) AS ?s)"
        f" {{ ?u <p:m> ?other {ask('?u <p:n> ?n')} }} GROUP BY ?u }} }}"
    ),
    "distinct": lambda ask: (
        f"SELECT DISTINCT ?n {WINDOW} {{ ?u <p:m> ?post {ask('?u <p:n> ?n')} }}"
    ),
    "order and limit": lambda ask: (
        f"SELECT ?u ?n {WINDOW} {{ ?u <p:m> ?post {ask('?u <p:n> ?n')} }} ORDER BY DESC(?n) LIMIT 2"
    ),
    "aggregate": lambda ask: (
        f"SELECT ?u ?n ?c {WINDOW} {{ ?u <p:m> ?post {ask('?u <p:n> ?n')} }}"
        " AGGREGATE { (?c, COUNT, {?u}) }"
    ),
    "ask": lambda ask: f"ASK {WINDOW} {{ ?u <p:m> ?post {ask('?u <p:n> ?n')} FILTER (?n > 4) }}",
    "construct": lambda ask: (
        f"CONSTRUCT {{ ?u <p:has> ?n }} {WINDOW} {{ ?u <p:m> ?post {ask('?u <p:n> ?n')} }}"
    ),
    "what is new": lambda ask: (
        f"SELECT ISTREAM ?u ?n {WINDOW} {{ ?u <p:m> ?post {ask('?u <p:n> ?n')} }}"
    ),
    "what has gone": lambda ask: (
        f"SELECT DSTREAM ?u ?n {WINDOW} {{ ?u <p:m> ?post {ask('?u <p:n> ?n')} }}"
    ),
    "gaps between windows": lambda ask: (
        f"SELECT ?u ?n FROM STREAM <{STREAM}> [RANGE 1s STEP 3s]"
        f" {{ ?u <p:m> ?post {ask('?u <p:n> ?n')} }}"
    ),
    "windows of counts": lambda ask: (
        f"SELECT ?u ?n FROM STREAM <{STREAM}> [RANGE TRIPLES 4]"
        f" {{ ?u <p:m> ?post {ask('?u <p:n> ?n')} }}"
    ),
    "service first": lambda ask: f"SELECT ?u ?n {WINDOW} {{ {ask('?u <p:n> ?n')} ?u <p:m> ?post }}",
    "service between patterns": lambda ask: (
        f"SELECT ?u ?n ?x {WINDOW} {{ ?u <p:m> ?post {ask('?u <p:n> ?n')} ?post <p:x> ?x }}"
    ),
    "values": lambda ask: (
        f"SELECT ?u ?n {WINDOW}"
        f" {{ ?u <p:m> ?post {ask('?u <p:n> ?n')} VALUES ?u {{ <u:1> <u:2> }} }}"
    ),
    "minus": lambda ask: (
        f"SELECT ?u ?n {WINDOW}"
        f" {{ ?u <p:m> ?post {ask('?u <p:n> ?n')} MINUS {{ ?u <p:skip> ?z }} }}"
    ),
    "a graph": lambda ask: (
        f"SELECT ?g ?u ?n FROM NAMED STREAM <{STREAM}> [RANGE 4s STEP 1s]"
        f" {{ GRAPH ?g {{ ?u <p:m> ?post {ask('?u <p:n> ?n')} }} }}"
    ),
    "a named window": lambda ask: (
        f"SELECT ?u ?n FROM NAMED WINDOW <w> ON <{STREAM}> [RANGE PT4S STEP PT1S]"
        f" WHERE {{ WINDOW <w> {{ ?u <p:m> ?post {ask('?u <p:n> ?n')} }} }}"
    ),
    "on arrival": lambda ask: (
        f"SELECT ?u ?n WHERE {{ STREAM <{STREAM}> [RANGE 4s] {{ ?u <p:m> ?post }}"
        f" {ask('?u <p:n> ?n')} }}"
    ),
}


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serving(DATA) as server:
        yield server


@pytest.fixture
def opened(endpoint: Endpoint) -> Iterator[Callable[..., Engine]]:
    """Engines that may ask the endpoint, and leave no connection open."""
    engines: list[Engine] = []

    def made(**options: object) -> Engine:
        allowed = {"allow": (endpoint.iri,), "private": ("127.0.0.1",), **options}
        config = ServiceConfig(**allowed)  # type: ignore[arg-type]  # options of it
        engines.append(Engine(services=config))
        return engines[-1]

    yield made
    for each in engines:
        each.static.close()


def service(endpoint: Endpoint, contract: str, silent: str = "") -> Asked:
    return lambda pattern: f"SERVICE {silent} <{endpoint.iri}> {contract} {{ {pattern} }}"


def push(engine: Engine, second: int) -> None:
    """Three mentions in a second, and then a moment of the next one."""
    stream = engine.stream(STREAM)
    for number in range(3):
        post = f"<post:{second}-{number}>"
        said = f"<u:{(second + number) % 7}> <p:m> {post} . {post} <p:x> {7 if number else 8} ."
        stream.push(said, at=1000 * second - 900 + number, syntax="text/turtle")
    if second % 3 == 0:
        stream.push("_:someone <p:m> <post:z> .", at=1000 * second - 500)
        stream.push("<u:3> <p:skip> <u:1> .", at=1000 * second - 400)
    stream.push("<u:none> <p:tick> <x:tick> .", at=1000 * second + 50)
    engine.step()


def change(endpoint: Endpoint, second: int) -> None:
    """Another count for one user, and now and then none."""
    user = f"<u:{second % 6}>"
    endpoint.store.update(f"DELETE WHERE {{ {user} <p:n> ?n }}")
    if second % 4:
        endpoint.store.update(f"INSERT DATA {{ {user} <p:n> {10 + second} }}")


def said(evaluation: Evaluation) -> tuple[object, ...]:
    rows = sorted(str([str(term) for term in row]) for row in evaluation.rows)
    quads = sorted(str(each) for each in evaluation.quads)
    return evaluation.at, evaluation.seq, evaluation.error, evaluation.boolean, rows, quads


@pytest.mark.parametrize("options", [{}, {"refresh": "bound"}, {"fill": "window", "block": 2}])
@pytest.mark.parametrize("shape", SHAPES)
def test_without_a_limit(
    endpoint: Endpoint, opened: Callable[..., Engine], shape: str, options: dict[str, object]
) -> None:
    engine = opened(**options)
    engine.register(SHAPES[shape](service(endpoint, "")), name="plain")
    engine.register(SHAPES[shape](service(endpoint, "[POLICY WBM]")), name="viewed")
    for second in range(1, SECONDS):
        change(endpoint, second)
        push(engine, second)
    engine.finish()
    plain = list(engine.queries["plain"].results())
    viewed = list(engine.queries["viewed"].results())
    assert [said(each) for each in viewed] == [said(each) for each in plain]
    assert any(each.rows or each.quads or each.boolean for each in plain)
    assert {each.accuracy for each in viewed} == {1.0}
    assert engine.alerts.raised == {}


@pytest.mark.parametrize("shape", SHAPES)
def test_with_a_limit(endpoint: Endpoint, opened: Callable[..., Engine], shape: str) -> None:
    """No evaluation asks for more than its budget, however often its services stand in it."""
    engine, budget, counts = opened(refresh="bound"), 1, list[int]()
    query = engine.register(SHAPES[shape](service(endpoint, f"[POLICY LRU BUDGET {budget}]")))
    engine.stream(STREAM)
    [standing] = engine.runner.kernel.queries
    remote = standing.remote
    assert remote is not None
    begin = remote.begin

    def counted() -> None:
        counts.append(len(endpoint.asked))
        begin()

    remote.begin = counted  # type: ignore[method-assign]  # to see where evaluations begin
    for second in range(1, SECONDS):
        change(endpoint, second)
        push(engine, second)
    counts.append(len(endpoint.asked))
    spent = [after - before for before, after in pairwise(counts)]
    assert spent[0] == len(remote.views), "each view is filled by one request"
    assert max(spent[1:]) <= budget * len(remote.views)
    assert all(each.error is None for each in query.results())
    assert all(0 <= (each.accuracy or 0) <= 1 for each in query.results())


# -- endpoints that fail, answer too much, or name nodes anew -------------------------------------


def rows_of(evaluation: Evaluation) -> list[tuple[str, ...]]:
    return sorted(tuple(map(str, row)) for row in evaluation.rows)


def only(query: Query) -> list[list[tuple[str, ...]]]:
    return [rows_of(each) for each in query.results()]


def one_user(endpoint: Endpoint, contract: str, silent: str = "", pattern: str = "") -> str:
    asked = service(endpoint, contract, silent)(pattern or "?u <p:n> ?n")
    return f"SELECT ?u ?n {WINDOW} {{ ?u <p:m> ?post {asked} }}"


def mention(engine: Engine, second: int, *users: int) -> None:
    for user in users:
        post = f"<post:{second}>"
        engine.stream(STREAM).push(f"<u:{user}> <p:m> {post} .", at=1000 * second - 500)
    engine.stream(STREAM).push("<u:none> <p:tick> <x:tick> .", at=1000 * second + 50)
    engine.step()


@pytest.mark.parametrize("contract", ["", "[POLICY WBM]", "[BUDGET 3]", "[WITHIN 5s]"])
def test_silent_binds_nothing_where_an_endpoint_fails(
    endpoint: Endpoint, opened: Callable[..., Engine], contract: str
) -> None:
    endpoint.always = status(404, "gone")
    engine = opened()
    silent = engine.register(one_user(endpoint, contract, "SILENT"))
    mention(engine, 1, 1, 2)
    [found] = silent.results()
    assert rows_of(found) == [("<u:1>", "None"), ("<u:2>", "None")]
    if contract:
        assert found.accuracy == 0
        assert engine.alerts.raised


def test_silent_answers_from_what_it_knows(
    endpoint: Endpoint, opened: Callable[..., Engine]
) -> None:
    engine = opened(fill="window")
    query = engine.register(one_user(endpoint, "[POLICY WBM]", "SILENT"))
    mention(engine, 1, 1)
    endpoint.always = status(404, "gone")
    mention(engine, 2, 4)
    *_, last = only(query)
    assert [(user, count != "None") for user, count in last] == [("<u:1>", True), ("<u:4>", False)]


@pytest.mark.parametrize("contract", ["", "[BUDGET 3]"])
def test_silent_bears_an_endpoint_that_is_not_allowed(
    endpoint: Endpoint, opened: Callable[..., Engine], contract: str
) -> None:
    engine = opened(allow=())
    query = engine.register(one_user(endpoint, contract, "SILENT"))
    mention(engine, 1, 1)
    assert only(query) == [[("<u:1>", "None")]]
    assert not endpoint.seen


def test_rows_that_were_not_asked_for_are_left_out(
    endpoint: Endpoint, opened: Callable[..., Engine]
) -> None:
    """An endpoint that knows no VALUES may leave them out, and answer with everything."""

    def everything(handler: Handler) -> bool:
        found = endpoint.store.query("SELECT ?u ?n { ?u <p:n> ?n }")
        assert isinstance(found, ox.QuerySolutions)
        return handler.answer(found.serialize(format=ox.QueryResultsFormat.JSON) or b"")

    endpoint.always = everything
    engine = opened()
    query = engine.register(one_user(endpoint, "[POLICY LRU BUDGET 1]"))
    for second in range(1, 6):
        mention(engine, second, 1, 4)
    found = only(query)
    assert [len(each) for each in found] == [2, 4, 6, 8, 8]
    assert len(set(found[-1])) == 2


def test_blank_nodes_of_two_answers_are_two(
    endpoint: Endpoint, opened: Callable[..., Engine]
) -> None:
    """Labels begin anew in each answer; that they differ is no change of a mapping."""

    def anew(handler: Handler) -> bool:
        users = [number for number in range(9) if f"<u:{number}>" in handler.asked]
        rows = ",".join(
            f'{{"u":{{"type":"uri","value":"u:{user}"}},"n":{{"type":"bnode","value":"b{place}"}}}}'
            for place, user in enumerate(users)
        )
        return handler.answer(
            f'{{"head":{{"vars":["u","n"]}},"results":{{"bindings":[{rows}]}}}}'.encode()
        )

    endpoint.always = anew
    engine = opened(fill="window", lanes=1)
    query = engine.register(one_user(endpoint, "[POLICY LRU BUDGET 1]", pattern="?u <p:f> ?n"))
    for second in range(1, 8):
        mention(engine, second, 1 + second % 3)
    *_, last = only(query)
    assert len({user for user, _ in last}) == 3
    assert len({node for _, node in last}) == 3, "all three were called b0"
    [standing] = engine.runner.kernel.queries
    assert standing.remote is not None
    [view] = standing.remote.views.values()
    assert view.counts.refreshed > 2
    assert view.local is not None
    assert view.local.evidence.changes.sum() == 0


def test_blank_nodes_of_two_services_are_two(
    endpoint: Endpoint, opened: Callable[..., Engine]
) -> None:
    def node(handler: Handler) -> bool:
        row = '{"u":{"type":"uri","value":"u:1"},"x":{"type":"bnode","value":"b0"}}'
        return handler.answer(
            f'{{"head":{{"vars":["u","x"]}},"results":{{"bindings":[{row}]}}}}'.encode()
        )

    endpoint.always = node
    engine = opened()
    for name, contract in (("plain", ""), ("viewed", "[POLICY WBM]")):
        ask = service(endpoint, contract)
        engine.register(
            f"SELECT ?u {WINDOW} {{ ?u <p:m> ?p {ask('?u <p:f> ?x')} {ask('?u <p:g> ?x')} }}",
            name=name,
        )
    mention(engine, 1, 1)
    assert only(engine.queries["plain"]) == [[]]
    assert only(engine.queries["viewed"]) == [[]]


def test_instants_of_the_same_time_and_of_earlier_ones(
    endpoint: Endpoint, opened: Callable[..., Engine]
) -> None:
    """Without a limit each is asked for anew, in whatever order they come."""
    engine = opened()
    for name, contract in (("plain", ""), ("viewed", "[POLICY WBM]")):
        asked = service(endpoint, contract)("?u <p:n> ?n")
        engine.register(
            f"SELECT ?u ?n WHERE {{ STREAM <{STREAM}> [RANGE 4s] {{ ?u <p:m> ?post }} {asked} }}",
            name=name,
            settings={"order": "arrival"},
        )
    for number, time in enumerate((1000, 1000, 2000, 1000, 2000)):
        change(endpoint, 7)
        endpoint.store.update(f"INSERT DATA {{ <u:1> <p:n> {number} }}")
        engine.stream(STREAM).push(f"<u:1> <p:m> <post:{number}> .", at=time)
        engine.step()
    engine.finish()
    plain, viewed = (only(engine.queries[name]) for name in ("plain", "viewed"))
    assert viewed == plain
    assert len(plain) == 5


def test_views_are_bounded_in_rows(endpoint: Endpoint, opened: Callable[..., Engine]) -> None:
    many = "".join(f"<u:{user}> <p:many> {value} .\n" for user in range(9) for value in range(10))
    endpoint.store.load(many.encode(), ox.RdfFormat.TURTLE)
    engine = opened(rows=25, fill="window")
    engine.register(one_user(endpoint, "[BUDGET 1]", pattern="?u <p:many> ?n").replace("4s", "1s"))
    for second in range(1, 10):
        mention(engine, second, second - 1)
    [standing] = engine.runner.kernel.queries
    assert standing.remote is not None
    [view] = standing.remote.views.values()
    assert 10 <= view.rows.height <= 25


# -- how accurate an answer is --------------------------------------------------------------------


@pytest.mark.parametrize("head", ["?u ?n", "(SUM(?n) AS ?s)"])
@pytest.mark.parametrize("policy", ["WBM", "LRU", "RND", "GNR"])
def test_accuracy_alone_is_reached_by_every_policy(
    endpoint: Endpoint, opened: Callable[..., Engine], policy: str, head: str
) -> None:
    engine = opened()
    text = one_user(endpoint, f"[ACCURACY 0.9 POLICY {policy}]").replace("?u ?n", head, 1)
    query = engine.register(text)
    for second in range(1, 9):
        mention(engine, second, *range(6))
    assert min(each.accuracy or 0 for each in query.results()) >= 0.9
    assert not engine.alerts.raised


def test_two_services_are_accurate_together(
    endpoint: Endpoint, opened: Callable[..., Engine]
) -> None:
    engine = opened()
    ask = service(endpoint, "[ACCURACY 0.9]")
    query = engine.register(
        f"SELECT ?u ?n ?g {WINDOW} {{ ?u <p:m> ?post {ask('?u <p:n> ?n')} {ask('?u <p:g> ?g')} }}"
    )
    for second in range(1, 9):
        mention(engine, second, *range(6))
    assert min(each.accuracy or 0 for each in query.results()) >= 0.9


def test_that_there_is_nothing_may_be_wrong_too(
    endpoint: Endpoint, opened: Callable[..., Engine]
) -> None:
    engine = opened()
    ask = service(endpoint, "[BUDGET 0]")
    query = engine.register(
        f"SELECT ?u ?n {WINDOW} {{ ?u <p:m> ?post OPTIONAL {{ {ask('?u <p:n> ?n')} }} }}"
    )
    for second in range(1, 6):
        mention(engine, second, 6)  # of whom the endpoint knows nothing
    found = [each.accuracy or 0 for each in query.results()]
    assert found[0] > found[-1] > 0


def test_of_what_is_not_in_the_view_nothing_is_known(
    endpoint: Endpoint, opened: Callable[..., Engine]
) -> None:
    engine = opened(fill="window")
    ask = service(endpoint, "[BUDGET 0]")
    query = engine.register(
        f"SELECT ?u ?n {WINDOW} {{ ?u <p:m> ?post OPTIONAL {{ {ask('?u <p:n> ?n')} }} }}"
    )
    mention(engine, 1, 1)
    assert [each.accuracy for each in query.results()] == [0]


def test_a_row_is_as_certain_as_the_surest_way_to_it(
    endpoint: Endpoint, opened: Callable[..., Engine]
) -> None:
    engine, ask = opened(), service(endpoint, "[BUDGET 0]")
    both = f"{{ ?u <p:m> ?post }} UNION {{ ?u <p:m> ?post {ask('?u <p:n> ?n')} }}"
    for name, head in (("bag", "?u"), ("set", "DISTINCT ?u"), ("sorted", "DISTINCT ?u")):
        tail = "ORDER BY ?u" if name == "sorted" else ""
        engine.register(f"SELECT {head} {WINDOW} {{ {both} }} {tail}", name=name)
    engine.register(one_user(endpoint, "[BUDGET 0]"), name="remote")
    for second in range(1, 6):
        mention(engine, second, 1)
    for name in ("bag", "set", "sorted"):
        assert {each.accuracy for each in engine.queries[name].results()} == {1.0}
    assert (list(engine.queries["remote"].results())[-1].accuracy or 0) < 1


def test_aggregates_of_groups_are_right_if_all_of_a_group_is(
    endpoint: Endpoint, opened: Callable[..., Engine]
) -> None:
    engine = opened()
    engine.register(one_user(endpoint, "[BUDGET 0]"), name="single")
    for name, key in (("all", "?all"), ("each", "?u")):
        text = one_user(endpoint, "[BUDGET 0]").replace("{ ?u <p:m>", "{ BIND (1 AS ?all) ?u <p:m>")
        engine.register(f"{text} AGGREGATE {{ (?c, SUM(?n), {{{key}}}) }}", name=name)
    for second in range(1, 6):
        mention(engine, second, 1, 4, 5)
    last = {name: list(query.results())[-1].accuracy or 0 for name, query in engine.queries.items()}
    assert last["all"] < last["each"] <= last["single"]
