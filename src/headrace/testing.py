"""Running queries over scripted streams: for tests of queries, and of the engine itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from headrace.engine import Engine
from headrace.errors import DataError
from headrace.inline import LateElement, RejectedElement
from headrace.kernel.stream_counters import Counters
from headrace.rdf.formats import Format
from headrace.rdf.reading import read
from headrace.rdf.scopes import Scope
from headrace.rdf.terms import Iri, Quad
from headrace.results.evaluations import Evaluation

Batches = Sequence[Sequence[tuple[str, int]]] | int | None
"""How streams are cut: so many lines of each in a step, all at once, or steps by hand."""


@dataclass(frozen=True, slots=True)
class Played:
    """What came of some queries over some streams.

    Attributes:
        evaluations: of all queries, in the order in which they were reported.
        late: the elements that missed a window.
        rejected: what could not be taken, and why.
        counters: of each stream.
        errors: the queries that stopped, and why.
    """

    evaluations: list[Evaluation]
    late: list[LateElement]
    rejected: list[RejectedElement]
    counters: dict[str, Counters]
    errors: dict[str, str]


def play(  # noqa: PLR0913 - each is a part of the script
    queries: Sequence[str] | Mapping[str, str],
    streams: Mapping[str, str],
    *,
    static: Mapping[str | None, str] | None = None,
    schemas: Mapping[str | None, str] | None = None,
    settings: Mapping[str, str] | None = None,
    delays: Mapping[str, str] | None = None,
    batches: Batches = None,
    dialect: str | None = None,
    live: bool = False,
) -> Played:
    r"""Run queries over streams that are given as text, to their end.

    >>> query = "SELECT (COUNT(*) AS ?n) FROM STREAM <s> [RANGE 10s STEP 10s] { ?s ?p ?o }"
    >>> played = play([query], {"s": "1000\t<x:a> <x:b> <x:c> .\n12000\t<x:a> <x:b> <x:d> .\n"})
    >>> [(each.at // 1_000_000, each.rows[0][0].lexical) for each in played.evaluations]
    [(10, '1'), (20, '1')]

    Args:
        queries: texts, by name if they have one.
        streams: timed N-Quads of each stream.
        static: Turtle of the default graph (`None`) and of named graphs.
        schemas: Turtle of the schema of all queries (`None`), and of those that they name.
        settings: what `--set` takes.
        delays: how far each stream may be out of order.
        batches: how the streams are cut into steps. An element is never cut.
        dialect: of the queries; detected if not given.
        live: whether the input goes on after the script: then nothing is reported beyond the
            watermark, and empty windows are reported up to it.
    """
    # A script has its own time: what is far ahead of it is not far ahead of the clock.
    engine = Engine(settings=settings, live=live, clock=None)
    for schema, text in (schemas or {}).items():
        engine.static.schemas.add(schema, read(text, Format.TURTLE, scope=Scope("schema")))
    for graph, text in (static or {}).items():
        engine.static.add(static_quads(text, graph))
    for iri in streams:
        engine.stream(iri, delay=(delays or {}).get(iri))
    found: list[Evaluation] = []
    named = queries.items() if isinstance(queries, Mapping) else ((None, each) for each in queries)
    for name, text in named:
        engine.register(text, name=name, dialect=dialect).on_result(found.append)
    scripts = {iri: list(in_elements(text)) for iri, text in streams.items()}
    for step in _steps(scripts, batches):
        for iri, text in step:
            engine.stream(iri).feed_timed(text)
        engine.step()
    if not live:
        engine.finish()
    errors = {name: query.error for name, query in engine.queries.items() if query.error}
    return Played(found, engine.late, engine.rejected, dict(engine.counters), errors)


def static_quads(text: str, graph: str | None) -> Iterator[Quad]:
    """Static data that are given as Turtle."""
    named = None if graph is None else Iri(graph)
    quads = read(text, Format.TURTLE, scope=Scope("static"))
    for quad in quads:
        yield Quad(quad.subject, quad.predicate, quad.object, named)


def in_elements(text: str) -> Iterator[list[str]]:
    """The lines of a script, those of one element together."""
    held: list[str] = []
    key: tuple[str, str] | None = None
    for line in text.removesuffix("\n").split("\n") if text else ():
        time, _, statement = line.partition("\t")
        graph = _graph_of(statement)
        now = None if graph is None else (time, graph)
        if held and (now is None or now != key):
            yield held
            held = []
        held.append(f"{line}\n")
        key = now
    if held:
        yield held


def _graph_of(statement: str) -> str | None:
    """The graph that a line names, if it does; enough to see which lines belong together."""
    try:
        quads = list(read(statement, Format.N_QUADS))
    except DataError:
        return None  # a line that cannot be read is an element of its own
    return str(quads[0].graph) if quads and quads[0].graph is not None else None


def _steps(
    scripts: Mapping[str, list[list[str]]], batches: Batches
) -> Iterator[list[tuple[str, str]]]:
    """What each stream brings in each step."""
    rest = {iri: list(elements) for iri, elements in scripts.items()}
    take = partial(_take, rest)
    if isinstance(batches, int):
        while any(rest.values()):
            yield [(iri, take(iri, batches)) for iri in rest]
        return
    for step in batches or ():
        yield [(iri, take(iri, lines)) for iri, lines in step]
    yield [(iri, take(iri, sum(map(len, rest[iri])))) for iri in rest]


def _take(rest: dict[str, list[list[str]]], iri: str, lines: int) -> str:
    """The next lines of a stream, at least so many if there are: an element is never cut."""
    taken: list[str] = []
    while rest[iri] and len(taken) < lines:
        taken += rest[iri].pop(0)
    return "".join(taken)
