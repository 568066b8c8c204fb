"""What is drawn as static and what as a stream: by what is known, never by how names look."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace import Engine
from headrace.algebra.operators import Bgp, Join
from headrace.algebra.query import Query
from headrace.algebra.walk import within
from headrace.dialects import parse
from headrace.explaining import Over, explained
from headrace.graphs.drawing import GraphForm, GraphKind, drawn
from headrace.graphs.operator_graph import Kind, OGraph, operator_graph
from headrace.pipeline.predicate_sample import sample_predicates
from headrace.rdf.terms import Iri
from headrace.rewrite.sources import KnownPredicates, Origin, Sources
from tests.graphs.queries import PAPERS, known_of, of_paper


def paper(section: str) -> Path:
    return next(path for path in PAPERS if f"csparql-{section}" in path.name)


def graph_of(section: str) -> OGraph:
    return operator_graph(of_paper(paper(section)), known=known_of(section))


def origin_of(query: Query, known: KnownPredicates | None = None) -> Origin:
    """Where the only triple pattern of a query is expected."""
    [bgp] = (each for each in within(query.pattern) if isinstance(each, Bgp))
    [pattern] = bgp.patterns
    return Sources.of(query, known).origin(pattern)


def read_by(graph: OGraph) -> dict[str, str]:
    """Where each predicate is read, by the mark of its line or else by the source of its node."""
    found: dict[str, str] = {}
    for node in graph.nodes:
        if node.kind is Kind.PATTERN:
            kinds = sorted({str(each.kind) for each, _ in graph.inputs(node)})
            words = {"static graph": "static", "window": "stream"}
            source = " and ".join(words[each] for each in kinds)
            for line in node.details:
                pattern, _, mark = line.partition(" (")
                terms = pattern.split(" ")
                if len(terms) > 2:
                    found[terms[1]] = mark.rstrip(")") or source
    return found


@pytest.mark.parametrize(
    ("section", "static"),
    [
        ("2.4", {"city:placedIn", "city:contains"}),
        ("2.5", {"city:placedIn", "city:contains"}),
        ("2.6", {"city:hasCapacity", "city:placedIn", "city:placedAt", "city:crossing"}),
        ("2.7", {"city:monitors", "city:placedAt"}),
        ("3.4", {"accounts:is_from"}),
        ("5.2", set()),
    ],
)
def test_a_query_of_the_paper_has_its_repository_apart_from_its_streams(
    section: str, static: set[str]
) -> None:
    found = read_by(graph_of(section))
    assert {name for name, source in found.items() if source == "static"} == static
    assert {source for name, source in found.items() if name not in static} == {"stream"}


def test_a_query_with_from_reads_no_named_graph() -> None:
    kinds = {node.kind for node in graph_of("5.2").nodes}
    assert Kind.UNION not in kinds
    assert Kind.STATIC_GRAPH not in kinds


@pytest.mark.parametrize("section", ["2.4", "2.7", "3.4"])
def test_without_data_a_pattern_may_be_about_either(section: str) -> None:
    shown = drawn(of_paper(paper(section)), GraphKind.OPERATORS, GraphForm.TEXT)
    assert "Static graph" in shown
    assert "Window" in shown
    assert "(static or stream)" in shown
    assert "(static)" not in shown
    assert "(stream)" not in shown
    terms = drawn(of_paper(paper(section)), GraphKind.DENOTATIONAL, GraphForm.TEXT)
    assert "static or stream: " in terms


@pytest.mark.parametrize("host", ["static", "stream", "other"])
def test_names_say_nothing(host: str) -> None:
    text = (
        "SELECT * FROM <http://static.example/g> FROM STREAM <http://stream.example/s> "
        f"[RANGE 5s STEP 5s] {{ ?x <http://{host}.example/p> ?y }}"
    )
    assert origin_of(parse(text).query) is Origin.EITHER


P, Q = Iri("x:p"), Iri("x:q")


@pytest.mark.parametrize(
    ("known", "origin"),
    [
        (KnownPredicates(), Origin.EITHER),
        (KnownPredicates.of_static([]), Origin.STREAM),
        (KnownPredicates.of_static([P]), Origin.STATIC),
        (KnownPredicates.of_static([P], [Iri("x:g")]), Origin.STREAM),
        (KnownPredicates.of_static([Q]), Origin.STREAM),
        (KnownPredicates(frozenset({(None, Q)}), is_all=False), Origin.EITHER),
        (KnownPredicates(None, streams=frozenset({P})), Origin.STREAM),
        (KnownPredicates(frozenset({(None, P)}), streams=frozenset({P})), Origin.EITHER),
    ],
)
def test_what_is_known_decides(known: KnownPredicates, origin: Origin) -> None:
    query = parse("SELECT * FROM STREAM <x:s> [RANGE 5s STEP 5s] { ?x <x:p> ?y }").query
    assert origin_of(query, known) is origin


def test_from_named_may_leave_streams_only() -> None:
    text = "SELECT * FROM NAMED <x:g> FROM STREAM <x:s> [RANGE 5s STEP 5s] { ?x <x:p> ?y }"
    assert origin_of(parse(text).query) is Origin.STREAM
    kept = parse(text, settings={"from_named": "keeps-default"}).query
    assert origin_of(kept) is Origin.EITHER


def test_predicates_that_are_seen_in_streams_count(tmp_path: Path) -> None:
    (tmp_path / "s.tnq").write_text("1000\t<x:a> <x:p> <x:b> .\n")
    (tmp_path / "static.ttl").write_text("<x:a> <x:q> 1 . <x:a> <x:both> 1 .")
    (tmp_path / "both.tnq").write_text("1000\t<x:a> <x:both> <x:b> .\n")
    text = "SELECT * FROM STREAM <x:s> [RANGE 5s STEP 5s] { ?x <x:p> ?y ; <x:q> ?z ; <x:both> ?v }"
    streams = tuple(f"x:s={tmp_path / name}" for name in ("s.tnq", "both.tnq"))
    over = Over(streams, (str(tmp_path / "static.ttl"),))
    shown = explained(parse(text), "text", "operators", over)
    assert "x:p ?y (stream)" in shown
    assert "x:q ?z (static)" in shown
    assert "x:both ?v (static or stream)" in shown


def test_plans_follow_the_static_data_of_an_engine() -> None:
    text = "SELECT * FROM STREAM <x:s> [RANGE 5s STEP 5s] { ?x <x:p> ?y . ?y <x:q> ?z }"
    plain, engine = Engine(), Engine()
    for each in (plain, engine):
        each.stream("x:s")
        each.register(text)
    engine.static.load_text("<x:a> <x:q> 1 .")
    [together], [apart] = plain.plans(), engine.plans()
    assert not any(isinstance(each, Join) for each in within(together.pattern))
    assert any(isinstance(each, Join) for each in within(apart.pattern))
    assert together.digest == apart.digest
    engine.static.load_text("<x:a> <x:p> 1 .")
    assert engine.plans() == [apart], "what runs stays as it is"


def test_the_beginnings_of_static_files_are_sampled(tmp_path: Path) -> None:
    turtle, lines = tmp_path / "a.ttl", tmp_path / "b.nt"
    turtle.write_text("<x:a> <x:p> 1 .")
    lines.write_text("<x:a> <x:q> <x:b> .\n" * 25_000 + "<x:a> <x:r> <x:b> .\n")
    assert sample_predicates([(None, turtle)]) == KnownPredicates.of_static([P])
    found = sample_predicates([("x:g", lines), (None, turtle)])
    assert found.static == frozenset({(Iri("x:g"), Q), (None, P)})
    assert not found.is_all
    lines.write_text("no statement\n")
    assert not sample_predicates([(None, lines)]).is_all
