"""System X, the base line of the CQELS paper: a relational table, a cache, and a fixed plan.

As the paper built it out of MySQL and ESPER. What a query asks of static data is computed when the
query is registered and put into a relational table, as texts, with B-tree indexes on the columns
that are joined (sqlite3, in memory). Each query looks rows up there through a cache of its own of
those used last. Windows are structures of Python that hold texts. Elements are taken one by one,
and every query has one plan: windows are joined first, in the order in which they are written, by a
hash index on the room; then the names of rooms and last the table are looked up.

It is kind in some ways: windows of one width are shared by all queries, and people who are heard
twice in a room are there once. There is no network between it and its input, and many elements are
read at once (pyoxigraph).
"""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import polars as pl
import pyoxigraph
from _dblp import ROOMS, Graph, Updates, author, author_name, room, room_name

Row = tuple[str, ...]
Lookup = Callable[..., list[Row]]
SECOND = 1000
CACHE = 10_000
"""So many lookups each query remembers."""


class Database:
    """Static bindings as tables of texts."""

    def __init__(self, cache: int = CACHE) -> None:
        """Begin with no tables."""
        self._sqlite = sqlite3.connect(":memory:")
        self._cache = cache

    def load(self, name: str, bindings: pl.DataFrame, keys: Iterable[str]) -> None:
        """Add a table with an index on its keys."""
        columns = bindings.columns
        self._sqlite.execute(f"CREATE TABLE {name} ({', '.join(f'{c} TEXT' for c in columns)})")
        places = ", ".join("?" * len(columns))
        self._sqlite.executemany(f"INSERT INTO {name} VALUES ({places})", bindings.iter_rows())
        self._sqlite.execute(f"CREATE INDEX {name}_index ON {name} ({', '.join(keys)})")

    def lookup(self, name: str, keys: Iterable[str], found: Iterable[str]) -> Lookup:
        """Finds some columns of rows by the keys of a table, through a cache."""
        where = " AND ".join(f"{key} = ?" for key in keys)
        text = f"SELECT {', '.join(found)} FROM {name} WHERE {where}"
        execute = self._sqlite.execute

        def look_up(*values: str) -> list[Row]:
            return execute(text, values).fetchall()

        return lru_cache(self._cache)(look_up)


@dataclass(slots=True)
class Window:
    """Who was heard where within some milliseconds."""

    width: int
    rooms: dict[str, Counter[str]] = field(default_factory=dict)
    _events: deque[tuple[int, str, str]] = field(default_factory=deque)

    def take(self, time: int, person: str, place: str) -> tuple[bool, list[tuple[str, str]]]:
        """Take an element: whether it says something new, and what is not there any more."""
        left = []
        while self._events and self._events[0][0] <= time - self.width:
            _, old, where = self._events.popleft()
            there = self.rooms[where]
            there[old] -= 1
            if not there[old]:
                del there[old]
                left.append((old, where))
        self._events.append((time, person, place))
        there = self.rooms.setdefault(place, Counter())
        there[person] += 1
        return there[person] == 1, left


@dataclass(frozen=True, slots=True)
class Arrival:
    """An element, and what it does to the window.

    Attributes:
        time: in milliseconds.
        person: who.
        place: where.
        is_new: whether nobody has said so within the width of the window.
        left: who is not where they were any more.
        rooms: who is where.
    """

    time: int
    person: str
    place: str
    is_new: bool
    left: list[tuple[str, str]]
    rooms: dict[str, Counter[str]]


class Statement(ABC):
    """A registered query."""

    @abstractmethod
    def take(self, arrival: Arrival) -> Counter[Row]:
        """The rows that are new with an element."""


@dataclass(slots=True)
class Located(Statement):
    """Who is where: one window joined with tables.

    Attributes:
        rows: finds the rows of a person in a room.
    """

    rows: Callable[[str, str], list[Row]]

    def take(self, arrival: Arrival) -> Counter[Row]:
        """The rows of who has come, less those of who has gone."""
        found = self.rows(arrival.person, arrival.place)
        if not arrival.is_new:
            return Counter()
        gone = Counter(row for left in arrival.left for row in self.rows(*left))
        return Counter(found) - gone


@dataclass(slots=True)
class Meeting(Statement):
    """Who meets whom: somebody who has just been heard, and all who were heard in the room.

    Attributes:
        pairs: finds the rows of two people in a room.
        answer: makes the answer of all rows that were found for this moment.
    """

    pairs: Callable[[str, str, str], list[Row]]
    answer: Callable[[list[Row]], Counter[Row]] = Counter
    _now: dict[tuple[str, str], None] = field(default_factory=dict)
    _time: int = -1
    _found: list[Row] = field(default_factory=list)
    _before: Counter[Row] = field(default_factory=Counter)

    def take(self, arrival: Arrival) -> Counter[Row]:
        """The rows of this moment that were not there a moment ago."""
        person, place = arrival.person, arrival.place
        if arrival.time != self._time:
            self._now, self._time, self._found = {}, arrival.time, []
        here = (person, place)
        if arrival.is_new:
            for other, where in self._now:
                if where == place:
                    self._found += self.pairs(other, person, place)
        if here not in self._now:
            self._now[here] = None
            for other in arrival.rooms[place]:
                self._found += self.pairs(person, other, place)
        answer = self.answer(self._found)
        new = answer - self._before
        self._before = answer
        return new


@dataclass(slots=True)
class Fullest(Statement):
    """Where most of some people are.

    Attributes:
        weight: how often a person counts.
        name: finds the names of a room.
    """

    weight: Callable[[str], int]
    name: Callable[[str], list[Row]]
    _counts: Counter[str] = field(default_factory=Counter)
    _before: Counter[Row] = field(default_factory=Counter)

    def take(self, arrival: Arrival) -> Counter[Row]:
        """The rooms that have become the fullest."""
        weight = self.weight(arrival.person)
        if arrival.is_new:
            self._counts[arrival.place] += weight
        for person, place in arrival.left:
            self._counts[place] -= self.weight(person)
        self._counts += Counter()  # drops what is not there any more
        most = max(self._counts.values(), default=0)
        full = [place for place, count in self._counts.items() if count == most]
        answer: Counter[Row] = Counter(
            (*name, str(most)) for place in full for name in self.name(place)
        )
        new = answer - self._before
        self._before = answer
        return new


class SystemX:
    """Windows, and statements that are told of every element."""

    def __init__(self, statements: list[Statement], width: int) -> None:
        """Begin with an empty window of some milliseconds."""
        self.statements = statements
        self.window = Window(width)

    def fill(self, updates: Iterable[tuple[int, str, str]]) -> None:
        """Take elements without asking anybody."""
        for update in updates:
            self.window.take(*update)

    def take(self, time: int, person: str, place: str) -> list[Counter[Row]]:
        """What is new in each statement with an element."""
        is_new, left = self.window.take(time, person, place)
        arrival = Arrival(time, person, place, is_new, left, self.window.rooms)
        return [statement.take(arrival) for statement in self.statements]


def texts(updates: Updates, start: int = 0, stop: int | None = None) -> list[tuple[int, str, str]]:
    """Elements as their time and two texts."""
    chosen = slice(start, stop)
    columns = (updates.times[chosen], updates.people[chosen], updates.places[chosen])
    triples = zip(*(each.tolist() for each in columns), strict=True)
    return [(time, author(person), room(place)) for time, person, place in triples]


def read(data: bytes) -> Iterator[tuple[int, str, str]]:
    """Elements of timed N-Quads as their time and two texts; read at once, which is fastest."""
    lines = [line.partition(b"\t") for line in data.splitlines()]
    statements = b"\n".join(statement for _, _, statement in lines)
    for (time, _, _), quad in zip(
        lines, pyoxigraph.parse(statements, pyoxigraph.RdfFormat.N_QUADS), strict=True
    ):
        assert isinstance(quad.subject, pyoxigraph.NamedNode), "a person"
        assert isinstance(quad.object, pyoxigraph.NamedNode), "a room"
        yield int(time), quad.subject.value, quad.object.value


# -- the static parts of the queries ---------------------------------------------------------


def _named(bindings: pl.DataFrame, **columns: str) -> pl.DataFrame:
    """Columns of texts out of columns of numbers of authors: who it is, or what they are called."""
    made = []
    for name, source in columns.items():
        number = pl.col(source.removesuffix(" name"))
        start = author_name(0)[:-1] if source.endswith(" name") else author(0)[:-1]
        made.append(pl.format(f"{start}{{}}", number).alias(name))
    others = [name for name in bindings.columns if bindings[name].dtype == pl.String]
    return bindings.select(*made, *others)


def _creators(made: Graph, paper: str, person: str) -> pl.DataFrame:
    papers, people = made.creators
    return pl.DataFrame({paper: papers, person: people})


def _references(made: Graph) -> pl.DataFrame:
    citing, cited = made.references
    return pl.DataFrame({"p1": citing, "p2": cited})


def coauthors(made: Graph) -> pl.DataFrame:
    """Two authors of a paper, for each paper."""
    return _creators(made, "p", "one").join(_creators(made, "p", "two"), on="p")


def cited(made: Graph, authors: pl.DataFrame | None = None) -> pl.DataFrame:
    """An author and one whom they cite, for each reference."""
    ours = _creators(made, "p1", "one")
    if authors is not None:
        ours = ours.join(authors, on="one")
    pairs = ours.join(_references(made), on="p1").join(_creators(made, "p2", "two"), on="p2")
    return pairs.select("one", "two", *(c for c in pairs.columns if c == "statement"))


def _people(made: Graph) -> pl.DataFrame:
    return pl.DataFrame({"one": range(made.authors)}, schema={"one": pl.Int64})


def _rooms(database: Database) -> Lookup:
    names = [(room(number), room_name(number)) for number in range(ROOMS)]
    frame = pl.DataFrame(names, schema=["loc", "name"], orient="row")
    database.load("rooms", frame, ["loc"])
    return database.lookup("rooms", ["loc"], ["name"])


# -- the queries -----------------------------------------------------------------------------


def single(query: str, made: Graph, cache: int = CACHE) -> SystemX:
    """One of the queries Q1 to Q4."""
    database = Database(cache)
    room_names = _rooms(database)
    if query == "q1":
        database.load("people", _named(_people(made), person="one", name="one name"), ["person"])
        name_of = database.lookup("people", ["person"], ["name"])
        return SystemX([Located(_with_rooms(name_of, room_names))], 30 * SECOND)
    pairs = {"q2": coauthors, "q3": _either, "q4": _counted}[query](made)
    names = {} if query == "q4" else {"name1": "one name", "name2": "two name"}
    database.load("pairs", _named(pairs, one="one", two="two", **names), ["one", "two"])
    wanted = ["one", "two", "n"] if query == "q4" else list(names)
    rows = database.lookup("pairs", ["one", "two"], wanted)
    if query == "q4":
        return SystemX([Meeting(lambda one, two, _: rows(one, two), _most)], 30 * SECOND)
    return SystemX([Meeting(_then_room(rows, room_names))], 30 * SECOND)


def _either(made: Graph) -> pl.DataFrame:
    """Two authors, one of whom cites the other."""
    pairs = cited(made)
    return pl.concat([pairs, pairs.select(pl.col("two").alias("one"), pl.col("one").alias("two"))])


def _counted(made: Graph) -> pl.DataFrame:
    """Two authors, and how often the first cites the second."""
    return cited(made).group_by("one", "two").agg(pl.len().cast(pl.String).alias("n"))


def _most(rows: list[Row]) -> Counter[Row]:
    """Those rows of each person that reach the most."""
    most: dict[str, int] = {}
    for person, _, number in rows:
        most[person] = max(most.get(person, 0), int(number))
    return Counter(row for row in rows if int(row[2]) == most[row[0]])


def _with_rooms(people: Lookup, rooms: Lookup) -> Callable[[str, str], list[Row]]:
    def rows(person: str, place: str) -> list[Row]:
        return [(*theirs, *here) for here in rooms(place) for theirs in people(person)]

    return rows


def _then_room(pairs: Lookup, rooms: Lookup) -> Callable[[str, str, str], list[Row]]:
    def rows(one: str, two: str, place: str) -> list[Row]:
        return [(*both, *here) for here in rooms(place) for both in pairs(one, two)]

    return rows


def many(query: str, made: Graph, authors: list[int], cache: int = CACHE) -> SystemX:
    """One of the queries Q1' to Q4', for each of some authors.

    The bindings of all of them are in one table: each has its own rows there, and its own cache.
    """
    database = Database(cache)
    _rooms(database)
    numbers = [str(number) for number in range(len(authors))]
    wanted = pl.DataFrame(
        {"one": authors, "statement": numbers}, schema={"one": pl.Int64, "statement": pl.String}
    )
    columns, keys, found = _instances(query)
    database.load("instances", _named(bindings_of(query, made, wanted), **columns), keys)
    statements = []
    for number in numbers:
        look_up = database.lookup("instances", keys, found)
        rooms = database.lookup("rooms", ["loc"], ["name"])
        statements.append(_instance(query, number, look_up, rooms))
    return SystemX(statements, (15 if query == "q4p" else 30) * SECOND)


def _instances(query: str) -> tuple[dict[str, str], list[str], list[str]]:
    """The columns of the table of instances, its keys, and what is looked up."""
    match query:
        case "q1p":
            return {"one": "one"}, ["statement", "one"], ["one"]
        case "q4p":
            return {"two": "two"}, ["statement", "two"], ["two"]
        case _:
            columns = {"one": "one", "two": "two", "name": "two name"}
            return columns, ["statement", "one", "two"], ["name"]


def bindings_of(query: str, made: Graph, wanted: pl.DataFrame) -> pl.DataFrame:
    """Find the static bindings of all instances.

    Args:
        query: one of Q1' to Q4'.
        made: the static data.
        wanted: the author of each instance (`one`), and the name of the instance (`statement`).
    """
    match query:
        case "q1p":
            return wanted
        case "q3p":
            ours = coauthors(made).join(wanted, on="one").select("one", "two", "statement")
            return pl.concat([cited(made, wanted), ours])
        case _:
            return cited(made, wanted)


def _instance(query: str, number: str, look_up: Lookup, rooms: Lookup) -> Statement:
    match query:
        case "q1p":
            return Located(
                lambda who, loc: [row for _ in look_up(number, who) for row in rooms(loc)]
            )
        case "q2p":
            return Meeting(lambda one, two, _: look_up(number, one, two))
        case "q3p":
            return Meeting(_then_room(lambda one, two: look_up(number, one, two), rooms))
        case _:
            return Fullest(lambda who: len(look_up(number, who)), rooms)


def answers(system: SystemX, updates: Iterable[tuple[int, str, str]]) -> Iterator[tuple[int, Row]]:
    """What a system says to some elements, with when."""
    for time, person, place in updates:
        for new in system.take(time, person, place):
            for row in new.elements():
                yield time, row
