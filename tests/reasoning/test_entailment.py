"""What is entailed is what an independent reasoner entails by the same rules."""

from __future__ import annotations

from hypothesis import given, settings

from headrace.rdf.terms import Iri, Literal, Triple
from headrace.rdf.vocabulary import (
    OWL_INVERSE_OF,
    OWL_SYMMETRIC,
    RDFS_RESOURCE,
    RDFS_SUB_CLASS_OF,
    RDFS_SUB_PROPERTY_OF,
)
from headrace.reasoning.closure import closed
from headrace.reasoning.effects import effects_of
from headrace.reasoning.reduction import EVERYTHING, Asked
from headrace.reasoning.schema import TYPE, Schema
from headrace.reasoning.tables import compiled
from tests.reasoning.reasoner import closure
from tests.reasoning.worlds import (
    CLASSES,
    NODES,
    PROPERTIES,
    asked,
    data,
    found,
    matches,
    read,
    schema_statements,
)

RESOURCE = Iri(RDFS_RESOURCE)


def expected(
    schema: list[Triple], statements: list[Triple], *, resources: bool = False
) -> set[Triple]:
    """What the other reasoner finds that does not follow from the schema alone."""
    alone = closure(schema, [], resources=resources)
    more = closure(schema, statements, resources=resources) - alone
    return {each for each in more if each.predicate != Iri(RDFS_SUB_PROPERTY_OF)}


@settings(max_examples=150)
@given(schema_statements(), data)
def test_all_that_follows_is_found(schema: list[Triple], statements: list[Triple]) -> None:
    ours = found(read(schema), statements, EVERYTHING)
    assert ours - closure(schema, []) == expected(schema, statements)


@settings(max_examples=150)
@given(schema_statements(of_type=True), data)
def test_also_where_types_follow_from_properties(
    schema: list[Triple], statements: list[Triple]
) -> None:
    ours = found(read(schema), statements, EVERYTHING)
    assert ours - closure(schema, []) == expected(schema, statements)


@settings(max_examples=100)
@given(schema_statements(), data)
def test_everything_is_a_resource_if_somebody_asks(
    schema: list[Triple], statements: list[Triple]
) -> None:
    everything = closure(schema, statements, resources=True)
    ours = found(read(schema), statements, Asked(None, None, resources=True, predicates=True))
    assert ours <= everything
    for each in expected(schema, statements, resources=True):
        if each.subject in NODES:
            assert each in ours


@settings(max_examples=150)
@given(schema_statements(), data, asked)
def test_a_reduced_schema_entails_what_is_asked_for(
    schema: list[Triple], statements: list[Triple], patterns: Asked
) -> None:
    whole = {
        each for each in found(read(schema), statements, EVERYTHING) if matches(each, patterns)
    }
    part = {each for each in found(read(schema), statements, patterns) if matches(each, patterns)}
    assert part == whole


@settings(max_examples=100)
@given(schema_statements(of_type=True), data, asked)
def test_a_reduced_schema_that_speaks_of_types_does_too(
    schema: list[Triple], statements: list[Triple], patterns: Asked
) -> None:
    whole = {
        each for each in found(read(schema), statements, EVERYTHING) if matches(each, patterns)
    }
    part = {each for each in found(read(schema), statements, patterns) if matches(each, patterns)}
    assert part == whole


@settings(max_examples=100)
@given(schema_statements())
def test_a_closed_schema_is_what_the_offline_rules_give(statements: list[Triple]) -> None:
    theirs = closure(statements, [], resources=True)
    ours = closed(read(statements))

    def pairs(name: str) -> set[tuple[object, object]]:
        return {(each.subject, each.object) for each in theirs if each.predicate == Iri(name)}

    nodes = {*CLASSES, RESOURCE}
    assert set(ours.sub_classes) == pairs(RDFS_SUB_CLASS_OF)
    # To owlrl each predicate is a property by rdf1, and so below itself.
    described = set(ours.sub_properties) | {(each, each) for each in PROPERTIES}
    reflexive = {(one, other) for one, other in pairs(RDFS_SUB_PROPERTY_OF) if one == other}
    assert described >= pairs(RDFS_SUB_PROPERTY_OF) - reflexive
    assert set(ours.sub_properties) <= pairs(RDFS_SUB_PROPERTY_OF)
    assert set(ours.inverses) == pairs(OWL_INVERSE_OF)
    assert {one for one, _ in ours.sub_classes} <= nodes | set(ours.classes)


def test_literals_never_become_subjects() -> None:
    a, p, q, one = Iri("x:a"), Iri("x:p0"), Iri("x:p1"), Literal("1")
    schema = read(
        [
            Triple(p, Iri(OWL_INVERSE_OF), q),
            Triple(p, TYPE, Iri(OWL_SYMMETRIC)),
            Triple(p, Iri("http://www.w3.org/2000/01/rdf-schema#range"), Iri("x:C0")),
        ]
    )
    assert found(schema, [Triple(a, p, one)], EVERYTHING) == {Triple(a, p, one)}
    assert len(found(schema, [Triple(a, p, Iri("x:b"))], EVERYTHING)) == 6


def test_a_schema_that_says_nothing_costs_nothing() -> None:
    assert compiled(effects_of(Schema(), EVERYTHING), 0) is None
    schema = read([Triple(CLASSES[0], Iri(RDFS_SUB_CLASS_OF), CLASSES[1])])
    assert compiled(effects_of(schema, Asked(frozenset([CLASSES[0]]))), 0) is None


def test_the_digest_does_not_depend_on_the_order() -> None:
    one = Triple(CLASSES[0], Iri(RDFS_SUB_CLASS_OF), CLASSES[1])
    other = Triple(CLASSES[1], Iri(RDFS_SUB_CLASS_OF), CLASSES[2])
    assert read([one, other]).digest == read([other, one]).digest
    assert read([one]).digest != read([other]).digest
