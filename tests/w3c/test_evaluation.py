"""The W3C evaluation tests for SPARQL 1.0, SPARQL 1.1 and SPARQL-star, through the kernel."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from headrace.algebra.query import Query
from headrace.dialects import parse
from headrace.kernel.answer import Answer, Statements, Truth, answer
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.surroundings import Surroundings
from headrace.rdf.formats import format_of_path
from headrace.rdf.options import ReadOptions
from headrace.rdf.reading import read
from headrace.rdf.scopes import Scope
from headrace.rdf.terms import Iri, Quad
from headrace.results.csv_format import flattened
from headrace.results.formats import ResultFormat
from headrace.results.reading import read_result
from headrace.results.table import Table
from headrace.rewrite.rule import Rule
from headrace.rewrite.rules import RULES
from tests.results.dawg import read_result_set
from tests.shared import DATA, needs_data
from tests.w3c.cases import Evaluation, evaluations, path_of
from tests.w3c.isomorphism import same

SUITES = {
    "sparql10": DATA / "w3c-rdf-tests" / "sparql" / "sparql10",
    "sparql11": DATA / "w3c-rdf-tests" / "sparql" / "sparql11",
    "sparql-star": DATA / "w3c-rdf-star-cg" / "tests" / "sparql" / "eval",
}
EXPECTED = {"sparql10": 283, "sparql11": 153, "sparql-star": 31}
DEVIATIONS = tomllib.loads((Path(__file__).parent / "deviations.toml").read_text("utf-8"))
FORMATS = {
    ".srx": ResultFormat.XML,
    ".srj": ResultFormat.JSON,
    ".csv": ResultFormat.CSV,
    ".tsv": ResultFormat.TSV,
}


def cases(suite: str) -> list[Evaluation]:
    return [
        case
        for manifest in sorted(SUITES[suite].rglob("manifest.ttl"))
        if manifest.parent.name != "entailment"  # reasoning has tests of its own
        for case in evaluations(suite, manifest)
    ]


def params() -> list[object]:
    return [
        pytest.param(case, id=case.id, marks=needs_data("w3c-rdf-tests"))
        for suite in SUITES
        for case in cases(suite)
    ]


def load(path: Path, graph: Iri | None) -> list[Quad]:
    options = ReadOptions(base=path.as_uri(), rdf_xml=True)
    data = path.read_bytes()
    found = read(
        data,
        format_of_path(path),
        name=str(path),
        scope=Scope(f"f{abs(hash(path))}"),
        options=options,
    )
    return [Quad(quad.subject, quad.predicate, quad.object, quad.graph or graph) for quad in found]


def asked(case: Evaluation) -> Query:
    return parse(case.query.read_text("utf-8"), "sparql", base=case.query.as_uri()).query


def loaded(case: Evaluation, query: Query) -> list[Quad]:
    quads = [quad for path in case.data for quad in load(path, None)]
    quads += [quad for path in case.graphs for quad in load(path, Iri(path.as_uri()))]
    for graph in {*query.dataset.default, *query.dataset.named}:
        quads += load(path_of(graph.value), graph)
    return quads


def answered(query: Query, quads: list[Quad], rules: Sequence[Rule] = RULES) -> Answer:
    dictionary = Dictionary()
    return answer(query, dictionary.encode_quads(quads), Surroundings(dictionary), rules)


def expected(case: Evaluation) -> Table | bool | list[Quad]:
    suffix = case.result.suffix
    if suffix in FORMATS:
        return read_result(case.result.read_bytes(), FORMATS[suffix])
    text = case.result.read_text("utf-8")
    if "result-set#" in text:
        return read_result_set(case.result)
    return load(case.result, None)


def as_quads(quads: list[Quad] | tuple[Quad, ...]) -> list[tuple[object, ...]]:
    return [(quad.subject, quad.predicate, quad.object, quad.graph) for quad in set(quads)]


def agrees(case: Evaluation, ours: Answer, theirs: Table | bool | list[Quad]) -> bool:
    match ours, theirs:
        case Truth(value), bool():
            return value == theirs
        case Statements(quads), list():
            return same(as_quads(quads), as_quads(theirs))  # type: ignore[arg-type]  # terms
        case Table(), Table():
            found = flattened(ours) if case.result.suffix == ".csv" else ours
            if set(found.variables) != set(theirs.variables):
                return False
            order = [found.variables.index(name) for name in theirs.variables]
            rows = [tuple(row[place] for place in order) for row in found.rows]
            if "REDUCED" in case.query.read_text("utf-8").upper():
                return same(set(rows), set(theirs.rows)) and not Counter(rows) - Counter(rows)
            return same(rows, theirs.rows)
        case _:
            return False


@pytest.mark.parametrize("case", params())
def test_a_query_gives_the_published_result(case: Evaluation) -> None:
    assert not case.services, "no test of the selection asks an endpoint; tests/test_store.py does"
    query = asked(case)
    right = agrees(case, answered(query, loaded(case, query)), expected(case))
    assert right is (case.id not in DEVIATIONS)


@needs_data("w3c-rdf-tests")
@pytest.mark.parametrize("suite", SUITES)
def test_no_test_of_a_suite_is_missing(suite: str) -> None:
    assert len(cases(suite)) == EXPECTED[suite]
