"""The epsilon network of a schema: property and class nodes, and what links pass on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from headrace.reasoning.closure import inverses, sub_classes, sub_properties
from headrace.reasoning.schema import Node, Schema


class LinkKind(StrEnum):
    """What a link passes on to the next node.

    An S-link the subject, to a class; an O-link the object, which becomes the subject there; an
    SO-link both, to a property; an OS-link both, swapped.
    """

    S = "S"
    O = "O"  # noqa: E741 - the name of the paper
    SO = "SO"
    OS = "OS"


@dataclass(frozen=True, slots=True)
class Link:
    """A link from a node to another.

    Attributes:
        kind: what is passed on.
        source: a class if `of_class`, else a property.
        target: a class for S- and O-links, else a property.
        of_class: whether it leads from class to class.
    """

    kind: LinkKind
    source: Node
    target: Node
    of_class: bool = False


@dataclass(frozen=True)
class Network:
    """Nodes and links; it keeps no state, because each rule needs one statement only."""

    classes: tuple[Node, ...]
    properties: tuple[Node, ...]
    links: tuple[Link, ...]

    def counts(self) -> dict[str, int]:
        """How many nodes there are of each sort, and how many links of each kind."""
        kinds = Counter(link.kind for link in self.links)
        return {
            "class nodes": len(self.classes),
            "property nodes": len(self.properties),
            **{f"{kind}-links": kinds[kind] for kind in LinkKind},
        }


def network_of(schema: Schema) -> Network:
    """The network of a schema: a node for each class and property, a link for each statement."""
    return Network(schema.classes, schema.properties, tuple(dict.fromkeys(_links(schema))))


def _links(schema: Schema) -> Iterator[Link]:
    for lower, upper in sub_classes(schema):
        if lower != upper:  # it would pass on what is there
            yield Link(LinkKind.S, lower, upper, of_class=True)
    for lower, upper in sub_properties(schema):
        if lower != upper:
            yield Link(LinkKind.SO, lower, upper)
    for property_, class_ in schema.domains:
        yield Link(LinkKind.S, property_, class_)
    for property_, class_ in schema.ranges:
        yield Link(LinkKind.O, property_, class_)
    for one, other in inverses(schema):
        yield Link(LinkKind.OS, one, other)
    for property_ in schema.symmetric:
        yield Link(LinkKind.OS, property_, property_)
