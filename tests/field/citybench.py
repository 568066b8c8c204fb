"""CityBench: its observations as elements, its static data, and what its queries answer."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Final

import pyoxigraph as ox

from tests.shared import DATA

FOLDER = DATA / "citybench"
DATASET = FOLDER / "dataset"
SERVICES: Final = "http://www.insight-centre.org/dataset/SampleEventService#"
SSN: Final = "http://purl.oclc.org/NET/ssnx/ssn#"
SAO: Final = "http://purl.oclc.org/NET/sao/"
INTEGER: Final = "http://www.w3.org/2001/XMLSchema#integer"
RDF_TYPE: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
REPOSITORY = DATASET / "SensorRepository.n3"
GRAPHS: Final = {
    "culturalevents": DATASET / "AarhusCulturalEvents.n3",
    "libraryevents": DATASET / "AarhusLibraryEvents.n3",
}
_TIMES: Final = {"updatetime": "vehiclecount", "TIMESTAMP": "avgSpeed"}
"""The columns with the time of a reading, and with its value."""
_BLOCK: Final = re.compile(r"\bstream\s*(<[^>]*>)\s*\[range\s*(\d+)\s*(ms|s)\s*\]", re.IGNORECASE)
_FROM: Final = re.compile(r"^from named.*$", re.IGNORECASE | re.MULTILINE)

Row = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Element:
    """A reading of a sensor: its stream, its time in milliseconds, and its triples."""

    stream: str
    time: int
    text: str


def query(name: str) -> str:
    """The text of a query in the dialect of CQELS."""
    return (FOLDER / "cqels_query" / f"{name}.txt").read_text("utf-8")


def streams(text: str) -> list[str]:
    """The streams that a query reads."""
    return [found[1].strip("<>") for found in _BLOCK.finditer(text)]


@cache
def repository() -> ox.Store:
    """The sensors of the city, in a default graph."""
    store = ox.Store()
    store.load(path=str(REPOSITORY), format=ox.RdfFormat.TURTLE)
    return store


def elements(iri: str, most: int) -> Iterator[Element]:
    """The first readings of a sensor as its engine publishes them, in the order of their times."""
    name = iri.removeprefix(SERVICES)
    path = FOLDER / "streams" / f"{name}.stream"
    observes = ox.NamedNode(f"{SSN}observes")
    found = repository().quads_for_pattern(ox.NamedNode(iri), observes, None)
    observed = sorted(str(quad.object) for quad in found)
    with path.open(encoding="utf-8", newline="") as lines:
        readings = sorted(_readings(csv.DictReader(lines)))
    for number, (time, value) in enumerate(islice(readings, most)):
        observations = (
            _observation(f"<urn:observation:{name}:{number}:{place}>", each, iri, value)
            for place, each in enumerate(observed)
        )
        yield Element(iri, time, "".join(observations))


def _observation(node: str, observed: str, sensor: str, value: int) -> str:
    """What a sensor has observed of one property."""
    return (
        f"{node} <{RDF_TYPE}> <{SSN}Observation> .\n"
        f"{node} <{SSN}observedProperty> {observed} .\n"
        f"{node} <{SSN}observedBy> <{sensor}> .\n"
        f'{node} <{SAO}hasValue> "{value}"^^<{INTEGER}> .\n'
    )


def _readings(rows: csv.DictReader[str]) -> Iterator[tuple[int, int]]:
    for row in rows:
        column = next(each for each in _TIMES if each in row)
        moment = datetime.fromisoformat(row[column]).replace(tzinfo=UTC)
        yield round(moment.timestamp() * 1000), int(row[_TIMES[column]])


def answers(text: str, given: Sequence[Element]) -> Iterator[tuple[int, Counter[Row]]]:
    """What is new at each element, by pyoxigraph over the same windows; nothing new is left out.

    Patterns outside GRAPH and STREAM see the repository, which is the default graph.
    """
    widths = {
        found[1].strip("<>"): int(found[2]) * (1 if found[3].lower() == "ms" else 1000)
        for found in _BLOCK.finditer(text)
    }
    plain = _FROM.sub("", _BLOCK.sub(r"graph \1 ", text))
    store = ox.Store()
    store.bulk_extend(repository())
    for name, path in GRAPHS.items():
        if f"<{name}>" in text:
            graph = ox.NamedNode(f"http://base.example/{name}")
            store.load(path=str(path), format=ox.RdfFormat.TURTLE, to_graph=graph)
    before = Counter[Row]()
    for position, element in enumerate(given):
        for stream, width in widths.items():
            graph = ox.NamedNode(stream)
            store.clear_graph(graph)
            for each in given[: position + 1]:
                if each.stream == stream and element.time - width < each.time <= element.time:
                    store.load(each.text, format=ox.RdfFormat.N_TRIPLES, to_graph=graph)
        found = store.query(plain, base_iri="http://base.example/")
        assert isinstance(found, ox.QuerySolutions)
        now = Counter(tuple(_shown(value) for value in solution) for solution in found)
        if now - before:
            yield element.time, now - before
        before = now


def _shown(value: object) -> str | None:
    return None if value is None else str(value)


def files(text: str) -> dict[str, Path]:
    """The files of the graphs that a query names."""
    return {name: path for name, path in GRAPHS.items() if f"<{name}>" in text}
