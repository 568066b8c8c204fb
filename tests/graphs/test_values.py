"""Both graphs as values: what holds for the papers' queries, and for any."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from headrace.algebra.expressions import Variable
from headrace.algebra.operators import Distinct, Filter, Project
from headrace.algebra.query import Query
from headrace.algebra.walk import everywhere
from headrace.dialects import parse
from headrace.graphs.denotation import BoxKind, DGraph, Role
from headrace.graphs.denotational_graph import denotational_graph
from headrace.graphs.drawing import GraphForm, GraphKind, drawn
from headrace.graphs.operator_graph import Kind, OGraph, operator_graph
from headrace.rdf.terms import Iri
from headrace.rewrite.sources import KnownPredicates
from tests.algebra.values import queries
from tests.graphs.queries import EVERYTHING, PAPERS, TWELVE_PATTERNS, known_of, of_paper

BROKER = next(path for path in PAPERS if "3.4" in path.name)
SELLER = next(path for path in PAPERS if "5.2" in path.name)


def kinds(graph: OGraph) -> list[Kind]:
    return [node.kind for node in graph.nodes]


def flows(graph: OGraph) -> set[tuple[Kind, Kind]]:
    return {(graph.nodes[edge.source].kind, graph.nodes[edge.target].kind) for edge in graph.edges}


def labels(graph: DGraph, *ids: int) -> list[str]:
    return [graph.vertices[each].label for each in ids]


# -- the operator graph --------------------------------------------------------------------


def test_data_of_the_broker_query_flow_from_both_sources_to_the_result() -> None:
    graph = operator_graph(of_paper(BROKER))
    assert flows(graph) == {
        (Kind.STREAM, Kind.WINDOW),
        (Kind.WINDOW, Kind.PATTERN),
        (Kind.STATIC_GRAPH, Kind.PATTERN),
        (Kind.PATTERN, Kind.FILTER),
        (Kind.FILTER, Kind.AGGREGATION),
        (Kind.AGGREGATION, Kind.PROJECTION),
        (Kind.PROJECTION, Kind.MODIFIER),
        (Kind.MODIFIER, Kind.RESULT),
    }
    assert graph.result.kind is Kind.RESULT


def test_patterns_that_are_all_expected_in_a_stream_read_only_it() -> None:
    query = parse(
        "SELECT * FROM <http://a.org/data> FROM STREAM <http://b.org/s> [RANGE 1m STEP 1m]"
        " { ?x <http://b.org/p> ?y }"
    ).query
    static = KnownPredicates.of_static([Iri("http://a.org/p")], query.dataset.default)
    assert Kind.STATIC_GRAPH not in kinds(operator_graph(query, known=static))
    assert Kind.STATIC_GRAPH in kinds(operator_graph(query))


def test_markets_are_read_from_graphs_and_from_windows() -> None:
    named = SELLER.read_text("utf-8").replace("FROM <", "FROM NAMED <", 1)
    graph = operator_graph(parse(named).query)
    union = next(node for node in graph.nodes if node.kind is Kind.UNION)
    assert [node.kind for node, _ in graph.inputs(union)] == [Kind.FILTER, Kind.PATTERN]
    assert {(Kind.WINDOW, Kind.PATTERN), (Kind.STATIC_GRAPH, Kind.PATTERN)} <= flows(graph)


def test_a_stream_that_is_read_twice_is_one_node() -> None:
    path = next(path for path in PAPERS if "q3-citations" in path.name)
    found = kinds(operator_graph(of_paper(path)))
    assert found.count(Kind.STREAM) == 1
    assert found.count(Kind.WINDOW) == 2


def test_every_kind_of_node_has_its_operator() -> None:
    papers = {kind for path in PAPERS for kind in kinds(operator_graph(of_paper(path)))}
    everything = set(kinds(operator_graph(parse(EVERYTHING).query)))
    blocks = "SELECT * FROM STREAM <s> [RANGE 1m STEP 1m] { { ?x ?p ?y } BEFORE { ?y ?q ?z } }"
    assert papers | everything | set(kinds(operator_graph(parse(blocks).query))) == set(Kind)


def test_another_pattern_of_the_same_query_can_be_shown() -> None:
    query = of_paper(BROKER)
    assert isinstance(query.pattern, Distinct)
    assert isinstance(query.pattern.input, Project)
    shorter = operator_graph(query, query.pattern.input.input)
    assert Kind.PROJECTION not in kinds(shorter)
    assert Kind.AGGREGATION in kinds(shorter)
    assert denotational_graph(query, query.pattern.input.input) == denotational_graph(query)


@given(queries)
@settings(max_examples=60)
def test_any_query_has_an_operator_graph(query: Query) -> None:
    graph = operator_graph(query)
    assert [node.id for node in graph.nodes] == list(range(len(graph.nodes)))
    assert all(edge.source < edge.target for edge in graph.edges)
    leading_on = {edge.source for edge in graph.edges}
    assert [node for node in graph.nodes if node.id not in leading_on] == [graph.result]
    filters = sum(isinstance(each, Filter) for each in everywhere(query.pattern))
    shown = kinds(graph).count(Kind.FILTER)
    # Branches that read no graph are left out.
    reads_none = bool(query.dataset.default) and not query.dataset.named
    assert shown <= filters if reads_none else shown == filters


# -- the denotational graph ----------------------------------------------------------------


def test_the_broker_query_denotes_what_the_six_rules_say() -> None:
    graph = denotational_graph(of_paper(BROKER), known=known_of("3.4"))
    static, stream = graph.boxes
    assert (static.kind, stream.kind) == (BoxKind.STATIC, BoxKind.STREAM)
    assert [vertex.label for vertex in graph.inside(static)] == ["accounts:is_from", "?country"]
    assert [vertex.label for vertex in graph.inside(stream)] == [
        "exchanges:does",
        "?tx",
        "exchanges:with",
        "?amount",
    ]
    assert [vertex.label for vertex in graph.shared] == ["?broker"]
    assert [labels(graph, *edge) for edge in graph.edges] == [
        ["?broker", "accounts:is_from"],
        ["accounts:is_from", "?country"],
        ["?broker", "exchanges:does"],
        ["exchanges:does", "?tx"],
        ["?tx", "exchanges:with"],
        ["exchanges:with", "?amount"],
    ]
    noted = {vertex.label: vertex.annotations for vertex in graph.vertices if vertex.annotations}
    assert noted == {"?country": ('?country = "CH"',), "?amount": ("?amount >= 10",)}
    (aggregation,) = graph.aggregations
    assert labels(graph, aggregation.variable, *aggregation.parameters) == ["?total", "?amount"]
    assert labels(graph, *aggregation.group) == ["?broker"]
    assert [each.label for each in graph.vertices if each.in_result] == ["?broker", "?total"]


def test_a_predicate_is_a_vertex_for_each_of_its_patterns_and_a_variable_is_one() -> None:
    graph = denotational_graph(parse("SELECT * { ?a <x:p> ?b . ?c <x:p> ?d . ?a ?p ?c }").query)
    found = [vertex.label for vertex in graph.vertices if vertex.role is Role.PREDICATE]
    assert found == ["x:p", "x:p"]
    variables = [vertex.term for vertex in graph.vertices if vertex.role is Role.VARIABLE]
    assert sorted(variables, key=str) == [Variable(name) for name in "abcdp"]


def test_a_variable_of_a_subquery_is_not_the_one_outside() -> None:
    query = "SELECT * { ?x <x:p> ?y { SELECT ?y { ?y <x:q> ?x } } }"
    graph = denotational_graph(parse(query).query)
    found = [vertex.label for vertex in graph.vertices if vertex.role is Role.VARIABLE]
    assert found == ["?x", "?y", "?x (2)"]


def test_a_query_of_twelve_patterns_has_two_edges_for_each() -> None:
    query = parse(TWELVE_PATTERNS).query
    shop = "http://shop.example.com/terms#"
    streaming = frozenset(Iri(shop + name) for name in ("bought", "costs", "madeBy", "reviewedBy"))
    graph = denotational_graph(query, known=KnownPredicates(streams=streaming))
    assert len(graph.patterns) == 12
    assert len(graph.edges) == 24
    assert {box.kind for box in graph.boxes} == {BoxKind.EITHER, BoxKind.STREAM}


@given(queries)
@settings(max_examples=60)
def test_any_query_has_a_denotational_graph(query: Query) -> None:
    graph = denotational_graph(query)
    assert [vertex.id for vertex in graph.vertices] == list(range(len(graph.vertices)))
    for path in graph.patterns:
        for end in (path.subject, path.predicate, path.object):
            assert path.box in graph.vertices[end].sources


@pytest.mark.parametrize("form", list(GraphForm))
@pytest.mark.parametrize("kind", list(GraphKind))
def test_the_same_query_is_always_drawn_the_same(kind: GraphKind, form: GraphForm) -> None:
    assert drawn(parse(EVERYTHING).query, kind, form) == drawn(parse(EVERYTHING).query, kind, form)
