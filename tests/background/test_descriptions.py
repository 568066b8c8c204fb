"""How often endpoints change, as descriptions of datasets declare it."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from headrace import Engine
from headrace.algebra.operators import Service
from headrace.algebra.walk import everywhere
from headrace.background.config import ServiceConfig
from headrace.background.descriptions import Dynamics, described, dynamics_of, time_between_changes
from headrace.background.urls import normal
from headrace.cli import app
from headrace.dialects import parse
from headrace.errors import SettingError
from headrace.rdf.formats import Format
from headrace.rdf.reading import read

from .endpoint_server import serving

PREFIXES = """@prefix void: <http://rdfs.org/ns/void#> .
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix freq: <http://purl.org/cld/freq/> .
@prefix eu: <http://publications.europa.eu/resource/authority/frequency/> .
@prefix sdmx: <http://purl.org/linked-data/sdmx/2009/code#> .
@prefix dady: <http://purl.org/NET/dady#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
ENDPOINT = "http://example.org/sparql"
DAY = 86_400.0


def declared(text: str) -> tuple[Dynamics, ...]:
    return dynamics_of(read(PREFIXES + text, Format.TURTLE))


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("dcterms:accrualPeriodicity freq:daily", DAY),
        ("dcterms:accrualPeriodicity freq:semiweekly", 3.5 * DAY),
        ("dcterms:accrualPeriodicity eu:HOURLY", 3600),
        ("dcterms:accrualPeriodicity sdmx:freq-W", 7 * DAY),
        ('dcterms:accrualPeriodicity "PT10M"^^xsd:duration', 600),
        ('dcterms:accrualPeriodicity "R/P1DT0.5S"', DAY + 0.5),
        ("dady:dynamics dady:HighFrequentUpdates", DAY),
        ("dady:dynamics [ a dady:LowFrequentUpdates, dady:RegularUpdates ]", 365.25 * DAY),
        ("dady:dynamics dady:NoUpdates", 365_250 * DAY),
    ],
)
def test_words_and_durations(said: str, seconds: float) -> None:
    found = declared(f"<x:data> void:sparqlEndpoint <{ENDPOINT}> ; {said} .")
    assert found == (Dynamics(ENDPOINT, seconds),)


@pytest.mark.parametrize(
    "said",
    [
        "dcterms:accrualPeriodicity freq:irregular",
        "dcterms:accrualPeriodicity eu:UPDATE_CONT",
        "dady:dynamics [ a dady:IrregularUpdates ]",
        "dcterms:title 'data'",
    ],
)
def test_what_says_nothing_of_how_often(said: str) -> None:
    assert declared(f"<x:data> void:sparqlEndpoint <{ENDPOINT}> ; {said} .") == ()


@pytest.mark.parametrize(
    "said", ["freq:sometimes", "'often'", "'P'", "'PT'", "'PT0S'", "<http://e/daily>", "[]"]
)
def test_a_frequency_that_is_not_known_is_an_error(said: str) -> None:
    with pytest.raises(SettingError, match="expected a frequency"):
        declared(f"<x:d> void:sparqlEndpoint <{ENDPOINT}> ; dcterms:accrualPeriodicity {said} .")


PARTS = f"""
<x:data> void:sparqlEndpoint <{ENDPOINT}> ; dcterms:accrualPeriodicity freq:monthly ;
  void:propertyPartition [ void:property <p:n> ; dcterms:accrualPeriodicity "PT1M" ] ,
    [ void:property <p:name> ; dcterms:accrualPeriodicity freq:annual ] ,
    [ void:property <p:unknown> ] .
<x:other> void:sparqlEndpoint <http://example.org/other> ; dcterms:accrualPeriodicity "PT1S" .
"""


@pytest.mark.parametrize(
    ("pattern", "seconds"),
    [
        ("?u <p:n> ?n", 60),
        ("?u <p:name> ?n", 365.25 * DAY),
        ("?u <p:knows> ?n", 365.25 * DAY / 12),
        ("?u <p:name> ?a . ?u <p:knows> ?n", 365.25 * DAY / 12),
        ("?u <p:name> ?a OPTIONAL { ?u <p:n> ?n }", 60),
        ("?u ?p ?n", 60),
        ("?u <p:name>|<p:other> ?n", 60),
    ],
)
def test_properties_may_change_at_rates_of_their_own(pattern: str, seconds: float) -> None:
    text = f"SELECT * {{ ?u <p:x> ?y SERVICE <{ENDPOINT}> {{ {pattern} }} }}"
    [service] = [
        each for each in everywhere(parse(text).query.pattern) if isinstance(each, Service)
    ]
    found = time_between_changes(declared(PARTS), normal(ENDPOINT), service.input)
    assert found == pytest.approx(seconds)
    assert time_between_changes(declared(PARTS), normal("http://e/"), service.input) is None


def test_files(tmp_path: Path) -> None:
    void = tmp_path / "void.ttl"
    void.write_text(PREFIXES + PARTS)
    assert len(described(void)) == 4
    with pytest.raises(SettingError, match="cannot read description"):
        described(tmp_path / "none.ttl")
    void.write_text("<x:a> <x:b> <x:c> .")
    with pytest.raises(SettingError, match="describes no endpoint"):
        described(void)
    void.write_text("<x:a> <x:b>")
    with pytest.raises(SettingError, match="cannot read description"):
        described(void)
    void.write_text(PREFIXES + f'<x:d> void:sparqlEndpoint <{ENDPOINT}> ; dady:dynamics "x" .')
    with pytest.raises(SettingError, match=r"void\.ttl: expected a frequency"):
        described(void)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(SettingError, match="expected an endpoint"):
        Dynamics("not one", 1.0)
    with pytest.raises(SettingError, match="expected a positive time"):
        Dynamics(ENDPOINT, 0.0)


@pytest.mark.parametrize("also", [False, True])
def test_a_view_believes_what_is_described(also: bool) -> None:
    """What the operator says of an endpoint goes before what its publisher says."""
    with serving("<u:1> <p:n> 1 .") as server:
        engine = Engine(
            services=ServiceConfig(
                allow=(server.iri,),
                private=("127.0.0.1",),
                described=(Dynamics(server.iri, 90.0), Dynamics(server.iri, 7.0, "p:n")),
                changes=((server.iri, 3.0),) if also else (),
            )
        )
        stream = engine.stream("s")
        engine.register(
            "SELECT ?u ?n FROM STREAM <s> [RANGE 4s STEP 1s] { ?u <p:m> ?post"
            f" SERVICE <{server.iri}> [BUDGET 1] {{ ?u <p:n> ?n }} }}"
        )
        stream.push("<u:1> <p:m> <x:p> .", at=500)
        stream.push("<u:1> <p:m> <x:p> .", at=1500)
        engine.step()
        [standing] = engine.runner.kernel.queries
        assert standing.remote is not None
        [view] = standing.remote.views.values()
        assert view.local is not None
        assert view.local.expected == (3_000_000 if also else 7_000_000)
        engine.static.close()


def test_the_command_line_reads_descriptions(tmp_path: Path) -> None:
    source, void = tmp_path / "s.tnq", tmp_path / "void.ttl"
    source.write_text("500\t<u:1> <p:m> <x:p> .\n")
    text = "SELECT ?u FROM STREAM <s> [RANGE 4s STEP 1s] { ?u <p:m> ?post }"
    arguments = ["run", text, "--stream", f"s={source}", "--runner", "inline", "--once"]
    found = CliRunner().invoke(app, [*arguments, "--service-description", str(void)])
    assert found.exit_code == 2
    assert "cannot read description" in found.output
    void.write_text(PREFIXES + PARTS)
    found = CliRunner().invoke(app, [*arguments, "--service-description", str(void)])
    assert found.exit_code == 0, found.output
