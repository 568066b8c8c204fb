"""What each property and class entails at the end of all its links, not node by node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from headrace.errors import SettingError
from headrace.rdf.terms import Iri
from headrace.reasoning.closure import Steps, reached, steps
from headrace.reasoning.network import LinkKind, network_of
from headrace.reasoning.reduction import Asked, reduced
from headrace.reasoning.schema import Node, Schema

_MOST: Final = 20_000_000
"""So many pairs of what entails and what is entailed may there be."""
_State: TypeAlias = tuple[Node, bool]
"""A property, and whether subject and object have changed places on the way to it."""
_BY_PROPERTY: Final = ("straight", "around", "swapped", "subjects", "subjects_around", "objects")


@dataclass(frozen=True)
class Effects:
    """What follows from a statement, by its predicate or its class; only what is asked for.

    Attributes:
        straight: of a property, those with the same subject and object.
        around: the same, by way of what has them exchanged; not of a literal.
        swapped: of a property, those with subject and object exchanged; not of a literal.
        subjects: of a property, the classes of its subjects.
        subjects_around: the same, by way of what has subject and object exchanged; not where the
            object is a literal.
        objects: of a property, the classes of its objects; not of a literal.
        classes: of a class, those above it.
        recursive: whether what is entailed may entail more by these tables: where a schema says
            something of rdf:type itself, or where everything spoken of is a resource.
        resources: whether everything is an rdfs:Resource.
        predicates: whether every predicate is an rdf:Property.
    """

    straight: Mapping[Node, tuple[Node, ...]] = field(default_factory=dict)
    around: Mapping[Node, tuple[Node, ...]] = field(default_factory=dict)
    swapped: Mapping[Node, tuple[Node, ...]] = field(default_factory=dict)
    subjects: Mapping[Node, tuple[Node, ...]] = field(default_factory=dict)
    subjects_around: Mapping[Node, tuple[Node, ...]] = field(default_factory=dict)
    objects: Mapping[Node, tuple[Node, ...]] = field(default_factory=dict)
    classes: Mapping[Node, tuple[Node, ...]] = field(default_factory=dict)
    recursive: bool = False
    resources: bool = False
    predicates: bool = False

    @property
    def is_nothing(self) -> bool:
        """Whether nothing is entailed that anyone asks for."""
        return not any(
            (
                self.straight,
                self.around,
                self.swapped,
                self.subjects,
                self.subjects_around,
                self.objects,
                self.classes,
                self.resources,
                self.predicates,
            )
        )


def effects_of(schema: Schema, asked: Asked) -> Effects:
    """What statements entail under a schema, as far as patterns ask for it.

    Raises:
        SettingError: it is more than can be held.
    """
    part = reduced(schema, asked)
    needed = Asked(None, None) if part.links_type or asked.is_everything else asked
    network = network_of(part)
    links: dict[LinkKind, list[tuple[Node, Node]]] = {kind: [] for kind in LinkKind}
    between: list[tuple[Node, Node]] = []
    for link in network.links:
        (between if link.of_class else links[link.kind]).append((link.source, link.target))
    above = _Above(steps(between), needed)
    tables: dict[str, dict[Node, tuple[Node, ...]]] = {name: {} for name in _BY_PROPERTY}
    walk = _Walk({kind: steps(pairs) for kind, pairs in links.items()}, above, needed)
    for property_ in part.properties:
        for name, found in zip(_BY_PROPERTY, walk.found(property_), strict=True):
            if found:
                tables[name][property_] = found
                above.pairs += len(found)
        above.check()
    classes = {each: above.strictly(each) for each in steps(between)}
    return Effects(
        **tables,
        classes={each: found for each, found in classes.items() if found},
        recursive=part.links_type or asked.resources or asked.predicates,
        resources=asked.resources,
        predicates=asked.predicates,
    )


class _Above:
    """The classes above each class that are asked for."""

    def __init__(self, up: Steps, asked: Asked) -> None:
        self._up = up
        self._asked = asked.classes
        self._known: dict[Node, tuple[Node, ...]] = {}
        self.pairs = 0

    def __call__(self, node: Node) -> tuple[Node, ...]:
        """A class and those above it."""
        if node not in self._known:
            found = reached([node], self._up)
            asked = self._asked
            kept = tuple(each for each in found if asked is None or each in asked)
            self._known[node] = kept
            self.pairs += len(kept)
            self.check()
        return self._known[node]

    def check(self) -> None:
        """Refuse a schema of which too much would have to be held.

        Raises:
            SettingError: saying what to do.
        """
        if self.pairs > _MOST:
            raise SettingError(
                f"under the schema more than {_MOST:,} pairs of classes or properties follow from "
                "each other, which cannot be held; ask for classes and properties by name instead "
                "of by a variable"
            )

    def strictly(self, node: Node) -> tuple[Node, ...]:
        """Those above a class."""
        return tuple(each for each in self(node) if each != node)


class _Walk:
    """All ways from a property along links, with subject and object in place or exchanged."""

    def __init__(self, links: Mapping[LinkKind, Steps], above: _Above, asked: Asked) -> None:
        self._links = links
        self._above = above
        self._asked = asked.properties

    def found(self, start: Node) -> Iterator[tuple[Node, ...]]:
        """What follows from a property, table by table."""
        direct = self._reached(start, (LinkKind.SO,))
        every = self._reached(start, (LinkKind.SO, LinkKind.OS))
        indirect = [state for state in every if state not in direct]
        yield self._wanted(each for each, _ in direct if each != start)
        yield self._wanted(each for each, swapped in indirect if not swapped)
        yield self._wanted(each for each, swapped in every if swapped)
        subjects = self._classes(direct, objects=False)
        yield tuple(subjects)
        around = self._classes(indirect, objects=False)
        yield tuple(each for each in around if each not in subjects)
        yield tuple(self._classes(every, objects=True))

    def _classes(self, states: Iterable[_State], *, objects: bool) -> dict[Node, None]:
        """The classes of subjects or objects that some states lead to."""
        found: dict[Node, None] = {}
        for property_, swapped in states:
            kind = LinkKind.O if objects is not swapped else LinkKind.S
            for each in self._links[kind].get(property_, ()):
                found |= dict.fromkeys(self._above(each))
        return found

    def _reached(self, start: Node, kinds: tuple[LinkKind, ...]) -> dict[_State, None]:
        """The properties that links lead to, and whether subject and object are exchanged there."""
        found: dict[_State, None] = {(start, False): None}
        waiting = list(found)
        for property_, swapped in waiting:
            for kind in kinds:
                turned = swapped is not (kind is LinkKind.OS)
                for each in self._links[kind].get(property_, ()):
                    if (each, turned) not in found:
                        found[each, turned] = None
                        waiting.append((each, turned))
        return found

    def _wanted(self, properties: Iterable[Node]) -> tuple[Node, ...]:
        """Those that are asked for; a blank node is no predicate."""
        asked = self._asked
        return tuple(
            each
            for each in properties
            if isinstance(each, Iri) and (asked is None or each in asked)
        )
