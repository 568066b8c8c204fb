"""What the demos are made of. Their elements follow from the second alone: always the same."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

SEED: Final = 23


@dataclass(frozen=True, slots=True)
class DemoStream:
    """A stream of a demo.

    Attributes:
        name: of the stream.
        iri: by which its query reads it.
        title: for people.
        elements: the statements of the elements of a second, each with its millisecond.
    """

    name: str
    iri: str
    title: str
    elements: Callable[[int], Iterator[tuple[int, str]]]


@dataclass(frozen=True, slots=True)
class Demo:
    """A stream that moves, with a query over it.

    Attributes:
        name: of the demo.
        title: for people.
        description: for people.
        stream: what moves.
        query: the name of the query.
        text: the query.
        graph: the name of its static data, if it has some.
        static: these, as Turtle.
    """

    name: str
    title: str
    description: str
    stream: DemoStream
    query: str
    text: str
    graph: str | None = None
    static: str = ""


def _chance(name: str, second: int) -> random.Random:
    return random.Random(f"{SEED}:{name}:{second}")


def _moments(chance: random.Random, number: int) -> list[int]:
    return sorted(chance.randrange(1000) for _ in range(number))


# -- tollgates -------------------------------------------------------------------------------------

_TRAFFIC: Final = "http://linkedurbandata.org/traffic#"
_GATES: Final = ("east", "north", "ring", "south", "west")


def _passages(second: int) -> Iterator[tuple[int, str]]:
    """Cars: a wave of two minutes goes round the city, from gate to gate."""
    chance = _chance("tollgates", second)
    turn = 2 * math.pi * second / 120
    weights = [1.2 + math.sin(turn + place * 1.3) for place in range(len(_GATES))]
    number = 8 + round(6 * (1 + math.sin(turn / 2)))
    for moment in _moments(chance, number):
        [gate] = chance.choices(_GATES, weights=weights)
        car = chance.randrange(2_000)
        yield moment, f"<{_TRAFFIC}{gate}> <{_TRAFFIC}registers> <{_TRAFFIC}car{car}> ."


_TOLLGATES: Final = Demo(
    "tollgates",
    "Cars at tollgates",
    "Cars pass the tollgates of a city; how many have passed each in the last minute?",
    DemoStream("tollgates", "http://streams.org/citytollgates.trdf", "Tollgates", _passages),
    "passages-per-gate",
    """\
PREFIX t: <http://linkedurbandata.org/traffic#>

SELECT ?tollgate (COUNT(?car) AS ?passages)
FROM STREAM <http://streams.org/citytollgates.trdf> [RANGE 60s STEP 5s]
WHERE { ?tollgate t:registers ?car . }
GROUP BY ?tollgate
ORDER BY ?tollgate
""",
)


# -- a tunnel --------------------------------------------------------------------------------------

_TUNNEL: Final = "http://example.org/tunnel#"
_SOSA: Final = "http://www.w3.org/ns/sosa/"
_DOUBLE: Final = "http://www.w3.org/2001/XMLSchema#double"
_SENSORS: Final = 8


def _readings(second: int) -> Iterator[tuple[int, str]]:
    """Temperatures: every three minutes something hot drives through."""
    chance = _chance("tunnel", second)
    place = (second % 180) / 180 * (_SENSORS + 4) - 2
    for sensor in range(_SENSORS):
        heat = 9 * math.exp(-((sensor - place) ** 2) / 1.5)
        celsius = 14 + 0.4 * sensor + heat + chance.gauss(0, 0.3)
        observation = f"_:o{sensor}"
        yield (
            sensor * 1000 // _SENSORS,
            f"{observation} <{_SOSA}madeBySensor> <{_TUNNEL}sensor{sensor + 1}> .\n"
            f'{observation} <{_SOSA}hasSimpleResult> "{celsius:.2f}"^^<{_DOUBLE}> .',
        )


def _places() -> str:
    lines = [
        "@prefix : <http://example.org/tunnel#> .",
        "@prefix geo: <http://www.w3.org/2003/01/geo/wgs84_pos#> .",
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .",
    ]
    for sensor in range(_SENSORS):
        lat, long = 46.5265 + 0.0052 * sensor, 8.5675 - 0.0007 * sensor
        lines.append(
            f":sensor{sensor + 1} geo:lat {lat:.4f} ; geo:long {long:.4f} ; "
            f'rdfs:label "kilometre {2 * sensor + 1}" .'
        )
    return "\n".join(lines) + "\n"


_TUNNEL_DEMO: Final = Demo(
    "tunnel",
    "Sensors in a tunnel",
    "Thermometers in a road tunnel, with their places from static data; where is it hot?",
    DemoStream("tunnel", "http://example.org/tunnel/readings", "Thermometers", _readings),
    "tunnel-temperatures",
    """\
PREFIX sosa: <http://www.w3.org/ns/sosa/>
PREFIX geo: <http://www.w3.org/2003/01/geo/wgs84_pos#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>

SELECT ?label ?lat ?long (AVG(?celsius) AS ?temperature) (MAX(?celsius) AS ?highest)
FROM <http://example.org/tunnel/places>
FROM NAMED WINDOW <http://example.org/tunnel/w>
  ON <http://example.org/tunnel/readings> [RANGE PT20S STEP PT5S]
WHERE {
  ?sensor geo:lat ?lat ; geo:long ?long ; rdfs:label ?label .
  WINDOW <http://example.org/tunnel/w> {
    ?observation sosa:madeBySensor ?sensor ; sosa:hasSimpleResult ?celsius .
  }
}
GROUP BY ?label ?lat ?long
ORDER BY ?label
""",
    "http://example.org/tunnel/places",
    _places(),
)


# -- a conference ----------------------------------------------------------------------------------

_FLOOR: Final = "http://example.org/conference#"
_ROOMS: Final = ("Foyer", "Auditorium", "Workshop A", "Workshop B", "Posters", "Terrace")
_PEOPLE: Final = 120


def _sightings(second: int) -> Iterator[tuple[int, str]]:
    """Badges: people go from talks to coffee and back, everyone in a rhythm of their own."""
    chance = _chance("conference", second)
    for moment in _moments(chance, 15):
        person = chance.randrange(_PEOPLE)
        on_break = math.sin(2 * math.pi * second / 240) > 0.2  # noqa: PLR2004 - any share will do
        talk = 1 + (person + second // 300) % 3
        quiet = chance.choice((0, 4, 5)) if on_break else talk
        room = quiet if chance.random() < 0.85 else chance.randrange(len(_ROOMS))  # noqa: PLR2004
        yield moment, f"<{_FLOOR}person{person}> <{_FLOOR}seenIn> <{_FLOOR}room{room}> ."


def _rooms() -> str:
    lines = ["@prefix : <http://example.org/conference#> ."]
    lines += [
        f':room{number} :name "{name}" ; :seats {30 + 40 * (number == 1)} .'
        for number, name in enumerate(_ROOMS)
    ]
    return "\n".join(lines) + "\n"


_CONFERENCE: Final = Demo(
    "conference",
    "People at a conference",
    "Badges are seen in rooms, whose names are static data; how full is each room?",
    DemoStream("conference", "http://example.org/conference/badges", "Badges", _sightings),
    "people-per-room",
    """\
PREFIX : <http://example.org/conference#>

SELECT ?name (COUNT(DISTINCT ?person) AS ?people)
FROM NAMED <http://example.org/conference/rooms>
WHERE {
  GRAPH <http://example.org/conference/rooms> { ?room :name ?name . }
  STREAM <http://example.org/conference/badges> [RANGE 30s SLIDE 5s] { ?person :seenIn ?room . }
}
GROUP BY ?name
ORDER BY ?name
""",
    "http://example.org/conference/rooms",
    _rooms(),
)

DEMOS: Final = {each.name: each for each in (_TOLLGATES, _TUNNEL_DEMO, _CONFERENCE)}
