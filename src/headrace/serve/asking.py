"""Plain SPARQL over the static graphs and the current contents of streams.

A query is evaluated in a store that nobody else uses meanwhile; there are as many stores as
evaluations may be under way at once. Users' text is only ever read by our own parser.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Final

import polars as pl

from headrace.algebra.query import Dataset, Query
from headrace.dialects import Parsed
from headrace.functions.value_failures import FailuresByQuery
from headrace.kernel.answer import Answer, Statements
from headrace.kernel.columns import GRAPH, QUADS
from headrace.rdf.terms import Iri
from headrace.results.table import Table
from headrace.serve.problems import Problem, busy
from headrace.store import Store

if TYPE_CHECKING:
    from headrace.serve.hub import Hub

_GRACE: Final = 0.5
_MOST_TERMS: Final = 500_000
"""A store that has learnt so many terms of streams and answers is made anew."""
_NAMES_GRAPHS: Final = re.compile(r"\b(graph|from)\b", re.IGNORECASE)


@dataclass(slots=True)
class _Room:
    """A store, and which static graphs are in it."""

    store: Store
    version: int
    terms: int


@dataclass(frozen=True, slots=True)
class PlainAnswer:
    """What a plain query gives.

    Attributes:
        answer: its rows, statements or truth value.
        notes: what its expressions could not compute.
    """

    answer: Answer
    notes: tuple[str, ...] = ()


class Asking:
    """Answers plain queries, some at a time."""

    def __init__(self, hub: Hub) -> None:
        """Begin with no stores."""
        self._hub = hub
        self._limits = hub.limits
        self._threads = ThreadPoolExecutor(self._limits.evaluations, "sparql")
        self._guard = Lock()
        self._rooms: list[_Room] = []
        self._under_way = 0

    @property
    def under_way(self) -> int:
        """How many queries are being evaluated, or wait."""
        return self._under_way

    async def ask(
        self, parsed: Parsed, default: Sequence[str], named: Sequence[str]
    ) -> PlainAnswer:
        """Answer a query.

        Args:
            parsed: the query.
            default: graphs that make up the default graph, if the request names them.
            named: graphs that GRAPH sees, likewise.

        Raises:
            Problem: 503 if too many wait, 504 if it took too long, 422 if it has too many rows.
            HeadraceError: it is wrong, or cannot be answered.
        """
        limits = self._limits
        if self._under_way >= limits.evaluations + limits.waiting:
            raise busy(f"{self._under_way} queries are being evaluated or wait")
        query = parsed.query
        if default or named:
            dataset = Dataset(tuple(map(Iri, default)), tuple(map(Iri, named)))
            query = replace(query, dataset=dataset)
        reads_graphs = bool(default or named or _NAMES_GRAPHS.search(parsed.source.text))
        self._under_way += 1
        loop = asyncio.get_running_loop()
        done = loop.run_in_executor(self._threads, self._answered, parsed, query, reads_graphs)
        done.add_done_callback(self._ended)
        # Only the time of its own evaluation counts: before that, it may have waited for others.
        most = (limits.seconds + _GRACE) * (1 + self._under_way / limits.evaluations)
        try:
            return await asyncio.wait_for(asyncio.shield(done), most)
        except TimeoutError:
            raise Problem(504, f"the query took more than {limits.seconds:g} seconds") from None

    def _ended(self, done: asyncio.Future[PlainAnswer]) -> None:
        self._under_way -= 1
        if not done.cancelled():
            done.exception()  # whoever waits is told; nobody may

    def _answered(self, parsed: Parsed, query: Query, reads_graphs: bool) -> PlainAnswer:
        room, failures = self._taken(), FailuresByQuery()
        store, before = room.store, room.store.statements
        try:
            store.check(parsed)
            if reads_graphs:
                self._add_streams(store)
            found = store.answer(query, source=parsed.source, failures=failures)
        finally:
            store.reset(before)
            with self._guard:
                self._rooms.append(room)
        notes = [str(each) for listed in failures.by_query().values() for each in listed]
        return PlainAnswer(_bounded(found, self._limits.answer_rows), tuple(notes))

    def _taken(self) -> _Room:
        """A store with the static graphs as they are now."""
        static = self._hub.static
        with self._guard:
            room = self._rooms.pop() if self._rooms else None
        if room is not None:
            grown = room.store.dictionary.passing - room.terms > _MOST_TERMS
            if room.version == static.version and not grown:
                return room
        version = static.version
        settings = self._hub.settings
        store = Store(
            services=settings.services,
            max_rows=self._limits.rows,
            timeout=self._limits.seconds,
            seed=self._hub.deployed.seed,
        )
        store.schemas.declare(settings.schemas, settings.static, ())
        store.add(static.all_quads())
        return _Room(store, version, store.dictionary.passing)

    def _add_streams(self, store: Store) -> None:
        for inlet in list(self._hub.inlets.values()):
            found = inlet.recent.columns(store.dictionary.seed)
            if found.statements.is_empty():
                continue
            graph = store.dictionary.encode(Iri(inlet.entry.iri))
            placed = found.statements.with_columns(pl.lit(graph, dtype=pl.Int64).alias(GRAPH))
            store.add_encoded(placed.select(*QUADS).unique(), found.terms)

    def close(self) -> None:
        """Wait for nobody."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _bounded(found: Answer, most: int) -> Answer:
    """An answer, unless it is too large to be sent."""
    number = 0
    if isinstance(found, Table):
        number = len(found.rows)
    elif isinstance(found, Statements):
        number = len(found.quads)
    if number > most:
        raise Problem(
            422, f"the answer has {number:,} rows, and {most:,} are sent at most: add a LIMIT"
        )
    return found
