"""What the experiments of the CQELS paper share: queries, static data, engines that are timed."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time

import _systemx
from _dblp import STREAM, Graph, Updates, attendees, author_name, conference, graph

from headrace import Engine, Evaluation, Store
from headrace.kernel.matches import Matches
from headrace.pipeline.static import StaticFile, StaticFiles
from headrace.rdf.terms import Iri, Literal, Term
from headrace.registered import Query

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "papers"
SINGLE = ("q1", "q2", "q3", "q4")
MANY = ("q1p", "q2p", "q3p", "q4p")
SEED = 0
FULL = 31
"""After so many seconds of stream, windows of 30 seconds are full."""
AT_ONCE = 1000
"""So many updates go into a step while windows are filled."""

Clock = Callable[[], float]
CLOCKS: Mapping[str, Clock] = {"wall": perf_counter, "cpu": process_time}
"""The clock on the wall, or what all threads of this process have worked."""
Answers = Counter[tuple[int, tuple[str, ...]]]
"""When, in milliseconds, and what."""


def shown(query: str) -> str:
    """The name of a query as the paper prints it."""
    return query.upper().replace("P", "'")


def text_of(query: str) -> str:
    """The text of one of the paper's queries, mended."""
    return next(iter(sorted(EXAMPLES.glob(f"cqels-{query}-*[!m].cqels")))).read_text("utf-8")


def instances(query: str, people: Sequence[int]) -> list[str]:
    """A query with a place to fill in, for each of some people."""
    text = text_of(query)
    return [text.replace("$Author Name$", author_name(each)) for each in people]


@dataclass(frozen=True)
class World:
    """A graph, the same as static data, and what happens at a conference."""

    graph: Graph
    store: Store
    updates: Updates
    people: Sequence[int]
    rate: int
    clock: Clock = perf_counter

    @property
    def full(self) -> int:
        """How many updates fill the windows."""
        return FULL * self.rate


def made(
    triples: int, rate: int, seconds: float, folder: Path, clock: Clock = perf_counter
) -> World:
    """A world of some size; its static data are encoded once, and kept in a folder."""
    found = graph(triples)
    people = attendees(found, rate)
    updates = conference(people, rate, seconds)
    return World(found, encoded(found, triples, folder), updates, people.tolist(), rate, clock)


def encoded(found: Graph, triples: int, folder: Path) -> Store:
    """Static data as a store."""
    path = folder / f"dblp-{triples}.nq"
    if not path.exists():
        found.write(path)
    data = StaticFiles([StaticFile(path)], folder / "encoded", SEED).current()
    store = Store(seed=SEED)
    store.use(data)
    return store


@dataclass
class Running:
    """An engine with some queries, at some place in a stream.

    Attributes:
        world: what it is about.
        engine: the engine.
        queries: what is registered.
        place: how many updates it has taken.
        rows: how many rows were reported.
        registering: how many seconds it took to register them.
    """

    world: World
    engine: Engine
    queries: list[Query]
    registering: float
    place: int = 0
    rows: int = 0

    @classmethod
    def of(
        cls, world: World, texts: Sequence[str], settings: Mapping[str, str] | None = None
    ) -> Running:
        """Register queries with an engine that has the static data."""
        engine = Engine(settings=settings, clock=None, seed=SEED)
        engine.static = world.store
        engine.stream(STREAM)
        began = perf_counter()
        queries = [engine.register(text) for text in texts]
        found = cls(world, engine, queries, perf_counter() - began)
        for query in queries:
            query.on_result(found.count)
        return found

    def count(self, evaluation: Evaluation) -> None:
        """Take note of rows; their terms are texts in columns until somebody looks at them."""
        self.rows += len(evaluation.rows)

    def fill(self) -> float:
        """Take what fills the windows; how many seconds that took."""
        began = perf_counter()
        while self.place < self.world.full:
            self.take(min(AT_ONCE, self.world.full - self.place))
        return perf_counter() - began

    def take(self, number: int) -> float:
        """Take some updates in one step; how many seconds that took."""
        data = self.world.updates.timed(self.place, self.place + number)
        self.place += number
        began = self.world.clock()
        self.engine.stream(STREAM).feed_timed(data)
        self.engine.step()
        taken = self.world.clock() - began
        for query in self.queries:
            assert query.error is None, f"{query.name} has stopped: {query.error}"
        return taken

    def timed(self, batch: int, steps: int) -> float:
        """The mean microseconds of an update, in so many steps of so many updates."""
        gc.collect()
        return sum(self.take(batch) for _ in range(steps)) / (batch * steps) * 1e6


@contextmanager
def routing_timed(clock: Clock) -> Iterator[list[float]]:
    """Collect the seconds that are spent on routes: counting, costs, and the choice."""
    spent: list[float] = []
    original = Matches.route

    def timed(self: Matches, *asked: object) -> tuple[int, ...]:
        began = clock()
        found = original(self, *asked)  # type: ignore[arg-type]  # passed on as they are
        spent.append(clock() - began)
        return found

    Matches.route = timed  # type: ignore[method-assign, assignment]  # for the time being
    try:
        yield spent
    finally:
        Matches.route = original  # type: ignore[method-assign]  # as it was


# -- the base line, and whether it says the same ---------------------------------------------


class BaseLine:
    """System X at some place in a stream."""

    def __init__(self, system: _systemx.SystemX, world: World, warm: int) -> None:
        """Fill its windows, and with some updates its caches."""
        self.system, self.world = system, world
        system.fill(_systemx.texts(world.updates, 0, world.full))
        self.place = world.full
        self.timed(warm)

    def timed(self, updates: int) -> float:
        """The mean microseconds of an update."""
        data = self.world.updates.timed(self.place, self.place + updates)
        self.place += updates
        gc.collect()
        began = self.world.clock()
        for update in _systemx.read(data):
            self.system.take(*update)
        return (self.world.clock() - began) / updates * 1e6


def differences(query: str, world: World, batch: int) -> tuple[int, int]:
    """How many rows both systems report on all updates, and how many only one of them does."""
    who = world.people[:: max(1, len(world.people) // 5)]
    if query in SINGLE:
        system, texts = _systemx.single(query, world.graph), [text_of(query)]
    else:
        system, texts = _systemx.many(query, world.graph, list(who)), instances(query, who)
    theirs: Answers = Counter(_systemx.answers(system, _systemx.texts(world.updates)))
    total, extra = 0, 0
    for settings in ({}, {"rules.adapt_routes": "off"}):
        ours = answers(world, texts, settings, batch)
        total = ours.total()
        extra += ((ours - theirs) + (theirs - ours)).total()
    return total, extra


def answers(world: World, texts: Sequence[str], settings: Mapping[str, str], batch: int) -> Answers:
    """What an engine reports on all updates."""
    running = Running.of(world, texts, settings)
    found: Answers = Counter()
    for query in running.queries:
        query.on_result(
            lambda each: found.update(
                (each.at // 1000, tuple(map(plain, row))) for row in each.rows
            )
        )
    while running.place < len(world.updates):
        running.take(min(batch, len(world.updates) - running.place))
    running.engine.finish()
    return found


def plain(term: Term | None) -> str:
    """A term as System X has it."""
    match term:
        case Iri(value):
            return value
        case Literal(lexical):
            return lexical
        case _:
            raise AssertionError(f"no such term is expected: {term}")
