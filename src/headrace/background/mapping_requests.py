"""Requests for the mappings of local views, and readers of their answers."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from headrace.algebra.expressions import Variable
from headrace.algebra.operators import Operator, Service, Values
from headrace.algebra.scope import possible_in_order
from headrace.background.descriptions import seconds_of
from headrace.background.errors import ServiceError, public
from headrace.background.responses import arranged
from headrace.background.text import query_text
from headrace.errors import DataError, SettingError
from headrace.freshness.scores import NEVER_CHANGES, Ints
from headrace.rdf.scopes import UNSCOPED, Scope
from headrace.rdf.terms import Iri, Term
from headrace.results.table import Row, Table

LOGGER: Final = logging.getLogger("headrace.service")
_MILLION: Final = 1_000_000
_NOT_UNDERSTOOD: Final = range(400, 500)
_BUSY: Final = (408, 425, 429)
_ROUND: Final = 10

Keys = tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class FullAnswer:
    """The answer of an endpoint to a request for all mappings.

    Attributes:
        table: the solutions.
        more: how many requests that has taken besides the first.
        is_cut: whether it has more of them than it gives.
    """

    table: Table
    more: int = 0
    is_cut: bool = False


@dataclass(slots=True)
class Request:
    """A request for the mappings of some keys, with its state.

    One that is sent between evaluations knows the keys themselves, and the evaluation before.

    Attributes:
        more: how many requests were sent besides the first, to read its answer to the end.
    """

    pattern: Operator
    bindings: Values | None
    places: Sequence[int]
    given: Keys | None = None
    scope: Scope = UNSCOPED
    keys: tuple[Keys, ...] = ()
    at: int = 0
    started: float | None = None
    ended: float | None = None
    more: int = 0
    future: Future[Table] = field(default_factory=Future)

    @property
    def text(self) -> str:
        """The query."""
        return query_text(self.pattern, self.bindings)

    def lacks_keys(self, table: Table) -> bool:
        """Whether some key that is asked for has no row in an answer."""
        if self.bindings is None:
            return False
        names = [each.name for each in self.bindings.variables]
        columns = table.columns()
        if not set(names) <= columns.keys():
            return True
        found = set(zip(*(columns[name] for name in names), strict=True))
        return len(found) < len(self.places)


def may_be_truncated(number: int) -> bool:
    """Compare a number of rows with the round numbers that endpoints use as limits."""
    return number > 0 and number % _ROUND == 0


def microseconds(seconds: Iterable[float]) -> Ints:
    """Convert seconds to whole microseconds, at most what counts as never."""
    times = [min(round(each * _MILLION), NEVER_CHANGES) for each in seconds]
    return np.array(times, np.int64)


def read_seconds(term: Term | None) -> float:
    """Read the seconds between changes from a term; 0 if it has none."""
    if term is None:
        return 0.0
    try:
        return seconds_of(term) or 0.0
    except SettingError as error:
        LOGGER.warning("a time between changes cannot be read: %s", error)
        return 0.0


def is_refusal(error: ServiceError) -> bool:
    """Tell an error by which an endpoint refuses a request from other failures."""
    return error.status in _NOT_UNDERSTOOD and error.status not in _BUSY


def endpoint_of(service: Service) -> Iri:
    """Return the endpoint of a SERVICE under a budget, which is no variable."""
    assert isinstance(service.endpoint, Iri), "planning lets no variable through"
    return service.endpoint


def columns_of(pattern: Operator) -> tuple[str, ...]:
    """Return the variables whose values an answer has."""
    return tuple(each.name for each in possible_in_order(pattern) if not each.is_anonymous)


def rows_of(request: Request, keys: tuple[Variable, ...], variables: tuple[str, ...]) -> list[Row]:
    """Read the rows of an answer, with the terms that the request had in place of variables."""
    table = request.future.result()
    if request.given is None:
        return list(arranged(table, variables).rows)
    bound = dict(zip((each.name for each in keys), request.given, strict=True))
    others = tuple(name for name in variables if name not in bound)
    if not others:
        return [tuple(bound[name] for name in variables) for _ in table.rows]
    rows = arranged(table, others).rows
    places = [others.index(name) if name in others else -1 for name in variables]
    return [
        tuple(
            bound[name] if place < 0 else row[place]
            for name, place in zip(variables, places, strict=True)
        )
        for row in rows
    ]


def describe_failure(endpoint: Iri, error: ServiceError | DataError) -> str:
    """Write in one line why an endpoint gave no answer."""
    if isinstance(error, ServiceError):
        return str(error).splitlines()[0]
    return f"SERVICE <{public(endpoint.value)}>: its answer is wrong: {error}"
