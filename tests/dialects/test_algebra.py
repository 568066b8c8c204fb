"""What queries of each dialect become, as pairs of text: a query, and its algebra.

`python -m tests.dialects.test_algebra --write` writes what the translators say now; the diff is
what a reviewer reads.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from headrace.algebra.notation import read, show
from headrace.algebra.query import Query
from headrace.dialects import parse

FOLDER = Path(__file__).parent / "algebra"
PREFIX = "PREFIX : <x:>\n"
BETWEEN = "\n----\n"


def pairs() -> list[tuple[Path, str, str]]:
    found = []
    for path in sorted(FOLDER.glob("*.txt")):
        for block in path.read_text("utf-8").split("\n====\n"):
            query, _, notation = block.strip("\n").partition(BETWEEN)
            found.append((path, query, notation))
    return found


def shown(query: str) -> str:
    return brief(parse(PREFIX + query).query)


def brief(query: Query) -> str:
    """The pattern, and the windows where there are any; the profile is tested elsewhere."""
    parts = [show(query.pattern)]
    if query.windows:
        parts.append(show(query.windows))
    return "\n".join(parts).replace("<http://www.w3.org/2001/XMLSchema#", "<xsd:")


def cases() -> list[object]:
    return [
        pytest.param(query, notation, id=f"{path.stem}-{position}")
        for position, (path, query, notation) in enumerate(pairs())
    ]


@pytest.mark.parametrize(("query", "notation"), cases())
def test_a_query_becomes_this_algebra(query: str, notation: str) -> None:
    assert shown(query) == notation


@pytest.mark.parametrize(("query", "notation"), cases())
def test_and_the_algebra_reads_back(query: str, notation: str) -> None:
    pattern = parse(PREFIX + query).query.pattern
    text = notation.replace("<xsd:", "<http://www.w3.org/2001/XMLSchema#")
    assert read(f"[{text}]")[0] == pattern


def write() -> None:
    blocks: dict[Path, list[str]] = {}
    for path, query, _ in pairs():
        blocks.setdefault(path, []).append(f"{query}{BETWEEN}{shown(query)}")
    for path, texts in blocks.items():
        path.write_text("\n====\n".join(texts) + "\n", "utf-8")


if __name__ == "__main__" and "--write" in sys.argv:
    write()
