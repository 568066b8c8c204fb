"""What queries ask a schema for: the classes and properties that their patterns can match."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.algebra.operators import Operator
from headrace.algebra.query import Form
from headrace.planning.wanted import Shape, shapes_in
from headrace.rdf.terms import Iri, Literal
from headrace.rdf.vocabulary import RDF_PROPERTY, RDF_TYPE, RDFS_RESOURCE
from headrace.reasoning.reduction import Asked

_TYPE = Iri(RDF_TYPE)


def asked_by(pattern: Operator, form: Form) -> Asked:
    """What a query asks for that may be entailed.

    A variable in place of a class asks for all classes, one in place of a property for all
    properties. That everything is a resource, and each predicate a property, is entailed only for
    who names rdfs:Resource or rdf:Property; both, because each makes more of the other.
    """
    return asked_for(shapes_in(pattern, form, early=False))


def asked_for(shapes: Iterable[Shape]) -> Asked:
    """What is asked for by statements of some shapes.

    >>> asked_for([Shape(predicate=_TYPE, object=Iri("x:C"))]).classes
    frozenset({Iri(value='x:C')})
    """
    every_class, every_property = False, False
    classes, properties = set[Iri](), set[Iri]()
    for shape in shapes:
        if shape.predicate is None or shape.predicate == _TYPE:
            every_class |= shape.object is None
            classes |= _named(shape.object)
        if shape.predicate is None:
            every_property = True
        else:
            properties |= _named(shape.predicate)
    resources = not classes.isdisjoint((Iri(RDFS_RESOURCE), Iri(RDF_PROPERTY)))
    return Asked(
        None if every_class else frozenset(classes),
        None if every_property else frozenset(properties),
        resources,
        resources,
    )


def _named(term: Iri | Literal | None) -> set[Iri]:
    return {term} if isinstance(term, Iri) else set()
