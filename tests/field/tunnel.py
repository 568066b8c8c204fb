"""The tunnel ventilation scenario as streams of text, and what its queries give by plain Python."""

from __future__ import annotations

import csv
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import product
from math import erfc, exp, pi, sqrt
from types import ModuleType

from headrace.algebra.reporting import Bounds
from tests.shared import DATA, ROOT

OBSERVATIONS = DATA / "rspu-tvs" / "observations.csv"
THRESHOLDS = (0, 0.2, 0.4, 0.6, 0.8, 1)
STREAMS = ("ox1", "ox2", "temp1", "temp2")


def scenario() -> ModuleType:
    """The generator of the benchmark, which stands beside it."""
    folder = str(ROOT / "benchmarks")
    if folder not in sys.path:
        sys.path.append(folder)
    return import_module("_tvs")


@cache
def streams() -> dict[str, str]:
    """The observations that were written down, as timed N-Quads."""
    made = scenario()
    texts: dict[str, list[str]] = {stream: [] for stream in STREAMS}
    for observation in made.from_csv(OBSERVATIONS):
        texts[observation.stream].append(made.timed(observation))
    return {f"http://example.org/{stream}": "".join(text) for stream, text in texts.items()}


# -- the same by plain Python ------------------------------------------------------------------


@dataclass(frozen=True)
class Said:
    """What a sensor said of a sector."""

    second: int
    value: float
    text: str


@cache
def said() -> dict[str, dict[int, list[Said]]]:
    found: dict[str, dict[int, list[Said]]] = {name: defaultdict(list) for name in STREAMS}
    with OBSERVATIONS.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            one = Said(int(row["t_s"]), float(row["value"]), row["value"])
            found[row["stream"]][int(row["location"])].append(one)
    return found


def normal_below(limit: float, mean: float, variance: float) -> float:
    return erfc(-(limit - mean) / sqrt(2 * variance)) / 2


def uniform_below(limit: float, low: float, high: float) -> float:
    return min(max((limit - low) / (high - low), 0.0), 1.0)


def oxygen_low(stream: str, value: float) -> float:
    if stream == "ox1":
        return uniform_below(0.18, value - 0.01, value + 0.01)
    return normal_below(0.18, value, 0.005)


def hot(stream: str, value: float) -> float:
    if stream == "temp1":
        return 1 - uniform_below(30, value - 2, value + 2)
    return normal_below(-30, -value, 0.5)


def uniform_below_normal(low: float, high: float, mean: float, variance: float) -> float:
    """By the integral of the normal distribution function, which is closed."""
    deviation = sqrt(variance)

    def area(z: float) -> float:
        return z * erfc(z / sqrt(2)) / 2 - exp(-z * z / 2) / sqrt(2 * pi)

    rise = area((high - mean) / deviation) - area((low - mean) / deviation)
    return rise * deviation / (high - low)


Row = tuple[str, ...]


def held(stream: str, sector: int, instant: int, width: int, bounds: Bounds) -> list[Said]:
    start = instant - width
    return [
        each
        for each in said()[stream].get(sector, [])
        if (
            start < each.second <= instant
            if bounds is Bounds.OPEN_CLOSED
            else start <= each.second < instant
        )
    ]


def rows(
    instant: int,
    windows: dict[str, int],
    bounds: Bounds,
    kept: dict[str, Callable[[float], bool]],
    condition: Callable[..., bool] = lambda *_: True,
) -> Counter[Row]:
    """The rows of a join of streams by sector: how often each is there."""
    found: Counter[Row] = Counter()
    for sector in range(100):
        sides = [
            [
                each
                for each in held(stream, sector, instant, width, bounds)
                if kept[stream](each.value)
            ]
            for stream, width in windows.items()
        ]
        for combined in product(*sides):
            if condition(*(each.value for each in combined)):
                found[(str(sector), *(each.text for each in combined))] += 1
    return found


def expected(query: str, threshold: float, instant: int, bounds: Bounds) -> Counter[Row]:
    """What a query gives at an instant."""
    match query:
        case "q1":
            return rows(
                instant,
                {"ox2": 10, "temp2": 10},
                bounds,
                {
                    "ox2": lambda value: oxygen_low("ox2", value) >= threshold,
                    "temp2": lambda value: value > 30,
                },
            )
        case "q2":
            return rows(
                instant,
                dict.fromkeys(STREAMS, 5),
                bounds,
                {
                    "ox1": lambda value: value < 0.21 and oxygen_low("ox1", value) >= threshold,
                    "ox2": lambda value: value < 0.21 and oxygen_low("ox2", value) >= threshold,
                    "temp1": lambda value: value > 27 and hot("temp1", value) >= threshold,
                    "temp2": lambda value: value > 27 and hot("temp2", value) >= threshold,
                },
            )
        case _:
            return rows(
                instant,
                {"ox1": 1, "ox2": 1, "temp1": 1},
                bounds,
                {
                    "ox1": lambda _: True,
                    "ox2": lambda _: True,
                    "temp1": lambda value: value > 30,
                },
                lambda one, other, _: _differ(one, other, threshold),
            )


def _differ(one: float, other: float, threshold: float) -> bool:
    less = uniform_below_normal(one - 0.01, one + 0.01, other, 0.005)
    return less >= threshold or 1 - less >= threshold


def experiments() -> ModuleType:
    """The benchmark itself, which counts calls."""
    scenario()  # it stands in the same folder
    return import_module("rspu")
