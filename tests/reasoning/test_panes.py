"""Entailment where elements are decoded: what panes hold, and what is told of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from headrace import Engine
from headrace.kernel.columns import OBJECT, PREDICATE, TEXT
from headrace.pipeline.decode import Decoding, load
from headrace.pipeline.intake import quads_of
from headrace.pipeline.messages import decode_messages
from headrace.pipeline.panes import ENTAILED, SIZE, Columns
from headrace.planning.wanted import wanted_shapes
from headrace.rdf.formats import Format
from headrace.rdf.ids import term_id
from headrace.rdf.reading import read
from headrace.rdf.terms import Iri
from headrace.rdf.timestamps import SOURCE_TIME
from headrace.rdf.vocabulary import RDF_TYPE
from headrace.reasoning.effects import effects_of
from headrace.reasoning.network import network_of
from headrace.reasoning.reading import read_schema
from headrace.reasoning.reduction import EVERYTHING, Asked, reduced
from headrace.reasoning.tables import compiled
from tests.pipeline.test_messages import TOPIC, messages
from tests.shared import DATA, needs_data

SCHEMA = """
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<x:feeds> rdfs:range <x:Cat> . <x:Cat> rdfs:subClassOf <x:Animal> .
"""
QUERY = "SELECT ?x FROM STREAM <s> [RANGE 10s STEP 10s] { ?x a <x:Animal> }"


@pytest.fixture
def decoding(tmp_path: Path) -> Decoding:
    engine = Engine(schema=read(SCHEMA, Format.TURTLE), seed=1)
    engine.stream("s")
    engine.register(QUERY)
    shapes = wanted_shapes(engine.plans(), Iri("s"))
    tables = engine.entailing.tables()
    return Decoding("s", 1, tmp_path, rule=SOURCE_TIME, shapes=shapes, tables=tables)


def decoded(decoding: Decoding, *texts: bytes) -> Columns:
    rows = messages(*((0, at, text, None) for at, text in enumerate(texts)))
    [pane] = decode_messages(rows, TOPIC, decoding)
    return load(pane, decoding)


def test_messages_are_entailed_and_told_as_they_came(decoding: Decoding) -> None:
    columns = decoded(decoding, b"<x:ann> <x:feeds> <x:tom> .", b'<x:ann> <x:feeds> "nobody" .')
    assert columns.statements[ENTAILED].to_list() == [False, True, False]
    assert columns.elements[SIZE].to_list() == [1, 1]
    animal = term_id(Iri("x:Animal"), 1)
    assert columns.statements.filter(pl.col(ENTAILED))[OBJECT].to_list() == [animal]
    assert "<x:Animal>" in columns.terms[TEXT].to_list()
    assert quads_of(columns, [0, 1]) == {
        0: ["<x:ann> <x:feeds> <x:tom> ."],
        1: ['<x:ann> <x:feeds> "nobody" .'],
    }


def test_without_a_schema_panes_are_as_they_were(decoding: Decoding) -> None:
    columns = decoded(replace(decoding, tables=None), b"<x:ann> <x:feeds> <x:tom> .")
    assert ENTAILED not in columns.statements.columns


def test_a_term_that_is_brought_and_stated_is_there_once(decoding: Decoding) -> None:
    typed = f"<x:tom> <{RDF_TYPE}> <x:Cat> .".encode()
    columns = decoded(decoding, typed, b"<x:kit> <x:likes> <x:Animal> .")
    texts = columns.terms[TEXT].to_list()
    assert len(texts) == len(set(texts))
    assert columns.statements.filter(pl.col(ENTAILED)).height == 1
    assert columns.statements[PREDICATE].null_count() == 0


@needs_data("sparkwave")
def test_large_hierarchies_are_reduced_to_what_is_asked_for() -> None:
    folder = DATA / "sparkwave" / "spark-distribution" / "examples" / "deprecated" / "bsbm"
    schema = read_schema(folder / "epsilon-full-DS22527.owl")
    full = network_of(schema)
    assert full.counts()["class nodes"] == 22_527
    instance = "http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/instances/ProductType"
    part = network_of(reduced(schema, Asked(frozenset([Iri(f"{instance}20")]))))
    counts = part.counts()
    assert counts["class nodes"] == counts["S-links"] + 1 < 22_527
    targets = {link.target for link in part.links}
    assert targets <= {Iri(f"{instance}20")}
    tables = compiled(effects_of(schema, EVERYTHING), 0)
    assert tables is not None
    assert tables.classes.keys.size == 22_526
