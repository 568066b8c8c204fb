"""A process that evaluates queries of `/sparql`, one at a time.

It reads requests from its standard input and writes answers to its standard output. It has a lower
priority than the server, and ends with it. The server ends it where it exceeds a limit.
"""

from __future__ import annotations

import logging
import os
import pickle
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from queue import SimpleQueue
from typing import BinaryIO, Final

import polars as pl

from headrace.algebra.query import Ask, Dataset, Query, Select
from headrace.dialects import Parsed, parse
from headrace.errors import HeadraceError, LimitError, MachineError
from headrace.functions.value_failures import FailuresByQuery
from headrace.kernel.answer import Answer, Statements, Truth
from headrace.kernel.columns import GRAPH, QUADS
from headrace.metering import MEMORY, Meter, metered, release_memory, resident_bytes
from headrace.pipeline.tables import read_static
from headrace.rdf.terms import Iri
from headrace.results.formats import TABLE_TYPES, format_of_media_type
from headrace.results.table import Table
from headrace.results.writing import result_text
from headrace.serve.graph_formats import GRAPH_TYPES, graph_bytes
from headrace.serve.negotiation import chosen
from headrace.serve.problems import Problem, problem_of
from headrace.serve.sparql_messages import (
    Cancellation,
    Refusal,
    SparqlAnswer,
    SparqlRequest,
    StaticSnapshot,
    StreamContent,
    WorkerSettings,
    pack_reply,
    read_part,
)
from headrace.store import Store

LOG: Final = logging.getLogger("headrace.serve")
_MOST_TERMS: Final = 500_000
"""A store that has learnt so many terms of streams and answers is made anew."""


class SparqlWorker:
    """Answers requests over a store of static graphs."""

    def __init__(self, settings: WorkerSettings) -> None:
        """Begin without data."""
        self._settings = settings
        self._snapshot: StaticSnapshot | None = None
        self._store: Store | None = None
        self._terms = 0
        self.meter: Meter | None = None

    def answer(self, request: SparqlRequest) -> SparqlAnswer | Refusal:
        """Answer a request, or say why not."""
        try:
            store = self._store or self._load_store()
            MEMORY.start(resident_bytes() + self._settings.memory)
            self.meter = Meter(self._settings.limits)
            with metered(self.meter):
                return self._answer(store, request)
        except Problem as problem:
            return _refusal(problem)
        except HeadraceError as error:
            return _refusal(problem_of(error))
        except (MemoryError, RecursionError) as error:
            reason = "memory" if isinstance(error, MemoryError) else "depth"
            self._store = None
            return _refusal(Problem(422, f"the query exceeds a limit of the process: {reason}"))
        except Exception as error:
            LOG.exception("a query of /sparql failed")
            self._store = None
            return _refusal(Problem(500, f"a mistake of Headrace: {type(error).__name__}"))
        finally:
            self.meter = None

    def _answer(self, store: Store, request: SparqlRequest) -> SparqlAnswer:
        parsed = parse(request.text, base=request.base)
        media_type = _media_type(parsed.query, request)
        store.check(parsed)
        before, failures = store.statements, FailuresByQuery()
        try:
            for each in request.streams:
                _add_stream(store, each)
            found = self._evaluate(store, parsed, request, failures)
        finally:
            store.reset(before)
        notes = [str(each) for listed in failures.by_query().values() for each in listed]
        return SparqlAnswer(_serialize(found, media_type), media_type, notes)

    def _evaluate(
        self, store: Store, parsed: Parsed, request: SparqlRequest, failures: FailuresByQuery
    ) -> Answer:
        query = parsed.query
        if request.default or request.named:
            default, named = map(Iri, request.default), map(Iri, request.named)
            query = replace(query, dataset=Dataset(tuple(default), tuple(named)))
        found = store.answer(query, source=parsed.source, failures=failures, meter=self.meter)
        number, most = _size(found), self._settings.answer_rows
        if number > most:
            raise LimitError(
                "answer_rows",
                f"the answer has {number:,} rows, and {most:,} are sent at most: add a LIMIT",
            )
        return found

    def cancel(self, reason: str) -> None:
        """Stop the evaluation that is running, if there is one; another thread may ask for it."""
        meter = self.meter  # the other thread may remove it at any moment
        if meter is not None:
            meter.stop(reason)

    def load(self, snapshot: StaticSnapshot) -> None:
        """Load the static graphs of a snapshot in place of others."""
        self._snapshot, self._store = snapshot, None
        self._load_store()
        release_memory()

    def tidy(self) -> None:
        """Release the memory that a request has left behind, when nothing waits for it."""
        if self._store is not None and self._store.dictionary.passing - self._terms > _MOST_TERMS:
            self._store = None
            with suppress(MachineError):  # the file was removed, as there is a newer snapshot
                self._load_store()
        release_memory()

    def _load_store(self) -> Store:
        settings, limits = self._settings, self._settings.limits
        store = Store(
            services=settings.services,
            max_rows=limits.rows,
            max_bytes=limits.bytes,
            timeout=limits.seconds,
            seed=settings.seed,
        )
        store.schemas.declare(settings.schemas, settings.static, ())
        assert self._snapshot is not None, "the server sends one first"
        store.add_encoded(*read_static(self._snapshot.path))
        self._store, self._terms = store, store.dictionary.passing
        return store


def _add_stream(store: Store, content: StreamContent) -> None:
    graph = store.dictionary.encode(Iri(content.iri))
    placed = content.statements.with_columns(pl.lit(graph, dtype=pl.Int64).alias(GRAPH))
    store.add_encoded(placed.select(*QUADS).unique(), content.terms)


def _size(found: Answer) -> int:
    if isinstance(found, Table):
        return len(found.rows)
    return len(found.quads) if isinstance(found, Statements) else 1


def _media_type(query: Query, request: SparqlRequest) -> str:
    offered: Sequence[str] = GRAPH_TYPES
    if isinstance(query.form, Select | Ask):
        offered = TABLE_TYPES if isinstance(query.form, Select) else TABLE_TYPES[:2]
    return chosen(request.accept, offered, request.form, "the answer")


def _serialize(found: Answer, media_type: str) -> bytes:
    if isinstance(found, Statements):
        return graph_bytes(found.quads, media_type)
    syntax = format_of_media_type(media_type)
    assert syntax is not None, "it is one of those that are offered"
    return result_text(found.value if isinstance(found, Truth) else found, syntax).encode()


def _refusal(problem: Problem) -> Refusal:
    return Refusal(problem.status, problem.detail, problem.title, problem.errors)


# -- the process ---------------------------------------------------------------------------------


def main() -> None:
    """Answer requests until the server closes the pipe."""
    incoming, outgoing = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything prints must not be taken for an answer
    settings = _receive(incoming)
    assert isinstance(settings, WorkerSettings), "the server sends them first"
    worker = SparqlWorker(settings)
    _send(outgoing, None)
    messages: SimpleQueue[SparqlRequest | StaticSnapshot] = SimpleQueue()
    threading.Thread(target=_listen, args=(incoming, worker, messages), daemon=True).start()
    while True:
        match messages.get():
            case StaticSnapshot() as snapshot:
                worker.load(snapshot)
                _send(outgoing, None)
            case SparqlRequest() as request:
                _send(outgoing, worker.answer(request))
                worker.tidy()


def _listen(
    incoming: BinaryIO,
    worker: SparqlWorker,
    messages: SimpleQueue[SparqlRequest | StaticSnapshot],
) -> None:
    """Take requests and cancellations; end the process with the server."""
    try:
        while True:
            match _receive(incoming):
                case SparqlRequest() | StaticSnapshot() as message:
                    messages.put(message)
                case Cancellation(reason):
                    worker.cancel(reason)
    except (EOFError, OSError):
        os._exit(0)


def _send(outgoing: BinaryIO, reply: SparqlAnswer | Refusal | None) -> None:
    outgoing.write(pack_reply(reply))
    outgoing.flush()


def _receive(incoming: BinaryIO) -> object:
    return pickle.loads(read_part(incoming))  # it comes from our own server


if __name__ == "__main__":
    main()
