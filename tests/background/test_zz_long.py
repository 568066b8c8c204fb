"""Patterns as text for a remote endpoint: reading the text again gives the pattern."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, given, settings

from headrace.algebra.expressions import Aggregate, BuiltIn, Timestamp, TriplePattern, Variable
from headrace.algebra.operators import (
    Annotate,
    Annotation,
    Bgp,
    Budget,
    Extend,
    Filter,
    Join,
    LeftJoin,
    Operator,
    Project,
    Service,
    Values,
    Window,
)
from headrace.algebra.scope import possible, possible_in_order
from headrace.background.text import query_text
from headrace.background.text_terms import string_text
from headrace.dialects import parse
from headrace.errors import HeadraceError, InternalError, TooLargeError, UnsupportedError
from headrace.rdf.terms import BlankNode, Iri, Literal
from tests.background.equivalence import shape
from tests.background.patterns import patterns
from tests.manifests import cases
from tests.shared import DATA, needs_data

S, P, O = Variable("s"), Iri("http://x/p"), Variable("o")  # noqa: E741
TRIPLE = Bgp((TriplePattern(S, P, O),))
SPARQL = DATA / "w3c-rdf-tests" / "sparql"


def asked(operator: Operator) -> Operator:
    """A pattern as a query asks for it: cut down to its columns."""
    columns = tuple(each for each in possible_in_order(operator) if not each.is_anonymous)
    return Project(operator, columns)


def check(operator: Operator) -> None:
    text = query_text(operator)
    read, wanted = parse(text, "sparql").query.pattern, asked(operator)
    assert shape(read) == shape(wanted), text
    if possible(wanted):
        assert possible_in_order(read) == possible_in_order(wanted), text


@settings(max_examples=6000, deadline=None, suppress_health_check=list(HealthCheck))
@given(patterns)
def test_reading_what_was_written_gives_the_same_pattern(operator: Operator) -> None:
    check(operator)


QUERIES = [
    "SELECT * { ?s ?p ?o }",
    "SELECT * { ?s ?p [] . [] ?p ?o }",
    "SELECT * { [ ?p ( 1 2.5 'x' true ) ] }",
    "SELECT * { ?s <x:p> << ?s <x:q> << ?a <x:r> 1 >> >> {| <x:s> ?b |} }",
    "SELECT * { ?s <x:p> ?o OPTIONAL { ?o <x:q> ?z FILTER(?z > ?o) } }",
    "SELECT * { ?s <x:p> ?o OPTIONAL { { ?o <x:q> ?z FILTER(?z > 1) } } }",
    "SELECT * { ?s <x:p> ?o OPTIONAL { SELECT ?o { ?o <x:q> ?z } LIMIT 3 } }",
    "SELECT * { OPTIONAL { ?s ?p ?o } }",
    "SELECT * { { ?s ?p ?o } UNION { ?s ?q ?o FILTER(?q != <x:p>) } UNION {} }",
    "SELECT * { ?s ?p ?o MINUS { ?s <x:q> ?o FILTER(?o = 1) } }",
    "SELECT * { ?s ?p ?o FILTER NOT EXISTS { ?s <x:q> ?z FILTER EXISTS { ?z ?o ?s } } }",
    "SELECT * { ?s ?p ?o BIND(?o + 1 AS ?n) ?n <x:q> ?m FILTER(?n IN (1, 2, -3) && ?m NOT IN ()) }",
    "SELECT * { { ?s ?p ?o } { ?s <x:q> ?z } ?z ?y ?x }",
    "SELECT * { VALUES (?s ?o) { (<x:a> UNDEF) ('b'@en 1.5) } ?s ?p ?o }",
    "SELECT * { ?s ?p ?o } VALUES ?s { <x:a> }",
    "SELECT * { GRAPH ?g { ?s ?p ?o } GRAPH <x:g> { ?s ?p ?o FILTER(?o) } }",
    "SELECT * { SERVICE SILENT <x:e> { ?s ?p ?o } SERVICE ?e { ?a ?b ?c } }",
    "SELECT * { ?s (<x:a>|^<x:b>)/<x:c>*/(!(<x:d>|^<x:e>))?/^(<x:f>+) ?o . ?o !() ?z }",
    "SELECT DISTINCT ?s { ?s ?p ?o } ORDER BY ?o DESC(STR(?p)) LIMIT 5 OFFSET 2",
    "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }",
    "SELECT ?s (SUM(DISTINCT ?o) * 2 AS ?n) ('x' AS ?c) { ?s ?p ?o } GROUP BY ?s",
    "SELECT ?n { ?s ?p ?o } GROUP BY (STR(?s) AS ?n) HAVING (COUNT(?o) > 2 && AVG(?o) < 5)",
    "SELECT (MAX(?o) AS ?m) { ?s ?p ?o } GROUP BY STRLEN(?s) ORDER BY DESC(COUNT(*)) ?m",
    "SELECT (GROUP_CONCAT(?o; SEPARATOR='\\n\"') AS ?g) { ?s ?p ?o }",
    "SELECT * { ?s ?p ?o { SELECT ?s (MIN(?z) AS ?n) { ?s ?q ?z } GROUP BY ?s VALUES ?s {1} } }",
    "SELECT ?s { ?s ?p ?o } GROUP BY ?s HAVING (MIN(?o) > 1)",
    "BASE <http://b/> SELECT * { ?s <p> ?o FILTER(IRI(?o) = <x>) }",
    "SELECT * { ?s ?p ?o FILTER(isTRIPLE(?o) && SUBJECT(?o) = <x:a> && << ?s ?p 1 >> = ?o) }",
    "SELECT * { ?s ?p ?o FILTER(-?o < 1 && !(?o = +?o) && - 1 < ?o && ?o -1 > 0 || !(!?o)) }",
    "SELECT * { ?s ?p ?o FILTER(<x:f>() || <x:g>(?s, 1) || RAND() > 0.5) }",
    "SELECT * { ?s ?p 'a\\\\u0041', '''b\"'\\n''', \"\\u00e9\", 'c\\\\' }",
    "SELECT * { <x:a> <x:b> <x:c> }",
    "SELECT * { [] <x:b> <x:c> { SELECT * { [] <x:d> <x:e> } } }",
]


@pytest.mark.parametrize("query", QUERIES)
def test_queries_come_back(query: str) -> None:
    check(parse(query, "sparql").query.pattern)


@needs_data("w3c-rdf-tests")
def test_queries_of_the_w3c_come_back() -> None:
    checked = 0
    for path in sorted(SPARQL.rglob("*.rq")):
        try:
            parsed = parse(path.read_text("utf-8"), "sparql")
        except (HeadraceError, UnicodeDecodeError):
            continue  # a test of what is wrong
        check(parsed.query.pattern)
        checked += 1
    assert checked > 500


@needs_data("w3c-rdf-tests")
def test_they_have_the_same_answers() -> None:
    """What pyoxigraph answers to a query, it answers to what we make of it."""
    compared = 0
    for manifest in sorted(SPARQL.rglob("manifest.ttl")):
        for case in cases(manifest, "QueryEvaluationTest"):
            compared += _same_answers(case.action)
    assert compared > 250


def _same_answers(query: Path) -> bool:
    text = query.read_text("utf-8")
    if any(word in text.upper() for word in ("FROM", "SERVICE", "RAND", "UUID", "NOW(", "BNODE")):
        return False
    store = ox.Store()
    for data in sorted(query.parent.glob("data*.ttl"))[:3]:
        store.load(path=data, format=ox.RdfFormat.TURTLE, base_iri="http://x/")
    try:
        pattern = parse(f"BASE <http://x/> {text}", "sparql").query.pattern
        wanted = store.query(text, base_iri="http://x/")
    except (HeadraceError, SyntaxError, ValueError):
        return False
    if not isinstance(wanted, ox.QuerySolutions) or _is_any_subset(text):
        return False
    found = store.query(query_text(pattern), base_iri="http://x/")
    assert isinstance(found, ox.QuerySolutions)
    assert _multiset(found) == _multiset(wanted), query
    return True


def _is_any_subset(text: str) -> bool:
    """Whether the query leaves open which of its solutions it gives."""
    upper = text.upper()
    return any(word in upper for word in ("LIMIT", "OFFSET", "REDUCED", "SAMPLE", "GROUP_CONCAT"))


def _multiset(solutions: ox.QuerySolutions) -> Counter[frozenset[tuple[str, str]]]:
    names = [variable.value for variable in solutions.variables]
    return Counter(
        frozenset(
            (name, str(term))
            for name, term in zip(names, solution, strict=True)
            if term is not None and not name.startswith("anon")
        )
        for solution in solutions
    )


# -- bindings ------------------------------------------------------------------------------

VALUES = Values((S,), ((Iri("x:a"),), (Literal("b"),)))


def test_bindings_stand_beside_triples_and_apart_from_anything_else() -> None:
    assert query_text(TRIPLE, VALUES) == (
        'SELECT ?s ?o WHERE { VALUES (?s) { (<x:a>) ("b") } ?s <http://x/p> ?o }'
    )
    optional = LeftJoin(TRIPLE, Bgp((TriplePattern(O, P, S),)))
    assert query_text(optional, VALUES) == (
        'SELECT ?s ?o WHERE { VALUES (?s) { (<x:a>) ("b") }'
        " { ?s <http://x/p> ?o OPTIONAL { ?o <http://x/p> ?s } } }"
    )


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(patterns)
def test_bindings_are_joined_with_the_pattern(operator: Operator) -> None:
    bindings = Values((Variable("a"),), ((Iri("x:a"),),))
    text = query_text(operator, bindings)
    read = parse(text, "sparql").query.pattern
    columns = tuple(each for each in possible_in_order(operator) if not each.is_anonymous)
    joined: Operator = Join(bindings, operator)
    match operator:  # beside the triples of a filter, which is about both then
        case Filter(condition, Bgp() as inner) if bindings.variables[0] in columns:
            joined = Filter(condition, Join(bindings, inner))
    assert shape(read) == shape(Project(joined, columns)), text


# -- what cannot be sent -------------------------------------------------------------------

REFUSED: list[tuple[Operator, str]] = [
    (Window(Iri("x:w"), TRIPLE), "a window of a stream cannot be sent"),
    (Annotate(TRIPLE, (Annotation(O, Aggregate("COUNT"), ()),)), "AGGREGATE cannot be sent"),
    (Service(Iri("x:e"), TRIPLE, budget=Budget(accuracy=1)), "a SERVICE with a budget"),
    (Extend(TRIPLE, Variable("t"), Timestamp((S,))), "timestamp() reads a stream"),
    (Bgp((TriplePattern(BlankNode("b"), P, O),)), "the blank node _:b means nothing"),
    (Bgp((TriplePattern(S, Literal("p"), O),)), "cannot be the predicate"),
    (Bgp((TriplePattern(S, P, Iri("x:a> } DROP ALL #")),)), "cannot be written in SPARQL"),
    (Bgp((TriplePattern(S, P, Iri("x:a\\u003E")),)), "cannot be written in SPARQL"),
    (Bgp((TriplePattern(S, P, Literal("a", "x:d> .")),)), "cannot be written in SPARQL"),
    (Bgp((TriplePattern(S, P, Literal("a", language="en }")),)), "cannot be written in SPARQL"),
    (Bgp((TriplePattern(S, P, Literal("\ud800")),)), "cannot be written in SPARQL"),
    (
        Filter(
            BuiltIn("CONCAT", tuple(BuiltIn("IRI", (S, Iri(base))) for base in ("x:a", "x:b"))),
            TRIPLE,
        ),
        "one BASE only",
    ),
]


@pytest.mark.parametrize(("operator", "problem"), REFUSED)
def test_what_means_nothing_elsewhere_is_refused(operator: Operator, problem: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        query_text(operator)
    assert problem in str(caught.value)


def test_names_that_are_none_are_our_mistake() -> None:
    with pytest.raises(InternalError):
        query_text(Bgp((TriplePattern(Variable("a } #"), P, O),)))


def test_patterns_too_deep_to_write_are_refused() -> None:
    operator: Operator = TRIPLE
    for _ in range(5_000):
        operator = Join(operator, TRIPLE)
    with pytest.raises(TooLargeError, match="nests too deeply"):
        query_text(operator)


@pytest.mark.parametrize("text", ["\\u0022 } #", "\\\\u0022", "\\U00000022", "\\", "\\u", '"\\"'])
def test_strings_stay_strings_for_readers_that_decode_twice(text: str) -> None:
    """Some replace codes of characters everywhere before they look at the strings."""
    written = string_text(text)
    naive = written
    for code, character in (("\\u0022", '"'), ("\\U00000022", '"')):
        naive = naive.replace(code, character)
    assert naive == written
    query = f"SELECT * {{ ?s ?p {written} }}"
    [pattern] = [each for each in _bgp(query).patterns if isinstance(each, TriplePattern)]
    assert pattern.object == Literal(text)


def _bgp(query: str) -> Bgp:
    pattern = parse(query, "sparql").query.pattern
    assert isinstance(pattern, Project)
    assert isinstance(pattern.input, Bgp)
    return pattern.input
