"""Endpoints that give no more than so many rows at once: their answers are read to the end.

Nothing in an answer says that an endpoint has cut it. An answer is known to be whole if the
endpoint has given a longer one, or if nothing follows it when it is asked for the rows after it;
otherwise it is read again in pages, in an order.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from headrace.background.endpoint import EndpointClient
from headrace.background.errors import LargeAnswerError, ServiceError
from headrace.background.mapping_requests import Request
from headrace.background.text import page_text
from headrace.rdf.scopes import Scope
from headrace.rdf.terms import BlankNode, Iri
from headrace.results.table import Row, Table

_LATE: Final = "it did not answer in time"
_ONE: Final = 1
"""No endpoint is taken to give one row at most: an answer of one row is never asked on."""


class RowLimits:
    """How many rows endpoints give at once, as far as their answers have shown it."""

    def __init__(self, client: EndpointClient, rows: int, clock: Callable[[], float]) -> None:
        """Know of none.

        Args:
            client: asks endpoints.
            rows: how many rows an answer may have in all.
            clock: seconds.
        """
        self._client = client
        self._rows = rows
        self._clock = clock
        self._lock = threading.Lock()
        self._whole: dict[str, int] = {}
        self._limits: dict[str, int] = {}

    def note_whole(self, endpoint: Iri, number: int) -> None:
        """Take note of an answer that had so many rows, and no more."""
        with self._lock:
            name = endpoint.value
            self._whole[name] = max(number, self._whole.get(name, _ONE))
            if number > self._limits.get(name, number):
                del self._limits[name]

    def note_cut(self, endpoint: Iri, number: int) -> None:
        """Take note that an endpoint gives so many rows at most."""
        with self._lock:
            self._limits[endpoint.value] = number
            self._whole.pop(endpoint.value, None)

    def is_certain(self, endpoint: Iri, number: int, *, lacks: bool) -> bool:
        """Whether an answer of so many rows must be whole.

        Args:
            endpoint: who has given it.
            number: of its rows.
            lacks: whether something that was asked for has no row in it.
        """
        with self._lock:
            limit = self._limits.get(endpoint.value)
            whole = self._whole.get(endpoint.value, _ONE)
        if number <= _ONE:
            return True
        if limit is not None:
            return number < limit
        return number < whole or (number == whole and not lacks)

    def whole(self, endpoint: Iri, request: Request, table: Table, until: float | None) -> Table:
        """The whole of an answer that may have been cut; the request counts what that takes.

        Args:
            endpoint: who has given it.
            request: what it was asked for.
            table: the answer.
            until: the time at which there is none left.

        Raises:
            ServiceError: the endpoint has not answered again, or has too many rows.
        """
        number = len(table.rows)

        def page(after: int, *, ordered: bool) -> Table:
            left = None if until is None else until - self._clock()
            if left is not None and left <= 0:
                raise ServiceError(endpoint.value, _LATE)
            text = page_text(request.pattern, request.bindings, after, ordered=ordered)
            named = Scope(f"{request.scope.name}-after-{after}")
            request.more += 1
            return self._client.select(endpoint, text, scope=named, within=left, once=True)

        after = page(number, ordered=False)
        if not after.rows or are_alike(after, table):
            self.note_whole(endpoint, number)
            return table
        self.note_cut(endpoint, number)
        rows: list[Row] = []
        last = after
        while True:
            found = page(len(rows), ordered=True)
            if rows and are_alike(found, last):
                problem = f"it gives {number:,} rows at once, and does not follow OFFSET"
                raise ServiceError(endpoint.value, problem, hint="ask for fewer keys (block)")
            rows += found.rows
            last = found
            if len(rows) > self._rows:
                problem = f"its answer is wrong: it has more than {self._rows:,} rows"
                raise LargeAnswerError(endpoint.value, problem, hint="allow more (rows)")
            if len(found.rows) < number:
                return Table(table.variables, tuple(rows))


def are_alike(one: Table, other: Table) -> bool:
    """Whether two answers are the same, whatever their blank nodes are called.

    An endpoint that gives the same rows again does not follow OFFSET.
    """
    return one.variables == other.variables and _without_labels(one) == _without_labels(other)


def _without_labels(table: Table) -> list[Row]:
    return [
        tuple(BlankNode("") if isinstance(term, BlankNode) else term for term in row)
        for row in table.rows
    ]
