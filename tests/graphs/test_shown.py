"""Both graphs as pairs of text: a query, and its graph.

`python -m tests.graphs.test_shown --write` writes what they are now; the diff is what a reviewer
reads.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from headrace.dialects import parse
from headrace.graphs.drawing import GraphForm, GraphKind, drawn

FOLDER = Path(__file__).parent / "shown"
PREFIX = "PREFIX : <http://ex.org/>\n"
BETWEEN = "\n----\n"


def pairs() -> list[tuple[Path, str, str]]:
    found = []
    for path in sorted(FOLDER.glob("*.txt")):
        for block in path.read_text("utf-8").split("\n====\n"):
            query, _, shown = block.strip("\n").partition(BETWEEN)
            found.append((path, query, shown))
    return found


def graph(path: Path, query: str) -> str:
    return drawn(parse(PREFIX + query).query, GraphKind(path.stem), GraphForm.TEXT).rstrip("\n")


@pytest.mark.parametrize(
    ("path", "query", "shown"),
    [
        pytest.param(path, query, shown, id=f"{path.stem}-{position}")
        for position, (path, query, shown) in enumerate(pairs())
    ],
)
def test_a_query_has_this_graph(path: Path, query: str, shown: str) -> None:
    assert graph(path, query) == shown


def write() -> None:
    blocks: dict[Path, list[str]] = {}
    for path, query, _ in pairs():
        blocks.setdefault(path, []).append(f"{query}{BETWEEN}{graph(path, query)}")
    for path, texts in blocks.items():
        path.write_text("\n====\n".join(texts) + "\n", "utf-8")


if __name__ == "__main__" and "--write" in sys.argv:
    write()
