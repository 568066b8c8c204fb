"""Which layer each node of a graph stands in, and in which order: the first half of a drawing.

Nodes are numbers, edges are pairs of them. Every edge leads to a later layer; edges that go round
in a circle are turned for that purpose only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, TypeAlias

Edge: TypeAlias = tuple[int, int]
_SWEEPS: Final = 16


@dataclass(frozen=True, slots=True)
class Cell:
    """A place in a layer: of a node, or of an edge on its way through the layer.

    Attributes:
        layer: which layer it is in.
        lane: cells of a layer stand in the order of their lanes.
        node: the node, or None.
    """

    layer: int
    lane: int
    node: int | None


@dataclass(frozen=True, slots=True)
class Layering:
    """Cells in layers, in order, and the way of each edge.

    Attributes:
        cells: those of the nodes first, by their numbers.
        layers: the cells of each layer, in order.
        chains: the cells that each edge passes, from earlier to later layers; turned edges are
            listed backwards, and an edge from a node to itself has none.
    """

    cells: tuple[Cell, ...]
    layers: tuple[tuple[int, ...], ...]
    chains: tuple[tuple[int, ...], ...]

    def neighbours(self) -> tuple[list[list[int]], list[list[int]]]:
        """The cells before and after each cell."""
        before: list[list[int]] = [[] for _ in self.cells]
        after: list[list[int]] = [[] for _ in self.cells]
        for chain in self.chains:
            for one, other in pairwise(chain):
                before[other].append(one)
                after[one].append(other)
        return before, after


def layered(lanes: Sequence[int], edges: Sequence[Edge], outside: int = 0) -> Layering:
    """Give every node a layer and every layer an order with few crossings.

    Args:
        lanes: the lane of each node.
        edges: from node to node.
        outside: the lane that edges between other lanes pass through, where they can choose.
    """
    forward = _without_circles(len(lanes), edges)
    ranks = _ranks(len(lanes), forward)
    cells = [Cell(ranks[node], lane, node) for node, lane in enumerate(lanes)]
    chains: list[tuple[int, ...]] = []
    for source, target in forward:
        chain = [source]
        both = {lanes[source], lanes[target]}
        lane = outside if outside in both else lanes[target]
        for layer in range(ranks[source] + 1, ranks[target]):
            chain.append(len(cells))
            cells.append(Cell(layer, lane, None))
        chains.append((*chain, target) if source != target else ())
    layers: list[list[int]] = [
        [] for _ in range(max((cell.layer for cell in cells), default=-1) + 1)
    ]
    for number, cell in enumerate(cells):
        layers[cell.layer].append(number)
    start = Layering(
        tuple(cells),
        tuple(tuple(sorted(layer, key=lambda each: cells[each].lane)) for layer in layers),
        tuple(chains),
    )
    return _untangled(start)


def _without_circles(count: int, edges: Sequence[Edge]) -> list[Edge]:
    """The edges, those turned around that lead back to where a walk came from.

    >>> _without_circles(3, [(0, 1), (1, 2), (2, 0)])
    [(0, 1), (1, 2), (0, 2)]
    """
    after: list[list[int]] = [[] for _ in range(count)]
    entered = [False] * count
    for source, target in edges:
        after[source].append(target)
        entered[target] = True
    order: dict[int, int] = {}
    roots = sorted(range(count), key=lambda node: entered[node])
    for root in roots:
        _finish(root, after, order)
    # An edge is turned if its target was finished after its source.
    return [
        (source, target) if order[target] <= order[source] else (target, source)
        for source, target in edges
    ]


def _finish(root: int, after: list[list[int]], order: dict[int, int]) -> None:
    """Number nodes in the order in which a walk from a root leaves them."""
    seen = {root}
    stack = [] if root in order else [(root, iter(after[root]))]
    while stack:
        node, rest = stack[-1]
        for target in rest:
            if target not in seen and target not in order:
                seen.add(target)
                stack.append((target, iter(after[target])))
                break
        else:
            order[node] = len(order)
            stack.pop()


def _ranks(count: int, edges: Iterable[Edge]) -> list[int]:
    """Layers by the longest way to each node; what leads on to few is then moved towards them."""
    before: list[list[int]] = [[] for _ in range(count)]
    after: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        if source != target:
            before[target].append(source)
            after[source].append(target)
    ranks = [0] * count
    order = _topological(before, after)
    for node in order:
        ranks[node] = max((ranks[each] + 1 for each in before[node]), default=0)
    for node in reversed(order):
        if after[node] and len(before[node]) <= len(after[node]):
            ranks[node] = min(ranks[each] for each in after[node]) - 1
    return ranks


def _topological(before: list[list[int]], after: list[list[int]]) -> list[int]:
    waiting = [len(each) for each in before]
    ready = [node for node, count in enumerate(waiting) if not count]
    for node in ready:
        for target in after[node]:
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    return ready


# -- order within layers -------------------------------------------------------------------


def _untangled(layering: Layering) -> Layering:
    """The same with the layers in the order that had the fewest crossings in some sweeps."""
    before, after = layering.neighbours()
    best, fewest = layering, _crossings(layering, after)
    current = layering
    for sweep in range(_SWEEPS):
        if not fewest:
            break
        current = _swept(current, after if sweep % 2 else before, backwards=bool(sweep % 2))
        crossings = _crossings(current, after)
        if crossings < fewest:
            best, fewest = current, crossings
    return best


def _swept(layering: Layering, neighbours: list[list[int]], *, backwards: bool) -> Layering:
    """Order each layer by where the neighbours of its cells are in the layer before."""
    layers = list(layering.layers)
    positions = _positions(layers)
    for index in range(len(layers))[:: -1 if backwards else 1]:

        def wanted(cell: int) -> tuple[int, float]:
            near = [positions[each] for each in neighbours[cell]]
            place = sum(near) / len(near) if near else positions[cell]
            return layering.cells[cell].lane, place

        layers[index] = tuple(sorted(layers[index], key=wanted))
        for place, cell in enumerate(layers[index]):
            positions[cell] = place
    return replace(layering, layers=tuple(layers))


def _positions(layers: Sequence[Sequence[int]]) -> dict[int, int]:
    return {cell: place for layer in layers for place, cell in enumerate(layer)}


def _crossings(layering: Layering, after: list[list[int]]) -> int:
    positions = _positions(layering.layers)
    total = 0
    for layer in layering.layers:
        ends = [sorted(positions[target] for target in after[cell]) for cell in layer]
        flat = [end for group in ends for end in group]
        # Edges of one cell do not cross; sorted, they count nothing among themselves.
        total += sum(
            flat[one] > flat[other]
            for one in range(len(flat))
            for other in range(one + 1, len(flat))
        )
    return total
