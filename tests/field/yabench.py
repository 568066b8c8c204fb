"""YABench: its fixtures and generated streams, and what each window of them holds."""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import TypeAlias

from headrace.rdf.terms import Iri, Literal, Term
from tests.shared import DATA

FOLDER = DATA / "yabench"
STREAMS = DATA / "yabench-streams"
FIXTURES = FOLDER / "yabench-oracle/src/test/resources/io/github/yabench/oracle"
STREAM = "http://ex.org/streams/test"

SSW = "http://knoesis.wright.edu/ssw/"
OM_OWL = f"{SSW}ont/sensor-observation.owl#"
WEATHER = f"{SSW}ont/weather.owl#"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
XSD_FLOAT = "http://www.w3.org/2001/XMLSchema#float"

BOUNDS = {"[)": "[a,b)", "(]": "(a,b]", "[]": "[a,b]"}
"""Our names of the boundary rules, and theirs."""
TEMPERATURE, VARIATION = 50.0, 0.0
"""TEMP and VARIATION_THRESHOLD in the configurations of YABench-One."""

Statement: TypeAlias = tuple[str, str, str]
"""The canonical N-Triples form of its terms."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What a station measured at a time, in milliseconds."""

    station: int
    time: int
    value: str

    @property
    def name(self) -> str:
        return f"Observation_AirTemperature_A{self.station}_{self.time}"

    @property
    def lines(self) -> Iterator[str]:
        """Its seven triples, as timed N-Quads."""
        seen = f"<{SSW}{self.name}>"
        result = f"<{SSW}MeasureData_AirTemperature_A{self.station}_{self.time}>"
        for subject, predicate, value in (
            (seen, RDF_TYPE, f"<{WEATHER}TemperatureObservation>"),
            (seen, f"{OM_OWL}observedProperty", f"<{WEATHER}_AirTemperature>"),
            (seen, f"{OM_OWL}procedure", f"<{SSW}System_A{self.station}>"),
            (seen, f"{OM_OWL}result", result),
            (result, RDF_TYPE, f"<{OM_OWL}MeasureData>"),
            (result, f"{OM_OWL}floatValue", f'"{self.value}"^^<{XSD_FLOAT}>'),
            (result, f"{OM_OWL}uom", f"<{WEATHER}fahrenheit>"),
        ):
            yield f"{self.time}\t{subject} <{predicate}> {value} .\n"


@dataclass(frozen=True, slots=True)
class Digest:
    """The answer of a window, in short; times in milliseconds."""

    opens: int
    closes: int
    rows: int
    sha256: str


@cache
def observations(experiment: str) -> tuple[Observation, ...]:
    """A generated stream, such as `E1_small`, in the order of time."""
    with gzip.open(STREAMS / f"{experiment}.csv.gz", "rt", newline="") as file:
        return tuple(
            Observation(int(each["station"]), int(each["t_ms"]), each["value"])
            for each in csv.DictReader(file)
        )


@cache
def timed(experiment: str) -> str:
    """A generated stream as timed N-Quads: every triple is an element."""
    return "".join(line for each in observations(experiment) for line in each.lines)


def expected(experiment: str, width: int, slide: int, bounds: str) -> list[Digest]:
    """The published windows of an experiment."""
    content = json.loads((STREAMS / f"{experiment}.expected.json").read_text())
    windows = content["windows"][f"range{width}_slide{slide}_{BOUNDS[bounds]}"]
    return [Digest(each["open"], each["close"], each["rows"], each["sha256"]) for each in windows]


def computed(experiment: str, width: int, slide: int, bounds: str) -> list[Digest]:
    """The windows of an experiment by plain arithmetic: all that hold an element, and between."""
    seen = observations(experiment)
    first, last = seen[0].time, seen[-1].time
    # Without the lower end the earliest element is in no window that opens with it, and so on.
    close = -(-first // slide) * slide + (slide if bounds == "[)" and not first % slide else 0)
    end = last + width - (1 if bounds == "(]" else 0)
    return [
        digest(
            closes - width, closes, ANSWERS[experiment[:2]](_within(seen, closes, width, bounds))
        )
        for closes in range(close, end + 1, slide)
    ]


def digest(opens: int, closes: int, lines: Iterable[str]) -> Digest:
    """An answer in short, from the lines of its rows."""
    ordered = sorted(lines)
    hashed = sha256("\n".join(ordered).encode()).hexdigest()
    return Digest(opens, closes, len(ordered), hashed)


def line(terms: Iterable[Term | None]) -> str:
    """A row as the digests have it."""
    return "\t".join(map(_short, terms))


def _short(term: Term | None) -> str:
    match term:
        case Iri(value):
            return value.removeprefix(SSW)
        case Literal(lexical):
            return lexical
        case _:
            return str(term)


def _within(
    seen: Sequence[Observation], closes: int, width: int, bounds: str
) -> Sequence[Observation]:
    opens = closes - width
    return [
        each
        for each in seen
        if (opens < each.time < closes)
        or (each.time == opens and bounds[0] == "[")
        or (each.time == closes and bounds[1] == "]")
    ]


def _filtered(seen: Sequence[Observation]) -> Iterator[str]:
    for each in seen:
        if float(each.value) > TEMPERATURE:
            yield f"System_A{each.station}\t{each.name}\t{each.value}"


def _varied(seen: Sequence[Observation]) -> Iterator[str]:
    stations = sorted(seen, key=lambda each: each.station)
    for station, group in groupby(stations, key=lambda each: each.station):
        members = list(group)
        for one in members:
            for other in members:
                if float(one.value) - float(other.value) > VARIATION:
                    yield f"System_A{station}\t{one.name}\t{one.value}\t{other.name}"


ANSWERS: dict[str, Callable[[Sequence[Observation]], Iterator[str]]] = {
    "E1": _filtered,
    "E3": _varied,
}


def query(test: str, width: int, slide: int) -> str:
    """The text of a test such as `csparql_Q1_1`, with its parameters filled in."""
    return filled(FOLDER / "tests" / test / "engine.query", WSIZE=f"{width}ms", WSLIDE=f"{slide}ms")


def filled(template: Path, **windows: str) -> str:
    """A query with its parameters filled in."""
    values = {"TEMP": TEMPERATURE, "VARIATION_THRESHOLD": VARIATION, **windows}
    return re.sub(r"\$\{(\w+)\}", lambda found: str(values[found[1]]), template.read_text())


# -- the fixtures: a statement a line, its time after it as a literal -----------------------------

_LINE = re.compile(r'(<\S+>) (<\S+>) (?:(<\S+>)|(\S+)\^\^(<\S+>)) "(\d+)" \.')


def fixture(path: Path) -> list[tuple[int, Statement]]:
    """The statements of a file and their times, in its order."""
    found = []
    for text in path.read_text().splitlines():
        parts = _LINE.fullmatch(text)
        assert parts, text
        subject, predicate, name, number, datatype, time = parts.groups()
        found.append((int(time), (subject, predicate, name or f'"{number}"^^{datatype}')))
    return found


def fixture_as_timed(path: Path) -> str:
    """The statements of a file as timed N-Quads."""
    return "".join(f"{time}\t{' '.join(statement)} .\n" for time, statement in fixture(path))
