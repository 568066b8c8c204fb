"""Where the nodes and edges of a layered drawing are, so that nothing lies on anything else.

Layers follow each other along one axis. Across it, the nodes of a layer stand side by side, and
lanes have ranges of their own through all layers, so that a frame around a lane holds its nodes and
no others. Edges run straight through layers, in gaps that no node takes, and bend only between
them: no edge passes over a node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from headrace.graphs.layering import Cell, Edge, Layering, layered

Point: TypeAlias = tuple[float, float]
_SWEEPS: Final = 24
_STRAIGHT: Final = 4.0  # how much more an edge on its way weighs than a node
_STUB: Final = 10.0  # how far an edge goes straight before it meets a node
_EDGE_BREADTH: Final = 8.0
_PORT_STEP: Final = 12.0


@dataclass(frozen=True, slots=True)
class Item:
    """The size of a node: along the layers' axis and across it."""

    along: float
    across: float
    lane: int = 0


@dataclass(frozen=True, slots=True)
class Margins:
    """How much room is kept.

    Attributes:
        layers: between one layer and the next.
        nodes: between nodes of a layer.
        lanes: between lanes.
        head: within each lane that has a frame, for its heading.
        foot: the same at its end.
    """

    layers: float = 48.0
    nodes: float = 20.0
    lanes: float = 24.0
    head: Mapping[int, float] | None = None
    foot: float = 0.0


@dataclass(frozen=True, slots=True)
class Extent:
    """From where to where something reaches on one axis."""

    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Layout:
    """Positions, as points (along, across).

    Attributes:
        centres: of the nodes.
        routes: of the edges, from their source to their target: pairs of points between which they
            go straight, with bends between the pairs; none for an edge from a node to itself.
        lanes: what each lane takes across, its heading included.
        along: how long the whole is.
    """

    centres: tuple[Point, ...]
    routes: tuple[tuple[Point, ...], ...]
    lanes: Mapping[int, Extent]
    along: float


def arranged(
    items: Sequence[Item], edges: Sequence[Edge], margins: Margins, outside: int = 0
) -> Layout:
    """Lay out nodes and edges; lanes stand in the order of their numbers."""
    layering = layered([item.lane for item in items], edges, outside)
    sizes = [
        _EDGE_BREADTH if cell.node is None else items[cell.node].across for cell in layering.cells
    ]
    across, lanes = _across(layering, sizes, margins)
    extents = _along(layering, items, margins)
    centres = tuple(
        ((extents[cell.layer].start + extents[cell.layer].end) / 2, across[number])
        for number, cell in enumerate(layering.cells)
        if cell.node is not None
    )
    ports = _ports(layering, across, sizes)
    tracks = _Tracks(layering, items, extents, across)
    routes = tuple(
        tracks.route(chain, port)[:: 1 if chain[:1] == (source,) else -1]
        for chain, port, (source, _) in zip(layering.chains, ports, edges, strict=True)
    )
    return Layout(
        centres,
        routes,
        lanes,
        max((extent.end for extent in extents), default=0.0),
    )


# -- across --------------------------------------------------------------------------------


def _across(
    layering: Layering, sizes: Sequence[float], margins: Margins
) -> tuple[list[float], dict[int, Extent]]:
    """Where each cell is across, and what each lane takes."""
    places = [0.0] * len(sizes)
    lanes: dict[int, Extent] = {}
    end = -margins.lanes
    heads = margins.head or {}
    for lane in sorted({cell.lane for cell in layering.cells} | set(heads)):
        own = [
            [each for each in layer if layering.cells[each].lane == lane]
            for layer in layering.layers
        ]
        _settle(layering, own, sizes, margins.nodes, places)
        members = [each for layer in own for each in layer]
        top = min((places[each] - sizes[each] / 2 for each in members), default=0.0)
        bottom = max((places[each] + sizes[each] / 2 for each in members), default=0.0)
        start = end + margins.lanes
        inner = start + heads.get(lane, 0.0)
        for each in members:
            places[each] += inner - top
        end = inner + bottom - top + (margins.foot if lane in heads else 0.0)
        lanes[lane] = Extent(start, end)
    return places, lanes


def _settle(
    layering: Layering,
    layers: Sequence[Sequence[int]],
    sizes: Sequence[float],
    gap: float,
    places: list[float],
) -> None:
    """Move the cells of one lane near their neighbours in it, without changing their order."""
    before, after = layering.neighbours()
    members = {each for layer in layers for each in layer}
    for layer in layers:
        _place(layer, [(0.0, 1.0)] * len(layer), sizes, gap, places)
    for sweep in range(_SWEEPS):
        backwards = sweep % 2 == 0  # the last sweep goes forwards
        side = after if backwards else before
        for layer in layers[:: -1 if backwards else 1]:
            wanted = []
            for cell in layer:
                near = [each for each in side[cell] if each in members]
                on_its_way = [each for each in (cell, *near) if layering.cells[each].node is None]
                place = sum(places[each] for each in near) / len(near) if near else places[cell]
                wanted.append((place, _STRAIGHT if len(on_its_way) > 1 else 1.0))
            _place(layer, wanted, sizes, gap, places)


def _place(
    layer: Sequence[int],
    wanted: Sequence[tuple[float, float]],
    sizes: Sequence[float],
    gap: float,
    places: list[float],
) -> None:
    """Place cells in their order, as near to where they want to be as their sizes allow.

    What a cell wants is a place and a weight. The weighted sum of the squared distances is least:
    cells that push each other form a block, which stands at the mean of what its members want.
    """
    offsets: list[float] = []
    for position, cell in enumerate(layer):
        step = (sizes[layer[position - 1]] + sizes[cell]) / 2 + gap if position else 0.0
        offsets.append((offsets[-1] if offsets else 0.0) + step)
    blocks: list[tuple[float, float, int]] = []  # the mean of the members, their weight, how many
    for (place, weight), offset in zip(wanted, offsets, strict=True):
        mean, total, count = place - offset, weight, 1
        while blocks and blocks[-1][0] > mean:
            other, others, members = blocks.pop()
            mean = (mean * total + other * others) / (total + others)
            total, count = total + others, count + members
        blocks.append((mean, total, count))
    means = [mean for mean, _, count in blocks for _ in range(count)]
    for cell, mean, offset in zip(layer, means, offsets, strict=True):
        places[cell] = mean + offset


# -- along ---------------------------------------------------------------------------------


def _along(layering: Layering, items: Sequence[Item], margins: Margins) -> list[Extent]:
    """What each layer takes along the axis."""
    extents: list[Extent] = []
    start = 0.0
    for layer in layering.layers:
        nodes = [layering.cells[each].node for each in layer]
        size = max((items[node].along for node in nodes if node is not None), default=0.0)
        extents.append(Extent(start, start + size))
        start += size + margins.layers
    return extents


# -- edges ---------------------------------------------------------------------------------


def _ports(
    layering: Layering, across: Sequence[float], sizes: Sequence[float]
) -> list[tuple[float, float]]:
    """Where across each edge leaves its first cell and enters its last: side by side."""
    leaving: dict[int, list[tuple[float, int]]] = {}
    entering: dict[int, list[tuple[float, int]]] = {}
    for number, chain in enumerate(layering.chains):
        if chain:
            leaving.setdefault(chain[0], []).append((across[chain[1]], number))
            entering.setdefault(chain[-1], []).append((across[chain[-2]], number))
    starts = _spread(leaving, across, sizes)
    ends = _spread(entering, across, sizes)
    return [(starts.get(each, 0.0), ends.get(each, 0.0)) for each in range(len(layering.chains))]


def _spread(
    meeting: Mapping[int, list[tuple[float, int]]],
    across: Sequence[float],
    sizes: Sequence[float],
) -> dict[int, float]:
    """A place on the side of a cell for each of the edges that meet there, in their order."""
    found: dict[int, float] = {}
    for cell, edges in meeting.items():
        room = sizes[cell] * 0.7
        step = min(_PORT_STEP, room / max(len(edges) - 1, 1))
        first = across[cell] - step * (len(edges) - 1) / 2
        for position, (_, number) in enumerate(sorted(edges)):
            found[number] = first + step * position
    return found


@dataclass(frozen=True, slots=True)
class _Tracks:
    """What edges run between: the layers and the cells in them."""

    layering: Layering
    items: Sequence[Item]
    extents: Sequence[Extent]
    across: Sequence[float]

    def route(self, chain: Sequence[int], port: tuple[float, float]) -> tuple[Point, ...]:
        """The points of an edge: two in each layer that it passes, in the order of the layers."""
        if not chain:
            return ()
        first, *passed, last = (self.layering.cells[each] for each in chain)
        out, into = self.extents[first.layer], self.extents[last.layer]
        points = [self._side(first, port[0], 1), (out.end + _STUB, port[0])]
        for cell, number in zip(passed, chain[1:-1], strict=True):
            extent, place = self.extents[cell.layer], self.across[number]
            points += [(extent.start, place), (extent.end, place)]
        return (*points, (into.start - _STUB, port[1]), self._side(last, port[1], -1))

    def _side(self, cell: Cell, port: float, direction: int) -> Point:
        """Where on the side of a node an edge begins or ends."""
        extent = self.extents[cell.layer]
        depth = 0.0 if cell.node is None else self.items[cell.node].along
        return ((extent.start + extent.end + direction * depth) / 2, port)
