"""What a schema entails by itself: the rules that no statement of a stream can set off."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from headrace.rdf.terms import Iri
from headrace.rdf.vocabulary import RDFS_LITERAL, RDFS_MEMBER, RDFS_RESOURCE
from headrace.reasoning.schema import Node, Pair, Schema

RESOURCE: Final = Iri(RDFS_RESOURCE)
LITERAL: Final = Iri(RDFS_LITERAL)
MEMBER: Final = Iri(RDFS_MEMBER)

Steps: TypeAlias = Mapping[Node, tuple[Node, ...]]
"""Where single steps lead from each node."""


def closed(schema: Schema) -> Schema:
    """A schema with all that follows from it alone.

    The rules are rdfs5, 6, 8, 10, 11, 12, 13 and inv1. Circles need no care: all members of one
    are below each other, and below themselves.
    """
    reflexive_classes = [(each, each) for each in schema.rdfs_classes]  # rdfs10
    reflexive_properties = [(each, each) for each in schema.rdf_properties]  # rdfs6
    resources = [(each, RESOURCE) for each in schema.rdfs_classes]  # rdfs8
    below = [*sub_classes(schema), *resources]
    classes = [*schema.classes, RESOURCE] if resources else schema.classes
    return replace(
        schema,
        classes=tuple(dict.fromkeys(classes)),
        sub_classes=_unique([*below, *_transitive(below), *reflexive_classes]),
        sub_properties=_unique(
            [
                *sub_properties(schema),
                *_transitive(sub_properties(schema)),
                *reflexive_properties,
            ]
        ),
        inverses=inverses(schema),
    )


def sub_classes(schema: Schema) -> tuple[Pair, ...]:
    """Single steps from class to class: what is stated, equivalence both ways, and rdfs13."""
    literals = ((each, LITERAL) for each in schema.datatypes)
    return _unique([*schema.sub_classes, *both_ways(schema.equivalent_classes), *literals])


def sub_properties(schema: Schema) -> tuple[Pair, ...]:
    """Single steps from property to property: what is stated, equivalence both ways, and rdfs12."""
    members = ((each, MEMBER) for each in schema.memberships)
    return _unique([*schema.sub_properties, *both_ways(schema.equivalent_properties), *members])


def inverses(schema: Schema) -> tuple[Pair, ...]:
    """Properties and their inverses, both ways: inv1."""
    return _unique(both_ways(schema.inverses))


def both_ways(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Yield each pair as it is and turned round."""
    for one, other in pairs:
        yield one, other
        yield other, one


def _transitive(pairs: tuple[Pair, ...] | list[Pair]) -> Iterator[Pair]:
    up = steps(pairs)
    for node in up:
        yield from ((node, other) for other in reached([node], up, itself=False))


def _unique(pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    return tuple(dict.fromkeys(pairs))


def steps(pairs: Iterable[Pair]) -> dict[Node, tuple[Node, ...]]:
    """Where single steps lead from each node."""
    found: dict[Node, list[Node]] = {}
    for one, other in pairs:
        found.setdefault(one, []).append(other)
    return {node: tuple(others) for node, others in found.items()}


def backwards(pairs: Iterable[Pair]) -> dict[Node, tuple[Node, ...]]:
    """Where single steps lead from each node, gone the other way."""
    return steps((other, one) for one, other in pairs)


def reached(start: Iterable[Node], way: Steps, *, itself: bool = True) -> dict[Node, None]:
    """All nodes that steps lead to, in the order in which they are met; circles end.

    Args:
        start: where to begin.
        way: the steps.
        itself: whether the start counts even if no step leads back to it.
    """
    begin = list(dict.fromkeys(start))
    found = dict.fromkeys(begin) if itself else dict[Node, None]()
    waiting = begin
    for node in waiting:  # which grows meanwhile
        for other in way.get(node, ()):
            if other not in found:
                found[other] = None
                waiting.append(other)
    return found
