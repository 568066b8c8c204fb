"""What FROM NAMED without FROM leaves of the default graph: by profile, by setting, and as told."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from headrace import Engine
from headrace.cli import app
from headrace.dialects import parse
from headrace.kernel.answer import Truth
from headrace.planning.plan import make_plan
from headrace.store import Store

TEXT = {
    "cqels": (
        "SELECT ?s ?v ?w FROM NAMED <x:g> { "
        "STREAM <x:s> [RANGE 10s SLIDE 10s] { ?s <x:p> ?o } ?s <x:d> ?v "
        "GRAPH <x:g> { ?s <x:e> ?w } }"
    ),
    "rspql": (
        "SELECT ?s ?v ?w FROM NAMED <x:g> FROM NAMED WINDOW <w> ON <x:s> [RANGE 10s SLIDE 10s] "
        "{ WINDOW <w> { ?s <x:p> ?o } ?s <x:d> ?v GRAPH <x:g> { ?s <x:e> ?w } }"
    ),
    "csparql": (
        "SELECT ?s ?v ?w FROM NAMED <x:g> FROM NAMED STREAM <x:s> [RANGE 10s STEP 10s] "
        "{ GRAPH <x:s> { ?s <x:p> ?o } ?s <x:d> ?v GRAPH <x:g> { ?s <x:e> ?w } }"
    ),
}
KEEPS = {"cqels": True, "rspql": False, "csparql": False}


def rows(text: str, dialect: str, settings: dict[str, str]) -> int:
    engine = Engine(settings=settings)
    engine.static.load_text("<x:a> <x:d> 1 .")
    engine.static.load_text("<x:a> <x:e> 2 .", "x:g")
    engine.static.load_text("<x:a> <x:e> 3 .", "x:other")
    stream = engine.stream("x:s")
    query = engine.register(text, dialect=dialect)
    stream.push("<x:a> <x:p> <x:o> .", at=1_000)
    engine.finish()
    return sum(len(each.rows) for each in query.results())


@pytest.mark.parametrize("dialect", TEXT)
@pytest.mark.parametrize("strategy", ["auto", "snapshot"])
def test_a_profile_says_whether_the_default_graph_is_seen(dialect: str, strategy: str) -> None:
    settings = {"strategy": strategy}
    assert rows(TEXT[dialect], dialect, settings) == KEEPS[dialect]
    assert rows(TEXT[dialect], dialect, {**settings, "from_named": "keeps-default"}) == 1
    assert rows(TEXT[dialect], dialect, {**settings, "from_named": "hides-default"}) == 0


def test_a_default_graph_that_is_named_is_the_only_one() -> None:
    text = TEXT["cqels"].replace("FROM NAMED", "FROM <x:g> FROM NAMED", 1)
    assert rows(text, "cqels", {}) == 0


def test_plain_sparql_is_as_its_standard_says() -> None:
    store = Store()
    store.load_text("<x:a> <x:d> 1 .")
    answer = store.query("ASK FROM NAMED <x:g> { ?s ?p ?o }")
    assert isinstance(answer, Truth)
    assert not answer.value


@pytest.mark.parametrize("dialect", TEXT)
def test_check_and_explain_say_which_reading_applies(dialect: str) -> None:
    checked = CliRunner().invoke(app, ["check", TEXT[dialect], "--dialect", dialect])
    assert checked.exit_code == 0
    seen = "the static default graph" if KEEPS[dialect] else "no static data"
    assert f"patterns outside GRAPH see {seen} beside FROM NAMED" in checked.stdout
    assert ("note: FROM NAMED without FROM" in checked.stdout) is not KEEPS[dialect]
    shown = CliRunner().invoke(app, ["explain", TEXT[dialect], "--dialect", dialect])
    assert f"{seen}, beside FROM NAMED" in shown.stdout
    value = "keeps-default" if KEEPS[dialect] else "hides-default"
    assert f"from_named      {value}" in shown.stdout
    arguments = ["explain", TEXT[dialect], "--dialect", dialect, "--format", "json"]
    found = json.loads(CliRunner().invoke(app, arguments).stdout)
    assert found["semantics"]["from_named"] == value


def test_a_checkpoint_begins_anew_where_the_reading_changes() -> None:
    def digest(**settings: str) -> str:
        return make_plan(parse(TEXT["cqels"], "cqels", settings=settings).query).digest

    assert digest() != digest(from_named="hides-default")
    plain = TEXT["cqels"].replace("FROM NAMED <x:g> ", "")
    plans = [
        make_plan(parse(plain, "cqels", settings={"from_named": value}).query)
        for value in ("keeps-default", "hides-default")
    ]
    assert plans[0].digest == plans[1].digest
