"""A sheet to draw on: boxes, lines, dots and words, readable in light and dark."""

from __future__ import annotations

from html import escape

STYLE = """
svg{--ink:#1b1f27;--dim:#667085;--line:#98a2b3;--fill:#eef2f8;
--mark:#1c62c4;--soft:#d6e5fb;--warn:#b54708;--paper:#ffffff}
@media (prefers-color-scheme:dark){svg{--ink:#e6e9ef;--dim:#a3adbf;--line:#5d6779;--fill:#262d3a;
--mark:#7fb2ff;--soft:#1d3557;--warn:#ffb35c;--paper:#14181f}}
text{font:13px system-ui,sans-serif;fill:var(--ink)}
.dim{fill:var(--dim);font-size:12px}.mark{fill:var(--mark)}
.warn{fill:var(--warn)}.strong{font-weight:600}
.box{fill:var(--fill);stroke:var(--line)}.window{fill:var(--soft);stroke:var(--mark)}
.line{stroke:var(--line);fill:none}.arrow{stroke:var(--dim);fill:none;marker-end:url(#tip)}
.watermark{stroke:var(--warn);stroke-width:2;stroke-dasharray:5 4}
.instant{stroke:var(--mark);stroke-width:2}
.dot{fill:var(--ink)}.late{fill:var(--paper);stroke:var(--warn);stroke-width:2}
.paper{fill:var(--paper)}
"""


class Sheet:
    """A drawing of a size, for somebody who may not see it described by a title."""

    def __init__(self, width: int, height: int, title: str) -> None:
        """Begin with an empty one."""
        self.size = width, height
        self.title = title
        self.parts: list[str] = []

    def text(self, x: float, y: float, words: str, style: str = "", anchor: str = "start") -> None:
        """Write words."""
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" class="{style}" text-anchor="{anchor}">'
            f"{escape(words)}</text>"
        )

    def box(self, at: tuple[float, float], size: tuple[float, float], style: str = "box") -> None:
        """Draw a box."""
        (x, y), (width, height) = at, size
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5"'
            f' class="{style}"/>'
        )

    def line(self, start: tuple[float, float], end: tuple[float, float], style: str) -> None:
        """Draw a line, or an arrow."""
        (a, b), (c, d) = start, end
        self.parts.append(f'<line x1="{a:g}" y1="{b:g}" x2="{c:g}" y2="{d:g}" class="{style}"/>')

    def dot(self, x: float, y: float, style: str = "dot") -> None:
        """Draw an element of a stream."""
        self.parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="5.5" class="{style}"/>')

    def labelled(self, at: tuple[float, float], size: tuple[float, float], *lines: str) -> None:
        """Draw a box with lines of words in its middle, the first of them strong."""
        self.box(at, size)
        (x, y), (width, height) = at, size
        top = y + height / 2 - 8 * (len(lines) - 1) + 4
        for number, words in enumerate(lines):
            style = "dim" if number else "strong"
            self.text(x + width / 2, top + 16 * number, words, style, "middle")

    def svg(self) -> str:
        """The drawing as SVG."""
        width, height = self.size
        tip = (
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8"'
            ' markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z" fill="var(--dim)"/>'
            "</marker></defs>"
        )
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
                f' width="{width}" height="{height}" role="img">',
                f"<title>{escape(self.title)}</title>",
                f"<style>{STYLE}</style>",
                tip,
                f'<rect width="{width}" height="{height}" class="paper"/>',
                *self.parts,
                "</svg>",
                "",
            ]
        )
