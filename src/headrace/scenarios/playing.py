"""Running a scenario: its queries over its streams, however the input is cut."""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest

from headrace.engine import Engine
from headrace.errors import DataError
from headrace.rdf.elements import Element
from headrace.rdf.formats import Format
from headrace.rdf.reading import read
from headrace.rdf.terms import Iri
from headrace.rdf.writing import to_nquads
from headrace.results.evaluations import Evaluation
from headrace.scenarios.values import Scenario
from headrace.stream import Stream
from headrace.testing import Batches, Played, play


def played(scenario: Scenario, batches: Batches = None) -> Played:
    """Play a scenario in this process, its streams as timed N-Quads cut in some way."""
    try:
        streams = scenario.timed()
    except DataError:  # timed N-Quads has no element with several triples of no graph
        return pushed(scenario)
    return play(
        {query.name: query.text for query in scenario.queries},
        streams,
        static=scenario.static,
        schemas=scenario.schemas,
        settings=scenario.settings,
        batches=batches,
        dialect=scenario.dialect,
        live=scenario.live,
    )


def pushed(scenario: Scenario) -> Played:
    """Play a scenario in this process, element by element, the streams taking turns."""
    engine = Engine(settings=scenario.settings, live=scenario.live, clock=None)
    for schema, text in scenario.schemas.items():
        engine.static.schemas.add(schema, read(text, Format.TURTLE))
    for graph, text in scenario.static.items():
        name = None if graph is None else Iri(graph)
        engine.static.add(replace(quad, graph=name) for quad in read(text, Format.TURTLE))
    streams = [engine.stream(iri) for iri in scenario.streams]
    found: list[Evaluation] = []
    for query in scenario.queries:
        registered = engine.register(query.text, name=query.name, dialect=query.dialect)
        registered.on_result(found.append)
    for entries in zip_longest(*scenario.streams.values()):
        for stream, entry in zip(streams, entries, strict=True):
            _push(stream, entry)
        engine.step()
    if not scenario.live:
        engine.finish()
    errors = {name: query.error for name, query in engine.queries.items() if query.error}
    return Played(found, engine.late, engine.rejected, dict(engine.counters), errors)


def _push(stream: Stream, entry: Element | str | None) -> None:
    if isinstance(entry, str):
        stream.feed_timed(f"{entry}\n")
    elif entry is not None and entry.is_heartbeat:
        stream.heartbeat(at=entry.time / 1000)
    elif entry is not None:
        stream.push(to_nquads(entry.quads), at=entry.time / 1000)
