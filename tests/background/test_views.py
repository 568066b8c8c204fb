"""SERVICE under a budget, against an endpoint on loopback whose data change."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest

from headrace import Engine, Evaluation
from headrace.background.config import ServiceConfig
from headrace.errors import QueryError, SettingError
from headrace.kernel.alerts import Alert
from headrace.kernel.arrivals import Arrivals
from headrace.kernel.evaluations import evaluations
from headrace.kernel.memory import QueryMemory, memory_of, recall
from headrace.kernel.step import Kernel
from headrace.pipeline.manifest import NOTHING
from headrace.pipeline.memories import read_memory, write_memory
from headrace.pipeline.metrics import Figures, exposition, measures
from headrace.rdf.terms import Iri
from headrace.results.ndjson import ndjson_lines
from headrace.sinks.ndjson import ndjson_text

from .endpoint_server import Endpoint, Handler, serving

STREAM = "http://example.org/s"
USERS = 12


def followers(number: int = USERS, offset: int = 0) -> str:
    return "".join(f"<u:{user}> <p:n> {user + offset} .\n" for user in range(number))


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serving(followers()) as server:
        yield server


OPENED: list[Engine] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Leave no connection open, whatever a test does."""
    yield
    while OPENED:
        OPENED.pop().static.close()


def opened(config: ServiceConfig, checkpoint: Path | None = None) -> Engine:
    OPENED.append(Engine(services=config, checkpoint=checkpoint))
    return OPENED[-1]


def change(endpoint: Endpoint, user: int, count: int) -> None:
    where = f"<u:{user}> <p:n> ?n"
    endpoint.store.update(
        f"DELETE {{ {where} }} INSERT {{ <u:{user}> <p:n> {count} }} WHERE {{ {where} }}"
    )


def engine_for(endpoint: Endpoint, **options: object) -> Engine:
    config = ServiceConfig(allow=(endpoint.iri,), private=("127.0.0.1",), **options)  # type: ignore[arg-type]  # options of it
    return opened(config)


def text_for(endpoint: Endpoint, contract: str, head: str = "SELECT ?u ?n", tail: str = "") -> str:
    return (
        f"{head} FROM STREAM <{STREAM}> [RANGE 4s STEP 1s] "
        f"{{ ?u <p:mentioned> ?post SERVICE <{endpoint.iri}> {contract} {{ ?u <p:n> ?n }} }} {tail}"
    )


def played(
    engine: Engine,
    endpoint: Endpoint,
    seconds: int,
    each: Callable[[int, int], None] = lambda _second, _requests: None,
    *,
    users: int = USERS,
) -> None:
    """Mention three users a second, change one, and say how many requests each step took."""
    stream = engine.stream(STREAM)
    for second in range(1, seconds + 1):
        change(endpoint, second % USERS, 1000 + second)
        for number in range(3):
            user = (3 * second + number) % users
            at = 1000 * second - 900 + number
            stream.push(f"<u:{user}> <p:mentioned> <post:{second}-{number}> .", at=at)
        stream.push("<u:none> <p:tick> <x:tick> .", at=1000 * second + 50)
        before = len(endpoint.asked)
        engine.step()
        each(second, len(endpoint.asked) - before)


def rows_of(evaluation: Evaluation) -> list[tuple[str, ...]]:
    return sorted(tuple(str(term) for term in row) for row in evaluation.rows)


# -- the budget -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("refresh", "policy", "budget"),
    [
        ("auto", "WBM", 0),
        ("auto", "WBM", 1),
        ("bound", "WBM", 3),
        ("blocks", "LRU", 3),
        ("bound", "RND", 2),
        ("blocks", "GNR", 1),
        ("bound", "GNR", 3),
    ],
)
def test_requests_never_exceed_the_budget(
    endpoint: Endpoint, refresh: str, policy: str, budget: int
) -> None:
    engine = engine_for(endpoint, refresh=refresh)
    query = engine.register(text_for(endpoint, f"[POLICY {policy} BUDGET {budget}]"))
    counts: list[int] = []
    played(engine, endpoint, 12, lambda _second, requests: counts.append(requests))
    assert counts[0] == 1, "the view is filled by one request"
    assert max(counts[1:]) <= budget
    if budget:
        assert sum(counts[1:]) > 0
    asked = [each.query for each in endpoint.asked[1:]]
    assert all(("VALUES" in text) == (refresh != "bound") for text in asked)
    found = list(query.results())
    assert all(each.error is None for each in found)
    assert all(each.accuracy is not None and 0 <= each.accuracy <= 1 for each in found)
    standing = engine.runner.kernel.contracted()["q1"]
    assert standing.requests == len(endpoint.seen)


@pytest.mark.parametrize("refresh", ["blocks", "bound"])
def test_without_a_limit_answers_are_those_of_a_plain_service(
    endpoint: Endpoint, refresh: str
) -> None:
    engine = engine_for(endpoint, refresh=refresh)
    plain = engine.register(text_for(endpoint, ""), name="plain")
    viewed = engine.register(text_for(endpoint, "[POLICY WBM]"), name="viewed")
    played(engine, endpoint, 15)
    ours, theirs = list(viewed.results()), list(plain.results())
    assert [rows_of(each) for each in ours] == [rows_of(each) for each in theirs]
    assert sum(len(each.rows) for each in ours) > 100
    assert {each.accuracy for each in ours} == {1.0}
    assert {each.accuracy for each in theirs} == {None}


def test_with_little_budget_old_values_are_answered(endpoint: Endpoint) -> None:
    engine = engine_for(endpoint)
    plain = engine.register(text_for(endpoint, ""), name="plain")
    viewed = engine.register(text_for(endpoint, "[BUDGET 0]"), name="viewed")
    played(engine, endpoint, 12)
    last, true = list(viewed.results())[-1], list(plain.results())[-1]
    assert [row[0] for row in rows_of(last)] == [row[0] for row in rows_of(true)]
    assert rows_of(last) != rows_of(true)
    assert last.accuracy is not None
    assert last.accuracy < 1


def test_enough_accuracy_takes_no_more_requests(endpoint: Endpoint) -> None:
    """Where only accuracy is asked for, there are as many refreshes as it takes."""
    counts: dict[str, int] = {}
    for accuracy in ("0.2", "0.9"):
        engine = engine_for(endpoint, refresh="bound")
        query = engine.register(text_for(endpoint, f"[ACCURACY {accuracy} POLICY LRU]"))
        before = len(endpoint.seen)
        played(engine, endpoint, 12)
        counts[accuracy] = len(endpoint.seen) - before
        found = [each.accuracy for each in query.results()]
        assert min(each for each in found if each is not None) >= float(accuracy)
    assert counts["0.2"] < counts["0.9"]


# -- what the view holds --------------------------------------------------------------------------


def test_a_large_endpoint_is_asked_for_what_windows_need(endpoint: Endpoint) -> None:
    engine = engine_for(endpoint, rows=10, refresh="bound")
    query = engine.register(text_for(endpoint, "[BUDGET 2]"))
    counts: list[int] = []
    played(engine, endpoint, 8, lambda _second, requests: counts.append(requests))
    assert "LIMIT 10" in endpoint.seen[0].query
    assert counts[0] <= 3, "the attempt to fill it, and the budget"
    assert max(counts[1:]) <= 2
    found = list(query.results())
    assert len(found[0].rows) < 3, "what is missing and over the budget is absent"
    standing = engine.runner.kernel.contracted()["q1"]
    assert standing.missing > 0
    assert len(found[-1].rows) > len(found[0].rows)


def test_a_view_is_bounded(endpoint: Endpoint) -> None:
    engine = engine_for(endpoint, view=13, fill="window")
    engine.register(text_for(endpoint, "[BUDGET 12]"))
    played(engine, endpoint, 20, users=40)
    assert engine.runner.kernel.contracted()["q1"].mappings <= 13


def test_what_is_not_there_is_known_too(endpoint: Endpoint) -> None:
    engine = engine_for(endpoint)
    query = engine.register(text_for(endpoint, "[BUDGET 9]"))
    endpoint.store.update("DELETE { ?u <p:n> ?n } WHERE { ?u <p:n> ?n }")
    stream = engine.stream(STREAM)
    stream.push("<u:new> <p:mentioned> <x:post> .", at=100)
    stream.push("<x:a> <x:tick> <x:b> .", at=1100)
    engine.step()
    endpoint.store.update("INSERT DATA { <u:new> <p:n> 5 }")
    stream.push("<x:a> <x:tick> <x:b> .", at=2100)
    engine.step()
    first, second = query.results()
    assert rows_of(first) == []
    assert [row[0] for row in rows_of(second)] == ["<u:new>"]


def test_an_endpoint_without_values_is_asked_one_by_one(endpoint: Endpoint) -> None:
    def refuse(handler: Handler) -> bool:
        if "VALUES" not in endpoint.seen[-1].query:
            return False
        return handler.answer(b"what is VALUES?", "text/plain", 400)

    endpoint.always = refuse
    engine = engine_for(endpoint)
    query = engine.register(text_for(endpoint, "[POLICY LRU BUDGET 3]"))
    played(engine, endpoint, 8)
    blocks = ["VALUES" in each.query for each in endpoint.seen]
    assert 1 <= sum(blocks) <= 3, "only in the evaluation that finds out"
    assert not blocks[-1]
    assert all(each.error is None for each in query.results())


@pytest.mark.parametrize("refused", [range(4, 7), range(7)], ids=["later", "from the start"])
def test_what_is_refused_for_a_while_is_asked_in_blocks_again(
    endpoint: Endpoint, refused: range
) -> None:
    def refuse(handler: Handler) -> bool:
        if len(endpoint.seen) - 1 not in refused:
            return False
        return handler.answer(b"who are you?", "text/plain", 403)

    endpoint.always = refuse
    engine = engine_for(endpoint, fill="window", backoff=0.0, longest_backoff=0.0)
    query = engine.register(text_for(endpoint, "[POLICY LRU BUDGET 3]"))
    played(engine, endpoint, 20)
    assert len(endpoint.seen) > max(refused) + 3
    assert "VALUES" in endpoint.seen[-1].query
    assert all(each.error is None for each in query.results())


@pytest.mark.parametrize("budget", ["", "[BUDGET 1]"])
def test_an_endpoint_that_is_not_allowed_is_refused_with_its_place(
    endpoint: Endpoint, budget: str
) -> None:
    engine = opened(ServiceConfig())
    text = text_for(endpoint, budget)
    with pytest.raises(QueryError, match="this endpoint is not allowed") as caught:
        engine.register(text)
    assert caught.value.span is not None
    assert text[caught.value.span.start :].startswith(f"<{endpoint.iri}>")
    assert "--service-allow" in (caught.value.hint or "")
    assert not endpoint.seen


def test_who_is_silent_goes_on_without_an_endpoint_that_is_not_allowed(endpoint: Endpoint) -> None:
    engine = opened(ServiceConfig())
    query = engine.register(text_for(endpoint, "").replace("SERVICE", "SERVICE SILENT"))
    played(engine, endpoint, 2)
    found = query.results()
    assert found
    assert all(each.error is None for each in found)
    assert not endpoint.seen


def test_rows_of_groups_are_right_if_all_they_are_made_of_is(endpoint: Endpoint) -> None:
    engine = engine_for(endpoint)
    single = engine.register(text_for(endpoint, "[BUDGET 0]"), name="single")
    total = engine.register(
        text_for(endpoint, "[BUDGET 0]", "SELECT (SUM(?n) AS ?sum)"), name="total"
    )
    grouped = engine.register(
        text_for(endpoint, "[BUDGET 0]", "SELECT ?u (SUM(?n) AS ?sum)", "GROUP BY ?u"),
        name="grouped",
    )
    played(engine, endpoint, 8)
    one, both, each = (list(query.results())[-1] for query in (single, total, grouped))
    assert one.accuracy is not None
    assert both.accuracy is not None
    assert both.accuracy < one.accuracy**2, "one row that is right only if all are"
    assert each.accuracy is not None
    assert both.accuracy < each.accuracy <= one.accuracy + 1e-6


def test_everything_together(endpoint: Endpoint, tmp_path: Path) -> None:
    """A window, a schema, static data and a SERVICE under a budget, against a plain one."""
    schema = tmp_path / "schema.ttl"
    schema.write_text(
        "<p:mentioned> <http://www.w3.org/2000/01/rdf-schema#subPropertyOf> <p:seen> ."
    )
    counts: dict[str, list[Evaluation]] = {}
    engine = Engine(
        services=ServiceConfig(allow=(endpoint.iri,), private=("127.0.0.1",)), schema=schema
    )
    OPENED.append(engine)
    engine.static.load_text("".join(f"<u:{user}> <p:of> <t:{user % 3}> .\n" for user in range(9)))
    for name, contract in (("plain", ""), ("all", "[POLICY LRU]"), ("some", "[BUDGET 2]")):
        engine.register(
            f"REGISTER QUERY {name} AS SELECT ?team ?u ?n "
            f"FROM STREAM <{STREAM}> [RANGE 4s STEP 1s] WHERE {{ ?u <p:seen> ?post . "
            f"?u <p:of> ?team SERVICE <{endpoint.iri}> {contract} {{ ?u <p:n> ?n }} }}"
        )
    played(engine, endpoint, 10)
    for name in ("plain", "all", "some"):
        counts[name] = list(engine.queries[name].results())
    assert sum(len(each.rows) for each in counts["plain"]) > 40
    assert [rows_of(each) for each in counts["all"]] == [rows_of(each) for each in counts["plain"]]
    assert {each.accuracy for each in counts["all"]} == {1.0}
    assert all(each.accuracy is not None and each.error is None for each in counts["some"])


def test_optional_and_filters(endpoint: Endpoint) -> None:
    engine = engine_for(endpoint)
    query = engine.register(
        f"SELECT ?u ?n FROM STREAM <{STREAM}> [RANGE 4s STEP 1s] {{ ?u <p:mentioned> ?post "
        f"OPTIONAL {{ SERVICE <{endpoint.iri}> [BUDGET 2] {{ ?u <p:n> ?n }} }} "
        "FILTER (!BOUND(?n) || ?n != 3) }"
    )
    played(engine, endpoint, 6, users=20)
    found = list(query.results())
    assert all(each.error is None and each.accuracy is not None for each in found)
    assert any(row[1] is None for each in found for row in each.rows)


# -- time -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("delay", "refreshes"), [(0.005, True), (0.05, True), (0.5, False)])
def test_what_does_not_fit_into_the_time_is_not_refreshed(
    endpoint: Endpoint, delay: float, refreshes: bool
) -> None:
    """That evaluations end in time is seen by `headrace bench acqua`, and by another clock."""

    def slow(_handler: Handler) -> bool:
        time.sleep(delay)
        return False

    endpoint.always = slow
    engine = engine_for(endpoint, refresh="bound")
    query = engine.register(text_for(endpoint, "[WITHIN 400ms POLICY LRU BUDGET 5]"))
    stream, counts = engine.stream(STREAM), list[int]()
    for second in range(1, 21):
        for user in range(USERS):
            stream.push(f"<u:{user}> <p:mentioned> <x:post> .", at=1000 * second - 900 + user)
        stream.push("<x:a> <x:tick> <x:b> .", at=1000 * second + 50)
        before = len(endpoint.seen)
        engine.step()
        counts.append(len(endpoint.seen) - before)
    assert max(counts[1:]) <= 5
    found = list(query.results())
    assert len(found) >= 20
    assert all(each.error is None for each in found)
    refreshed = engine.runner.kernel.contracted()["q1"].refreshed
    assert bool(refreshed) == refreshes
    if not refreshes:
        assert found[-1].accuracy is not None
        assert found[-1].accuracy < 1
        assert engine.alerts.raised


# -- an endpoint that dies ------------------------------------------------------------------------


def test_a_dead_endpoint_costs_accuracy_and_no_answers() -> None:
    heard: list[Alert] = []
    with serving(followers()) as first:
        port = first.server_address[1]
        config = ServiceConfig(
            allow=(first.iri,), private=("127.0.0.1",), backoff=0.01, longest_backoff=0.05
        )
        engine = opened(config)
        engine.alerts.on_change(heard.append)
        query = engine.register(text_for(first, "[ACCURACY 0.1 POLICY LRU BUDGET 4]"))
        played(engine, first, 5)
        alive = list(query.results())
        assert not heard
        stand_in = first
    stream = engine.stream(STREAM)

    def go_on(first_second: int, last: int) -> list[Evaluation]:
        for second in range(first_second, last):
            stream.push(f"<u:{second % USERS}> <p:mentioned> <x:post> .", at=1000 * second - 500)
            stream.push("<x:a> <x:tick> <x:b> .", at=1000 * second + 50)
            engine.step()
            time.sleep(0.02)
        return list(query.results())

    dead = go_on(6, 16)
    assert all(each.error is None for each in dead)
    assert dead[-1].rows, "the view still answers"
    assert dead[-1].accuracy is not None
    assert alive[-1].accuracy is not None
    assert dead[-1].accuracy < alive[-1].accuracy
    assert len(heard) == 1, "raised once, not at every evaluation"
    assert heard[0].problem is not None
    assert "cannot be reached" in heard[0].problem
    assert heard[0].endpoint == stand_in.iri
    with serving(followers(offset=500), port=port):
        back = go_on(16, 26)
    assert all(each.error is None for each in back)
    assert [each.problem is None for each in heard] == [False, True], "and cleared once"
    assert any(int(row[1].lexical) >= 500 for row in back[-1].rows if row[1] is not None)  # type: ignore[union-attr]  # numbers


def test_an_endpoint_that_is_dead_from_the_start() -> None:
    with serving(followers()) as server:
        port = server.server_address[1]
        gone = server
    config = ServiceConfig(
        allow=(gone.iri,), private=("127.0.0.1",), backoff=0.01, longest_backoff=0.02
    )
    engine = opened(config)
    query = engine.register(text_for(gone, "[BUDGET 2]"))
    played(engine, gone, 3)
    found = list(query.results())
    assert [each.error for each in found] == [None] * len(found)
    assert all(not each.rows for each in found)
    assert engine.alerts.raised
    with serving(followers(), port=port) as server:
        stream = engine.stream(STREAM)
        for second in range(4, 10):
            stream.push("<u:1> <p:mentioned> <x:post> .", at=1000 * second - 500)
            stream.push("<x:a> <x:tick> <x:b> .", at=1000 * second + 50)
            engine.step()
            time.sleep(0.03)
        assert server.seen
    assert list(query.results())[-1].rows
    assert not engine.alerts.raised


# -- what is told, and what is kept ---------------------------------------------------------------


def test_accuracy_is_on_every_line(endpoint: Endpoint) -> None:
    engine = engine_for(endpoint)
    query = engine.register(text_for(endpoint, "[BUDGET 1]"), name="q")
    form = query.parsed.query.form
    stream = engine.stream(STREAM)
    lines: list[str] = []
    deliver = engine._deliver

    def both(reports: object) -> None:
        for report in reports:  # type: ignore[attr-defined]  # as the engine gives them
            ours = ndjson_text(report, form)
            theirs = [line for each in evaluations(report, form) for line in ndjson_lines(each)]
            assert ours == theirs
            lines.extend(ours)
        deliver(reports)  # type: ignore[arg-type]  # as above

    engine._deliver = both  # type: ignore[method-assign]  # to see what it is given
    for second in range(1, 6):
        stream.push(f"<u:{second}> <p:mentioned> <x:post> .", at=1000 * second - 500)
    engine.finish()
    said = [json.loads(line) for line in lines]
    assert said
    assert all(0 <= each["accuracy"] <= 1 for each in said)


def test_metrics_of_contracts(endpoint: Endpoint) -> None:
    engine = engine_for(endpoint)
    engine.register(text_for(endpoint, "[ACCURACY 1 BUDGET 1]"), name="q")
    played(engine, endpoint, 6)
    figures = Figures(NOTHING, contracts=engine.runner.kernel.contracted())
    text = exposition(measures(figures, 0.0))
    assert 'headrace_service_alert{query="q"} 1' in text
    assert 'headrace_service_mappings{query="q"} 12' in text
    assert f'headrace_service_requests_total{{query="q"}} {len(endpoint.seen)}' in text


def test_views_are_remembered(endpoint: Endpoint, tmp_path: Path) -> None:
    """A kernel that is made from a memory answers as the one it was of, and asks no more."""
    text = text_for(endpoint, "[POLICY WBM BUDGET 2]")
    engine = engine_for(endpoint)
    engine.register(text, name="q")
    played(engine, endpoint, 8)
    kernel = engine.runner.kernel
    memory = memory_of(kernel)
    found = write_memory(tmp_path, memory)
    assert found is not None
    name, checksum = found
    bare = {
        name: QueryMemory(each.progress, each.since, each.failure)
        for name, each in memory.queries.items()
    }
    read = read_memory(tmp_path / name, checksum, bare, {}, memory.position)
    other = engine_for(endpoint)
    other.stream(STREAM)
    other.register(text, name="q")
    again = Kernel(other.plans(), other.around())
    recall(again, read, {Iri(STREAM): _held(kernel)})
    [ours], [theirs] = kernel.queries, again.queries
    assert ours.remote is not None
    assert theirs.remote is not None
    before, after = ours.remote.frames(), theirs.remote.frames()
    assert before.keys() == after.keys()
    for part in before:
        assert before[part].equals(after[part]), part
    requests = len(endpoint.seen)
    first, second = kernel.finish(), again.finish()
    assert [each.rows.rows() for each in first.reports] == [
        each.rows.rows() for each in second.reports
    ]
    assert [each.accuracies for each in first.reports] == [
        each.accuracies for each in second.reports
    ]
    assert first.reports[0].rows.height > 0
    assert len(endpoint.seen) > requests


def _held(kernel: Kernel) -> Arrivals:
    log = kernel.logs[Iri(STREAM)]
    return Arrivals(log.statements, log.high, log.elements)


def test_a_deployed_run_keeps_its_view(endpoint: Endpoint, tmp_path: Path) -> None:
    source = tmp_path / "s.tnq"
    lines = [
        f"{1000 * second - 500}\t<u:{second % USERS}> <p:mentioned> <x:post> .\n"
        for second in range(1, 15)
    ]
    source.write_text("".join(lines))
    config = ServiceConfig(allow=(endpoint.iri,), private=("127.0.0.1",))
    engine = opened(config, tmp_path / "run")
    engine.stream(STREAM, source=str(source))
    query = engine.register(text_for(endpoint, "[BUDGET 2]"), name="q")
    engine.run(once=True, runner="inline")
    found = list(query.results())
    assert len(found) > 10
    assert all(each.error is None and each.accuracy is not None for each in found)
    assert len(endpoint.seen) <= 1 + 2 * len(found)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"fill": "half"}, "expected fill as whole or window"),
        ({"refresh": "never"}, "expected refresh as auto or blocks or bound"),
        ({"view": 0}, "expected a positive view"),
        ({"changes": (("http://e.example/", 0.0),)}, "expected a positive time between changes"),
    ],
)
def test_wrong_configurations(options: dict[str, object], problem: str) -> None:
    with pytest.raises(SettingError, match=problem):
        ServiceConfig(**options)  # type: ignore[arg-type]  # that is what is tested


def test_declared_changes_are_believed(endpoint: Endpoint) -> None:
    engine = engine_for(endpoint, changes=((endpoint.iri, 7.0),))
    engine.register(text_for(endpoint, "[BUDGET 1]"))
    played(engine, endpoint, 1)
    [standing] = engine.runner.kernel.queries
    assert standing.remote is not None
    [view] = standing.remote.views.values()
    assert view.local is not None
    assert view.local.expected == 7_000_000


# -- without a budget -----------------------------------------------------------------------------


@pytest.mark.parametrize(("join", "requests"), [("nested", 12), ("blocks", 3), ("hash", 1)])
def test_ways_to_join_give_the_same(endpoint: Endpoint, join: str, requests: int) -> None:
    engine = engine_for(endpoint, join=join, block=4)
    query = engine.register(text_for(endpoint, ""))
    stream = engine.stream(STREAM)
    for user in range(USERS + 5):
        stream.push(f"<u:{user % USERS}> <p:mentioned> <x:post> .", at=100)
    stream.push("<x:a> <x:tick> <x:b> .", at=1050)
    engine.step()
    [found] = query.results()
    assert len(endpoint.seen) == requests
    assert sum("VALUES" in each.query for each in endpoint.seen) == (
        requests if join == "blocks" else 0
    )
    assert {row[0] for row in rows_of(found)} == {f"<u:{user}>" for user in range(USERS)}


def test_the_way_is_chosen_by_cost(endpoint: Endpoint) -> None:
    def slow(_handler: Handler) -> bool:
        time.sleep(0.02)
        return False

    endpoint.always = slow
    engine = engine_for(endpoint, block=1)
    engine.register(text_for(endpoint, ""))
    played(engine, endpoint, 3)
    asked = ["VALUES" in each.query for each in endpoint.seen]
    assert asked[:3] == [True, True, True], "three bindings: not worth to find out"
    assert not asked[-1], "nine of them cost more than everything"


def test_an_answer_that_is_too_large_is_asked_for_in_blocks(endpoint: Endpoint) -> None:
    endpoint.store.load(followers(40).encode(), ox.RdfFormat.TURTLE)
    engine = engine_for(endpoint, block=1, rows=30)
    query = engine.register(text_for(endpoint, ""))
    played(engine, endpoint, 4)
    found = list(query.results())
    assert [each.error for each in found if each.error is not None] == []
    whole = ["VALUES" not in each.query for each in endpoint.seen]
    assert sum(whole) == 1, "once, and never again"


# -- contracts that have several parts -----------------------------------------------------------


@pytest.mark.parametrize(
    "contract",
    ["ACCURACY 0.9", "ACCURACY 0.9 BUDGET 8", "ACCURACY 0.9 BUDGET 8 POLICY LRU",
     "ACCURACY 0.9 WITHIN 100s"],
)  # fmt: skip
def test_a_budget_that_is_enough_is_spent_on_accuracy(endpoint: Endpoint, contract: str) -> None:
    engine = engine_for(endpoint, block=50)
    query = engine.register(text_for(endpoint, f"[{contract}]"))
    stream = engine.stream(STREAM)
    found: list[Evaluation] = []
    for second in range(1, 12):
        for user in range(8):
            stream.push(f"<u:{user}> <p:mentioned> <post:{second}> .", at=1000 * second)
        engine.step()
        found += query.results()
        for user in range(8):
            change(endpoint, user, 1000 * second + user)
    assert len(found) == 10
    # How long requests take is not known at first.
    known = found[2:] if "WITHIN" in contract else found
    assert all(each.accuracy is not None and each.accuracy >= 0.9 for each in known)
    assert not engine.alerts.raised


@pytest.mark.parametrize("policy", ["WBM", "LRU", "RND"])
def test_who_is_elected_depends_on_no_seed(policy: str) -> None:
    said = []
    for seed in (0, 1, 2**63 + 5):
        asked: list[list[str]] = []
        with serving(followers()) as endpoint:
            config = ServiceConfig((endpoint.iri,), ("127.0.0.1",), block=1)
            OPENED.append(Engine(services=config, seed=seed))
            query = OPENED[-1].register(text_for(endpoint, f"[POLICY {policy} BUDGET 2]"), name="q")

            def note(
                _second: int,
                requests: int,
                asked: list[list[str]] = asked,
                endpoint: Endpoint = endpoint,
            ) -> None:
                sent = endpoint.seen[len(endpoint.seen) - requests :]
                asked.append(sorted(each.query for each in sent))

            played(OPENED[-1], endpoint, 8, note)
            said.append((asked, [(rows_of(each), each.accuracy) for each in query.results()]))
    assert said[0] == said[1] == said[2]
    assert any(len(each) == 2 for each in said[0][0])


# -- what is sent ---------------------------------------------------------------------------------


def test_graphs_inside_a_service_are_those_of_the_endpoint() -> None:
    with serving() as endpoint:
        quad = ox.Quad(ox.NamedNode("u:1"), ox.NamedNode("p:n"), ox.Literal(7), ox.NamedNode("g:1"))
        endpoint.store.add(quad)
        text = text_for(endpoint, "").replace("{ ?u <p:n> ?n }", "{ GRAPH ?g { ?u <p:n> ?n } }")
        engine = engine_for(endpoint)
        query = engine.register(text.replace("SELECT", "SELECT ?g"))
        stream = engine.stream(STREAM)
        stream.push("<u:1> <p:mentioned> <post:1> .", at=500)
        engine.finish()
        assert query.error is None
        assert rows_of(next(iter(query.results())))[0][:2] == ("<g:1>", "<u:1>")


@pytest.mark.parametrize(
    ("inside", "problem"),
    [
        ("?u <p:n> ?n FILTER(timestamp(?u) > 5)", "timestamp() is about streams"),
        ("?u <p:n> ?n BIND(STARTTIME() AS ?t)", "STARTTIME() is about streams"),
        ("{ ?u <p:n> ?n } BEFORE { ?u <p:n> ?k }", "BEFORE is about streams"),
        ("?u <p:n> ?n SERVICE <http://e/> [BUDGET 2] { ?u <p:k> ?l }", "a budget inside another"),
    ],
)
def test_what_no_endpoint_can_answer_is_refused_with_its_place(
    endpoint: Endpoint, inside: str, problem: str
) -> None:
    text = text_for(endpoint, "").replace("{ ?u <p:n> ?n }", f"{{ {inside} }}")
    with pytest.raises(QueryError, match=re.escape(problem)) as caught:
        engine_for(endpoint).register(text)
    assert caught.value.line == 1
    assert caught.value.hint


def test_what_an_endpoint_asks_is_not_ours_to_allow(endpoint: Endpoint) -> None:
    inside = "{ ?u <p:n> ?n SERVICE <http://other.example/> { ?n <p:k> ?k } }"
    engine_for(endpoint).register(text_for(endpoint, "").replace("{ ?u <p:n> ?n }", inside))
