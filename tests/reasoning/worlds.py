"""Random schemas and data, and what Headrace finds in them."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import strategies as st

from headrace.kernel.dictionary import Dictionary
from headrace.kernel.entailed import entailed, learn, literals_of
from headrace.rdf.terms import BlankNode, Iri, Literal, Quad, Term, Triple
from headrace.rdf.vocabulary import (
    OWL_EQUIVALENT_CLASS,
    OWL_EQUIVALENT_PROPERTY,
    OWL_INVERSE_OF,
    OWL_SYMMETRIC,
    RDF_PROPERTY,
    RDFS_CLASS,
    RDFS_CONTAINER_MEMBERSHIP,
    RDFS_DATATYPE,
    RDFS_DOMAIN,
    RDFS_RANGE,
    RDFS_SUB_CLASS_OF,
    RDFS_SUB_PROPERTY_OF,
)
from headrace.reasoning.effects import effects_of
from headrace.reasoning.reduction import Asked
from headrace.reasoning.schema import TYPE, Schema, schema_of
from headrace.reasoning.tables import compiled

CLASSES = [Iri(f"x:C{number}") for number in range(6)]
PROPERTIES = [Iri(f"x:p{number}") for number in range(6)]
NODES: list[Term] = [*(Iri(f"x:{name}") for name in "abc"), BlankNode("n")]
LITERALS = [Literal("1"), Literal("text")]

_classes = st.sampled_from(CLASSES)
_properties = st.sampled_from(PROPERTIES)
_own = st.sampled_from([*PROPERTIES, TYPE])


def _related(
    one: st.SearchStrategy[Iri], name: str, other: st.SearchStrategy[Iri]
) -> st.SearchStrategy[Triple]:
    return st.builds(Triple, one, st.just(Iri(name)), other)


def _kinds(one: st.SearchStrategy[Iri], *names: str) -> st.SearchStrategy[Triple]:
    return st.builds(Triple, one, st.just(TYPE), st.sampled_from([Iri(name) for name in names]))


def schema_statements(*, of_type: bool = False) -> st.SearchStrategy[list[Triple]]:
    """Statements of a schema, some of rdf:type itself if asked for; circles are likely.

    What is said of rdf:type says something of declarations too, which are no data to Headrace, and
    all one to another reasoner: then there are none.
    """
    of = _own if of_type else _properties
    declared = st.one_of(
        _kinds(_properties, RDF_PROPERTY, RDFS_CONTAINER_MEMBERSHIP),
        _kinds(_classes, RDFS_CLASS, RDFS_DATATYPE),
    )
    return st.lists(
        st.one_of(
            _related(_classes, RDFS_SUB_CLASS_OF, _classes),
            _related(of, RDFS_SUB_PROPERTY_OF, of),
            _related(of, RDFS_DOMAIN, _classes),
            _related(of, RDFS_RANGE, _classes),
            _related(of, OWL_INVERSE_OF, of),
            _related(_classes, OWL_EQUIVALENT_CLASS, _classes),
            _related(of, OWL_EQUIVALENT_PROPERTY, of),
            _kinds(of, OWL_SYMMETRIC),
            *(() if of_type else (declared,)),
        ),
        max_size=14,
    )


data = st.lists(
    st.one_of(
        st.builds(
            Triple,
            st.sampled_from(NODES),
            _properties,
            st.one_of(st.sampled_from(NODES), st.sampled_from(LITERALS)),
        ),
        st.builds(Triple, st.sampled_from(NODES), st.just(TYPE), _classes),
    ),
    max_size=8,
)

asked = st.builds(
    Asked,
    st.one_of(st.none(), st.frozensets(_classes, max_size=3)),
    st.one_of(st.none(), st.frozensets(_properties, max_size=3)),
)


def read(statements: Iterable[Triple]) -> Schema:
    """A schema of statements."""
    return schema_of(Quad(each.subject, each.predicate, each.object) for each in statements)


def found(schema: Schema, statements: Iterable[Triple], patterns: Asked) -> set[Triple]:
    """What statements say, and what follows from them as far as it is asked for."""
    dictionary = Dictionary(7)
    given = list(statements)
    frame = dictionary.encode_quads(
        Quad(each.subject, each.predicate, each.object) for each in given
    )
    tables = compiled(effects_of(schema, patterns), dictionary.seed)
    if tables is None:
        return set(given)
    more = entailed(frame, tables, literals_of(dictionary))
    learn(tables, more, dictionary)
    columns = [dictionary.terms(more[name]) for name in ("subject", "predicate", "object")]
    new = [Triple(*each) for each in zip(*columns, strict=True)]
    assert len(set(new)) == len(new), "each is there once"
    assert not set(new) & set(given), "what is stated is not entailed again"
    return {*given, *new}


def matches(triple: Triple, patterns: Asked) -> bool:
    """Whether a statement is one that is asked for."""
    if triple.predicate == TYPE:
        return patterns.classes is None or triple.object in patterns.classes
    return patterns.properties is None or triple.predicate in patterns.properties
