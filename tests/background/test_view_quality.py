"""How good answers from local views are: right rows, missing rows, and what is said of both."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from typer.testing import CliRunner

from headrace import Engine, Evaluation, Query
from headrace.background.config import ServiceConfig
from headrace.cli import app
from headrace.kernel.alerts import Alert
from headrace.pipeline.manifest import NOTHING
from headrace.pipeline.metrics import Figures, exposition, measures
from headrace.results.ndjson import ndjson_lines

from .endpoint_server import Endpoint, Handler, serving

STREAM = "http://example.org/s"
USERS = 20
DATA = "".join(
    f"<u:{user}> <p:n> {user} . <u:{user}> <p:of> <t:{user % 2}> .\n" for user in range(USERS)
)
Made = Callable[..., Engine]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serving(DATA) as found:
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


def text_of(endpoint: Endpoint, contract: str, head: str = "SELECT ?u ?n", where: str = "") -> str:
    where = where or "?u <p:m> ?post SERVICE <E> [C] { ?u <p:n> ?n }"
    where = where.replace("<E> [C]", f"<{endpoint.iri}> {contract}")
    head, _, tail = head.partition("|")
    return f"{head} FROM STREAM <{STREAM}> [RANGE 4s STEP 1s] {{ {where} }} {tail}"


def mention(engine: Engine, second: int, users: range = range(USERS)) -> None:
    for user in users:
        engine.stream(STREAM).push(f"<u:{user}> <p:m> <x:p> .", at=1000 * second - 500)
    engine.stream(STREAM).push("<x:a> <x:tick> <x:b> .", at=1000 * second + 50)
    engine.step()


def last(query: Query) -> Evaluation:
    assert query.error is None
    return list(query.results())[-1]


def quality(evaluation: Evaluation) -> tuple[float, float]:
    assert evaluation.accuracy is not None
    assert evaluation.completeness is not None
    return round(evaluation.accuracy, 4), round(evaluation.completeness, 4)


# -- rows that are missing ------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"fill": "window"}, {"view": 12}, {"rows": 12}])
def test_two_of_twenty_rows_are_a_tenth(
    endpoint: Endpoint, opened: Made, options: dict[str, Any]
) -> None:
    engine = opened(**options)
    query = engine.register(text_of(endpoint, "[ACCURACY 0.75 BUDGET 2]"), name="q")
    heard: list[Alert] = []
    engine.alerts.on_change(heard.append)
    mention(engine, 1)
    found = last(query)
    assert len(found.rows) == 2
    assert quality(found) == (1.0, 0.1)
    [alert] = heard
    assert alert.problem == "the estimated completeness is 0.10, below 0.75"
    assert alert.completeness == 0.1
    assert "100% accurate and 10% complete" in str(alert)
    [line, *_] = ndjson_lines(found)
    assert list(json.loads(line))[:6] == [
        "query", "at", "seq", "windows", "accuracy", "completeness",
    ]  # fmt: skip
    figures = Figures(NOTHING, contracts=engine.runner.kernel.contracted())
    assert 'headrace_service_completeness{query="q"} 0.1' in exposition(measures(figures, 0.0))
    for second in range(2, 12):
        mention(engine, second)
    assert last(query).completeness == 1.0
    assert heard[-1].problem != alert.problem


def test_an_endpoint_that_cuts_its_answers_has_not_given_everything(
    endpoint: Endpoint, opened: Made
) -> None:
    """It gives ten rows of twenty, and says nothing of the others."""

    def cut(handler: Handler) -> bool:
        found = list(endpoint.store.query(handler.asked))  # type: ignore[arg-type]  # rows
        names = ["u", "n"]
        rows = [
            {
                name: {"type": kind, "value": row[name].value}
                for name, kind in zip(names, ("uri", "literal"), strict=True)
            }
            for row in found[:10]
        ]
        body = {"head": {"vars": names}, "results": {"bindings": rows}}
        return handler.answer(json.dumps(body).encode())

    endpoint.always = cut
    engine = opened()
    query = engine.register(text_of(endpoint, "[BUDGET 5]"))
    mention(engine, 1)
    found = last(query)
    assert len(found.rows) == 5
    assert quality(found) == (1.0, 0.25)
    assert "OFFSET 10" in endpoint.seen[1].query


def test_an_empty_answer_is_as_complete_as_its_mappings_are_known(
    endpoint: Endpoint, opened: Made
) -> None:
    engine = opened(fill="window")
    nobody = engine.register(text_of(endpoint, "[BUDGET 0]"), name="nobody")
    unknown = engine.register(
        text_of(endpoint, "[BUDGET 5]").replace("<p:n>", "<p:nothing>"), name="unknown"
    )
    mention(engine, 1)
    assert quality(last(nobody)) == (1.0, 0.0)
    assert quality(last(unknown)) == (1.0, 0.25)


def test_rows_that_need_no_mapping_are_complete(endpoint: Endpoint, opened: Made) -> None:
    """Half of the rows come from elsewhere: of the others a tenth is there."""
    engine = opened(fill="window")
    where = "{ ?u <p:m> ?n } UNION { ?u <p:m> ?post SERVICE <E> [C] { ?u <p:n> ?n } }"
    query = engine.register(text_of(endpoint, "[BUDGET 2]", where=where))
    mention(engine, 1)
    found = last(query)
    assert len(found.rows) == 22
    assert quality(found) == (1.0, 0.55)


def test_two_views_lack_rows_together(endpoint: Endpoint, opened: Made) -> None:
    engine = opened(fill="window")
    ask = "SERVICE <E> [C] { ?u <p:n> ?n } SERVICE <E> [C] { ?u <p:of> ?t }"
    query = engine.register(text_of(endpoint, "[BUDGET 10]", "SELECT ?u ?t", f"?u <p:m> ?p {ask}"))
    mention(engine, 1)
    found = last(query)
    assert len(found.rows) == 10
    assert quality(found) == (1.0, 0.5), "the second is only asked for what the first has"


def test_optional_counts_what_is_not_known_as_missing(endpoint: Endpoint, opened: Made) -> None:
    engine = opened(fill="window")
    where = "?u <p:m> ?post OPTIONAL { SERVICE <E> [C] { ?u <p:n> ?n } }"
    query = engine.register(text_of(endpoint, "[BUDGET 2]", where=where))
    mention(engine, 1)
    found = last(query)
    assert len(found.rows) == 20
    assert quality(found) == (0.1, 0.1)


# -- rows that are made of many -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "budget", "accuracy", "completeness"),
    [
        ("SELECT (COUNT(*) AS ?k)", 2, 0.0, 1.0),
        ("SELECT (COUNT(*) AS ?k)", 20, 1.0, 1.0),
        ("SELECT (COUNT(*) AS ?k)", 0, 0.0, 1.0),
        ("SELECT ?u (SUM(?n) AS ?k)| GROUP BY ?u", 2, 1.0, 0.1),
    ],
)
def test_a_group_that_lacks_a_solution_is_wrong(
    endpoint: Endpoint,
    opened: Made,
    head: str,
    budget: int,
    accuracy: float,
    completeness: float,
) -> None:
    engine = opened(fill="window")
    query = engine.register(text_of(endpoint, f"[BUDGET {budget}]", head))
    mention(engine, 1)
    assert quality(last(query)) == (accuracy, completeness)


def test_what_is_missing_is_in_one_group_or_the_other(endpoint: Endpoint, opened: Made) -> None:
    """Two teams of ten, of which one solution is missing: one of the two sums is wrong."""
    engine = opened(fill="window")
    where = "?u <p:m> ?post . ?u <p:team> ?t SERVICE <E> [C] { ?u <p:n> ?n }"
    head = "SELECT ?t (SUM(?n) AS ?k)| GROUP BY ?t"
    query = engine.register(text_of(endpoint, "[BUDGET 19]", head, where))
    for user in range(USERS):
        team = f"<u:{user}> <p:team> <t:{user % 2}> ."
        engine.stream(STREAM).push(team, at=400)
    mention(engine, 1)
    accuracy, completeness = quality(last(query))
    assert accuracy == pytest.approx(0.5, abs=0.05)
    assert completeness == 1.0


def test_an_aggregate_beside_rows_is_wrong_if_its_group_lacks_one(
    endpoint: Endpoint, opened: Made
) -> None:
    engine = opened(fill="window")
    head = "SELECT ?u ?n ?k|AGGREGATE { (?k, COUNT, {?all}) }"
    where = "?u <p:m> ?post BIND (1 AS ?all) SERVICE <E> [C] { ?u <p:n> ?n }"
    query = engine.register(text_of(endpoint, "[BUDGET 2]", head, where))
    mention(engine, 1)
    assert quality(last(query)) == (0.0, 0.1)


def test_the_first_rows_may_not_be_the_first(endpoint: Endpoint, opened: Made) -> None:
    """Of twenty rows five are known: of the two greatest a quarter is among them."""
    engine = opened(fill="window")
    head = "SELECT ?u ?n|ORDER BY DESC(?n) LIMIT 2"
    query = engine.register(text_of(endpoint, "[BUDGET 5]", head))
    mention(engine, 1)
    found = last(query)
    assert len(found.rows) == 2
    assert quality(found) == (0.25, 0.25)


# -- what has appeared at the endpoint since ------------------------------------------------------


def test_what_may_have_appeared_since_is_missing_to_that_share(
    endpoint: Endpoint, opened: Made
) -> None:
    """Five users of twenty are known to have a value; the other ones get theirs later."""
    endpoint.store.update("DELETE { ?u <p:n> ?n } WHERE { ?u <p:n> ?n FILTER (?n >= 5) }")
    engine = opened(changes=((endpoint.iri, 4.0),))
    text = text_of(endpoint, "[ACCURACY 0.6 BUDGET 3]")
    query = engine.register(text, name="q")
    optional = engine.register(
        text_of(
            endpoint, "[BUDGET 3]", where="?u <p:m> ?p OPTIONAL { SERVICE <E> [C] { ?u <p:n> ?n } }"
        )
    )
    heard: list[Alert] = []
    engine.alerts.on_change(heard.append)
    mention(engine, 1)
    assert quality(last(query)) == (1.0, 1.0), "what it has just said is so"
    users = "".join(f"<u:{user}> <p:n> {user} ." for user in range(USERS))
    endpoint.store.update(f"INSERT DATA {{ {users} }}")
    shares = []
    for second in range(2, 9):
        mention(engine, second)
        found = last(query)
        assert found.completeness is not None
        shares.append((len(set(found.rows)) / USERS, found.completeness))
    assert [round(true, 2) for true, _ in shares] == [0.4, 0.55, 0.7, 0.85, 1.0, 1.0, 1.0]
    assert all(estimate < 1 for true, estimate in shares if true < 1)
    assert max(abs(true - estimate) for true, estimate in shares) < 0.35
    assert shares[-1][1] > 0.95
    assert "the estimated completeness is" in str(heard[0].problem)
    assert last(optional).completeness == 1.0, "all of its rows are there"


# -- contracts that are broken on the way ---------------------------------------------------------


def test_a_contract_that_is_broken_and_kept_in_one_step_is_heard_of(
    endpoint: Endpoint, opened: Made
) -> None:
    """A replay takes everything in at once: what comes between is no less true."""
    engine = opened(fill="window")
    engine.register(text_of(endpoint, "[ACCURACY 0.75 BUDGET 5]"), name="q")
    heard: list[Alert] = []
    engine.alerts.on_change(heard.append)
    for second in range(1, 9):
        for user in range(USERS):
            engine.stream(STREAM).push(f"<u:{user}> <p:m> <x:p> .", at=1000 * second - 500)
    engine.step()
    assert [(each.at, each.problem) for each in heard] == [
        (1_000_000, "the estimated completeness is 0.25, below 0.75"),
        (3_000_000, None),
    ]
    assert not engine.alerts.raised
    engine.step()
    engine.finish()
    assert len(heard) == 2


def test_a_replay_ends_with_its_alerts_and_metrics(endpoint: Endpoint, tmp_path: Path) -> None:
    stream, metrics, query = tmp_path / "s.tnq", tmp_path / "m.txt", tmp_path / "q.rq"
    stream.write_text(
        "".join(
            f"{1000 * second - 500}\t<u:{user}> <p:m> <x:p> .\n"
            for second in range(1, 9)
            for user in range(USERS)
        )
    )
    query.write_text(text_of(endpoint, "[ACCURACY 0.75 BUDGET 5]"))
    endpoint.always = cutting(endpoint, 7)
    options = ["--runner", "inline", "--once", "--metrics", str(metrics), "-q"]
    options += ["--service-allow", endpoint.iri, "--service-private", "127.0.0.1"]
    sources = ["--stream", f"{STREAM}={stream}", "--out", str(tmp_path / "o.ndjson")]
    result = CliRunner().invoke(app, ["run", str(query), *sources, *options])
    assert result.exit_code == 0, result.stderr
    said = [line for line in result.stderr.splitlines() if "its contract with" in line]
    assert len(said) == 2
    assert "the estimated completeness is 0.25, below 0.75" in said[0]
    assert said[1].endswith("again")
    text = metrics.read_text()
    [requests] = re.findall(r"headrace_service_requests_total\{.*\} (\d+)", text)
    assert int(requests) == len(endpoint.seen)
    assert re.search(r"headrace_service_completeness\{.*\} 1$", text, re.MULTILINE)


# -- new keys -------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["WBM", "LRU", "RND", "GNR"])
@pytest.mark.parametrize("fill", ["whole", "window"])
def test_new_keys_are_fetched_first(
    endpoint: Endpoint, opened: Made, policy: str, fill: str
) -> None:
    """Also where all the rest is old, and where a view was filled with all there was."""
    engine = opened(fill=fill, refresh="bound", changes=((endpoint.iri, 1.0),))
    query = engine.register(text_of(endpoint, f"[POLICY {policy} BUDGET 10]"))
    mention(engine, 1, range(10))
    mention(engine, 5, range(10))
    endpoint.store.update("INSERT DATA { <u:77> <p:n> 77 . <u:78> <p:n> 78 }")
    for user in (77, 78):
        engine.stream(STREAM).push(f"<u:{user}> <p:m> <x:p> .", at=5500)
    before = len(endpoint.seen)
    mention(engine, 6, range(10))
    asked = [each.query for each in endpoint.seen[before:]]
    assert 2 <= len(asked) <= 10
    first = " ".join(asked[:2])
    assert "<u:77>" in first
    assert "<u:78>" in first
    values = {str(row[0]) for row in last(query).rows}
    assert {"<u:77>", "<u:78>"} <= values


# -- endpoints that cut their answers ------------------------------------------------------------


def cutting(endpoint: Endpoint, limit: int) -> Callable[[Handler], bool]:
    """Give so many rows at most, and say nothing of the others."""

    def cut(handler: Handler) -> bool:
        found = endpoint.store.query(handler.asked)
        assert isinstance(found, ox.QuerySolutions)
        names = [each.value for each in found.variables]
        rows = [
            {name: _cell(row[name]) for name in names if row[name] is not None}
            for row in list(found)[:limit]
        ]
        body = {"head": {"vars": names}, "results": {"bindings": rows}}
        return handler.answer(json.dumps(body).encode())

    return cut


def _cell(term: Any) -> dict[str, str]:
    if isinstance(term, ox.NamedNode):
        return {"type": "uri", "value": term.value}
    return {"type": "literal", "value": term.value, "datatype": term.datatype.value}


@pytest.mark.parametrize("fill", ["whole", "window"])
@pytest.mark.parametrize("refresh", ["blocks", "bound"])
@pytest.mark.parametrize("limit", [2, 3, 7, 10, 12, 15, 59, 60, 61])
def test_no_row_limit_hides_rows(
    endpoint: Endpoint, opened: Made, limit: int, refresh: str, fill: str
) -> None:
    """Three values of each of twenty users, which no answer of the endpoint has at once."""
    friends = "".join(
        f"<u:{user}> <p:k> {user}, {100 + user}, {200 + user} ." for user in range(USERS)
    )
    endpoint.store.update(f"INSERT DATA {{ {friends} }}")
    endpoint.always = cutting(endpoint, limit)
    engine = opened(refresh=refresh, fill=fill)
    query = engine.register(
        text_of(endpoint, "[BUDGET 7]", where="?u <p:m> ?post SERVICE <E> [C] { ?u <p:k> ?n }")
    )
    for second in range(1, 6):
        mention(engine, second)
        found = last(query)
        users = {str(row[0]) for row in found.rows}
        assert len(set(found.rows)) == 3 * len(users), "all the values of a user, or none"
        assert found.completeness == pytest.approx(len(users) / USERS)
    assert len(users) == USERS


def test_an_endpoint_that_does_not_follow_offset_is_read_once(
    endpoint: Endpoint, opened: Made
) -> None:
    """It gives the same rows again: it cannot be found out whether there are more."""

    def deaf(handler: Handler) -> bool:
        handler.asked = re.sub(r" OFFSET \d+", "", handler.asked)
        return cutting(endpoint, USERS + 2)(handler)

    endpoint.store.update("INSERT DATA { <u:20> <p:n> 20 . <u:21> <p:n> 21 }")
    endpoint.always = deaf
    engine = opened()
    query = engine.register(text_of(endpoint, "[BUDGET 5]"))
    mention(engine, 1)
    assert quality(last(query)) == (1.0, 1.0)
    assert len(endpoint.seen) == 2


# -- groups that are missing ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "where", "budget", "completeness"),
    [
        # Four teams, of which the keys of the first mappings are in some.
        ("SELECT ?t (SUM(?n) AS ?k)| GROUP BY ?t", "?u <p:n> ?n", 1, 0.25),
        ("SELECT ?t (SUM(?n) AS ?k)| GROUP BY ?t", "?u <p:n> ?n", USERS, 1.0),
        ("SELECT (SUM(?n) AS ?k)", "?u <p:n> ?n", 1, 1.0),
        # The keys of the groups come from the endpoint: nineteen may be in another one.
        ("SELECT ?o (COUNT(?u) AS ?k)| GROUP BY ?o", "?u <p:of> ?o", 1, 0.05),
        ("SELECT ?o (COUNT(?u) AS ?k)| GROUP BY ?o", "?u <p:of> ?o", USERS, 1.0),
    ],
)
def test_a_group_without_a_known_solution_is_missing(
    endpoint: Endpoint, opened: Made, head: str, where: str, budget: int, completeness: float
) -> None:
    engine = opened(fill="window")
    pattern = f"?u <p:m> ?post . ?u <p:team> ?t SERVICE <E> [C] {{ {where} }}"
    query = engine.register(text_of(endpoint, f"[BUDGET {budget}]", head, pattern))
    for user in range(USERS):
        engine.stream(STREAM).push(f"<u:{user}> <p:team> <t:{user % 4}> .", at=400)
    mention(engine, 1)
    assert last(query).completeness == pytest.approx(completeness)
