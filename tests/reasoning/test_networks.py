"""The networks of the Sparkwave paper's example: full, reduced, and what they infer."""

from __future__ import annotations

from headrace.rdf.terms import Iri, Triple
from headrace.rdf.vocabulary import (
    OWL_INVERSE_OF,
    OWL_SYMMETRIC,
    RDFS_DOMAIN,
    RDFS_SUB_CLASS_OF,
    RDFS_SUB_PROPERTY_OF,
)
from headrace.reasoning.network import network_of
from headrace.reasoning.reading import read_schema
from headrace.reasoning.reduction import Asked, reduced
from headrace.reasoning.schema import TYPE
from tests.reasoning.social_media import INFERRED, ONTOLOGY, POSTS, TWEETS, iri
from tests.reasoning.worlds import CLASSES, PROPERTIES, found, read
from tests.shared import needs_data

PATTERNS = Asked(
    frozenset(map(iri, ("twd:Tweet", "fb:StatusUpdate"))),
    frozenset(map(iri, ("sma:talksAbout", "sioc:creator_of", "sioc:account_of"))),
)
BELOW = Iri(RDFS_SUB_CLASS_OF)


def triples(*statements: str) -> list[Triple]:
    return [Triple(*map(iri, each.split())) for each in statements]


@needs_data("fixtures")
def test_the_full_network_has_the_published_counts() -> None:
    assert network_of(read_schema(ONTOLOGY)).counts() == {
        "class nodes": 8,
        "property nodes": 13,
        "S-links": 15,
        "O-links": 9,
        "SO-links": 8,
        "OS-links": 4,
    }


@needs_data("fixtures")
def test_the_reduced_network_has_the_published_counts() -> None:
    network = network_of(reduced(read_schema(ONTOLOGY), PATTERNS))
    assert network.counts() == {
        "class nodes": 2,
        "property nodes": 11,
        "S-links": 4,
        "O-links": 2,
        "SO-links": 4,
        "OS-links": 4,
    }
    assert set(network.classes) == {iri("twd:Tweet"), iri("fb:StatusUpdate")}


@needs_data("fixtures")
def test_what_figure_4d_lists_is_inferred_and_no_more() -> None:
    streamed = triples(*POSTS, *TWEETS)
    inferred = found(read_schema(ONTOLOGY), streamed, PATTERNS) - set(streamed)
    assert inferred == set(triples(*INFERRED))


def test_hierarchies_are_flattened() -> None:
    c, d, e = CLASSES[:3]
    schema = read([Triple(c, BELOW, d), Triple(d, BELOW, e)])
    assert set(reduced(schema, Asked(frozenset([e]))).sub_classes) == {(c, e), (d, e)}
    assert reduced(schema, Asked(frozenset([c]))).sub_classes == ()
    assert reduced(schema, Asked(None)).sub_classes == ((c, d), (d, e))


def test_circles_of_classes_end() -> None:
    c, d, e = CLASSES[:3]
    schema = read([Triple(c, BELOW, d), Triple(d, BELOW, e), Triple(e, BELOW, c)])
    a = Iri("x:a")
    assert found(schema, [Triple(a, TYPE, c)], Asked(frozenset([c, e]))) == {
        Triple(a, TYPE, c),
        Triple(a, TYPE, e),
    }


def test_relevance_is_a_least_fixpoint() -> None:
    """A subproperty of the inverse of a subproperty of what is asked for matters."""
    p0, p1, p2, p3, p4, p5 = PROPERTIES
    below, inverse = Iri(RDFS_SUB_PROPERTY_OF), Iri(OWL_INVERSE_OF)
    schema = read(
        [
            Triple(p1, below, p0),
            Triple(p2, inverse, p1),
            Triple(p3, below, p2),
            Triple(p4, below, p5),
        ]
    )
    part = reduced(schema, Asked(frozenset(), frozenset([p0])))
    assert set(part.properties) == {p0, p1, p2, p3}
    a, b = Iri("x:a"), Iri("x:b")
    assert Triple(b, p0, a) in found(
        schema, [Triple(a, p3, b)], Asked(frozenset(), frozenset([p0]))
    )


def test_a_symmetric_property_between_two_others_is_kept() -> None:
    p0, p1, p2 = PROPERTIES[:3]
    below = Iri(RDFS_SUB_PROPERTY_OF)
    schema = read(
        [Triple(p2, below, p1), Triple(p1, below, p0), Triple(p1, TYPE, Iri(OWL_SYMMETRIC))]
    )
    a, b = Iri("x:a"), Iri("x:b")
    inferred = found(schema, [Triple(a, p2, b)], Asked(frozenset(), frozenset([p0])))
    assert inferred == {Triple(a, p2, b), Triple(a, p0, b), Triple(b, p0, a)}


def test_properties_of_relevant_classes_are_relevant() -> None:
    p0, p1 = PROPERTIES[:2]
    c, d = CLASSES[:2]
    schema = read(
        [
            Triple(p0, Iri(RDFS_DOMAIN), c),
            Triple(c, BELOW, d),
            Triple(p1, Iri(RDFS_SUB_PROPERTY_OF), p0),
        ]
    )
    part = reduced(schema, Asked(frozenset([d])))
    assert set(part.properties) == {p0, p1}
    assert part.domains == ((p0, c),)
    a, b = Iri("x:a"), Iri("x:b")
    assert Triple(a, TYPE, d) in found(schema, [Triple(a, p1, b)], Asked(frozenset([d])))
