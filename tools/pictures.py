"""The pictures of docs/concepts.md: python -m tools.pictures draws them into docs/img."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from tools.svg import Sheet

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "img"
LEFT: Final = 60
SECOND: Final = 28
"""How wide a second of a time line is."""


def place(second: float) -> float:
    """Where a second stands on a time line."""
    return LEFT + SECOND * second


def axis(sheet: Sheet, y: float, seconds: int = 22) -> None:
    """A time line with its seconds."""
    sheet.line((LEFT - 20, y), (place(seconds) + 10, y), "arrow")
    for second in range(0, seconds, 5):
        sheet.line((place(second), y - 4), (place(second), y + 4), "line")
        sheet.text(place(second), y + 20, f"{second} s", "dim", "middle")


def stream() -> Sheet:
    """Elements on a time line, one of them looked at closely."""
    sheet = Sheet(720, 170, "A stream: elements, each with the time at which it happened")
    axis(sheet, 120)
    for second in (1, 4, 6, 11, 13, 18):
        sheet.dot(place(second), 120)
    sheet.labelled(
        (place(2.5), 20), (300, 44), "t1 celsius 21.5", "an element: a few triples, and a time"
    )
    sheet.line((place(4), 64), (place(4), 110), "arrow")
    sheet.text(place(21), 105, "event time", "dim", "end")
    return sheet


def window() -> Sheet:
    """Windows of ten seconds that slide by five."""
    sheet = Sheet(720, 250, "Windows of ten seconds, one every five seconds, over a time line")
    elements = (1, 4, 6, 10, 13, 18)
    for number, close in enumerate((10, 15, 20)):
        top = 18 + 50 * number
        sheet.box((place(close - 10), top), (10 * SECOND, 36), "window")
        held = sum(close - 10 < each <= close for each in elements)
        sheet.text(place(close - 10) + 8, top + 22, f"({close - 10} s, {close} s]")
        sheet.text(place(close) - 8, top + 22, f"{held} elements", "mark strong", "end")
    axis(sheet, 200)
    for second in elements:
        sheet.dot(place(second), 200)
    sheet.text(place(10), 236, "second 10 is in the window that closes there", "dim", "middle")
    return sheet


def instants() -> Sheet:
    """When a query is evaluated, under each report."""
    sheet = Sheet(720, 250, "The instants of a query that reports on close, every 4 s, on arrival")
    elements = (1, 4, 6, 10, 13, 18)
    rows: tuple[tuple[str, tuple[float, ...]], ...] = (
        ("on close", (5, 10, 15, 20)),
        ("every 4 s", (4, 8, 12, 16, 20)),
        ("on arrival", elements),
    )
    for number, (name, times) in enumerate(rows):
        y = 34 + 52 * number
        sheet.line((LEFT - 20, y + 10), (place(21), y + 10), "line")
        sheet.text(LEFT - 20, y - 8, name, "strong")
        for second in times:
            sheet.line((place(second), y), (place(second), y + 20), "instant")
    axis(sheet, 205)
    for second in elements:
        sheet.dot(place(second), 205)
    return sheet


def emission() -> Sheet:
    """The answers of three instants, and what is emitted of them."""
    sheet = Sheet(720, 236, "What rstream, istream and dstream emit of three answers")
    columns = ("at 10 s", "at 15 s", "at 20 s")
    rows = (
        ("the answer", ("a  b", "b  c", "c")),
        ("rstream: all of it", ("a  b", "b  c", "c")),
        ("istream: what is new", ("a  b", "c", "nothing")),
        ("dstream: what has gone", ("nothing", "a", "b")),
    )
    for column, words in enumerate(columns):
        sheet.text(300 + 150 * column, 28, words, "dim", "middle")
    for number, (name, cells) in enumerate(rows):
        y = 42 + 47 * number
        sheet.text(24, y + 24, name, "" if number else "strong")
        for column, words in enumerate(cells):
            at = (235 + 150 * column, y)
            sheet.box(at, (130, 36), "box" if number else "window")
            style = "dim" if words == "nothing" else "strong"
            sheet.text(at[0] + 65, y + 23, words, style, "middle")
    return sheet


def late() -> Sheet:
    """A watermark, a window that it has closed, and an element that comes after that."""
    sheet = Sheet(720, 265, "The watermark has passed the close of a window; an element is late")
    sheet.box((place(0), 40), (10 * SECOND, 36), "window")
    sheet.text(place(0) + 8, 62, "(0 s, 10 s]")
    sheet.text(place(10) - 8, 62, "closed", "mark strong", "end")
    sheet.box((place(10), 40), (10 * SECOND, 36), "box")
    sheet.text(place(11) + 8, 62, "(10 s, 20 s]")
    sheet.text(place(20) - 8, 62, "open", "dim", "end")
    axis(sheet, 150)
    for number, second in enumerate((3, 7, 16), 1):
        sheet.dot(place(second), 150)
        sheet.text(place(second), 138, f"{number}.", "dim", "middle")
    sheet.dot(place(8.5), 150, "late")
    sheet.text(place(8.5), 138, "4.", "warn", "middle")
    sheet.line((place(11), 20), (place(11), 190), "watermark")
    sheet.text(place(11) + 8, 194, "watermark: 16 s, the greatest time so far,", "warn")
    sheet.text(place(11) + 8, 211, "less a delay of 5 s", "warn")
    sheet.text(LEFT, 245, "The fourth element comes last. Its window is closed: it is late.", "dim")
    return sheet


def flows() -> Sheet:
    """How a query becomes a plan, and data become answers by it."""
    sheet = Sheet(720, 250, "Two flows: a query becomes a plan, data become answers")
    sheet.text(20, 30, "a query, once", "dim")
    sheet.text(20, 150, "data, for ever", "dim")
    above = (
        ("text", "any dialect"),
        ("algebra", "one for all"),
        ("rewritten", "costs less"),
        ("plan", "what runs"),
    )
    below = (
        ("sources", "files, Kafka, ..."),
        ("elements", "decoded, entailed"),
        ("kernel", "windows, instants"),
        ("sinks", "each result once"),
    )
    for y, words in ((44, above), (164, below)):
        for number, lines in enumerate(words):
            x = 20 + 178 * number
            sheet.labelled((x, y), (146, 52), *lines)
            if number:
                sheet.line((x - 31, y + 26), (x - 3, y + 26), "arrow")
    sheet.line((20 + 178 * 3 + 73, 96), (20 + 178 * 2 + 110, 161), "arrow")
    return sheet


PICTURES: Final[dict[str, Callable[[], Sheet]]] = {
    "concept-stream.svg": stream,
    "concept-window.svg": window,
    "concept-instants.svg": instants,
    "concept-emission.svg": emission,
    "concept-late.svg": late,
    "concept-flows.svg": flows,
}

if __name__ == "__main__":
    for name, picture in PICTURES.items():
        (FOLDER / name).write_text(picture().svg(), "utf-8")
