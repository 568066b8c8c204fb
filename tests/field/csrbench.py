"""CSRBench: its stream, its queries, and what pyoxigraph finds in each of their windows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import pyoxigraph as ox

from headrace.rdf.formats import Format
from headrace.rdf.reading import read
from headrace.rdf.terms import Iri, Literal, Quad, Term
from tests.shared import DATA

FOLDER = DATA / "csrbench"
STREAM = "http://ex.org/streams/csrbench"
SECONDS = 34

Row: TypeAlias = tuple[str, ...]
"""The columns of a row in the order of the head; numbers by value."""
Answer: TypeAlias = Counter[Row]


@dataclass(frozen=True, slots=True)
class Task:
    """One query of the benchmark and its window, in milliseconds."""

    name: str
    sparql: str
    width: int
    slide: int

    @property
    def csparql(self) -> str:
        """The query as C-SPARQL."""
        prefixes, head, body = self._parts()
        return (
            f"REGISTER QUERY {self.name} AS {prefixes} {head}"
            f" FROM STREAM <{STREAM}> [RANGE {self.width}ms STEP {self.slide}ms]"
            f" WHERE {{ {body} }}"
        )

    @property
    def rspql(self) -> str:
        """The query as RSP-QL."""
        prefixes, head, body = self._parts()
        frame = f"[RANGE {_iso(self.width)} STEP {_iso(self.slide)}]"
        return (
            f"{prefixes} REGISTER RSTREAM <http://ex.org/{self.name}> AS {head}"
            f" FROM NAMED WINDOW <http://ex.org/w> ON <{STREAM}> {frame}"
            f" WHERE {{ WINDOW <http://ex.org/w> {{ {body} }} }}"
        )

    def _parts(self) -> tuple[str, str, str]:
        found = re.fullmatch(r"(.*?)(SELECT.*?)WHERE\s*\{(.*)\}\s*", self.sparql, re.DOTALL)
        assert found, self.sparql
        return found[1], found[2], found[3]


@dataclass(frozen=True, slots=True)
class Report:
    """What a query should report at one instant; times in milliseconds."""

    at: int
    opens: int
    answer: Answer


@cache
def tasks() -> dict[str, Task]:
    """All queries, by the names Q1 to Q7."""
    text = (FOLDER / "srbench-queries.properties").read_text()
    joined = re.sub(r"\\\s*\n", " ", text)
    found = dict(re.findall(r"^srb\.(query\d\.\S+)\s*=\s*(.*)$", joined, re.MULTILINE))
    # The file says 50 s for query 6; every engine that ran it used 5 s.
    found["query6.window.size"] = found["query6.window.slide"] = "5000"
    return {
        f"Q{number}": Task(
            f"Q{number}",
            " ".join(found[f"query{number}.booleanquery"].split()),
            int(found[f"query{number}.window.size"]),
            int(found[f"query{number}.window.slide"]),
        )
        for number in range(1, 8)
    }


@cache
def texts() -> tuple[str, ...]:
    """The graph of each second, as Turtle."""
    return tuple(
        (FOLDER / "data" / f"data_{second:02}.ttl").read_text() for second in range(SECONDS)
    )


@cache
def elements() -> tuple[tuple[int, tuple[Quad, ...]], ...]:
    """The stream: a time in milliseconds and its graph, which is one element."""
    return tuple(
        (1000 * second, tuple(read(text, Format.TURTLE))) for second, text in enumerate(texts())
    )


def closes(task: Task, t0: int) -> Iterator[Report]:
    """What a query should report at each close, if its windows are `[open, close)`."""
    # The stream begins at 0, so the first close that can hold it is the first one after 0.
    close = t0 % task.slide or task.slide
    while close - task.width <= 1000 * (SECONDS - 1):
        opens = close - task.width
        yield Report(close, opens, _between(task, opens, close))
        close += task.slide


def changes(task: Task, t0: int) -> Iterator[Report]:
    """What a query should report at each event, if its windows are `[open, close)`."""
    for time in range(0, 1000 * SECONDS, 1000):
        # The earliest opening after time - width, among those of the grid.
        least = time - task.width + 1
        opens = least + (t0 - task.width - least) % task.slide
        yield Report(time, opens, _between(task, opens, time + 1))


def differences(reports: Iterable[Report], emit: str) -> Iterator[Report]:
    """What is emitted of the answers, by the rule that is called `rstream` and so on."""
    before: Answer = Counter()
    for report in reports:
        after = report.answer
        emitted = {"rstream": after, "istream": after - before, "dstream": before - after}[emit]
        yield Report(report.at, report.opens, emitted)
        before = after


def row(terms: Iterable[Term | None]) -> Row:
    """A row as it is compared."""
    return tuple(_compared(term) for term in terms)


def number(value: float) -> str:
    """A number as it is compared: the order of a sum may show in its last digits."""
    return f"{value:.9g}"


def _compared(term: Term | None) -> str:
    match term:
        case Iri(value):
            return value
        case Literal(lexical):
            return number(float(lexical))
        case _:
            return str(term)


def _between(task: Task, opens: int, closes: int) -> Answer:
    """The answer over the elements of the times from one until before another."""
    first, end = max(0, -(-opens // 1000)), min(SECONDS, -(-closes // 1000))
    return _answer(task.sparql, first, end)


@cache
def _answer(sparql: str, first: int, end: int) -> Answer:
    store = ox.Store()
    for text in texts()[first:end]:
        store.load(text, format=ox.RdfFormat.TURTLE)
    found = store.query(sparql)
    assert isinstance(found, ox.QuerySolutions)
    return Counter(tuple(_their_term(term) for term in solution) for solution in found)


def _their_term(term: object) -> str:
    match term:
        case ox.NamedNode(value=value):
            return value
        case ox.Literal(value=value):
            return number(float(value))
        case _:
            return str(term)


def _iso(milliseconds: int) -> str:
    return f"PT{milliseconds // 1000}S"
