"""The entailment tests of the W3C, as far as they are about RDFS."""

from __future__ import annotations

from typing import Final

import pyoxigraph as ox
import pytest

from headrace.store import Store
from tests.shared import needs_data
from tests.w3c.cases import Evaluation, evaluations
from tests.w3c.test_evaluation import SUITES, agrees, asked, expected, loaded

MANIFEST = SUITES["sparql11"] / "entailment" / "manifest.ttl"
REGIMES: Final = {f"http://www.w3.org/ns/entailment/{name}" for name in ("RDF", "RDFS", "D")}

NEED_RULES: Final = ("rdfs03", "rdfs04", "rdfs06", "rdfs09")
"""They ask for what is entailed, and need no other rules than those that there are."""
NEED_NONE: Final = (
    *(f"bind0{number}" for number in (1, 2, 4, 5, 6, 7)),
    "d-ent-01",
    "owlds01",
    "paper-sparqldl-Q5",
    "rdfs08",
    *(f"sparqldl-0{number}" for number in (1, 5, 6, 7, 8, 9)),
)
"""They have the same answers with and without entailment."""
NEED_MORE: Final = {
    "rdfs11": "a property is below itself by an axiom of RDFS",
    "paper-sparqldl-Q1": "a class is below itself by an axiom of RDFS",
    "sparqldl-02": "a class is below itself by an axiom of RDFS",
}
"""They ask for statements of the schema, which follow from axioms that are no part of the rules."""


def cases() -> list[Evaluation]:
    """The tests for a regime of RDF, RDFS or datatypes."""
    if not MANIFEST.exists():
        return []
    store = ox.Store()
    store.bulk_load(path=str(MANIFEST), format=ox.RdfFormat.TURTLE, base_iri=MANIFEST.as_uri())
    answer = store.query(
        "PREFIX qt: <http://www.w3.org/2001/sw/DataAccess/tests/test-query#>"
        "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>"
        "SELECT ?query ?regime { ?action qt:query ?query ; ?p ?list ."
        " ?list rdf:rest*/rdf:first? ?regime FILTER(STRENDS(STR(?p), 'entailmentRegime')) }"
    )
    assert isinstance(answer, ox.QuerySolutions)
    for_us = {
        str(row["query"].value)
        for row in answer
        if isinstance(row["regime"], ox.NamedNode) and row["regime"].value in REGIMES
    }
    found = [each for each in evaluations("sparql11", MANIFEST) if each.query.as_uri() in for_us]
    return sorted(found, key=lambda each: each.query.stem)


def is_answered(case: Evaluation, *, under_schema: bool) -> bool:
    query = asked(case)
    quads = loaded(case, query)
    store = Store(schema=quads if under_schema else None)
    store.add(quads)
    return agrees(case, store.answer(query), expected(case))


@needs_data("w3c-rdf-tests")
def test_every_test_of_these_regimes_is_listed() -> None:
    assert {each.query.stem for each in cases()} == {*NEED_RULES, *NEED_NONE, *NEED_MORE}


@pytest.mark.parametrize(
    "case",
    [pytest.param(each, id=each.query.stem, marks=needs_data("w3c-rdf-tests")) for each in cases()],
)
def test_it_is_answered_as_the_list_says(case: Evaluation) -> None:
    name = case.query.stem
    assert is_answered(case, under_schema=True) == (name not in NEED_MORE)
    assert is_answered(case, under_schema=False) == (name in NEED_NONE)
