"""Plain SPARQL over the static graphs and the current contents of streams.

Queries are evaluated by processes of their own, so that none of them can take the server down. They
read the static graphs from a file that is written again where the graphs have changed.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final

import polars as pl

from headrace.kernel.columns import ID
from headrace.kernel.dictionary import Dictionary
from headrace.metering import EvaluationLimits
from headrace.pipeline.tables import write_tables
from headrace.rdf.terms import Quad
from headrace.serve.problems import Problem, busy
from headrace.serve.scratch import Scratch
from headrace.serve.sparql_messages import (
    Refusal,
    SparqlAnswer,
    SparqlRequest,
    StaticSnapshot,
    StreamContent,
    WorkerSettings,
)
from headrace.serve.static_graphs import Graph
from headrace.serve.worker_pool import WorkerPool

if TYPE_CHECKING:
    from headrace.serve.hub import Hub

_LARGE: Final = 1_000
"""A graph with so many statements is encoded by itself."""
_MAY_NAME_GRAPHS: Final = re.compile(r"graph|from|\\u", re.IGNORECASE)
"""Keywords may have escapes in them, and follow a number without a space."""


@dataclass(frozen=True, slots=True)
class _Encoded:
    """Statements as ids.

    Attributes:
        graph: what they were encoded from, if it is one graph.
        statements: ids of subjects, predicates, objects and graphs.
        terms: what they stand for.
    """

    graph: Graph | None
    statements: pl.DataFrame
    terms: pl.DataFrame


class Asking:
    """Answers plain queries, some at a time."""

    def __init__(self, hub: Hub) -> None:
        """Begin without processes."""
        self._hub = hub
        self._limits = limits = hub.limits
        memory = limits.memory_bytes
        settings = hub.settings
        worker = WorkerSettings(
            hub.deployed.seed,
            settings.services,
            tuple(settings.schemas),
            tuple(settings.static),
            EvaluationLimits(limits.rows, limits.bytes, limits.seconds),
            limits.sparql_memory,
            limits.answer_rows,
        )
        self._pool = WorkerPool(worker, limits.evaluations, lambda: memory // 2)
        self._scratch = Scratch()
        self._snapshot: StaticSnapshot | None = None
        self._encoded: dict[str | None, _Encoded] = {}
        self._readers: Counter[StaticSnapshot] = Counter()
        self._writing = asyncio.Lock()
        self._under_way = 0

    @property
    def under_way(self) -> int:
        """How many queries are being evaluated, or wait."""
        return self._under_way

    @property
    def memory(self) -> int:
        """The bytes that the processes use."""
        return self._pool.used

    async def ask(
        self,
        text: str,
        base: str,
        graphs: tuple[Sequence[str], Sequence[str]],
        accepted: tuple[str | None, str | None],
    ) -> SparqlAnswer:
        """Answer a query.

        Args:
            text: the query.
            base: what its relative IRIs are resolved against.
            graphs: graphs that make up the default graph, if the request names them, and graphs
                that GRAPH sees, likewise.
            accepted: the types that the client accepts, and the type that it names in the URL.

        Raises:
            Problem: 503 if too many wait, 504 if it took too long, 422 if it exceeds another limit
                or cannot be answered, 400 if it is wrong, 406 if no type is acceptable.
        """
        limits = self._limits
        self._hub.check_memory()
        if self._under_way >= limits.evaluations + limits.waiting:
            raise busy(
                f"{self._under_way} queries are being evaluated or wait "
                f"(limits 'evaluations' and 'waiting')"
            )
        self._under_way += 1
        try:
            reads_graphs = bool(any(graphs) or _MAY_NAME_GRAPHS.search(text))
            streams = await asyncio.to_thread(self._stream_contents) if reads_graphs else ()
            async with self._keep_snapshot() as static:
                request = SparqlRequest(text, base, *graphs, *accepted, tuple(streams))
                found = await self._pool.answer(request, static)
        finally:
            self._under_way -= 1
        if isinstance(found, Refusal):
            raise Problem(found.status, found.detail, title=found.title, errors=found.errors)
        return found

    @asynccontextmanager
    async def _keep_snapshot(self) -> AsyncIterator[StaticSnapshot]:
        """Keep a file with the static graphs as they are now, until the end of the block."""
        async with self._writing:
            version = self._hub.static.version
            if self._snapshot is None or self._snapshot.version != version:
                self._snapshot = await asyncio.to_thread(self._write_snapshot, version)
                self._remove_unused()
            snapshot = self._snapshot
        self._readers[snapshot] += 1
        try:
            yield snapshot
        finally:
            self._readers[snapshot] -= 1
            self._remove_unused()

    def _remove_unused(self) -> None:
        """Remove the files of earlier versions that no request reads."""
        for snapshot in [each for each, readers in self._readers.items() if not readers]:
            if snapshot != self._snapshot:
                del self._readers[snapshot]
                snapshot.path.unlink(missing_ok=True)

    def _write_snapshot(self, version: int) -> StaticSnapshot:
        """Write the static graphs; large ones are encoded once, however often others change."""
        graphs = self._hub.static.graphs
        large = {name: graph for name, graph in graphs.items() if len(graph.quads) >= _LARGE}
        small = (each.placed(name) for name, each in graphs.items() if name not in large)
        self._encoded = {
            name: known
            if (known := self._encoded.get(name)) is not None and known.graph is graph
            else self._encode(graph.placed(name), graph)
            for name, graph in large.items()
        }
        parts = [*self._encoded.values(), self._encode(chain.from_iterable(small))]
        statements = pl.concat([each.statements for each in parts])
        terms = pl.concat([each.terms for each in parts]).unique(ID)
        path = self._scratch.folder / f"static-{version}.arrow"
        write_tables(path, [statements.to_arrow(), terms.to_arrow()], durable=False)
        return StaticSnapshot(version, path)

    def _encode(self, quads: Iterable[Quad], graph: Graph | None = None) -> _Encoded:
        dictionary = Dictionary(self._hub.deployed.seed)
        statements = dictionary.encode_quads(quads)
        return _Encoded(graph, statements, dictionary.known)

    def _stream_contents(self) -> list[StreamContent]:
        """Return what streams contain now."""
        found = []
        for inlet in list(self._hub.inlets.values()):
            content = inlet.recent.columns(self._hub.deployed.seed)
            if not content.statements.is_empty():
                iri = inlet.entry.iri
                found.append(StreamContent(iri, content.statements, content.terms))
        return found

    def stop(self) -> None:
        """Answer no more queries: those that wait or are being evaluated are refused."""
        self._pool.stop()

    def close(self) -> None:
        """End the processes."""
        self._pool.close()
        self._scratch.remove()
