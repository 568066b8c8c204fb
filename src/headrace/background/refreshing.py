"""How mappings of local views are fetched: several requests at once, none twice, all in time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import count
from typing import Final, TypeVar

import numpy as np
import polars as pl

from headrace.algebra.expressions import Variable
from headrace.algebra.operators import Operator, Service, Slice, Values
from headrace.algebra.substitution import is_substitutable, substituted, without_impossible
from headrace.background.breaker import Breaker
from headrace.background.change_intervals import KeyChanges
from headrace.background.config import ServiceConfig
from headrace.background.endpoint import EndpointClient
from headrace.background.errors import LargeAnswerError, RefusedError, ServiceError, public
from headrace.background.mapping_requests import (
    FullAnswer,
    Keys,
    Request,
    columns_of,
    describe_failure,
    endpoint_of,
    is_refusal,
    may_be_truncated,
    microseconds,
    read_seconds,
    rows_of,
)
from headrace.background.paced_requests import PacedSender
from headrace.background.pages import RowLimits, are_alike
from headrace.background.responses import arranged
from headrace.background.text import query_text
from headrace.background.text_terms import is_writable
from headrace.errors import DataError
from headrace.freshness.scores import NEVER_CHANGES, Ints
from headrace.kernel.columns import column
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.evaluation import InstantError
from headrace.kernel.fetching import Filling, Habits, Replies, Reply
from headrace.kernel.values import KIND, Kind
from headrace.rdf.ids import text_ids
from headrace.rdf.scopes import Scope
from headrace.rdf.terms import Iri
from headrace.results.table import Row, Table
from headrace.timed_waits import wait_for_futures

_PRIME: Final = 0x9E3779B97F4A7C15
_LATE: Final = "it did not answer in time"


T = TypeVar("T")


class Fetcher:
    """Asks endpoints for the mappings of local views."""

    def __init__(
        self,
        client: EndpointClient,
        config: ServiceConfig,
        dictionary: Dictionary,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Ask nothing yet; threads start with the first request."""
        self._client = client
        self._config = config
        self._dictionary = dictionary
        self._clock = clock
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self._breakers: dict[str, Breaker] = {}
        self._without_values: set[str] = set()
        self._changes = KeyChanges(config.each)
        self._limits = RowLimits(client, config.rows, clock)
        self._largest: dict[str, int] = {}  # the block that an endpoint has answered
        self._fillings: dict[tuple[str, Service], Future[FullAnswer]] = {}
        self._paced: dict[str, PacedSender[Request]] = {}
        self._settled: dict[str, list[Request]] = {}  # what can have no solutions is not sent
        self._numbers = count()

    def close(self) -> None:
        """Give up what has not been sent."""
        self._changes.warn_unmatched()
        for paced in self._paced.values():
            paced.take()
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def clock(self) -> float:
        """Seconds."""
        return self._clock()

    def habits(self, service: Service) -> Habits:
        """Return the settings that the deployment has for the view of a service."""
        config, url = self._config, self._client.admitted
        endpoint = endpoint_of(service)
        try:
            seconds = config.time_between_changes(url(endpoint), service.input)
        except RefusedError as error:
            if service.silent:
                return Habits(refused=describe_failure(endpoint, error))
            raise InstantError(str(error)) from error
        expected = None if seconds is None else int(microseconds([seconds])[0])
        whole = config.fill == "whole"
        return Habits(
            config.view,
            whole,
            config.lanes,
            config.block,
            expected,
            config.rows,
            rate=config.rate,
            changes_by=None if config.changes_by is None else Iri(config.changes_by),
            declares=bool(config.each),
        )

    def declared(self, keys: pl.DataFrame) -> Ints:
        """Look up the declared change intervals of some keys, in microseconds; 0 without one.

        Of a key of several terms, the shortest time counts.
        """
        found = np.zeros((len(keys.columns), keys.height), np.int64)
        for place, name in enumerate(keys.columns):
            found[place] = microseconds(
                map(self._changes.seconds, self._dictionary.terms(keys[name]))
            )
        shortest = np.where(found > 0, found, NEVER_CHANGES).min(axis=0)
        return np.where(shortest < NEVER_CHANGES, shortest, 0)

    def durations(self, ids: pl.Series) -> Ints:
        """Read terms as change intervals, in microseconds; 0 for terms that are none."""
        return microseconds(map(read_seconds, self._dictionary.terms(ids)))

    # -- everything ----------------------------------------------------------------------------

    def everything(self, service: Service, scope: str, within: float | None) -> Filling:
        """Fetch all solutions once for each scope, and wait at most some seconds."""
        endpoint, key = endpoint_of(service), (scope, service)
        breaker = self._breaker(endpoint)
        most = min(self._config.view, self._config.rows)
        requests = 0
        if key not in self._fillings:
            refused = breaker.refuses(self._clock())
            if refused is not None:
                return Filling(problem=refused)
            ask = partial(self._filled, endpoint, service.input, most, Scope(scope))
            self._fillings[key] = self._submit(ask)
            requests = 1
        future = self._fillings[key]
        if not wait_for_futures([future], within):
            return Filling(waits=True, requests=requests)
        del self._fillings[key]
        try:
            filled = future.result()
            requests += filled.more
            table = arranged(filled.table, columns_of(service.input))
        except LargeAnswerError:
            return Filling(too_many=True, requests=requests)
        except (ServiceError, DataError) as error:
            problem = describe_failure(endpoint, error)
            breaker.failed(self._clock(), problem, getattr(error, "wait", 0.0))
            return Filling(requests=requests, problem=problem)
        breaker.worked()
        if len(table.rows) >= most or filled.is_cut:
            return Filling(too_many=True, requests=requests)
        return Filling(self._encoded(table.variables, table.rows), requests=requests)

    def _filled(self, endpoint: Iri, pattern: Operator, most: int, scope: Scope) -> FullAnswer:
        """Ask for everything, and whether there is more where an endpoint may have a limit."""
        text = query_text(Slice(pattern, 0, most))
        table = self._client.select(endpoint, text, scope=scope, once=True)
        number = len(table.rows)
        if number <= 1 or number >= most:
            self._limits.note_whole(endpoint, number)
            return FullAnswer(table)
        text = query_text(Slice(pattern, number, 1))
        try:
            more = self._client.select(endpoint, text, scope=scope, once=True)
        except ServiceError:  # nobody knows, so it is not relied on
            return FullAnswer(table, more=1, is_cut=True)
        begins = Table(table.variables, table.rows[: len(more.rows)])
        if more.rows and are_alike(more, begins):  # it does not follow OFFSET
            return FullAnswer(table, more=1, is_cut=may_be_truncated(number))
        if more.rows:
            self._limits.note_cut(endpoint, number)
        else:
            self._limits.note_whole(endpoint, number)
        return FullAnswer(table, more=1, is_cut=bool(more.rows))

    def identities(self, keys: pl.DataFrame) -> Ints:
        """A number for each key that its terms make; ids would do, but for the seed in them."""
        found = np.zeros(keys.height, np.uint64)
        for texts in self._dictionary.texts_of(keys.get_columns()):
            own = text_ids([(each or "").encode() for each in texts.to_list()], 0)
            found = found * np.uint64(_PRIME) + own.astype(np.uint64)
        return found.astype(np.int64)

    def without_blank_nodes(self, rows: pl.DataFrame, names: list[str]) -> pl.DataFrame:
        """Some columns of rows, with the same number in the place of every blank node."""
        kinds = {name: self._dictionary.values_of(rows[name])[KIND] for name in names}
        return rows.with_columns(
            pl.when(kinds[name] == Kind.BLANK).then(0).otherwise(pl.col(name)).alias(name)
            for name in names
        )

    # -- some keys -----------------------------------------------------------------------------

    def some(
        self,
        service: Service,
        keys: tuple[Variable, ...],
        asked: pl.DataFrame,
        within: float | None,
        scope: str,
    ) -> Reply:
        """Fetch the solutions of some keys, and return those that arrive within some seconds."""
        endpoint = endpoint_of(service)
        variables = columns_of(service.input)
        breaker = self._breaker(endpoint)
        refused = breaker.refuses(self._clock())
        if refused is not None:
            nothing = self._encoded(variables, ())
            return Reply(nothing, (False,) * asked.height, problem=refused)
        terms = self._terms(keys, asked)
        size = self._size(endpoint)
        requests = list(self._requests(service.input, keys, terms, size, self._config.lanes))
        places = {place for each in requests for place in each.places}
        answered = [place not in places for place in range(len(terms))]
        if breaker.probes and requests:
            requests = requests[:1]
        until = None if within is None else self._clock() + within
        for number, request in enumerate(requests):
            request.scope = Scope(f"{scope}-{number}")
            request.future = self._submit(partial(self._sent, endpoint, request, until))
        wait_for_futures([each.future for each in requests], within)
        return self._reply(endpoint, keys, variables, answered, requests, size)

    def _terms(self, keys: tuple[Variable, ...], asked: pl.DataFrame) -> list[Keys]:
        columns = [self._dictionary.terms(asked[column(key)]) for key in keys]
        return [tuple(filter(None, each)) for each in zip(*columns, strict=True)]

    # -- between evaluations ---------------------------------------------------------------------

    def ask_ahead(
        self,
        service: Service,
        keys: tuple[Variable, ...],
        asked: pl.DataFrame,
        rate: float,
        scope: str,
        now: int,
    ) -> None:
        """Ask for some keys from now until the replies are taken, in this order."""
        endpoint = endpoint_of(service)
        if self._breaker(endpoint).refuses(self._clock()) is not None:
            return
        if scope not in self._paced:
            send = partial(self._send, endpoint)
            self._paced[scope] = PacedSender(send, self._clock, self._config.lanes)
        paced = self._paced[scope]
        on_their_way = {key for each in paced.unanswered for key in each.keys}
        terms = [each for each in self._terms(keys, asked) if each not in on_their_way]
        requests = list(self._requests(service.input, keys, terms, self._size(endpoint), 1))
        sent = {place for each in requests for place in each.places}
        if self._breaker(endpoint).probes:
            requests = requests[:1]
        for each in requests:
            each.keys, each.at = tuple(terms[place] for place in each.places), now
            each.scope = Scope(f"{scope}-{now}-{next(self._numbers)}")
        rest = tuple(key for place, key in enumerate(terms) if place not in sent)
        nothing = Request(service.input, None, [], keys=rest, at=now)
        self._settled[scope] = [nothing] if rest else []
        paced.start(requests, rate)

    def _send(self, endpoint: Iri, request: Request) -> None:
        request.future = self._submit(partial(self._sent, endpoint, request, None))

    def replies(self, service: Service, keys: tuple[Variable, ...], scope: str) -> Replies:
        """Return the replies since the last call, and send nothing more."""
        if scope not in self._paced:
            return Replies()
        endpoint, variables = endpoint_of(service), columns_of(service.input)
        new, done = self._paced[scope].take()
        breaker, problem = self._breaker(endpoint), None
        found: list[tuple[int, pl.DataFrame, pl.DataFrame]] = []
        seconds: list[float] = []
        for request in [*done, *self._settled.pop(scope, ())]:
            try:
                rows = rows_of(request, keys, variables) if request.places else []
            except (ServiceError, DataError) as error:
                problem = describe_failure(endpoint, error)
                breaker.failed(self._clock(), problem, getattr(error, "wait", 0.0))
                continue
            if request.started is not None and request.ended is not None:
                breaker.worked()
                seconds.append(request.ended - request.started)
            names = tuple(each.name for each in keys)
            asked = self._encoded(names, request.keys)
            found.append((request.at, asked, self._encoded(variables, rows)))
        number = sum(len(each.keys) for each in new)
        requests = len(new) + sum(each.more for each in done)
        return Replies(tuple(found), number, requests, tuple(seconds), problem)

    def _size(self, endpoint: Iri) -> int:
        refuses = endpoint.value in self._without_values
        return 1 if self._config.refresh == "bound" or refuses else self._config.block

    def _requests(
        self,
        pattern: Operator,
        keys: tuple[Variable, ...],
        terms: list[Keys],
        size: int,
        lanes: int,
    ) -> Iterator[Request]:
        """Make requests for keys; leave out keys that can have no solutions.

        That is a term that means nothing elsewhere, such as a blank node, and one that cannot stand
        where it would.
        """
        asked = [place for place, key in enumerate(terms) if all(map(is_writable, key))]
        if size == 1 and is_substitutable(pattern, frozenset(keys)):
            for place in asked:
                bound = substituted(pattern, dict(zip(keys, terms[place], strict=True)))
                possible = without_impossible(bound)
                if possible is not None:
                    yield Request(possible, None, [place], terms[place])
            return
        # Over all lanes, so that no request takes longer than it must.
        share = -(-len(asked) // lanes) if asked else 1
        size = max(1, min(size, max(share, 1)))
        for start in range(0, len(asked), size):
            places = asked[start : start + size]
            rows = tuple(terms[place] for place in places)
            yield Request(pattern, Values(keys, rows), places)

    def _sent(self, endpoint: Iri, request: Request, until: float | None) -> Table:
        now = self._clock()
        if until is not None and now >= until:
            raise ServiceError(endpoint.value, _LATE)
        request.started = now
        left = None if until is None else until - now
        try:
            table = self._client.select(
                endpoint, request.text, scope=request.scope, within=left, once=True
            )
            if self._limits.is_certain(endpoint, len(table.rows), lacks=request.lacks_keys(table)):
                return table
            return self._limits.whole(endpoint, request, table, until)
        finally:
            request.ended = self._clock()

    def _reply(
        self,
        endpoint: Iri,
        keys: tuple[Variable, ...],
        variables: tuple[str, ...],
        answered: list[bool],
        requests: list[Request],
        size: int,
    ) -> Reply:
        breaker = self._breaker(endpoint)
        rows: list[Row] = []
        problem: str | None = None
        asked_to_wait = 0.0
        refused: list[int] = []
        for request in requests:
            if not request.future.done():
                request.future.cancel()
                problem = f"SERVICE <{public(endpoint.value)}>: {_LATE}"
                continue
            try:
                rows += rows_of(request, keys, variables)
            except (ServiceError, DataError) as error:
                problem = describe_failure(endpoint, error)
                if isinstance(error, ServiceError):
                    asked_to_wait = max(asked_to_wait, error.wait)
                    refused += [len(request.places)] if is_refusal(error) else []
                continue
            for place in request.places:
                answered[place] = True
        done = [len(each.places) for each in requests if answered[each.places[0]]]
        self._note_values(endpoint, done, refused, in_blocks=size > 1)
        now = self._clock()
        if requests and problem is not None and not any(answered):
            breaker.failed(now, problem, asked_to_wait)
        elif requests:
            breaker.worked()
        started = [each for each in requests if each.started is not None]
        seconds = [(each.ended or now) - each.started for each in started if each.started]
        most = max((len(each.places) for each in requests), default=1)
        return Reply(
            self._encoded(variables, rows),
            tuple(answered),
            sum(1 + each.more for each in started),
            tuple(seconds),
            most,
            problem,
        )

    def _note_values(
        self, endpoint: Iri, answered: list[int], refused: list[int], *, in_blocks: bool
    ) -> None:
        """An endpoint that does not understand a block may understand single mappings.

        Not so if it has answered a block as large before, or understands single ones no better:
        then something else was wrong with the block.

        Args:
            endpoint: which.
            answered: how many mappings each request had that it has answered.
            refused: the same of those that it has not understood.
            in_blocks: whether they had VALUES.
        """
        name = endpoint.value
        if in_blocks:
            largest = self._largest[name] = max([self._largest.get(name, 0), *answered])
            if self._config.refresh == "auto" and max(refused, default=0) > largest:
                self._without_values.add(name)
        elif refused and not answered:
            self._without_values.discard(name)

    # -- details -------------------------------------------------------------------------------

    def _breaker(self, endpoint: Iri) -> Breaker:
        config = self._config
        return self._breakers.setdefault(
            endpoint.value, Breaker(config.backoff, config.longest_backoff)
        )

    def _submit(self, ask: Callable[[], T]) -> Future[T]:
        with self._lock:  # requests between evaluations are sent by another thread
            return self._threads().submit(ask)

    def _threads(self) -> ThreadPoolExecutor:
        if self._pool is None:
            # One more, so that a view that is being filled holds up no other.
            self._pool = ThreadPoolExecutor(self._config.lanes + 1, "headrace-service")
        return self._pool

    def _encoded(self, variables: tuple[str, ...], rows: Sequence[Row]) -> pl.DataFrame:
        table = Table(variables, tuple(rows))
        return pl.DataFrame(
            [
                self._dictionary.encode_all(terms).alias(column(Variable(name)))
                for name, terms in table.columns().items()
            ]
        )
