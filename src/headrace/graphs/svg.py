"""Shapes and labels as a self-contained SVG: no scripts, no fonts, readable by day and by night.

Labels are in a monospaced font, whose width is known without measuring: every label says how long
it is, and a viewer whose font differs makes it fit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from textwrap import wrap
from typing import Final
from unicodedata import combining, east_asian_width

from headrace.graphs.layout import Point

CHARACTER: Final = 7.8  # how wide one is, in the font and size below
LINE: Final = 18.0
PADDING: Final = 10.0
_BASELINE: Final = 13.5
_MARGIN: Final = 16.0
_LONGEST: Final = 46
_NOT_XML: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]")

_STYLE: Final = """
svg { --ink: #1b1f24; --line: #57606a; --paper: #ffffff; --plain: #ffffff; --added: #e8eaed;
  --stream: #dcebfb; --static: #e0f2e3; --service: #fbe9d0; --result: #ffe9a8; --faint: #57606a }
@media (prefers-color-scheme: dark) { svg { --ink: #e6edf3; --line: #9aa4af; --paper: #0d1117;
  --plain: #161b22; --added: #30363d; --stream: #12304f; --static: #12371f; --service: #4a2f10;
  --result: #5a4700; --faint: #9aa4af } }
.paper { fill: var(--paper) }
text { font: 13px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: var(--ink) }
.title { font-weight: bold }
.note { font-style: italic }
.legend text, .label text { fill: var(--faint) }
.halo { paint-order: stroke; stroke: var(--paper); stroke-width: 5px; stroke-linejoin: round }
.node rect { fill: var(--plain); stroke: var(--line); stroke-width: 1.2px }
.added rect { fill: var(--added) }
.stream rect { fill: var(--stream) }
.static rect { fill: var(--static) }
.service rect { fill: var(--service) }
.result rect { fill: var(--result) }
.predicate rect { fill: var(--paper); stroke-width: 0.6px }
.label rect { fill: none; stroke: none }
.frame rect { fill: none; stroke: var(--line); stroke-width: 1.2px; stroke-dasharray: 6 4 }
.hyper rect { stroke-dasharray: none; stroke-width: 2px }
.edge { fill: none; stroke: var(--line); stroke-width: 1.3px }
.dotted { stroke-dasharray: 2 4 }
.tip { fill: var(--line) }
"""
_TIP: Final = (
    '<marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
    'orient="auto-start-reverse"><path class="tip" d="M0 0.8 10 5 0 9.2z"/></marker>'
)


@dataclass(frozen=True, slots=True)
class Label:
    """A line of text and its style: plain, `title` or `note`."""

    text: str
    style: str = ""

    @property
    def width(self) -> float:
        """How wide it is."""
        return CHARACTER * sum(map(_cells, self.text))


def _cells(character: str) -> int:
    if combining(character):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def labels(lines: Iterable[str], style: str = "") -> list[Label]:
    """Lines as labels; long ones are broken, with what follows moved in."""
    broken: list[Label] = []
    for line in lines:
        text = _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", line)
        pieces = wrap(text, _LONGEST, subsequent_indent="  ", break_on_hyphens=False) or [""]
        broken += [Label(piece, style) for piece in pieces]
    return broken


def size(lines: Sequence[Label]) -> tuple[float, float]:
    """The width and height of a box around lines."""
    width = max((line.width for line in lines), default=0.0)
    return width + 2 * PADDING, len(lines) * LINE + PADDING


@dataclass
class Picture:
    """An SVG in the making: edges, and shapes in the order in which they are added.

    Attributes:
        title: what it shows.
        upright: whether layers follow each other from bottom to top, else from left to right.
    """

    title: str
    upright: bool = False
    _edges: list[str] = field(default_factory=list)
    _shapes: list[str] = field(default_factory=list)
    _right: float = 0.0
    _bottom: float = 0.0

    def box(
        self,
        centre: Point,
        extent: tuple[float, float],
        lines: Sequence[Label],
        *,
        kind: str,
        rounded: float = 4.0,
    ) -> None:
        """Add a node: a box with lines of text in its middle."""
        (x, y), (width, height) = centre, extent
        left, top = x - width / 2, y - height / 2
        text_top = y - len(lines) * LINE / 2
        self._group(
            f"node {kind}",
            (left, top, width, height),
            rounded,
            [(x - line.width / 2, text_top + LINE * row, line) for row, line in enumerate(lines)],
        )

    def frame(
        self, corner: Point, extent: tuple[float, float], lines: Sequence[Label], *, kind: str
    ) -> None:
        """Add a frame around other shapes, with a heading in its upper left corner."""
        (left, top), (width, height) = corner, extent
        placed = [
            (left + PADDING, top + PADDING / 2 + LINE * row, line) for row, line in enumerate(lines)
        ]
        self._group(f"frame {kind}", (left, top, width, height), 6.0, placed)

    def edge(self, points: Sequence[Point], *, arrow: bool = True, dotted: bool = False) -> None:
        """Add an edge: straight between the points of each pair, bent from pair to pair."""
        if not points:
            return
        steps = [f"M{_number(points[0][0])} {_number(points[0][1])}"]
        for position, (start, end) in enumerate(pairwise(points)):
            straight = position % 2 == 0
            steps.append(_straight(end) if straight else self._bend(start, end))
        tip = ' marker-end="url(#tip)"' if arrow else ""
        style = "edge dotted" if dotted else "edge"
        self._edges.append(f'<path class="{style}" d="{" ".join(steps)}"{tip}/>')

    def _bend(self, start: Point, end: Point) -> str:
        """A curve that leaves and arrives in the direction of the straight parts around it."""
        middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
        first = (start[0], middle[1]) if self.upright else (middle[0], start[1])
        second = (end[0], middle[1]) if self.upright else (middle[0], end[1])
        return "C" + " ".join(f"{_number(x)} {_number(y)}" for x, y in (first, second, end))

    def loop(self, centre: Point, extent: tuple[float, float]) -> None:
        """Add an edge from a node to itself, at its upper side."""
        x, top = centre[0], centre[1] - extent[1] / 2
        path = f"M{_number(x - 8)} {_number(top)} c-6 -12 22 -12 16 0"
        self._edges.append(f'<path class="edge" d="{path}" marker-end="url(#tip)"/>')

    def legend(self, lines: Sequence[Label]) -> None:
        """Add lines below all that is there."""
        top = self._bottom + LINE
        placed = [(0.0, top + LINE * row, line) for row, line in enumerate(lines)]
        if placed:
            self._shapes.append(f'<g class="legend">{self._texts(placed, halo=False)}</g>')

    def text(self) -> str:
        """The whole picture."""
        width, height = self._right + 2 * _MARGIN, self._bottom + 2 * _MARGIN
        corner = f"{_number(-_MARGIN)} {_number(-_MARGIN)}"
        extent = f"{_number(width)} {_number(height)}"
        paper = f'x="{_number(-_MARGIN)}" y="{_number(-_MARGIN)}" width="100%" height="100%"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{corner} {extent}" '
            f'width="{_number(width)}" height="{_number(height)}" role="img">\n'
            f"<title>{_escaped(self.title)}</title>\n"
            f"<style>{_STYLE}</style>\n<defs>{_TIP}</defs>\n"
            f'<rect class="paper" {paper}/>\n'
            + "\n".join([*self._edges, *self._shapes])
            + "\n</svg>\n"
        )

    def _group(
        self,
        kind: str,
        rectangle: tuple[float, float, float, float],
        rounded: float,
        placed: Sequence[tuple[float, float, Label]],
    ) -> None:
        left, top, width, height = rectangle
        self._reach(left + width, top + height)
        shape = (
            f'<rect x="{_number(left)}" y="{_number(top)}" width="{_number(width)}" '
            f'height="{_number(height)}" rx="{_number(rounded)}"/>'
        )
        texts = self._texts(placed, halo=kind.startswith("frame"))
        self._shapes.append(f'<g class="{kind}">{shape}{texts}</g>')

    def _texts(self, placed: Sequence[tuple[float, float, Label]], *, halo: bool) -> str:
        return "".join(self._text(left, top, label, halo=halo) for left, top, label in placed)

    def _text(self, left: float, top: float, label: Label, *, halo: bool) -> str:
        if not label.text.strip():
            return ""
        self._reach(left + label.width, top + LINE)
        styles = " ".join(filter(None, (label.style, "halo" if halo else "")))
        style = f' class="{styles}"' if styles else ""
        # Spaces at the beginning are a place, and others are kept as they are.
        indent = len(label.text) - len(label.text.lstrip(" "))
        shown = Label(label.text.strip(" ").replace(" ", "\N{NO-BREAK SPACE}"))
        return (
            f'<text{style} x="{_number(left + indent * CHARACTER)}" y="{_number(top + _BASELINE)}" '
            f'textLength="{_number(shown.width)}" lengthAdjust="spacingAndGlyphs">'
            f"{_escaped(shown.text)}</text>"
        )

    def _reach(self, right: float, bottom: float) -> None:
        self._right = max(self._right, right)
        self._bottom = max(self._bottom, bottom)


def _straight(point: Point) -> str:
    return f"L{_number(point[0])} {_number(point[1])}"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0").replace("-0.0", "0")


def _escaped(text: str) -> str:
    return escape(_NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text), quote=True)
