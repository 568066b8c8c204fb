"""Axioms of a schema that are not supported, counted by kind, each kind with an example."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from headrace.rdf.terms import BlankNode, Iri, Quad, Term
from headrace.rdf.vocabulary import (
    OWL,
    OWL_EQUIVALENT_CLASS,
    OWL_EQUIVALENT_PROPERTY,
    OWL_INVERSE_OF,
    OWL_ON_PROPERTY,
    OWL_RESTRICTION,
    RDF,
    RDF_FIRST,
    RDF_NIL,
    RDF_REST,
    RDF_TYPE,
    RDFS,
    RDFS_DOMAIN,
    RDFS_RANGE,
    RDFS_SUB_CLASS_OF,
    RDFS_SUB_PROPERTY_OF,
)

_RESTRICTIONS: Final = frozenset(
    OWL + name
    for name in (
        "someValuesFrom",
        "allValuesFrom",
        "hasValue",
        "hasSelf",
        "cardinality",
        "minCardinality",
        "maxCardinality",
        "qualifiedCardinality",
        "minQualifiedCardinality",
        "maxQualifiedCardinality",
    )
)
"""The properties by which a restriction restricts its property."""
_PREDICATES: Final = frozenset(
    OWL + name
    for name in (
        "sameAs",
        "differentFrom",
        "disjointWith",
        "disjointUnionOf",
        "propertyDisjointWith",
        "propertyChainAxiom",
        "complementOf",
        "datatypeComplementOf",
        "intersectionOf",
        "unionOf",
        "oneOf",
        "onDatatype",
        "hasKey",
        "imports",
    )
)
_TYPES: Final = frozenset(
    OWL + name
    for name in (
        "TransitiveProperty",
        "FunctionalProperty",
        "InverseFunctionalProperty",
        "ReflexiveProperty",
        "IrreflexiveProperty",
        "AsymmetricProperty",
        "AllDisjointClasses",
        "AllDisjointProperties",
        "AllDifferent",
        "NegativePropertyAssertion",
    )
)
_RELATIONS: Final = frozenset(
    {RDFS_SUB_CLASS_OF, RDFS_SUB_PROPERTY_OF, RDFS_DOMAIN, RDFS_RANGE, OWL_INVERSE_OF}
)
_EQUIVALENCES: Final = frozenset({OWL_EQUIVALENT_CLASS, OWL_EQUIVALENT_PROPERTY})
_PREFIXES: Final = ((OWL, "owl:"), (RDFS, "rdfs:"), (RDF, "rdf:"))
_MOST_DEEP: Final = 4
_MOST_MEMBERS: Final = 4


@dataclass(frozen=True, slots=True)
class UnsupportedAxiom:
    """Axioms of one kind that are not supported.

    Attributes:
        kind: what they are called, such as `owl:TransitiveProperty`.
        count: how many there are.
        example: the first one.
    """

    kind: str
    count: int
    example: str

    def __str__(self) -> str:
        """Write the count, the kind and the example."""
        return f"{self.count:,} {self.kind}, such as {self.example}"


def merge_axioms(
    one: Sequence[UnsupportedAxiom], other: Sequence[UnsupportedAxiom]
) -> tuple[UnsupportedAxiom, ...]:
    """Add up the unsupported axioms of two schemas by kind."""
    found: dict[str, UnsupportedAxiom] = {}
    for each in (*one, *other):
        known = found.get(each.kind)
        count = each.count + (known.count if known else 0)
        found[each.kind] = UnsupportedAxiom(
            each.kind, count, known.example if known else each.example
        )
    return tuple(found.values())


@dataclass
class AxiomCollector:
    """Collects the axioms that are not supported among the statements of a schema."""

    _counts: dict[str, int] = field(default_factory=dict)
    _first: dict[str, Quad] = field(default_factory=dict)
    _of_blank: dict[Term, list[Quad]] = field(default_factory=dict)
    _users: dict[Term, Quad] = field(default_factory=dict)
    _unnamed: list[tuple[str, Quad, Term]] = field(default_factory=list)
    _expressions: set[Term] = field(default_factory=set)

    def see(self, quad: Quad) -> None:
        """Collect a statement, if it is an axiom that is not supported."""
        if isinstance(quad.subject, BlankNode):
            self._of_blank.setdefault(quad.subject, []).append(quad)
        if isinstance(quad.object, BlankNode):
            self._users.setdefault(quad.object, quad)
        if not isinstance(quad.predicate, Iri):
            return
        kind = self._kind(quad.predicate.value, quad)
        if kind is not None:
            self._count(kind, quad)
            self._expressions.add(quad.subject)

    def _count(self, kind: str, quad: Quad) -> None:
        self._counts[kind] = self._counts.get(kind, 0) + 1
        self._first.setdefault(kind, quad)

    def _kind(self, predicate: str, quad: Quad) -> str | None:
        """Name the kind of an unsupported axiom; None for other statements."""
        object_ = quad.object
        if predicate in _RESTRICTIONS:
            return f"owl:Restriction with {_short(predicate)}"
        if predicate in _PREDICATES:
            return _short(predicate)
        if predicate == RDF_TYPE and isinstance(object_, Iri):
            if object_.value == OWL_RESTRICTION:
                self._unnamed.append(("owl:Restriction", quad, quad.subject))
            return _short(object_.value) if object_.value in _TYPES else None
        if predicate in _EQUIVALENCES:
            unnamed = [each for each in (quad.subject, object_) if not isinstance(each, Iri)]
            if unnamed:
                self._unnamed.append((f"{_short(predicate)} without a name", quad, unnamed[-1]))
            return None
        if predicate in _RELATIONS and not isinstance(object_, Iri | BlankNode):
            return f"{_short(predicate)} of a literal"
        return None

    def counts(self) -> tuple[UnsupportedAxiom, ...]:
        """Count the axioms by kind; an unnamed class counts by what it is made of."""
        for kind, quad, node in self._unnamed:
            if node not in self._expressions:
                self._count(kind, quad)
        return tuple(
            UnsupportedAxiom(kind, count, self._example(self._first[kind]))
            for kind, count in self._counts.items()
        )

    # -- examples --------------------------------------------------------------------------

    def _example(self, quad: Quad) -> str:
        """Write an axiom with the named class or property that it is about."""
        for _ in range(_MOST_DEEP):
            user = self._users.get(quad.subject)
            if isinstance(quad.subject, Iri) or user is None:
                break
            quad = user
        return " ".join(self._text(each, 0) for each in (quad.subject, quad.predicate, quad.object))

    def _text(self, term: Term, deep: int) -> str:
        if isinstance(term, Iri):
            return _short(term.value)
        if not isinstance(term, BlankNode):
            return str(term)
        members = list(self._members(term))
        if members:
            shown = " ".join(self._text(each, deep + 1) for each in members[:_MOST_MEMBERS])
            return f"({shown}{' …' if len(members) > _MOST_MEMBERS else ''})"
        said = [each for each in self._of_blank.get(term, ()) if each.predicate != _TYPE]
        if not said or deep >= _MOST_DEEP:
            return "[]"
        said.sort(key=lambda each: each.predicate != _ON_PROPERTY)
        parts = (
            f"{self._text(each.predicate, deep)} {self._text(each.object, deep + 1)}"
            for each in said[:_MOST_MEMBERS]
        )
        return f"[ {' ; '.join(parts)} ]"

    def _members(self, node: Term) -> Iterator[Term]:
        """Yield the members of a list, as many as are shown and one more."""
        for _ in range(_MOST_MEMBERS + 1):
            said = {each.predicate: each.object for each in self._of_blank.get(node, ())}
            if _FIRST not in said:
                return
            yield said[_FIRST]
            node = said.get(_REST, _NIL)


_TYPE: Final = Iri(RDF_TYPE)
_ON_PROPERTY: Final = Iri(OWL_ON_PROPERTY)
_FIRST, _REST, _NIL = Iri(RDF_FIRST), Iri(RDF_REST), Iri(RDF_NIL)


def _short(iri: str) -> str:
    """Write an IRI with the prefix of a vocabulary that everybody knows, or in brackets."""
    for namespace, prefix in _PREFIXES:
        if iri.startswith(namespace):
            return prefix + iri.removeprefix(namespace)
    return f"<{iri}>"


def note_of(ignored: Iterable[UnsupportedAxiom], name: str | None = None) -> str:
    """Say in one note which axioms entail nothing; empty if there are none.

    Args:
        ignored: the axioms.
        name: what FROM SCHEMA calls the schema, if it has a name.

    >>> print(note_of([UnsupportedAxiom("owl:sameAs", 2, "<x:a> owl:sameAs <x:b>")]))
    axioms of the schema that are not supported, and from which nothing follows:
      2 owl:sameAs, such as <x:a> owl:sameAs <x:b>
    """
    lines = [f"  {each}" for each in ignored]
    if not lines:
        return ""
    called = "the schema" if name is None else f"schema <{name}>"
    head = f"axioms of {called} that are not supported, and from which nothing follows:"
    return "\n".join((head, *lines))
