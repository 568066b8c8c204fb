"""Schemas on the command line: run, query, check, explain, and what a checkpoint notices."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from headrace.cli import app
from headrace.dialects import parse
from headrace.launching import RunnerKind
from headrace.pipeline.metrics import Figures
from headrace.running import Job, Voice, run_job

SCHEMA = """
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
<x:Cat> rdfs:subClassOf <x:Animal> . <x:Dog> rdfs:subClassOf <x:Animal> .
<x:feeds> rdfs:range <x:Cat> ; rdfs:subPropertyOf <x:likes> .
<x:near> a owl:SymmetricProperty .
"""
QUERY = "REGISTER QUERY q AS SELECT ?x FROM STREAM <x:s> [RANGE 10s STEP 10s] { ?x a <x:Animal> }"
FED = "<x:ann> <x:feeds> <x:tom> ."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "schema.ttl").write_text(SCHEMA)
    (tmp_path / "s.tnq").write_text(f"1000\t{FED}\n2000\t<x:ann> <x:feeds> 'nobody' .\n")
    (tmp_path / "static.nt").write_text(f"{FED}\n")
    return tmp_path


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)))


def test_query_reads_static_data_under_a_schema(folder: Path) -> None:
    text = "SELECT ?x { ?x a <x:Animal> }"
    data = ("--data", folder / "static.nt", "--format", "csv")
    assert "x:tom" not in call("query", text, *data).output
    assert "x:tom" in call("query", text, *data, "--schema", folder / "schema.ttl").output
    named = f"x:pets={folder / 'schema.ttl'}"
    text = "SELECT ?x FROM SCHEMA <x:pets> { ?x a <x:Animal> }"
    assert "x:tom" in call("query", text, *data, "--schema", named).output
    assert call("query", text, *data).exit_code == 2


def test_a_schema_that_cannot_be_read_is_a_wrong_option(folder: Path) -> None:
    for command in (("check", QUERY), ("explain", QUERY), ("query", "ASK { ?s ?p ?o }")):
        done = call(*command, "--schema", folder / "missing.ttl")
        assert done.exit_code == 2, command
        assert "missing.ttl" in done.output


def test_what_is_no_schema_is_a_wrong_option(folder: Path) -> None:
    stream = ("--stream", f"x:s={folder / 's.tnq'}", "--once", "--runner", "inline")
    done = call("run", QUERY, *stream, "--schema", folder / "static.nt")
    assert done.exit_code == 2
    assert "is no schema" in done.output


def test_a_schema_that_no_query_names_is_a_wrong_option(folder: Path) -> None:
    stream = ("--stream", f"x:s={folder / 's.tnq'}", "--once", "--runner", "inline")
    done = call("run", QUERY, *stream, "--schema", f"x:other={folder / 'schema.ttl'}")
    assert done.exit_code == 2
    assert "no query has FROM SCHEMA <x:other>" in done.output


def test_check_knows_the_names_of_schemas(folder: Path) -> None:
    text = QUERY.replace("{ ?x", "FROM SCHEMA <x:pets> { ?x", 1)
    assert call("check", text).exit_code == 0
    assert call("check", text, "--schema", f"x:pets={folder / 'schema.ttl'}").exit_code == 0
    wrong = call("check", text, "--schema", f"x:cars={folder / 'schema.ttl'}")
    assert wrong.exit_code == 2
    assert "FROM SCHEMA <x:pets> names no schema" in wrong.output


def test_explain_counts_both_networks(folder: Path) -> None:
    shown = call("explain", QUERY, "--schema", folder / "schema.ttl").output
    assert "full network     3 class nodes, 3 property nodes, 2 S-links, 1 O-links" in shown
    assert "reduced network  3 class nodes, 1 property nodes, 2 S-links, 1 O-links" in shown
    found = json.loads(
        call("explain", QUERY, "--schema", folder / "schema.ttl", "--format", "json").output
    )
    assert found["reasoning"]["full"]["OS-links"] == 1
    assert found["reasoning"]["reduced"]["OS-links"] == 0
    assert "reasoning" not in call("explain", QUERY).output


def test_explain_draws_both_networks(folder: Path) -> None:
    options = ("--schema", folder / "schema.ttl")
    full = call("explain", QUERY, *options, "--graph", "network").output
    part = call("explain", QUERY, *options, "--graph", "reduced").output
    assert "OS -> " in full
    assert "OS -> " not in part
    drawn = call("explain", QUERY, *options, "--graph", "network", "--format", "mermaid").output
    assert drawn.startswith("flowchart LR")
    assert drawn.count("-->") == 5
    picture = call("explain", QUERY, *options, "--graph", "network", "--format", "svg").output
    root = ElementTree.fromstring(picture)
    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("S") == 2
    assert "OS" in texts
    assert call("explain", QUERY, "--graph", "network").exit_code == 2


def test_explain_says_why_a_triple_holds(folder: Path) -> None:
    data = ("--stream", f"x:s={folder / 's.tnq'}", "--static", folder / "static.nt")
    options = ("--schema", folder / "schema.ttl", *data)
    shown = call("explain", QUERY, *options, "--why", "<x:tom> a <x:Animal>").output
    assert "follows from what is stated in static data" in shown
    assert "follows from what is stated on <x:s> at 1970-01-01T00:00:01Z" in shown
    assert "by rdfs3, <x:feeds> <http://www.w3.org/2000/01/rdf-schema#range> <x:Cat>" in shown
    assert "by rdfs9, <x:Cat> <http://www.w3.org/2000/01/rdf-schema#subClassOf>" in shown
    assert "is stated on <x:s>" in call("explain", QUERY, *options, "--why", FED).output
    with_prefix = f"PREFIX y: <x:> {QUERY}"
    shown = call("explain", with_prefix, *options, "--why", "y:tom a y:Animal").output
    assert "<x:tom> " in shown
    not_so = call("explain", QUERY, *options, "--why", "<x:tom> a <x:Dog> .").output
    assert "does not follow" in not_so
    found = json.loads(
        call("explain", QUERY, *options, "--why", "<x:tom> a <x:Cat>", "--format", "json").output
    )
    assert [len(cause["steps"]) for cause in found["causes"]] == [1, 1]
    assert found["causes"][1]["at"] == 1000
    general = "<x:Cat> a <http://www.w3.org/2000/01/rdf-schema#Resource>"
    assert "by rdfs4b" in call("explain", QUERY, *options, "--why", general).output
    assert call("explain", QUERY, *options, "--why", "no triple").exit_code == 2
    early = call("explain", QUERY, *options, "--why", "<x:tom> a")
    assert early.exit_code == 2
    assert "it ends too early; for example --why" in early.output
    assert call("explain", QUERY, "--why", FED).exit_code == 2


@pytest.mark.parametrize("partitions", [1, 2])
def test_run_reads_streams_under_a_schema(folder: Path, partitions: int) -> None:
    out = folder / "out.ndjson"
    options = ("--stream", f"x:s={folder / 's.tnq'}", "--schema", folder / "schema.ttl")
    how = ("--once", "--runner", "inline", "--partitions", partitions, "--out", out)
    assert call("run", QUERY, *options, *how).exit_code == 0
    [row] = [json.loads(line) for line in out.read_text().splitlines()]
    assert row["row"]["x"]["value"] == "x:tom"


def test_late_elements_are_written_as_they_came(folder: Path) -> None:
    (folder / "s.tnq").write_text(f"1000\t{FED}\n25000\t{FED}\n2000\t{FED}\n")
    options = ("--stream", f"x:s={folder / 's.tnq'}", "--schema", folder / "schema.ttl")
    how = ("--once", "--runner", "inline", "--late", folder / "late.ndjson")
    assert call("run", QUERY, *options, *how).exit_code == 0
    [late] = [json.loads(line) for line in (folder / "late.ndjson").read_text().splitlines()]
    assert late["quad"] == FED


# -- checkpoints -------------------------------------------------------------------------------


def run_on(
    folder: Path, schema: str | None, *, until: int | None = None, notes: list[str] | None = None
) -> None:
    """Run in a checkpoint, to the end of the input or until so many elements have come."""
    (folder / "schema.ttl").write_text(schema or "")

    def stop(figures: Figures) -> None:
        if until is not None and figures.elements >= until and figures.seconds:
            os.kill(os.getpid(), signal.SIGINT)

    job = Job(
        [parse(QUERY, "csparql")],
        {"x:s": [str(folder / "s.tnq")]},
        [(None, folder / "static.nt")],
        outs=[str(folder / "out.ndjson")],
        checkpoint=folder / "run",
        once=until is None,
        runner=RunnerKind.INLINE,
        interval=0.05,
        schemas=() if schema is None else [(None, folder / "schema.ttl")],
    )
    said = [] if notes is None else notes
    run_job(job, Voice(said.append, lambda _text: None, watch=stop))


def fed(first: int, stop: int) -> str:
    return "".join(f"{at * 1000}\t<x:ann> <x:feeds> <x:cat{at}> .\n" for at in range(first, stop))


def rows(folder: Path) -> list[tuple[int, str]]:
    found = map(json.loads, (folder / "out.ndjson").read_text().splitlines())
    return sorted((each["at"], each["row"]["x"]["value"]) for each in found if each["row"])


def test_a_run_goes_on_under_the_same_schema(folder: Path) -> None:
    (folder / "s.tnq").write_text(fed(0, 40))
    whole = folder / "whole"
    whole.mkdir()
    for name in ("s.tnq", "static.nt"):
        (whole / name).write_text((folder / name).read_text())
    run_on(whole, SCHEMA)
    (folder / "s.tnq").write_text(fed(0, 15))
    run_on(folder, SCHEMA, until=15)
    with (folder / "s.tnq").open("a") as file:
        file.write(fed(15, 40))
    notes: list[str] = []
    run_on(folder, SCHEMA, notes=notes)
    assert not notes
    assert rows(folder) == rows(whole)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            SCHEMA,
            SCHEMA.replace("<x:Cat> rdfs:sub", "<x:Kitten> rdfs:sub"),
            "the schema has changed",
        ),
        (None, SCHEMA, "data were read without a schema, and now there is one"),
        (SCHEMA, None, "data are no longer read under a schema"),
    ],
)
def test_another_schema_is_noticed(
    folder: Path, before: str | None, after: str | None, said: str
) -> None:
    (folder / "s.tnq").write_text(fed(0, 15))
    run_on(folder, before, until=15)
    with (folder / "s.tnq").open("a") as file:
        file.write(fed(15, 40))
    notes: list[str] = []
    run_on(folder, after, notes=notes)
    assert notes[0] == f"{said}: queries begin anew with what comes from now on"
    cats = {name for at, name in rows(folder) if at > 20_000}
    assert ("x:cat25" in cats) == (after == SCHEMA)
