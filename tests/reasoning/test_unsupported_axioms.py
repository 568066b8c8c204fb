"""Axioms that are not supported are named wherever a schema is used; equivalences work."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import owlrl
import pytest
import rdflib
from typer.testing import CliRunner, Result

from headrace import Engine
from headrace.cli import app
from headrace.errors import SettingError
from headrace.rdf.formats import Format
from headrace.rdf.reading import read
from headrace.reasoning.reading import read_schema
from headrace.reasoning.schema import Schema, schema_of
from headrace.reasoning.unsupported_axioms import UnsupportedAxiom, merge_axioms
from headrace.results.table import Table
from headrace.store import Store
from tests.serve.clients import CARS, served

PREFIXES = """
@prefix : <http://x/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
"""
SCHEMA = (
    PREFIXES
    + """
:Cat rdfs:subClassOf :Animal ; owl:equivalentClass :Feline ; owl:disjointWith :Dog .
:feeds owl:equivalentProperty :nourishes ; rdfs:range :Cat .
:partOf a owl:TransitiveProperty . :within a owl:TransitiveProperty .
:near a owl:SymmetricProperty .
"""
)
QUERY = (
    "REGISTER QUERY q AS SELECT ?x FROM STREAM <http://x/s> [RANGE 10s STEP 10s] "
    "{ ?x a <http://x/Feline> . ?y <http://x/nourishes> ?x }"
)
FED = "<http://x/ann> <http://x/feeds> <http://x/tom> ."


def schema(text: str) -> Schema:
    return schema_of(read(PREFIXES + text, Format.TURTLE))


@pytest.mark.parametrize(
    ("text", "kind", "example"),
    [
        (":a owl:sameAs :b .", "owl:sameAs", "<http://x/a> owl:sameAs <http://x/b>"),
        (":p a owl:TransitiveProperty .", "owl:TransitiveProperty", "<http://x/p> rdf:type"),
        (":p a owl:FunctionalProperty .", "owl:FunctionalProperty", "<http://x/p> rdf:type"),
        (":p a owl:InverseFunctionalProperty .", "owl:InverseFunctionalProperty", "<http://x/p>"),
        (":p a owl:ReflexiveProperty .", "owl:ReflexiveProperty", "<http://x/p>"),
        (":p a owl:AsymmetricProperty .", "owl:AsymmetricProperty", "<http://x/p>"),
        (":C owl:disjointWith :D .", "owl:disjointWith", "<http://x/C> owl:disjointWith"),
        (":p owl:propertyDisjointWith :q .", "owl:propertyDisjointWith", "<http://x/p>"),
        (":C owl:complementOf :D .", "owl:complementOf", "<http://x/C> owl:complementOf"),
        (
            ":p owl:propertyChainAxiom ( :q :r ) .",
            "owl:propertyChainAxiom",
            "<http://x/p> owl:propertyChainAxiom (<http://x/q> <http://x/r>)",
        ),
        (
            ":C owl:equivalentClass [ owl:intersectionOf ( :D :E ) ] .",
            "owl:intersectionOf",
            "<http://x/C> owl:equivalentClass [ owl:intersectionOf (<http://x/D> <http://x/E>) ]",
        ),
        (":C owl:unionOf ( :D :E ) .", "owl:unionOf", "<http://x/C> owl:unionOf (<http://x/D>"),
        (":C owl:oneOf ( :a ) .", "owl:oneOf", "<http://x/C> owl:oneOf (<http://x/a>)"),
        (":C owl:hasKey ( :p ) .", "owl:hasKey", "<http://x/C> owl:hasKey"),
        ("<x:o> owl:imports <x:other> .", "owl:imports", "<x:o> owl:imports <x:other>"),
        (
            ":C rdfs:subClassOf "
            "[ a owl:Restriction ; owl:someValuesFrom :D ; owl:onProperty :p ] .",
            "owl:Restriction with owl:someValuesFrom",
            "<http://x/C> rdfs:subClassOf "
            "[ owl:onProperty <http://x/p> ; owl:someValuesFrom <http://x/D> ]",
        ),
        (
            ":C owl:equivalentClass [ a owl:Restriction ; owl:onProperty :p ; owl:hasValue 5 ] .",
            "owl:Restriction with owl:hasValue",
            "<http://x/C> owl:equivalentClass [ owl:onProperty <http://x/p> ; owl:hasValue ",
        ),
        (
            ":C rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :p ] .",
            "owl:Restriction",
            "<http://x/C> rdfs:subClassOf [ owl:onProperty <http://x/p> ]",
        ),
        (
            ":C owl:equivalentClass [ a owl:Class ] .",
            "owl:equivalentClass without a name",
            "<http://x/C> owl:equivalentClass []",
        ),
        (
            "[ a owl:AllDisjointClasses ; owl:members ( :C :D ) ] .",
            "owl:AllDisjointClasses",
            "[ owl:members (<http://x/C> <http://x/D>) ] rdf:type owl:AllDisjointClasses",
        ),
        (':p rdfs:range "text" .', "rdfs:range of a literal", "<http://x/p> rdfs:range"),
    ],
)
def test_an_axiom_that_entails_nothing_is_counted_with_an_example(
    text: str, kind: str, example: str
) -> None:
    [found] = schema(text).ignored
    assert (found.kind, found.count) == (kind, 1)
    assert found.example.startswith(example)


@pytest.mark.parametrize(
    "text",
    [
        ":C rdfs:subClassOf :D . :p rdfs:domain :C ; rdfs:range :D ; rdfs:subPropertyOf :q .",
        ":p owl:inverseOf :q . :p a owl:SymmetricProperty , owl:ObjectProperty .",
        ":C owl:equivalentClass :D . :p owl:equivalentProperty :q .",
        ":C a owl:Class ; rdfs:label 'C' ; rdfs:comment 'x' ; rdfs:seeAlso :D .",
        "<x:o> a owl:Ontology ; owl:versionInfo '1' . :a a owl:NamedIndividual .",
        ":a :p :b .",
    ],
)
def test_what_is_supported_or_entails_nothing_anywhere_is_not_counted(text: str) -> None:
    assert schema(text).ignored == ()


def test_axioms_of_several_files_are_added_up() -> None:
    one = schema(":p a owl:TransitiveProperty . :q a owl:TransitiveProperty .")
    other = schema(":r a owl:TransitiveProperty . :a owl:sameAs :b .")
    both = one.and_also(other)
    assert [(each.kind, each.count) for each in both.ignored] == [
        ("owl:TransitiveProperty", 3),
        ("owl:sameAs", 1),
    ]
    assert merge_axioms((), (UnsupportedAxiom("k", 1, "e"),)) == (UnsupportedAxiom("k", 1, "e"),)


def test_ignored_axioms_do_not_make_another_schema_of_one() -> None:
    text = ":C rdfs:subClassOf :D . "
    assert schema(text).digest == schema(text + ":a owl:sameAs :b .").digest
    assert schema(text).digest != schema(text + ":C owl:equivalentClass :E .").digest


def test_a_checkpoint_knows_the_schemas_of_before() -> None:
    before = "6517c8d105e71b8a"
    assert schema(":C rdfs:subClassOf :D .").digest.startswith(before)


def test_a_file_of_ignored_axioms_only_is_refused_with_their_names(tmp_path: Path) -> None:
    path = tmp_path / "same.ttl"
    path.write_text(PREFIXES + ":a owl:sameAs :b .")
    with pytest.raises(SettingError, match=r"is no schema(.|\n)*1 owl:sameAs"):
        read_schema(path)


# -- equivalences against owlrl ----------------------------------------------------------------


def test_equivalences_entail_what_owl_rl_entails() -> None:
    text = """
    :A owl:equivalentClass :B . :B rdfs:subClassOf :C . :D owl:equivalentClass :A .
    :p owl:equivalentProperty :q . :q rdfs:domain :D . :r owl:inverseOf :q .
    """
    data = ":x a :D . :y :p :z . :v :r :w ."
    graph = rdflib.Graph().parse(data=PREFIXES + text + data, format="turtle")
    owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand(graph)
    own = "http://x/"
    wanted = {
        (str(s), str(p), str(o))
        for s, p, o in graph
        if str(s)[len(own) :] in set("xyzvw")
        and (str(p).startswith(own) or str(o).startswith(own))
        and not str(p).startswith("http://www.w3.org/2002/07/owl#")
    }
    store = Store(schema=schema(text))
    store.load_text(PREFIXES + data)
    answer = store.query("SELECT ?s ?p ?o { ?s ?p ?o }")
    assert isinstance(answer, Table)
    found = {tuple(getattr(term, "value", "") for term in row) for row in answer.rows}
    assert found == wanted
    assert (f"{own}y", f"{own}q", f"{own}z") in found


# -- where it is said --------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "schema.ttl").write_text(SCHEMA)
    (tmp_path / "s.tnq").write_text(f"1000\t{FED}\n")
    (tmp_path / "static.nt").write_text(f"{FED}\n")
    return tmp_path


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)))


def check_said(text: str) -> None:
    assert "1 owl:disjointWith, such as <http://x/Cat> owl:disjointWith <http://x/Dog>" in text
    assert "2 owl:TransitiveProperty, such as <http://x/partOf>" in text
    assert "equivalent" not in text


def test_commands_name_ignored_axioms(folder: Path) -> None:
    option = ("--schema", folder / "schema.ttl")
    stream = ("--stream", f"http://x/s={folder / 's.tnq'}", "--once", "--runner", "inline")
    ran = call("run", QUERY, *stream, *option)
    check_said(ran.stderr)
    assert "<http://x/tom>" in ran.stdout
    checked = call("check", QUERY, *option)
    check_said(checked.stderr)
    text = "SELECT ?x { ?x a <http://x/Feline> }"
    asked = call("query", text, "--data", folder / "static.nt", *option)
    check_said(asked.stderr)
    assert "<http://x/tom>" in asked.stdout


def test_explain_counts_ignored_axioms(folder: Path) -> None:
    option = ("--schema", folder / "schema.ttl")
    check_said(call("explain", QUERY, *option).stdout)
    shown = json.loads(call("explain", QUERY, "--format", "json", *option).stdout)
    assert shown["reasoning"]["ignored"][1] == {
        "kind": "owl:TransitiveProperty",
        "count": 2,
        "example": "<http://x/partOf> rdf:type owl:TransitiveProperty",
    }


def test_why_names_the_equivalences_that_were_used(folder: Path) -> None:
    option = ("--schema", folder / "schema.ttl", "--static", folder / "static.nt")
    why = call("explain", QUERY, *option, "--why", "<http://x/tom> a <http://x/Feline>").stdout
    assert "by cax-eqc1, <http://x/Cat> <http://www.w3.org/2002/07/owl#equivalentClass>" in why
    why = call("explain", QUERY, *option, "--why", FED.replace("feeds", "nourishes")).stdout
    assert "by prp-eqp1, <http://x/feeds> <http://www.w3.org/2002/07/owl#equivalentPro" in why


def test_programs_are_warned_of_ignored_axioms(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "headrace"):
        engine = Engine(schema=folder / "schema.ttl")
    [note] = engine.static.schemas.notes
    check_said(note)
    assert note in caplog.messages
    assert Engine().static.schemas.notes == []


def test_a_server_names_ignored_axioms_in_its_answers(tmp_path: Path, folder: Path) -> None:
    with served(tmp_path / "place", schemas=[(None, folder / "schema.ttl")]) as client:
        client.put("/streams/cars", json={"iri": CARS})
        text = QUERY.replace("http://x/s", CARS)
        checked = client.post("/check", json={"text": text}).json()
        check_said(" ".join(each["message"] for each in checked["warnings"]))
        notes = client.post("/queries", json={"text": text}).json()["notes"]
        found = [each for each in notes if each["code"] == "unsupported-axiom"]
        assert {each["severity"] for each in found} == {"warning"}
        check_said(" ".join(each["text"] for each in found))
