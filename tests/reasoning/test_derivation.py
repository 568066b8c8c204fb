"""Why a derived statement holds."""

from __future__ import annotations

from hypothesis import given, settings

from headrace.rdf.terms import Iri, Triple
from headrace.rdf.vocabulary import OWL_INVERSE_OF, RDFS_DOMAIN, RDFS_SUB_CLASS_OF
from headrace.reasoning.derivation import Rules
from headrace.reasoning.reduction import EVERYTHING
from headrace.reasoning.schema import TYPE
from tests.reasoning.worlds import CLASSES, PROPERTIES, data, found, read, schema_statements

A, B = Iri("x:a"), Iri("x:b")


def test_each_step_names_its_rule_and_what_the_schema_says() -> None:
    p, q = PROPERTIES[:2]
    c, d = CLASSES[:2]
    statements = [
        Triple(p, Iri(OWL_INVERSE_OF), q),
        Triple(q, Iri(RDFS_DOMAIN), c),
        Triple(c, Iri(RDFS_SUB_CLASS_OF), d),
    ]
    way = Rules(read(statements)).derivation(Triple(A, p, B), Triple(B, TYPE, d))
    assert way is not None
    assert [step.rule for step in way] == ["inv2", "rdfs2", "rdfs9"]
    assert [step.because for step in way] == statements
    assert way[-1].then == Triple(B, TYPE, d)


def test_what_does_not_follow_has_no_derivation() -> None:
    assert Rules(read([])).derivation(Triple(A, PROPERTIES[0], B), Triple(B, TYPE, A)) is None


@settings(max_examples=100)
@given(schema_statements(of_type=True), data)
def test_all_that_is_found_has_a_derivation_and_nothing_else(
    schema: list[Triple], statements: list[Triple]
) -> None:
    rules = Rules(read(schema))
    ours = found(read(schema), statements, EVERYTHING)
    for each in ours:
        ways = [rules.derivation(cause, each) for cause in statements]
        way = min((way for way in ways if way is not None), key=len)
        assert (not way) == (each in statements)
        assert not way or way[-1].then == each
