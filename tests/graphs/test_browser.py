"""Drawings in a real browser: labels are apart, in their boxes, and in the picture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from headrace.graphs.drawing import GraphForm, GraphKind, drawn
from tests.browser.chromium import browser
from tests.graphs.queries import drawn_queries

if TYPE_CHECKING:
    from playwright.sync_api import Page

QUERIES = drawn_queries()

# What the browser measures, in the units of the drawing; boxes as [left, top, right, bottom].
MEASURE = """() => {
  const box = (element) => {
    const { x, y, width, height } = element.getBBox();
    return [x, y, x + width, y + height];
  };
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const view = document.documentElement.viewBox.baseVal;
  return {
    view: [view.x, view.y, view.x + view.width, view.y + view.height],
    texts: all("text").map((text) => [text.textContent, box(text)]),
    nodes: all("g.node").map((group) => [group.textContent, box(group.querySelector("rect"))]),
    frames: all("g.frame").map((group) => [group.textContent, box(group.querySelector("rect"))]),
    held: all("g.node, g.frame").flatMap((group) =>
      all("text", group).map((text) => [
        text.textContent, box(text), box(group.querySelector("rect")),
      ])),
    edges: all("path.edge").map((path) => {
      const points = [];
      for (let at = 0; at <= path.getTotalLength(); at += 3) {
        const { x, y } = path.getPointAtLength(at);
        points.push([x, y]);
      }
      return points;
    }),
  };
}"""

# The contrast of each label with the box around it, by the formula of WCAG 2.
CONTRASTS = """() => {
  const light = (color) => {
    const parts = color.match(/[\\d.]+/g).slice(0, 3).map((part) => {
      const share = part / 255;
      return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const paper = document.querySelector(".paper");
  return [...document.querySelectorAll("text")].map((text) => {
    const own = text.parentElement.querySelector("rect");
    const fill = own && getComputedStyle(own).fill;
    const behind = fill && fill !== "none" ? fill : getComputedStyle(paper).fill;
    const both = [light(getComputedStyle(text).fill), light(behind)];
    return (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
  });
}"""

Box = tuple[float, float, float, float]
SLACK = 0.6


def apart(one: Box, other: Box) -> bool:
    return (
        one[2] <= other[0] + SLACK
        or other[2] <= one[0] + SLACK
        or one[3] <= other[1] + SLACK
        or other[3] <= one[1] + SLACK
    )


def inside(inner: Box, outer: Box) -> bool:
    return (
        outer[0] - SLACK <= inner[0]
        and outer[1] - SLACK <= inner[1]
        and inner[2] <= outer[2] + SLACK
        and inner[3] <= outer[3] + SLACK
    )


@pytest.fixture(scope="module", params=["the machine's fonts", "one font, not monospaced"])
def page(request: pytest.FixtureRequest) -> Iterator[Page]:
    with browser(system_fonts=request.param == "the machine's fonts") as started:
        yield started.new_page()


@pytest.mark.parametrize("kind", list(GraphKind))
@pytest.mark.parametrize("name", QUERIES)
def test_labels_are_apart_and_where_they_belong(
    page: Page, tmp_path_factory: pytest.TempPathFactory, name: str, kind: GraphKind
) -> None:
    file = tmp_path_factory.mktemp("drawing") / "drawing.svg"
    file.write_text(drawn(QUERIES[name], kind, GraphForm.SVG), "utf-8")
    page.goto(file.as_uri())
    found = page.evaluate(MEASURE)
    texts, nodes, frames = found["texts"], found["nodes"], found["frames"]
    assert texts
    assert all(box[2] > box[0] for _, box in texts)
    for group in (texts, nodes, frames):
        for position, (label, box) in enumerate(group):
            assert inside(box, found["view"]), f"{label} is outside the picture"
            for other_label, other in group[position + 1 :]:
                assert apart(box, other), f"{label} and {other_label} overlap"
    for label, box, around in found["held"]:
        assert inside(box, around), f"{label} is outside its box"
    for label, (left, top, right, bottom) in nodes:
        for points in found["edges"]:
            for x, y in points:
                within = left + 1 < x < right - 1 and top + 1 < y < bottom - 1
                assert not within, f"an edge passes over {label}"


@pytest.mark.parametrize("kind", list(GraphKind))
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_labels_can_be_read_by_day_and_by_night(page: Page, scheme: str, kind: GraphKind) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.goto("about:blank")
    page.set_content(drawn(QUERIES["everything"], kind, GraphForm.SVG))
    assert min(page.evaluate(CONTRASTS)) >= 4.5


@pytest.mark.parametrize("kind", list(GraphKind))
def test_a_drawing_in_a_page_runs_nothing_and_asks_for_nothing(page: Page, kind: GraphKind) -> None:
    asked: list[str] = []
    said: list[str] = []
    page.goto("about:blank")
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.set_content(drawn(QUERIES["hostile"], kind, GraphForm.SVG))
    assert page.evaluate("document.scripts.length") == 0
    assert page.evaluate("document.querySelectorAll('a, image, use, foreignObject').length") == 0
    assert (asked, said) == ([], [])
