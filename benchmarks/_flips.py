"""A stream whose selectivities flip, and an engine that is held to one route.

Figure 3 of the CQELS paper, again and again: co-authors who meet. During a lecture all who are
heard are in one hall, and have written nothing: who looks at their co-authors first is done. During
a break those are heard who have written with thousands, in offices of four: who looks at who is in
the room first is done. Lectures and breaks take turns every 30 seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from statistics import mean, median

import numpy as np
from _cqels import Clock
from _dblp import LOC, STREAM, Numbers, author

from headrace import Engine, Store
from headrace.kernel.matches import Matches
from headrace.planning.routing import Leg, Router, Start
from headrace.rdf.terms import Iri, Quad

COAUTHOR = "http://example.org/coauthor"
QUERY = f"""
PREFIX loc: <{LOC}>
SELECT ?p ?q ?loc
FROM NAMED <{STREAM}> [NOW] AS ?now
FROM NAMED <{STREAM}> [RANGE 30 seconds] AS ?last
WHERE {{
  GRAPH ?now {{ ?p loc:at ?loc }} .
  GRAPH ?last {{ ?q loc:at ?loc }} .
  ?p <{COAUTHOR}> ?q .
}}"""
LEGS = ("who is in the room", "co-authors")
PHASE = 30
LISTENERS, WRITERS, COAUTHORS, OFFICE = 2000, 100, 4000, 4
"""Who are heard in lectures and in breaks, with how many one of these has written, and where."""
NEW_IN_NOW = 0
"""The pattern whose route is held."""


class Held(Router):
    """Takes one route, whatever it costs."""

    def __init__(self, legs: tuple[int, ...]) -> None:
        """Hold to a route of what is new in [NOW]; the other pattern goes as it is written."""
        super().__init__(adapts=False)
        self.legs = legs

    def route(self, pattern: int, start: Start, legs: Sequence[Leg]) -> tuple[int, ...]:
        """The route it holds to."""
        return self.legs if pattern == NEW_IN_NOW else super().route(pattern, start, legs)


def store() -> Store:
    """Who has written with whom: each writer with thousands, of whom few come."""
    made = Store()
    made.add(
        Quad(Iri(author(writer)), Iri(COAUTHOR), Iri(author(other)))
        for writer in range(WRITERS)
        for other in _coauthors(writer)
    )
    return made


def _coauthors(writer: int) -> Iterator[int]:
    yield from (each for each in range(WRITERS) if (each - writer) % OFFICE == 1)
    yield from range(10_000, 10_000 + COAUTHORS)


def stream(phases: str, rate: int, seed: int = 5) -> list[bytes]:
    """A second of timed N-Quads after the other; each phase is a (l)ecture or a (b)reak."""
    chance = np.random.default_rng(seed)
    lines = []
    for number, phase in enumerate(phases):
        for second in range(PHASE):
            start = 1 + 1000 * (number * PHASE + second)
            times = start + np.arange(rate) * 1000 // rate
            lines.append(_second(phase, times, chance))
    return lines


def _second(phase: str, times: Numbers, chance: np.random.Generator) -> bytes:
    if phase == "l":
        who = 5000 + chance.integers(LISTENERS, size=times.size)
        where = np.zeros(times.size, np.int64)
    else:
        who = chance.integers(WRITERS, size=times.size)
        where = 1 + who // OFFICE
    rows = zip(times.tolist(), who.tolist(), where.tolist(), strict=True)
    return "".join(
        f"{time}\t<{author(person)}> <{LOC}at> <{LOC}room{room}> .\n" for time, person, room in rows
    ).encode()


class Rider:
    """An engine that goes one way, or the way that costs least."""

    def __init__(self, static: Store, route: tuple[int, ...] | None, clock: Clock) -> None:
        """Register the query; with no route, it adapts."""
        self.clock = clock
        self.engine = Engine(clock=None)
        self.engine.static = static
        self.stream = self.engine.stream(STREAM)
        self.query = self.engine.register(QUERY)
        self.query.on_result(self._count)
        self.route = route
        self.rows = 0
        self.times: list[float] = []

    def _count(self, evaluation: object) -> None:
        self.rows += len(evaluation.rows)  # type: ignore[attr-defined]  # an evaluation

    def take(self, data: bytes) -> None:
        """Take some of the stream in one step."""
        began = self.clock()
        self.stream.feed_timed(data)
        self.engine.step()
        self.times.append(self.clock() - began)
        if self.route is not None:
            self._hold(self.route)

    def _hold(self, route: tuple[int, ...]) -> None:
        matches = self._matches()
        if not isinstance(matches.router, Held):
            matches.router = Held(route)

    def _matches(self) -> Matches:
        [query] = self.engine.runner.kernel.queries
        [matches] = query.matching.matches
        return matches

    def milliseconds(self) -> float:
        """Of a step: the median of each phase but the first, and the mean of these."""
        phases = range(PHASE, len(self.times), PHASE)
        return mean(median(self.times[start : start + PHASE]) for start in phases) * 1000

    @property
    def changes(self) -> int:
        """How often it has changed its route; of many, the last are counted."""
        return len(self._matches().router.changes)


@dataclass(frozen=True, slots=True)
class Flips:
    """Milliseconds of a step, by route, where lectures and breaks take turns or do not.

    Attributes:
        phases: what took turns.
        rate: updates a second, all of a second in one step.
        adaptive: of the engine that adapts.
        fixed: of one that is held to a route, by what is looked at first.
        changes: how often the route was changed.
        rows: reported, by all of them alike.
    """

    phases: str
    rate: int
    adaptive: float
    fixed: dict[str, float]
    changes: int
    rows: int

    @property
    def against_best(self) -> float:
        """How many times as long the best fixed route takes."""
        return min(self.fixed.values()) / self.adaptive

    @property
    def against_worst(self) -> float:
        """How many times as long the worst one takes."""
        return max(self.fixed.values()) / self.adaptive


def ridden(phases: str, rate: int, clock: Clock) -> Flips:
    """Let engines of all sorts take the same stream by turns; the first phase is not timed."""
    static = store()
    adaptive = Rider(static, None, clock)
    held = {route: Rider(static, route, clock) for route in permutations(range(len(LEGS)))}
    riders = [adaptive, *held.values()]
    seconds = stream(phases[0] + phases, rate)
    for second, data in enumerate(seconds):
        first = second % len(riders)  # who comes first finds nothing in the caches of the processor
        for each in riders[first:] + riders[:first]:
            each.take(data)
    assert len({each.rows for each in riders}) == 1, "all routes give the same answers"
    return Flips(
        phases,
        rate,
        adaptive.milliseconds(),
        {f"{LEGS[route[0]]} first": each.milliseconds() for route, each in held.items()},
        adaptive.changes,
        adaptive.rows,
    )
