"""The tunnel ventilation scenario of the RSP-QL* paper: its sensors, their streams, its queries.

A thousand sectors, with two oxygen and two temperature sensors each; every sensor says something
once a second. Of half the sensors static data say how exact they are; those of the other half say
it with each value. 95 in 100 values are within what is allowed.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

DATA = "http://example.org/data/"
ONTOLOGY = "http://example.org/ontology/"
SOSA = "http://www.w3.org/ns/sosa/"
RSPU = "http://w3id.org/rsp/rspu#"
XSD = "http://www.w3.org/2001/XMLSchema#"
RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"
STREAMS = ("ox1", "ox2", "temp1", "temp2")
SENSORS = {
    "ox1": ("OxygenSensor1", "OxygenSensorType1", "oxygen"),
    "ox2": ("OxygenSensor2", "OxygenSensorType2", "oxygen"),
    "temp1": ("TemperatureSensor1", "TemperatureSensorType1", "temperature"),
    "temp2": ("TemperatureSensor2", "TemperatureSensorType2", "temperature"),
}
STATIC_UNCERTAINTY = {"ox1": "U(-0.01,0.01)", "temp1": "U(-2,2)"}
STREAM_UNCERTAINTY = {"ox2": "N(0,0.005)", "temp2": "N(0,0.5)"}
ALLOWED = {"oxygen": (0.18, 0.25), "temperature": (21.0, 30.0)}
"""Between what values are as they should be; too little oxygen or too much heat is not."""
BEYOND = {"oxygen": (0.17, 0.18), "temperature": (30.0, 31.0)}
WITHIN = 0.95
"""How many values are as they should be."""
QUERIES = Path(__file__).resolve().parents[1] / "examples" / "papers"


@dataclass(frozen=True, slots=True)
class Observation:
    """What one sensor said."""

    stream: str
    sector: int
    second: int
    value: str


def made(sectors: int = 1000, seconds: int = 20, seed: int = 20210301) -> Iterator[Observation]:
    """Observations of all sensors, second by second."""
    random = np.random.default_rng(seed)
    for second in range(seconds):
        for stream in STREAMS:
            kind = SENSORS[stream][2]
            inside = random.random(sectors) < WITHIN
            allowed = random.uniform(*ALLOWED[kind], sectors)
            beyond = random.uniform(*BEYOND[kind], sectors)
            for sector, value in enumerate(np.where(inside, allowed, beyond)):
                yield Observation(stream, sector, second, f"{value:.6f}")


def from_csv(path: Path) -> Iterator[Observation]:
    """Observations that were written down."""
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            yield Observation(row["stream"], int(row["location"]), int(row["t_s"]), row["value"])


def timed(observation: Observation) -> str:
    """An observation as one element of timed N-Quads: its graph holds all that is said."""
    stream, sector, second = observation.stream, observation.sector, observation.second
    _, sensor, kind = SENSORS[stream]
    graph = f"<{DATA}graph/{stream}_{sector}#{second}>"
    subject = f"<{DATA}observation/{stream}/{sector}#{second}>"
    value = f'"{observation.value}"^^<{XSD}decimal>'
    stated = f"{subject} <{SOSA}hasSimpleResult> {value}"
    said = [
        f"{subject} {RDF_TYPE} <{SOSA}Observation>",
        f"{subject} <{SOSA}observedProperty> <{DATA}{kind}/{sector}>",
        f"{subject} <{SOSA}hasFeatureOfInterest> <{DATA}location/{sector}>",
        f"{subject} <{SOSA}madeBySensor> <{DATA}sensor/{sensor}#{sector}>",
        stated,
    ]
    if stream in STREAM_UNCERTAINTY:
        exactness = f'"{STREAM_UNCERTAINTY[stream]}"^^<{RSPU}distribution>'
        said.append(f"<< {stated} >> <{RSPU}uncertainty> {exactness}")
    return "".join(f"{second * 1000}\t{each} {graph} .\n" for each in said)


def static(sectors: int = 1000) -> str:
    """What is known of sectors, properties and sensors, as N-Triples."""
    lines = []
    for stream, (sensor, _, _) in SENSORS.items():
        lines.append(f"<{ONTOLOGY}{sensor}> {RDF_TYPE} <{SOSA}Sensor>")
        if stream in STATIC_UNCERTAINTY:
            exactness = f'"{STATIC_UNCERTAINTY[stream]}"^^<{RSPU}distribution>'
            lines.append(f"<{ONTOLOGY}{sensor}> <{RSPU}uncertainty> {exactness}")
    for sector in range(sectors):
        place = f"<{DATA}location/{sector}>"
        lines += [
            f"{place} {RDF_TYPE} <{SOSA}FeatureOfInterest>",
            f"{place} {RDF_TYPE} <{ONTOLOGY}TunnelSector>",
            f'{place} {LABEL} "Sector {sector}"',
        ]
        for kind in ("oxygen", "temperature"):
            lines += [
                f"<{DATA}{kind}/{sector}> {RDF_TYPE} <{SOSA}ObservableProperty>",
                f'<{DATA}{kind}/{sector}> {LABEL} "{kind} in sector {sector}"',
            ]
        for sensor, name, kind in SENSORS.values():
            subject = f"<{DATA}sensor/{name}#{sector}>"
            lines += [
                f"{subject} {RDF_TYPE} <{SOSA}Sensor>",
                f"{subject} {RDF_TYPE} <{ONTOLOGY}{sensor}>",
                f"{subject} <{SOSA}observes> <{DATA}{kind}/{sector}>",
                f"{subject} <{ONTOLOGY}location> {place}",
            ]
    return "".join(f"{line} .\n" for line in lines)


def query(name: str, threshold: float | None = None) -> str:
    """A query by its name, such as q2b, with a probability in place of 0.8."""
    text = (QUERIES / f"rspu-{name}.rspql").read_text(encoding="utf-8")
    if threshold is None:
        return text
    return text.replace(">= 0.8", f">= {threshold}").replace(f"<{name}>", f"<{name}-{threshold}>")


def early_binds(text: str) -> str:
    """A query whose values are bound in a group before the last of three windows is joined.

    So 6a is written in print, but for what its group can see.
    """
    head, _, body = text.partition("WHERE {\n")
    windows, _, rest = body.partition("  WINDOW <w3>")
    last, _, binds = rest.partition("  BIND")
    return f"{head}WHERE {{\n {{\n{windows}  BIND{binds.rstrip()[:-1]} }}\n  WINDOW <w3>{last}}}\n"


CARDINALITIES = {
    "join_001": 0.01,
    "join_01": 0.1,
    "join_1": 1.0,
    "join_10": 10.0,
    "join_100": 100.0,
}
"""How many events of the second stream an event of the first is joined with."""


def events(per_second: int, seconds: int, seed: int = 7) -> tuple[str, str]:
    """The two streams of the follow-up experiment, as timed N-Quads.

    Values are spread evenly between 0 and 100, so that a threshold is a selectivity in percent.
    """
    random = np.random.default_rng(seed)
    sides: tuple[list[str], list[str]] = ([], [])
    for second in range(seconds):
        values = random.uniform(0, 100, (2, per_second))
        for place in range(per_second):
            partners = {
                join: _partners(random, cardinality, per_second)
                for join, cardinality in CARDINALITIES.items()
            }
            for side in (0, 1):
                links = partners if side == 0 else {}
                sides[side].append(_event(side, second, place, values[side, place], links))
    return "".join(sides[0]), "".join(sides[1])


def _partners(random: np.random.Generator, cardinality: float, among: int) -> list[int]:
    if cardinality < 1:
        return [int(random.integers(among))] if random.random() < cardinality else []
    count = min(int(cardinality), among)
    return [int(each) for each in random.choice(among, count, replace=False)]


def _event(side: int, second: int, place: int, value: float, links: dict[str, list[int]]) -> str:
    name = f"{side + 1}/{second}/{place}"
    subject, graph = f"<{DATA}event/{name}>", f"<{DATA}graph/{name}>"
    stated = f'{subject} <{SOSA}hasSimpleResult> "{value:.6f}"^^<{XSD}decimal>'
    said = [stated, f'<< {stated} >> <{RSPU}uncertainty> "U(-1,1)"^^<{RSPU}distribution>']
    said += [
        f"{subject} <{ONTOLOGY}{join}> <{DATA}event/2/{second}/{other}>"
        for join, others in links.items()
        for other in others
    ]
    return "".join(f"{second * 1000}\t{each} {graph} .\n" for each in said)
