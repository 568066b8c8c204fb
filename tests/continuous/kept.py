"""Engines over static data that are kept in a folder, and what they say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from headrace import Engine
from headrace.kernel.mapped import MappedLookup
from headrace.pipeline.keeper import Cache
from headrace.pipeline.static import StaticFile, StaticFiles

STREAM = "http://x/s"
PREFIX = "PREFIX : <http://x/>"
TRIPLES = """
@prefix : <http://x/> .
:p1 :by :a, :b . :p2 :by :a, :c . :p3 :by :d, :b .
:p1 :cites :p2 . :p2 :cites :p3, :p1 . :p3 :cites :p1 .
:p1 :year 1 . :p2 :year 3 . :p3 :year 4 .
:a :name "A" . :b :name "B" . :c :name "C" .
"""
ROOMS = '<http://x/r0> <http://x/name> "Zero" . <http://x/r1> <http://x/name> "One" .'
QUERIES = {
    "a path": "?a :at ?r . GRAPH :g { ?r :name ?n } ?p :by ?a . ?p :by ?b . ?b :name ?m",
    "alternatives": "?a :at ?r . ?p :by ?a . { ?p :cites ?q } UNION { ?q :cites ?p } ?q :by ?b",
    "two tables": "?a :at ?r . ?p :by ?a . ?q :cites ?o FILTER (?q != ?p)",
    "a filter": "?a :at ?r . ?p :by ?a . ?p :year ?y FILTER (?y > 2 && ?y < 5)",
    "a subquery": "?a :at ?r . { SELECT ?a ?b WHERE { ?p :by ?a . ?p :by ?b } }",
    "counts": "?a :at ?r . { SELECT ?a (COUNT(?p) AS ?n) WHERE { ?p :by ?a } GROUP BY ?a }",
    "computed": "?a :at ?r . ?p :by ?a . ?p :year ?y BIND (?y * 1000 AS ?t)",
    "distinct": "?a :at ?r . { SELECT DISTINCT ?a WHERE { ?p :by ?a ; :cites ?q } }",
    "values": "?a :at ?r . ?p :by ?a . VALUES ?p { :p1 :p2 :nowhere }",
    "constants": "?a :at ?r . ?p :by ?a ; :cites :p1",
    "whether it is there": "?a :at ?r . :p1 :cites :p2 . ?p :by ?a",
    "what nobody asks for": "?a :at ?r . { SELECT ?a WHERE { :p1 :by ?x . ?p :by ?a } }",
    "only whether it is there": "?a :at ?r . :p1 :cites :p2",
}
"""What is asked of a stream of `:at` and of static data; by all queries, all static parts."""


def text_of(query: str, report: str = "arrival") -> str:
    """A query over one of the two sorts of windows, which read no static data themselves."""
    stream, rest = QUERIES[query].split(" . ", 1)
    if report == "arrival":
        return (
            f"{PREFIX} SELECT * FROM NAMED <{STREAM}> [NOW] AS ?w "
            f"WHERE {{ GRAPH ?w {{ {stream} }} {rest} }}"
        )
    return (
        f"{PREFIX} SELECT * FROM NAMED WINDOW :w ON <{STREAM}> [RANGE PT2S STEP PT1S] "
        f"WHERE {{ WINDOW :w {{ {stream} }} {rest} }}"
    )


Answers = Counter[tuple[str, ...]]


def fed(engine: Engine, query: str, report: str, settings: Mapping[str, str]) -> Answers:
    """What a query says of everybody in one room after the other."""
    stream = engine.stream(STREAM)
    registered = engine.register(text_of(query, report), settings=settings)
    for number, who in enumerate("abcdeabc"):
        stream.push(f"<http://x/{who}> <http://x/at> <http://x/r{number % 2}> .", at=1000 * number)
        if number % 3 == 2:
            engine.step()
    engine.finish()
    assert registered.error is None, registered.error
    return Counter(
        (str(each.at), *map(str, row)) for each in registered.results() for row in each.rows
    )


def plain(
    files: Sequence[StaticFile], query: str, report: str, settings: Mapping[str, str]
) -> Answers:
    """What an engine says that keeps nothing."""
    engine = Engine(clock=None, seed=3)
    for each in files:
        engine.static.load(each.path, each.graph)
    return fed(engine, query, report, settings)


def kept(
    files: Sequence[StaticFile], cache: Cache, query: str, report: str, settings: Mapping[str, str]
) -> tuple[Answers, list[MappedLookup]]:
    """What an engine says that keeps all it finds, and what it looks up in files."""
    engine = Engine(clock=None, seed=3)
    engine.static.use(StaticFiles(files, cache, 3).current())
    answers = fed(engine, query, report, settings)
    tables: list[object] = [
        operand.always
        for standing in engine.runner.kernel.queries
        for matches in standing.matching.matches
        for operand in matches.static
    ]
    return answers, [each for each in tables if isinstance(each, MappedLookup)]


def cache_of(folder: Path, most_in_memory: int = 1_000) -> Cache:
    """A cache in which even small tables are kept."""
    return Cache(folder, least=1, most_in_memory=most_in_memory)


def written(folder: Path) -> list[StaticFile]:
    """Static data in files: of the default graph, and of a named one."""
    (folder / "papers.ttl").write_text(TRIPLES)
    (folder / "rooms.ttl").write_text(ROOMS)
    return [StaticFile(folder / "papers.ttl"), StaticFile(folder / "rooms.ttl", "http://x/g")]
