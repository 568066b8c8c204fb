"""What of a schema matters to some patterns: relevance as a least fixpoint, and flattening."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from headrace.rdf.terms import Iri
from headrace.reasoning.closure import (
    RESOURCE,
    backwards,
    inverses,
    reached,
    sub_classes,
    sub_properties,
)
from headrace.reasoning.schema import Node, Pair, Schema


@dataclass(frozen=True, slots=True)
class Asked:
    """What patterns ask for.

    Attributes:
        classes: those that statements of rdf:type are asked for with; None is any.
        properties: the predicates that are asked for; None is any.
        resources: whether something is asked for that is an rdfs:Resource, as everything is.
        predicates: whether something is asked for that is an rdf:Property, as every predicate is.
    """

    classes: frozenset[Iri] | None = frozenset()
    properties: frozenset[Iri] | None = frozenset()
    resources: bool = False
    predicates: bool = False

    def and_also(self, other: Asked) -> Asked:
        """What both ask for."""
        return Asked(
            _both(self.classes, other.classes),
            _both(self.properties, other.properties),
            self.resources or other.resources,
            self.predicates or other.predicates,
        )

    @property
    def is_everything(self) -> bool:
        """Whether whatever is entailed is asked for.

        What makes a resource of every class and property that is spoken of asks for all of them.
        """
        everything = self.classes is None and self.properties is None
        return everything or self.resources or self.predicates


EVERYTHING = Asked(None, None)


def _both(one: frozenset[Iri] | None, other: frozenset[Iri] | None) -> frozenset[Iri] | None:
    return None if one is None or other is None else one | other


def reduced(schema: Schema, asked: Asked) -> Schema:
    """The part of a schema that matters to patterns, its hierarchies flattened.

    Relevant are the classes that are asked for and their subclasses; the properties that are asked
    for, those whose domain or range is a relevant class, those that are the inverse of a relevant
    one, and the subproperties of all these. Where any class, or any property, may be asked for,
    their hierarchy stays as it is.
    """
    if schema.links_type or asked.is_everything:
        return _with_resources(schema) if asked.resources else schema
    below_class = backwards(sub_classes(schema))
    wanted = schema.classes if asked.classes is None else _known(asked.classes, schema.classes)
    classes = reached(wanted, below_class)
    roots, properties = _relevant_properties(schema, asked, classes)
    return Schema(
        classes=tuple(classes),
        properties=tuple(each for each in schema.properties if each in properties),
        sub_classes=(
            _flat(wanted, below_class)
            if asked.classes is not None
            else tuple(pair for pair in sub_classes(schema) if pair[1] in classes)
        ),
        sub_properties=(
            _flat(roots, backwards(sub_properties(schema)))
            if asked.properties is not None
            else sub_properties(schema)
        ),
        domains=_within(schema.domains, properties, classes),
        ranges=_within(schema.ranges, properties, classes),
        inverses=_within(inverses(schema), properties, properties),
        symmetric=tuple(each for each in schema.symmetric if each in properties),
    )


def _relevant_properties(
    schema: Schema, asked: Asked, classes: Collection[Node]
) -> tuple[dict[Node, None], dict[Node, None]]:
    """The properties that matter by themselves, and all with their subproperties."""
    below = backwards(sub_properties(schema))
    swapped = [*inverses(schema), *((each, each) for each in schema.symmetric)]
    if asked.properties is None:
        roots = dict.fromkeys(schema.properties)
    else:
        described = [each for each, of in (*schema.domains, *schema.ranges) if of in classes]
        roots = dict.fromkeys([*_known(asked.properties, schema.properties), *described])
    while True:
        properties = reached(roots, below)
        # What is its own inverse matters by itself too: else a subproperty would pass it by.
        more = [one for one, other in swapped if other in properties and one not in roots]
        if not more:
            return roots, properties
        roots |= dict.fromkeys(more)


def _known(asked: Collection[Iri], nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    return tuple(node for node in nodes if node in asked)


def _flat(wanted: Collection[Node], below: dict[Node, tuple[Node, ...]]) -> tuple[Pair, ...]:
    """Everything below what is wanted, straight below it."""
    return tuple(
        (lower, upper) for upper in wanted for lower in reached([upper], below) if lower != upper
    )


def _within(
    pairs: tuple[Pair, ...], ones: Collection[Node], others: Collection[Node]
) -> tuple[Pair, ...]:
    return tuple((one, other) for one, other in pairs if one in ones and other in others)


def _with_resources(schema: Schema) -> Schema:
    """A schema with what rdfs8 says."""
    more = tuple((each, RESOURCE) for each in schema.rdfs_classes)
    return replace(
        schema,
        classes=tuple(dict.fromkeys((*schema.classes, RESOURCE))),
        sub_classes=tuple(dict.fromkeys((*schema.sub_classes, *more))),
    )
