"""Drawings as text: well-formed, harmless, and without boxes that lie on each other."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import NamedTuple
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.algebra.query import Query
from headrace.graphs.drawing import GraphForm, GraphKind, drawn
from headrace.graphs.layout import Item, Margins, arranged
from headrace.graphs.svg import Label, labels
from tests.algebra.values import queries
from tests.graphs.queries import drawn_queries

SVG = "{http://www.w3.org/2000/svg}"
QUERIES = drawn_queries()
HARMLESS = {"svg", "title", "style", "defs", "marker", "path", "rect", "g", "text"}


class Rectangle(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Rectangle) -> bool:
        return (
            self.left < other.right - 0.2
            and other.left < self.right - 0.2
            and self.top < other.bottom - 0.2
            and other.top < self.bottom - 0.2
        )


def rectangles(root: ElementTree.Element, kind: str) -> list[Rectangle]:
    found = []
    for group in root.iter(f"{SVG}g"):
        shape = group.find(f"{SVG}rect")
        if shape is not None and group.get("class", "").startswith(kind):
            x, y, width, height = (float(shape.attrib[a]) for a in ("x", "y", "width", "height"))
            found.append(Rectangle(x, y, x + width, y + height))
    return found


@pytest.mark.parametrize("kind", list(GraphKind))
@pytest.mark.parametrize("name", QUERIES)
def test_a_drawing_is_well_formed_and_harmless(name: str, kind: GraphKind) -> None:
    root = ElementTree.fromstring(drawn(QUERIES[name], kind, GraphForm.SVG))
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= HARMLESS
    for element in root.iter():
        assert not any(each.startswith("on") or "href" in each for each in element.attrib)
        assert "http" not in "".join(element.attrib.values())
    assert "@import" not in (root.findtext(f"{SVG}style") or "")


# Any value of the algebra can be drawn; rewritten can only be what a text can say.
@given(query=queries)
@settings(max_examples=40)
@pytest.mark.parametrize("kind", [GraphKind.OPERATORS, GraphKind.DENOTATIONAL])
def test_boxes_of_any_query_are_apart(kind: GraphKind, query: Query) -> None:
    root = ElementTree.fromstring(drawn(query, kind, GraphForm.SVG))
    for group in ("node", "frame"):
        for one, other in combinations(rectangles(root, group), 2):
            assert not one.meets(other)


def test_a_label_says_how_wide_it_is() -> None:
    assert Label("abc").width == 3 * Label("a").width
    assert Label("日本").width == 4 * Label("a").width
    assert Label("e\N{COMBINING ACUTE ACCENT}").width == Label("e").width


def test_long_lines_are_broken_and_nothing_is_lost() -> None:
    line = "?first = " + "x" * 100 + " && ?second"
    broken = labels([line])
    assert len(broken) > 2
    assert "".join(each.text.strip() for each in broken).replace(" ", "") == line.replace(" ", "")


# -- layout --------------------------------------------------------------------------------


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Item], list[tuple[int, int]]]:
    sizes = st.floats(10, 200)
    items = draw(
        st.lists(st.builds(Item, sizes, sizes, st.integers(0, 3)), min_size=1, max_size=12)
    )
    node = st.integers(0, len(items) - 1)
    return items, draw(st.lists(st.tuples(node, node), max_size=25))


@given(graphs())
def test_nothing_of_a_layout_lies_on_anything_else(
    graph: tuple[list[Item], list[tuple[int, int]]],
) -> None:
    items, edges = graph
    layout = arranged(items, edges, Margins(head={1: 30.0, 3: 30.0}, foot=10.0), outside=2)
    nodes = [
        Rectangle(x - item.along / 2, y - item.across / 2, x + item.along / 2, y + item.across / 2)
        for item, (x, y) in zip(items, layout.centres, strict=True)
    ]
    assert not any(one.meets(other) for one, other in combinations(nodes, 2))
    for item, node in zip(items, nodes, strict=True):
        lane = layout.lanes[item.lane]
        assert lane.start - 0.1 <= node.top <= node.bottom <= lane.end + 0.1
    for (source, target), route in zip(edges, layout.routes, strict=True):
        assert bool(route) == (source != target)
        for one, other in pairwise(route):
            passed = Rectangle(
                min(one[0], other[0]),
                min(one[1], other[1]) - 0.3,
                max(one[0], other[0]),
                max(one[1], other[1]) + 0.3,
            )
            assert not any(passed.meets(node) for node in nodes)
