"""An epsilon network as something to look at: as text, as a flowchart, as a drawing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, assert_never

from headrace.errors import SettingError
from headrace.graphs.drawing import GraphForm
from headrace.graphs.layering import Edge
from headrace.graphs.layout import Item, Margins, arranged
from headrace.graphs.mermaid import escaped
from headrace.graphs.names import Names, visible
from headrace.graphs.svg import Label, Picture, size
from headrace.rdf.terms import Iri
from headrace.reasoning.network import Network
from headrace.reasoning.schema import Node

_MOST: Final = 400
"""Drawings of more nodes than these take long and show nothing."""


def network_drawn(network: Network, form: GraphForm, title: str) -> str:
    """A network in one of the forms that graphs are shown in.

    Raises:
        SettingError: it is too large to be drawn.
    """
    shown = _Shown.of(network)
    if form is not GraphForm.TEXT and len(shown.nodes) > _MOST:
        raise SettingError(
            f"the network has {len(shown.nodes):,} nodes, and a drawing shows at most {_MOST}; "
            "text lists them all, and the reduced network may be smaller"
        )
    match form:
        case GraphForm.TEXT:
            return _text(shown, network, title)
        case GraphForm.MERMAID:
            return _mermaid(shown, network, title)
        case GraphForm.SVG:
            return _svg(shown, title)
        case _:
            assert_never(form)


def counts_text(network: Network) -> str:
    """How many nodes and links a network has, in a line.

    >>> counts_text(Network((), (), ()))
    '0 class nodes, 0 property nodes, 0 S-links, 0 O-links, 0 SO-links, 0 OS-links'
    """
    return ", ".join(f"{number:,} {name}" for name, number in network.counts().items())


@dataclass(frozen=True, slots=True)
class _Shown:
    """Nodes by number, properties first, and what links lead from which to which.

    Attributes:
        nodes: what each is called.
        properties: how many of them are properties.
        links: by both ends, the kinds of all links between them.
        names: the short names of IRIs.
    """

    nodes: tuple[str, ...]
    properties: int
    links: dict[Edge, list[str]]
    names: Names

    @classmethod
    def of(cls, network: Network) -> _Shown:
        both = (*network.properties, *network.classes)
        names = Names.among(each for each in both if isinstance(each, Iri))
        properties = {node: at for at, node in enumerate(network.properties)}
        first = len(network.properties)
        classes = {node: first + at for at, node in enumerate(network.classes)}
        links: dict[Edge, list[str]] = {}
        for link in network.links:
            of_target = classes if link.kind in ("S", "O") else properties
            source = (classes if link.of_class else properties)[link.source]
            links.setdefault((source, of_target[link.target]), []).append(link.kind)
        return cls(tuple(_name(each, names) for each in both), first, links, names)

    def legend(self) -> tuple[tuple[str, str], ...]:
        """The prefixes, with their namespaces."""
        return self.names.used_in(self.nodes)


def _name(node: Node, names: Names) -> str:
    return names.short(node) if isinstance(node, Iri) else visible(f"_:{node.label}")


def _text(shown: _Shown, network: Network, title: str) -> str:
    after: dict[int, list[str]] = {}
    for (source, target), kinds in shown.links.items():
        after.setdefault(source, []).append(f"{', '.join(kinds)} -> {shown.nodes[target]}")
    lines = [f"{title}: {counts_text(network)}"]
    for heading, numbers in (
        ("property nodes", range(shown.properties)),
        ("class nodes", range(shown.properties, len(shown.nodes))),
    ):
        lines += ["", heading] if numbers else []
        for at in numbers:
            lines += [f"  {shown.nodes[at]}", *(f"    {each}" for each in after.get(at, ()))]
    return "\n".join([*lines, *_legend(shown.legend())]) + "\n"


def _legend(prefixes: Iterable[tuple[str, str]]) -> Iterator[str]:
    for number, (prefix, namespace) in enumerate(prefixes):
        if not number:
            yield ""
        yield f"{prefix}: <{namespace}>"


def _mermaid(shown: _Shown, network: Network, title: str) -> str:
    lines = ["flowchart LR", f"  %% {title}: {counts_text(network)}"]
    lines += [f"  %% {prefix}: {namespace}" for prefix, namespace in shown.legend()]
    for at, name in enumerate(shown.nodes):
        opening, closing = ("[", "]") if at < shown.properties else ("([", "])")
        lines.append(f'  n{at}{opening}"{escaped(name)}"{closing}')
    for (source, target), kinds in shown.links.items():
        lines.append(f'  n{source} -->|"{", ".join(kinds)}"| n{target}')
    return "\n".join(lines) + "\n"


def _svg(shown: _Shown, title: str) -> str:
    texts = [[Label(name, "title")] for name in shown.nodes]
    edges: list[Edge] = []
    for (source, target), kinds in shown.links.items():
        label = Label(", ".join(kinds), "note")
        if source == target:
            texts[source].append(label)
            continue
        # A label of an edge is laid out like a node, so that nothing lies on it.
        edges += [(source, len(texts)), (len(texts), target)]
        texts.append([label])
    sizes = [size(lines) for lines in texts]
    layout = arranged([Item(width, height) for width, height in sizes], edges, Margins(layers=40))
    picture = Picture(title)
    for (_, target), route in zip(edges, layout.routes, strict=True):
        picture.edge(route, arrow=target < len(shown.nodes))
    for number, (lines, extent) in enumerate(zip(texts, sizes, strict=True)):
        is_node, is_property = number < len(shown.nodes), number < shown.properties
        kind = ("stream" if is_property else "static") if is_node else "label"
        rounded = 14.0 if is_node and not is_property else 4.0
        picture.box(layout.centres[number], extent, lines, kind=kind, rounded=rounded)
        if (number, number) in shown.links:
            picture.loop(layout.centres[number], extent)
    picture.legend([Label(f"{prefix}: <{namespace}>") for prefix, namespace in shown.legend()])
    return picture.text()
