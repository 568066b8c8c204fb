"""Refreshes between evaluations, within a declared rate; and rates of change that are declared."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headrace import Engine
from headrace.background.change_intervals import read_change_intervals
from headrace.background.config import ServiceConfig
from headrace.background.paced_requests import PacedSender
from headrace.errors import SettingError
from headrace.kernel.remote import Contracted
from headrace.kernel.view import RemoteView
from headrace.pipeline.manifest import NOTHING
from headrace.pipeline.metrics import Figures, exposition, measures
from headrace.rdf.terms import Iri, Literal
from headrace.results.table import Table

from .endpoint_server import Endpoint, Handler, serving

STREAM = "http://example.org/s"
USERS = 6
SLOW = 0.25
Made = Callable[..., Engine]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serving("".join(f"<u:{user}> <p:n> {user} .\n" for user in range(USERS))) as found:
        yield found


@pytest.fixture
def opened(endpoint: Endpoint) -> Iterator[Made]:
    engines: list[Engine] = []

    def made(settings: dict[str, str] | None = None, **options: Any) -> Engine:
        allowed = {"allow": (endpoint.iri,), "private": ("127.0.0.1",), **options}
        engines.append(Engine(services=ServiceConfig(**allowed), settings=settings or {}))
        return engines[-1]

    yield made
    for each in engines:
        each.static.close()


def text_of(endpoint: Endpoint, contract: str, pattern: str = "?u <p:n> ?n") -> str:
    return (
        f"SELECT ?u ?n FROM STREAM <{STREAM}> [RANGE 4s STEP 1s] {{ ?u <p:m> ?post "
        f"SERVICE <{endpoint.iri}> {contract} {{ {pattern} }} }}"
    )


def mention(engine: Engine, second: int, users: range = range(USERS)) -> None:
    for user in users:
        engine.stream(STREAM).push(f"<u:{user}> <p:m> <x:p> .", at=1000 * second - 500)
    engine.stream(STREAM).push("<x:a> <x:tick> <x:b> .", at=1000 * second + 50)
    engine.step()


def standing(engine: Engine) -> Contracted:
    return engine.runner.kernel.contracted()["q"]


def view_of(engine: Engine) -> RemoteView:
    [query] = engine.runner.kernel.queries
    assert query.remote is not None
    [view] = query.remote.views.values()
    return view


def slow(_handler: Handler) -> bool:
    time.sleep(SLOW)
    return False


# -- between evaluations --------------------------------------------------------------------------


@pytest.mark.parametrize("declared", ["nowhere", "setting", "config"])
@pytest.mark.parametrize("fill", ["whole", "window"])
def test_an_endpoint_slower_than_an_evaluation_is_refreshed_between_them(
    endpoint: Endpoint, opened: Made, declared: str, fill: str
) -> None:
    if fill == "window":
        endpoint.always = slow
    settings = {"service.rate": "50"} if declared == "setting" else {}
    config = {"rate": 50.0} if declared == "config" else {}
    engine = opened(settings, fill=fill, refresh="bound", **config)
    query = engine.register(text_of(endpoint, "[WITHIN 100ms POLICY LRU]"), name="q")
    mention(engine, 1)
    endpoint.always = slow
    endpoint.store.update("DELETE { ?u <p:n> ?n } INSERT { ?u <p:n> 7 } WHERE { ?u <p:n> ?n }")
    for second in range(2, 9):
        mention(engine, second)
        time.sleep(1.5 * SLOW)
    found = list(query.results())
    assert query.error is None
    fresh = {str(row[0]) for row in found[-1].rows if getattr(row[1], "lexical", "") == "7"}
    if declared == "nowhere":
        assert not fresh
        assert engine.alerts.raised
        assert standing(engine).between == 0
        return
    assert fresh == {f"<u:{user}>" for user in range(USERS)}
    assert found[-1].completeness == 1.0
    counts = standing(engine)
    assert counts.between >= USERS
    assert counts.refreshed >= USERS
    text = exposition(measures(Figures(NOTHING, contracts={"q": counts}), 0.0))
    assert f'headrace_service_between_total{{query="q"}} {counts.between}' in text
    assert counts.requests <= len(endpoint.seen), "some may not have been counted yet"


def test_what_is_sent_between_evaluations_counts_for_the_budget(
    endpoint: Endpoint, opened: Made
) -> None:
    engine = opened({"service.rate": "1000"}, refresh="bound")
    engine.register(text_of(endpoint, "[POLICY LRU BUDGET 2]"), name="q")
    mention(engine, 1)
    for second in range(2, 8):
        time.sleep(0.15)
        mention(engine, second)
        assert len(endpoint.asked) <= 1 + 2 * second
    assert standing(engine).between > 4
    assert standing(engine).requests <= len(endpoint.seen)


def test_the_rate_is_kept(endpoint: Endpoint, opened: Made) -> None:
    engine = opened({"service.rate": "10"}, refresh="bound")
    engine.register(text_of(endpoint, "[WITHIN 5s]"), name="q")
    mention(engine, 1)
    before = len(endpoint.asked)
    mention(engine, 2)  # whatever it asks itself
    at_once = len(endpoint.asked)
    time.sleep(0.45)
    sent = len(endpoint.asked) - at_once
    assert before <= at_once
    assert sent <= 6, "ten in a second"


def test_a_rate_alone_makes_no_budget(endpoint: Endpoint, opened: Made) -> None:
    engine = opened({"service.rate": "10"})
    query = engine.register(text_of(endpoint, ""), name="q")
    mention(engine, 1)
    assert [each.accuracy for each in query.results()] == [None]


@pytest.mark.parametrize("rate", ["0", "-1", "often", "inf", "nan"])
def test_a_rate_is_a_positive_number(opened: Made, endpoint: Endpoint, rate: str) -> None:
    engine = opened({"service.rate": rate})
    engine.stream(STREAM)
    with pytest.raises(SettingError, match="positive number of requests in a second"):
        engine.register(text_of(endpoint, "[BUDGET 1]"))
    with pytest.raises(SettingError, match="positive rate"):
        ServiceConfig(rate=-1.0)


@dataclass
class Sent:
    number: int
    future: Future[Table] = field(default_factory=Future)


def test_requests_are_sent_in_order_at_their_rate_until_it_is_paused() -> None:
    sent: list[tuple[int, float]] = []
    enough = threading.Event()

    def send(request: Sent) -> None:
        sent.append((request.number, time.monotonic()))
        if request.number != 1:
            request.future.set_result(Table((), ()))
        if len(sent) == 3:
            enough.set()

    paced = PacedSender(send, time.monotonic, in_flight=4)
    paced.start([Sent(number) for number in range(50)], rate=20.0)
    assert enough.wait(10)
    new, done = paced.take()
    number = len(new)
    assert [each.number for each in new] == list(range(number))
    assert 1 not in [each.number for each in done]
    assert all(later - earlier > 0.04 for (_, earlier), (_, later) in pairwise(sent))
    assert [each.number for each in paced.unanswered] == [1]
    time.sleep(0.15)
    assert len(sent) == number, "nothing is sent after that"
    paced.unanswered[0].future.set_result(Table((), ()))
    assert [each.number for each in paced.take()[1]] == [1]


# -- declared rates of change ---------------------------------------------------------------------


def declared_of(engine: Engine) -> dict[str, int]:
    view = view_of(engine)
    assert view.local is not None
    terms = engine.around().dictionary.terms(view.known["?u"])
    times = (view.local.declared // 1_000_000).tolist()
    return {str(term): time for term, time in zip(terms, times, strict=True) if time}


TABLE = 'key,changes\n<u:1>,PT10M\nu:2,30\n"""text""",R/P1D\n'
TURTLE = """
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<u:1> dcterms:accrualPeriodicity "PT10M"^^xsd:duration .
<u:2> dcterms:accrualPeriodicity "PT30S" .
<u:3> dcterms:accrualPeriodicity <http://purl.org/cld/freq/irregular> .
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [("c.csv", TABLE), ("c.tsv", TABLE.replace(",", "\t").replace('"""', '"')), ("c.ttl", TURTLE)],
)
@pytest.mark.parametrize("fill", ["whole", "window"])
def test_a_file_declares_how_often_keys_change(
    endpoint: Endpoint, opened: Made, tmp_path: Path, name: str, text: str, fill: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    each = read_change_intervals(path)
    assert each[Iri("u:1")] == 600
    assert each[Iri("u:2")] == 30
    assert (Literal("text") in each) == (name != "c.ttl")
    engine = opened(each=each, fill=fill)
    engine.register(text_of(endpoint, "[BUDGET 9]"), name="q")
    mention(engine, 1)
    assert declared_of(engine) == {"<u:1>": 600, "<u:2>": 30}
    view = view_of(engine)
    assert view.local is not None
    places = {
        str(term): place
        for place, term in enumerate(engine.around().dictionary.terms(view.known["?u"]))
    }
    [slower, faster] = view.local.interval(np.array([places["<u:1>"], places["<u:2>"]]))
    assert (slower, faster) == (600_000_000, 30_000_000)


@pytest.mark.parametrize(
    "options", [{}, {"fill": "window"}, {"refresh": "bound", "fill": "window"}]
)
@pytest.mark.parametrize("pattern", ["?u <p:n> ?n", "{ ?u <p:n> ?n } UNION { ?u <p:k> ?n }"])
def test_a_property_of_the_data_says_how_often_keys_change(
    endpoint: Endpoint, opened: Made, options: dict[str, Any], pattern: str
) -> None:
    endpoint.store.update(
        'INSERT DATA { <u:1> <p:every> "PT10M" . <u:2> <p:every> "PT30S", "PT1H" .'
        ' <u:3> <p:every> "now and then" . <u:2> <p:k> 22 }'
    )
    other = opened()
    plain = other.register(text_of(endpoint, "", pattern))
    engine = opened(changes_by="p:every", **options)
    query = engine.register(text_of(endpoint, "[POLICY LRU BUDGET 9]", pattern), name="q")
    mention(engine, 1)
    mention(other, 1)
    [ours], [theirs] = query.results(), plain.results()
    assert ours.error is None
    assert sorted(map(str, ours.rows)) == sorted(map(str, theirs.rows)), "no row is doubled"
    assert declared_of(engine) == {"<u:1>": 600, "<u:2>": 30}
    endpoint.store.update(
        'DELETE { <u:1> <p:every> ?x } INSERT { <u:1> <p:every> "PT5M" }'
        " WHERE { <u:1> <p:every> ?x }"
    )
    mention(engine, 2)
    assert declared_of(engine)["<u:1>"] == 300


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("c.csv", "<u:1>\n", "line 1: expected a key and the time"),
        ("c.csv", "<u:1>,soon\n", "line 1: expected seconds or a duration"),
        ("c.csv", "<u:1>,0\n", "line 1: expected seconds or a duration"),
        ("c.csv", "u1,10\n", "line 1: expected an IRI or a term"),
        ("c.csv", "key,changes\n", "declares no changes"),
        ("c.ttl", "<u:1> <p:n> 1 .", "declares no changes"),
        (
            "c.ttl",
            '<u:1> <http://purl.org/dc/terms/accrualPeriodicity> "soon" .',
            "of <u:1>: expected a freq",
        ),
        ("c.csv", "<u:1>,10\nu:2,3\nu:1,11\n", "line 3: expected each key once, found <u:1> again"),
        ("c.xls", "<u:1>,10\n", "a table ends in .csv or .tsv"),
    ],
)
def test_files_that_declare_nothing_that_can_be_read(
    tmp_path: Path, name: str, text: str, problem: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(SettingError, match=problem):
        read_change_intervals(path)
    with pytest.raises(SettingError, match="cannot read changes"):
        read_change_intervals(tmp_path / "none.csv")


def test_of_several_times_of_a_key_in_a_file_of_rdf_the_shortest_counts(tmp_path: Path) -> None:
    path = tmp_path / "c.ttl"
    name = "<http://purl.org/dc/terms/accrualPeriodicity>"
    path.write_text(f'<u:1> {name} "PT10S" , "PT1H" . <u:2> {name} "PT1H", "PT10S" .')
    assert read_change_intervals(path) == {Iri("u:1"): 10, Iri("u:2"): 10}


@pytest.mark.parametrize(
    ("declared", "warnings"), [("http://u/1", 1), ("u:1", 0)], ids=["unknown", "known"]
)
@pytest.mark.parametrize("fill", ["whole", "window"])
def test_declared_keys_that_no_view_has_are_named(
    endpoint: Endpoint,
    opened: Made,
    caplog: pytest.LogCaptureFixture,
    declared: str,
    warnings: int,
    fill: str,
) -> None:
    engine = opened(each={Iri(declared): 10.0}, fill=fill)
    engine.register(text_of(endpoint, "[BUDGET 9]"))
    mention(engine, 1)
    mention(engine, 2)
    engine.static.close()
    found = [each.getMessage() for each in caplog.records if "declared" in each.getMessage()]
    assert len(found) == warnings
    for each in found:
        assert each.startswith("no view has one of the keys whose changes are declared (1, such")
        assert "<http://u/1>" in each


def test_a_property_is_an_iri() -> None:
    with pytest.raises(SettingError, match="absolute IRI"):
        ServiceConfig(changes_by="every")
    with pytest.raises(SettingError, match="positive time between changes"):
        ServiceConfig(each={Iri("u:1"): 0.0})
