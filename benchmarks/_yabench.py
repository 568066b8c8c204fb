"""YABench's first experiment: weather stations, each of which reports its temperature every second.

An observation is seven triples; asked for are the temperatures above 50 degrees.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Final, TypeAlias

SSW: Final = "http://knoesis.wright.edu/ssw/"
OM_OWL: Final = f"{SSW}ont/sensor-observation.owl#"
WEATHER: Final = f"{SSW}ont/weather.owl#"
RDF_TYPE: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
XSD_FLOAT: Final = "http://www.w3.org/2001/XMLSchema#float"
STREAM: Final = "http://ex.org/streams/test"
INTERVAL: Final = 1000
DEGREES: Final = 100
LIMIT: Final = 50
PER_OBSERVATION: Final = 7

PREFIX: Final = f"PREFIX om-owl: <{OM_OWL}>\nPREFIX weather: <{WEATHER}>\n"
HEAD: Final = "SELECT ?sensor ?obs ?value"
BODY: Final = f"""{{
  ?obs om-owl:observedProperty weather:_AirTemperature ;
       om-owl:procedure ?sensor ;
       om-owl:result ?res .
  ?res om-owl:floatValue ?value .
  FILTER(?value > {LIMIT}.0)
}}"""

Observation: TypeAlias = tuple[int, int, str]
"""A station, a time in milliseconds, and what was measured."""


def continuous(width: int, slide: int) -> str:
    """The query as C-SPARQL, for a window of so many milliseconds."""
    frame = f"[RANGE {width}ms STEP {slide}ms]"
    return f"REGISTER QUERY warm AS {PREFIX}{HEAD} FROM STREAM <{STREAM}> {frame} WHERE {BODY}"


def generated(stations: int, duration: int) -> Iterator[Observation]:
    """What stations measure that each began at some moment of the first second."""
    chance = Random(1430236906)
    offsets = sorted((chance.randrange(INTERVAL), station) for station in range(stations))
    # As in YABench, the first observation of all is at 0, wherever its station's second begins.
    yield offsets[0][1], 0, f"{chance.randrange(DEGREES)}.0"
    for second in range(0, duration + 1, INTERVAL):
        for position, (offset, station) in enumerate(offsets):
            if (position or second) and second + offset <= duration:
                yield station, second + offset, f"{chance.randrange(DEGREES)}.0"


def observation_iri(station: int, time: int) -> str:
    """What an observation is called."""
    return f"{SSW}Observation_AirTemperature_A{station}_{time}"


def lines(observation: Observation) -> Iterator[str]:
    """The seven triples of an observation."""
    station, time, value = observation
    seen = f"<{observation_iri(station, time)}>"
    result = f"<{SSW}MeasureData_AirTemperature_A{station}_{time}>"
    for subject, predicate, written in (
        (seen, RDF_TYPE, f"<{WEATHER}TemperatureObservation>"),
        (seen, f"{OM_OWL}observedProperty", f"<{WEATHER}_AirTemperature>"),
        (seen, f"{OM_OWL}procedure", f"<{SSW}System_A{station}>"),
        (seen, f"{OM_OWL}result", result),
        (result, RDF_TYPE, f"<{OM_OWL}MeasureData>"),
        (result, f"{OM_OWL}floatValue", f'"{value}"^^<{XSD_FLOAT}>'),
        (result, f"{OM_OWL}uom", f"<{WEATHER}fahrenheit>"),
    ):
        yield f"{time}\t{subject} <{predicate}> {written} .\n"
