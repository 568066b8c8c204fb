"""What a schema says of classes and properties, read from RDF."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from functools import cached_property
from hashlib import sha256
from typing import Final, TypeAlias

from headrace.rdf.terms import BlankNode, Iri, Quad, Term
from headrace.rdf.vocabulary import (
    OWL_CLASS,
    OWL_EQUIVALENT_CLASS,
    OWL_EQUIVALENT_PROPERTY,
    OWL_INVERSE_OF,
    OWL_PROPERTIES,
    OWL_SYMMETRIC,
    RDF_PROPERTY,
    RDF_TYPE,
    RDFS_CLASS,
    RDFS_CONTAINER_MEMBERSHIP,
    RDFS_DATATYPE,
    RDFS_DOMAIN,
    RDFS_LITERAL,
    RDFS_MEMBER,
    RDFS_RANGE,
    RDFS_SUB_CLASS_OF,
    RDFS_SUB_PROPERTY_OF,
)
from headrace.reasoning.unsupported_axioms import AxiomCollector, UnsupportedAxiom, merge_axioms

Node: TypeAlias = Iri | BlankNode
"""A class or a property."""
Pair: TypeAlias = tuple[Node, Node]

TYPE: Final = Iri(RDF_TYPE)


@dataclass(frozen=True)
class Schema:
    """The statements of a schema that entail something, each once and in their order.

    Attributes:
        classes: all that is used or declared as a class.
        properties: all that is used or declared as a property.
        sub_classes: a class and one that it is a subclass of.
        sub_properties: a property and one that it is a subproperty of.
        domains: a property and the class of its subjects.
        ranges: a property and the class of its objects.
        inverses: a property and its inverse.
        symmetric: properties that are their own inverse.
        rdfs_classes: what is declared to be an rdfs:Class.
        rdf_properties: what is declared to be an rdf:Property.
        datatypes: what is declared to be an rdfs:Datatype.
        memberships: what is declared to be an rdfs:ContainerMembershipProperty.
        equivalent_classes: two named classes that are one, as they are stated.
        equivalent_properties: two named properties that are one, as they are stated.
        ignored: the axioms from which nothing follows here.
    """

    classes: tuple[Node, ...] = ()
    properties: tuple[Node, ...] = ()
    sub_classes: tuple[Pair, ...] = ()
    sub_properties: tuple[Pair, ...] = ()
    domains: tuple[Pair, ...] = ()
    ranges: tuple[Pair, ...] = ()
    inverses: tuple[Pair, ...] = ()
    symmetric: tuple[Node, ...] = ()
    rdfs_classes: tuple[Node, ...] = ()
    rdf_properties: tuple[Node, ...] = ()
    datatypes: tuple[Node, ...] = ()
    memberships: tuple[Node, ...] = ()
    equivalent_classes: tuple[Pair, ...] = ()
    equivalent_properties: tuple[Pair, ...] = ()
    ignored: tuple[UnsupportedAxiom, ...] = field(default=(), compare=False)

    @property
    def is_empty(self) -> bool:
        """True if nothing follows from it."""
        return not any(
            (
                self.sub_classes,
                self.sub_properties,
                self.domains,
                self.ranges,
                self.inverses,
                self.symmetric,
                self.datatypes,
                self.memberships,
                self.equivalent_classes,
                self.equivalent_properties,
            )
        )

    @property
    def links_type(self) -> bool:
        """True if types follow from properties because of rdf:type in the schema."""
        related = (*self.sub_properties, *self.equivalent_properties, *self.inverses)
        described = (*self.domains, *self.ranges)
        return (
            any(TYPE in pair for pair in related)
            or any(pair[0] == TYPE for pair in described)
            or TYPE in self.symmetric
        )

    @cached_property
    def digest(self) -> str:
        """The identity of the schema, whatever the order of its statements."""
        shown = [
            sorted(map(str, _texts(getattr(self, name))))
            for name in _AXIOMS
            # A checkpoint knows its schema from before there were equivalences.
            if not name.startswith("equivalent") or getattr(self, name)
        ]
        return sha256(repr(shown).encode()).hexdigest()

    def and_also(self, other: Schema) -> Schema:
        """Merge two schemas."""
        both = {
            name: tuple(dict.fromkeys((*getattr(self, name), *getattr(other, name))))
            for name in _AXIOMS
        }
        return Schema(**both, ignored=merge_axioms(self.ignored, other.ignored))


_AXIOMS: Final = tuple(each.name for each in fields(Schema) if each.compare)
"""What a schema says that counts."""


def _texts(members: tuple[Node | Pair, ...]) -> list[str]:
    return [" ".join(map(str, each)) if isinstance(each, tuple) else str(each) for each in members]


_RELATIONS: Final = {
    RDFS_SUB_CLASS_OF: "sub_classes",
    RDFS_SUB_PROPERTY_OF: "sub_properties",
    RDFS_DOMAIN: "domains",
    RDFS_RANGE: "ranges",
    OWL_INVERSE_OF: "inverses",
    OWL_EQUIVALENT_CLASS: "equivalent_classes",
    OWL_EQUIVALENT_PROPERTY: "equivalent_properties",
}
_KINDS: Final = {
    RDFS_CLASS: ("classes", "rdfs_classes"),
    OWL_CLASS: ("classes",),
    RDFS_DATATYPE: ("classes", "datatypes"),
    **dict.fromkeys((RDF_PROPERTY, *OWL_PROPERTIES), ("properties",)),
    RDF_PROPERTY: ("properties", "rdf_properties"),
    OWL_SYMMETRIC: ("properties", "symmetric"),
    RDFS_CONTAINER_MEMBERSHIP: ("properties", "memberships"),
}
_ENDS: Final = {
    "sub_classes": ("classes", "classes"),
    "sub_properties": ("properties", "properties"),
    "domains": ("properties", "classes"),
    "ranges": ("properties", "classes"),
    "inverses": ("properties", "properties"),
    "equivalent_classes": ("classes", "classes"),
    "equivalent_properties": ("properties", "properties"),
}
"""What the subject and the object of each relation are."""


def schema_of(statements: Iterable[Quad]) -> Schema:
    """Read statements as a schema; count unsupported axioms in `ignored`.

    >>> cat, animal = Iri("x:Cat"), Iri("x:Animal")
    >>> schema_of([Quad(cat, Iri(RDFS_SUB_CLASS_OF), animal)]).classes == (cat, animal)
    True
    """
    found: dict[str, dict[Node | Pair, None]] = {name: {} for name in _AXIOMS}
    ignored = AxiomCollector()
    for quad in statements:
        ignored.see(quad)
        subject, object_ = _node(quad.subject), _node(quad.object)
        if subject is None or object_ is None or not isinstance(quad.predicate, Iri):
            continue
        relation = _RELATIONS.get(quad.predicate.value)
        if relation is not None and _is_supported(relation, subject, object_):
            found[relation][subject, object_] = None
            for name, node in zip(_ENDS[relation], (subject, object_), strict=True):
                found[name][node] = None
        elif quad.predicate == TYPE and isinstance(object_, Iri):
            for name in _KINDS.get(object_.value, ()):
                found[name][subject] = None
    if found["memberships"]:  # rdfs12
        found["properties"][Iri(RDFS_MEMBER)] = None
    if found["datatypes"]:  # rdfs13
        found["classes"][Iri(RDFS_LITERAL)] = None
    members = {name: tuple(each) for name, each in found.items()}
    return Schema(**members, ignored=ignored.counts())  # type: ignore[arg-type]  # each has its own sort


def _is_supported(relation: str, subject: Node, object_: Node) -> bool:
    """Test whether a relation is supported; equivalence is, between names."""
    named = isinstance(subject, Iri) and isinstance(object_, Iri)
    return named or not relation.startswith("equivalent")


def _node(term: Term) -> Node | None:
    return term if isinstance(term, Iri | BlankNode) else None
