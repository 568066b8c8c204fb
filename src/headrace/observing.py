"""A query run over data, to see how many solutions each operator has and how long it takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from headrace.algebra.reporting import OnArrival
from headrace.dialects import Parsed
from headrace.engine import Engine
from headrace.kernel.columns import PREDICATE
from headrace.kernel.routes import route_lines
from headrace.options import named_file, push_files, streams_of
from headrace.planning.estimates import Counts
from headrace.planning.explain import Run, Seen
from headrace.rdf.terms import Iri
from headrace.rewrite.optimise import optimised
from headrace.rewrite.sources import KnownPredicates
from headrace.store import Store

_MOST_SEEN: Final = 100_000
"""So many statements of streams are looked at for their predicates."""


def observed(
    parsed: Parsed,
    streams: Sequence[str],
    static: Sequence[str],
    settings: Mapping[str, str],
    schemas: Sequence[str] = (),
) -> Run:
    """Run a query over all there is, in this process; count static data if there is no stream.

    Args:
        parsed: the query.
        streams: what it reads, as the option `--stream` has it.
        static: static data, as the option `--static` has them.
        settings: those of the run.
        schemas: what it reads its data under, as the option `--schema` has them.

    Raises:
        HeadraceError: it cannot be run so.
    """
    engine = _made(streams, static, settings, schemas)
    counts = _counted(engine.static)
    known = known_predicates(streams, static, under_schema=bool(schemas))
    if not streams:
        return Run(optimised(parsed.query, known), counts=counts, known=known)
    engine.register_parsed(parsed)
    seen: dict[int, Seen] = {}

    def note(node: object, rows: int, seconds: float) -> None:
        before = seen.get(id(node), Seen())
        seen[id(node)] = Seen(before.times + 1, before.rows + rows, before.seconds + seconds)

    kernel = engine.runner.kernel
    kernel.around = replace(kernel.around, observe=note)
    [plan] = engine.plans()
    engine.run(once=True)
    routes = list[str]()
    if plan.matching.cores and isinstance(plan.semantics.report, OnArrival):
        # Who looks at each operator has windows looked at as a whole: once more, by what is new.
        again = _made(streams, static, settings, schemas)
        again.register_parsed(parsed)
        again.run(once=True)
        [query] = again.runner.kernel.queries
        routes += route_lines(query.matching.matches, plan.windows)
    return Run(plan.pattern, seen, counts, tuple(_noticed(engine)), tuple(routes), known)


def known_predicates(
    streams: Sequence[str], static: Sequence[str], *, under_schema: bool = False
) -> KnownPredicates:
    """Say which predicates occur in static data, and which at the beginnings of streams.

    Args:
        streams: as the option `--stream` has them.
        static: as the option `--static` has them.
        under_schema: whether more follows from static data than is stated.

    Raises:
        HeadraceError: something cannot be read.
    """
    engine = _made((), static, {})
    ids: set[int] = set()
    seen = 0
    for feed in push_files(engine, streams):
        while feed.pending:
            predicates = feed.pending.pop(0)[PREDICATE]
            seen += len(predicates)
            ids.update(predicates.unique().to_list())
        if seen >= _MOST_SEEN:
            break
    terms = engine.static.dictionary.terms(pl.Series(list(ids), dtype=pl.Int64))
    in_streams = frozenset(each for each in terms if isinstance(each, Iri))
    static_ones = engine.static.known_predicates().static
    return KnownPredicates(static_ones, not under_schema, in_streams)


def _made(
    streams: Sequence[str],
    static: Sequence[str],
    settings: Mapping[str, str],
    schemas: Sequence[str] = (),
) -> Engine:
    engine = Engine(settings=settings)
    engine.static.schemas.declare(list(map(named_file, schemas)), (), ())
    for graph, path in map(named_file, static):
        engine.static.load(path, graph)
    for iri, sources in streams_of(list(streams)).items():
        engine.stream(iri, source=sources)
    return engine


def _noticed(engine: Engine) -> Iterator[str]:
    """What of the data was not looked at."""
    if engine.rejected:
        first = engine.rejected[0]
        yield f"{len(engine.rejected):,} elements were rejected; the first: {first.reason}"
    for name, query in engine.queries.items():
        if query.error:
            yield f"'{name}' stopped: {query.error}"


def _counted(static: Store) -> Counts:
    """How many statements there are with each predicate."""
    counted = static.quads[PREDICATE].value_counts()
    terms = static.dictionary.terms(counted[PREDICATE])
    numbers = counted["count"].to_list()
    return {
        term: number for term, number in zip(terms, numbers, strict=True) if isinstance(term, Iri)
    }
