"""The queries of the field: every one that the shared test data hold, with the dialect it is in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.shared import DATA

# What the benchmarks fill in before they run a query.
FILLED = {
    "${WSIZE}": "5s",
    "${WSLIDE}": "1s",
    "${TEMP}": "50.0",
    "${VARIATION_THRESHOLD}": "2.5",
}
_FENCED = re.compile(r"^```\w*\n(.*?)^```", re.DOTALL | re.MULTILINE)
_QUERY = re.compile(r"\b(SELECT|CONSTRUCT)\b", re.IGNORECASE)
_PROPERTY = re.compile(r"(srb\.query\d)\.booleanquery = (.*?)\nsrb", re.DOTALL)


@dataclass(frozen=True)
class Found:
    """A query, the path of its file below the data (with `#n` for a part), and its dialect."""

    file: str
    text: str
    dialect: str

    @property
    def folder(self) -> str:
        return self.file.partition("/")[0]


Reader = Callable[[Path], Iterator[tuple[str, str]]]


def whole(path: Path) -> Iterator[tuple[str, str]]:
    """A file that is one query."""
    text = path.read_text("utf-8")
    for place, value in FILLED.items():
        text = text.replace(place, value)
    yield "", text


def fenced(path: Path) -> Iterator[tuple[str, str]]:
    """The blocks of a Markdown page that are queries."""
    blocks = _FENCED.findall(path.read_text("utf-8"))
    queries = [block for block in blocks if _QUERY.search(block) and "::=" not in block]
    yield from ((f"#{number}", block) for number, block in enumerate(queries, 1))


def properties(path: Path) -> Iterator[tuple[str, str]]:
    """The queries of a properties file, their lines joined."""
    for name, value in _PROPERTY.findall(path.read_text("utf-8")):
        yield f"#{name}", re.sub(r"\\[ \t]*\n", "\n", value)


# folder, pattern below it, how to read a file, dialect
SOURCES: list[tuple[str, str, Reader, str]] = [
    ("csrbench", "srbench-queries.properties", properties, "sparql"),
    ("citybench", "cqels_query/*.txt", whole, "cqels"),
    ("citybench", "csparql_query/*.txt", whole, "csparql"),
    ("lsbench-wiki", "qe_cqels.md", fenced, "cqels"),
    ("lsbench-wiki", "qe_csparql.md", fenced, "csparql"),
    ("cqels-wiki", "CQELS_language.md", fenced, "cqels"),
    ("srbench-morph", "**/*.sparql", whole, "sparqlstream"),
    ("srbench-sparql2stream", "**/*.sparql", whole, "sparqlstream"),
    ("rsp4j", "**/*.rspql", whole, "rspql"),
    ("rsp4j", "**/*.rq", whole, "sparql"),
    ("rsp4j", "example-queries.md", fenced, "rspql"),
    ("rspu", "**/*.rspqlstar", whole, "rspql"),
    ("rspqlstar", "**/*.rspqlstar", whole, "rspql"),
    *(
        (folder, f"**/{engine}*/{file}.query", whole, dialect)
        for folder in ("yabench", "yabench-one")
        for engine in ("cqels", "csparql")
        for file, dialect in (("engine", engine), ("oracle", "sparql"))
    ),
]


def queries() -> Iterator[Found]:
    """All of them, in the order of the sources."""
    for folder, pattern, read, dialect in SOURCES:
        for path in sorted((DATA / folder).glob(pattern)):
            name = path.relative_to(DATA).as_posix()
            yield from (Found(name + part, text, dialect) for part, text in read(path))
