"""Annotated statements in streams: every format that has them, and beside the same reified."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest

from headrace.engine import Engine
from headrace.rdf.terms import Iri, Literal, QuotedTriple, Term
from headrace.rdf.vocabulary import XSD_INTEGER
from headrace.results.evaluations import Evaluation
from tests.shared import DATA, needs_data

FOLDER = DATA / "rspqlstar" / "src" / "main" / "resources"
_MOST = 150


def answers(
    text: str, streams: dict[str, list[tuple[str, int]]], static: str = ""
) -> list[Evaluation]:
    """What a query gives over elements of TriG, each with its time in milliseconds."""
    engine = Engine(clock=None)
    if static:
        engine.static.load(static)
    for iri in streams:
        engine.stream(iri)
    query = engine.register(text, dialect="rspql")
    for iri, elements in streams.items():
        for data, at in elements:
            engine.stream(iri).push(data, at=at, syntax="application/trig")
    engine.step()
    engine.finish()
    assert query.error is None
    return list(query.results())


def lines(path: str) -> Iterator[str]:
    """The graphs of a file, each with the prefixes that it needs."""
    header, *graphs = (FOLDER / path).read_text("utf-8").splitlines()
    yield from (f"{header}\n{graph}" for graph in graphs[:_MOST] if graph.strip())


@needs_data("rspqlstar")
@pytest.mark.parametrize("number", range(1, 12))
def test_pairs_of_the_performance_evaluation_give_equal_answers(number: int) -> None:
    found = {}
    for form, queries in {
        "rdfstar": ["query-rdfstar"],
        "reification": ["query-reification", "query-reification-optimized"],
    }.items():
        graphs = lines(f"performance-eval/{number}-meta-{form}.trigs")
        elements = [(graph, 50 * place) for place, graph in enumerate(graphs)]
        for name in queries:
            text = (FOLDER / "performance-eval" / f"{name}.rspqlstar").read_text("utf-8")
            found[name] = [
                # The two files have different objects, and the same of everything else.
                (each.at, Counter(row[:2] for row in each.rows))
                for each in answers(text, {"http://stream/meta": elements})
            ]
    assert sum(sum(rows.values()) for _, rows in found["query-rdfstar"]) > 0
    assert found["query-rdfstar"] == found["query-reification"]
    assert found["query-rdfstar"] == found["query-reification-optimized"]


@needs_data("rspqlstar")
@pytest.mark.parametrize("mended", [False, True])
def test_pairs_of_the_use_case_give_equal_answers(mended: bool) -> None:
    found = {}
    for form in ("rdfstar", "reification"):
        text = (FOLDER / "use-case" / form / "query.rspqlstar").read_text("utf-8")
        if mended:  # ?home is bound outside of the window that the condition stands in
            text = text.replace("FILTER(?loc != ?home)", "")
            text = text.replace("WINDOW <w3> {", "FILTER(?loc != ?home) WINDOW <w3> {")
            text = re.sub(r"HAVING\(.*\)", "", text)  # so that there is something to compare
        streams = {
            f"http://base/s/{name}": [
                (graph, _milliseconds(graph)) for graph in lines(f"use-case/{form}/{name}.trigs")
            ]
            for name in ("activity", "location", "heart", "breathing", "oxygen")
        }
        static = str(FOLDER / "use-case" / "base-data.ttl")
        found[form] = [(each.at, Counter(each.rows)) for each in answers(text, streams, static)]
    assert found["rdfstar"] == found["reification"]
    assert any(rows for _, rows in found["rdfstar"]) == mended


def _milliseconds(graph: str) -> int:
    moment = re.search(r'generatedAtTime "2019-04-30T(\d+):(\d+):(\d+)', graph)
    assert moment is not None
    hours, minutes, seconds = map(int, moment.groups())
    return 1000 * (3600 * hours + 60 * minutes + seconds)


# -- every format ------------------------------------------------------------------------------

SAID = '<x:o> <x:value> "7"^^<http://www.w3.org/2001/XMLSchema#integer>'
FORMATS = {
    "application/n-quads": f'<< {SAID} >> <x:unc> "U(0,1)" <x:g> . {SAID} <x:g> .',
    "application/trig": '<x:g> { << <x:o> <x:value> 7 >> <x:unc> "U(0,1)" . <x:o> <x:value> 7 . }',
}
BARE = {
    "application/n-triples": f'<< {SAID} >> <x:unc> "U(0,1)" .\n{SAID} .',
    "text/turtle": '<x:o> <x:value> 7 {| <x:unc> "U(0,1)" |} .',
}
TRIPLE = QuotedTriple(Iri("x:o"), Iri("x:value"), Literal("7", XSD_INTEGER))
WINDOW = "FROM NAMED WINDOW <x:w> ON <x:s> [RANGE 10s STEP 10s]"


def first(text: str, data: str, syntax: str) -> Evaluation:
    engine = Engine(clock=None)
    engine.stream("x:s")
    query = engine.register(text, dialect="rspql")
    engine.stream("x:s").push(data.replace(" . <x:o>", " .\n<x:o>"), at=1000, syntax=syntax)
    engine.finish()
    assert query.error is None
    return next(iter(query.results()))


@pytest.mark.parametrize("syntax", [*FORMATS, *BARE])
@pytest.mark.parametrize(
    ("pattern", "columns", "expected"),
    [
        ("<< ?o <x:value> ?v >> <x:unc> ?u", "?v ?u", (TRIPLE.object, Literal("U(0,1)"))),
        ("?t <x:unc> ?u", "?t", (TRIPLE,)),
        ("?t <x:unc> ?u . ?o <x:value> ?v FILTER(SUBJECT(?t) = ?o)", "?o", (Iri("x:o"),)),
        ("<< ?o ?p ?v >> ?q ?u BIND(<< ?o ?p ?v >> AS ?t)", "?t", (TRIPLE,)),
    ],
)
def test_annotations_of_every_format_are_matched(
    syntax: str, pattern: str, columns: str, expected: tuple[Term, ...]
) -> None:
    data = FORMATS.get(syntax) or BARE[syntax]
    inner = f"GRAPH ?g {{ {pattern} }}" if syntax in FORMATS else pattern
    found = first(f"SELECT {columns} {WINDOW} {{ WINDOW <x:w> {{ {inner} }} }}", data, syntax)
    assert found.rows == (expected,)


def test_nested_annotations_are_matched_and_constructed() -> None:
    data = f'<< << {SAID} >> <x:unc> "U(0,1)" >> <x:by> <x:me> <x:g> .'
    inner = "WINDOW <x:w> { GRAPH ?g { << << ?o ?p ?v >> <x:unc> ?u >> <x:by> ?who } }"
    selected = first(f"SELECT ?v ?u ?who {WINDOW} {{ {inner} }}", data, "application/n-quads")
    assert selected.rows == ((TRIPLE.object, Literal("U(0,1)"), Iri("x:me")),)
    made = first(
        f"CONSTRUCT {{ << ?o ?p ?v >> <x:seen> ?u }} {WINDOW} {{ {inner} }}",
        data,
        "application/n-quads",
    )
    [quad] = made.quads
    assert (quad.subject, quad.predicate, quad.object) == (
        TRIPLE,
        Iri("x:seen"),
        Literal("U(0,1)"),
    )


def test_an_annotation_asserts_nothing_unless_it_is_asked_to() -> None:
    data = f'<< {SAID} >> <x:unc> "U(0,1)" <x:g> .'
    text = f"SELECT ?v {WINDOW} {{ WINDOW <x:w> {{ GRAPH ?g {{ ?o <x:value> ?v }} }} }}"
    assert first(text, data, "application/n-quads").rows == ()
    engine = Engine(clock=None, settings={"assert_quoted": "true"})
    engine.stream("x:s")
    query = engine.register(text, dialect="rspql")
    engine.stream("x:s").push(data, at=1000)
    engine.finish()
    assert next(iter(query.results())).rows == ((TRIPLE.object,),)
