"""The client of SPARQL endpoints: what SERVICE asks, and what comes back or goes wrong."""

from __future__ import annotations

import base64
import hashlib
import ssl
import time
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import Final
from urllib.parse import urlencode

import httpcore2
import httpx2

from headrace.algebra.operators import Operator
from headrace.algebra.scope import possible_in_order
from headrace.background.addresses import AddressError, PrivateAddressError, Resolve, look_up
from headrace.background.bound_requests import block_requests, nested_requests
from headrace.background.config import Basic, Bearer, ServiceConfig
from headrace.background.errors import LargeAnswerError, RefusedError, ServiceError
from headrace.background.responses import (
    ACCEPT,
    ACCEPT_ENCODING,
    TooLongError,
    collected,
    excerpt,
    table_of,
)
from headrace.background.transport import Deadline, guarded_client
from headrace.background.urls import Url, UrlError, normal
from headrace.errors import DataError
from headrace.metering import current
from headrace.rdf.scopes import UNSCOPED, Scope
from headrace.rdf.terms import Iri
from headrace.results.checks import TooManyRowsError
from headrace.results.table import ResultLimits, Row, Table
from headrace.version import __version__

_SHARE_OF_EVALUATION: Final = 0.8
"""A request may take this share of the time that its evaluation has left."""
_OK: Final = 200
_REDIRECTS: Final = range(300, 400)
_NOT_ALLOWED: Final = (401, 403, 407)
_PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses that may be another one a moment later."""
_ERROR_BYTES: Final = 4_096
_NOTHING_LEFT: Final = "it did not answer in time"


class _PassingError(Exception):
    """A failure that may not happen again; `wait` is how long the server asked to be left alone."""

    def __init__(self, problem: str, status: int | None = None, wait: float = 0.0) -> None:
        super().__init__(problem)
        self.problem = problem
        self.status = status
        self.wait = wait


class EndpointClient:
    """Asks endpoints that are allowed, within limits.

    It may be used by several threads. Close it, or use it in a `with` statement.
    """

    def __init__(
        self,
        config: ServiceConfig,
        *,
        resolve: Resolve = look_up,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Connect to nothing yet.

        Args:
            config: what is allowed.
            resolve: how the addresses of a host are found.
            clock: seconds, for time limits.
            sleep: how to wait before a retry.
            tls: whom to trust; the system knows, if this does not say.
        """
        self._config = config
        self._limits = ResultLimits(size=config.response_bytes, rows=config.rows)
        self._sleep = sleep
        self._deadline = Deadline(clock)
        self._http = guarded_client(config.networks(), self._deadline, resolve, tls)

    def __enter__(self) -> EndpointClient:
        """Use it until the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    @property
    def block(self) -> int:
        """How many bindings are sent in one request."""
        return self._config.block

    def solutions(
        self,
        endpoint: Iri,
        pattern: Operator,
        bindings: Table | None = None,
        *,
        scope: str = "service",
        within: float | None = None,
        nested: bool = False,
    ) -> Table:
        """Return the solutions of a pattern, or those that can fit some bindings.

        They are to be joined with the bindings: there may be some among them that fit none.

        Args:
            endpoint: whom to ask; a constant of the query or a value from the data, it must be
                allowed in either case.
            pattern: what SERVICE holds.
            bindings: terms of variables that are shared with the pattern; without them, all
                solutions are asked for.
            scope: what the blank nodes of the answer are called; another one for each call of
                an evaluation.
            within: seconds, if fewer than the configuration allows.
            nested: whether each request has one binding, put into the pattern, instead of a block
                of them in VALUES.

        Raises:
            ServiceError: if there is no answer, or not one that can be used.
            UnsupportedError: if the pattern cannot be evaluated by an endpoint.
        """
        url = self.admitted(endpoint)
        self._start(within)
        variables = tuple(each.name for each in possible_in_order(pattern) if not each.is_anonymous)
        if nested:
            requests = nested_requests(pattern, bindings)
        else:
            requests = block_requests(pattern, bindings, self.block)
        rows: list[Row] = []
        for number, request in enumerate(requests):
            name = Scope(f"{scope}-{number}")
            table = self._asked(url, request.text, name, self._config.retries)
            try:
                rows += request.restore(table, variables)
            except DataError as error:
                raise ServiceError(str(url), f"its answer is wrong: {error.problem}") from None
            if len(rows) > self._config.rows:
                problem = f"its answers have more than {self._config.rows:,} rows together"
                raise LargeAnswerError(str(url), problem, hint="ask for less, or allow more (rows)")
        return Table(variables, tuple(rows))

    def select(
        self,
        endpoint: Iri,
        text: str,
        *,
        scope: Scope = UNSCOPED,
        within: float | None = None,
        once: bool = False,
    ) -> Table:
        """What an endpoint answers to the text of a SELECT query.

        Args:
            endpoint: whom to ask.
            text: the query.
            scope: what the blank nodes of the answer are called.
            within: seconds, if fewer than the configuration allows.
            once: whether a request that failed is not sent again.

        Raises:
            ServiceError: if there is no answer, or not one that can be used.
        """
        url = self.admitted(endpoint)
        self._start(within)
        return self._asked(url, text, scope, 0 if once else self._config.retries)

    def admitted(self, endpoint: Iri) -> Url:
        """The URL of an endpoint, if it is allowed.

        Raises:
            RefusedError: if it is not.
        """
        try:
            url = normal(endpoint.value)
        except UrlError as error:
            raise RefusedError(endpoint.value, str(error)) from None
        if not self._config.allows(url):
            raise RefusedError(
                endpoint.value,
                "this endpoint is not allowed",
                hint=f"allow it by a prefix of its IRI: --service-allow {replace(url, query=None)}",
            )
        return url

    # -- one query -------------------------------------------------------------------------

    def _start(self, within: float | None) -> None:
        seconds = self._config.total if within is None else min(within, self._config.total)
        # So that this evaluation fails, and not the query: the next one may succeed.
        seconds = min(seconds, _SHARE_OF_EVALUATION * current().seconds_left)
        self._deadline.ends = self._deadline.clock() + seconds

    def _asked(self, url: Url, text: str, scope: Scope, retries: int) -> Table:
        """The answer to a query, asked again where that may help and there is time for it."""
        attempt = 0
        while True:
            attempt += 1
            try:
                data, media_type = self._sent(url, text)
                return table_of(data, media_type, scope, self._limits)
            except TooManyRowsError as error:
                hint = "ask for less, or allow more (rows)"
                raise LargeAnswerError(
                    str(url),
                    f"its answer is wrong: {error}",
                    status=_OK,
                    hint=hint,
                    attempts=attempt,
                ) from None
            except DataError as error:
                problem = f"its answer is wrong: {error}"
                raise ServiceError(str(url), problem, status=_OK, attempts=attempt) from None
            except _PassingError as error:
                pause = max(error.wait, self._pause(url, text, attempt))
                left = self._deadline.ends - self._deadline.clock()
                if attempt > retries or pause >= left:
                    raise self._given_up(url, error, attempt) from None
                self._sleep(pause)
            except ServiceError as error:
                error.attempts = attempt
                raise

    def _given_up(self, url: Url, error: _PassingError, attempts: int) -> ServiceError:
        hint = "is it up, and is the time enough? (connect, total, retries)"
        return ServiceError(
            str(url),
            error.problem,
            status=error.status,
            hint=hint,
            attempts=attempts,
            wait=error.wait,
        )

    def _pause(self, url: Url, text: str, attempt: int) -> float:
        """How long to wait before a retry: twice as long each time, and not all at the same time.

        What spreads retries is a hash of the request, so that a replay waits as long.
        """
        longest = min(
            self._config.longest_backoff, self._config.backoff * 2.0 ** min(attempt - 1, 60)
        )
        digest = hashlib.sha256(f"{url}\n{text}\n{attempt}".encode()).digest()
        return longest * (0.5 + int.from_bytes(digest[:4], "big") / 2**33)

    def _sent(self, url: Url, text: str) -> tuple[bytes, str]:
        """The bytes of an answer and their media type.

        Raises:
            _PassingError: if it may be another answer next time.
            ServiceError: if it will not.
        """
        try:
            request = self._request(url, text)
            response = self._http.send(request, stream=True)
        except PrivateAddressError as error:
            hint = "if this is meant, allow the address itself: --service-private ADDRESS"
            raise RefusedError(str(url), str(error), hint=hint) from None
        except AddressError as error:
            hint = "is the name of its host right?"
            raise ServiceError(str(url), str(error), hint=hint) from None
        except httpx2.InvalidURL as error:
            raise RefusedError(str(url), f"it is not a URL: {error}") from None
        except (httpx2.TimeoutException, httpcore2.TimeoutException):
            raise _PassingError(_NOTHING_LEFT) from None
        except (httpx2.HTTPError, httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            raise _PassingError(f"it cannot be reached: {_said(error)}") from None
        try:
            return self._received(url, response)
        except TooLongError:
            most = f"{self._config.response_bytes:,} bytes"
            raise LargeAnswerError(
                str(url),
                f"its answer is larger than {most}",
                status=response.status_code,
                hint="ask for less, or allow more (response_bytes)",
            ) from None
        except (httpx2.TimeoutException, httpcore2.TimeoutException):
            raise _PassingError(_NOTHING_LEFT, response.status_code) from None
        except (httpx2.HTTPError, httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            problem = f"its answer is cut off: {_said(error)}"
            raise _PassingError(problem, response.status_code) from None
        finally:
            response.close()

    def _request(self, url: Url, text: str) -> httpx2.Request:
        """GET if the query is short, so that it can be cached on its way; POST otherwise."""
        headers = {
            "Accept": ACCEPT,
            "Accept-Encoding": ACCEPT_ENCODING,
            "User-Agent": f"headrace/{__version__}",
        }
        match self._config.secret_for(url):
            case Basic(user, password):
                pair = base64.b64encode(f"{user}:{password}".encode()).decode()
                headers["Authorization"] = f"Basic {pair}"
            case Bearer(token):
                headers["Authorization"] = f"Bearer {token}"
        form = urlencode({"query": text})
        timeout = httpx2.Timeout(self._config.total, connect=self._config.connect)
        target = f"{url}{'?' if url.query is None else '&'}{form}"
        if len(target) <= self._config.url_characters:
            return self._http.build_request("GET", target, headers=headers, timeout=timeout)
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        return self._http.build_request(
            "POST", str(url), content=form.encode(), headers=headers, timeout=timeout
        )

    def _received(self, url: Url, response: httpx2.Response) -> tuple[bytes, str]:
        status = response.status_code
        encoding = response.headers.get("content-encoding", "")
        if status == _OK:
            data = collected(response.iter_raw(), encoding, self._config.response_bytes)
            return data, response.headers.get("content-type", "")
        if status in _REDIRECTS:
            raise ServiceError(
                str(url),
                f"it answers with {status}, a redirect, and those are not followed",
                status=status,
                hint="write the IRI it leads to into the query, and allow that",
            )
        said = _excerpt_of(response, encoding)
        problem = f"it answers with {status}" + (f": {said}" if said else "")
        if status in _PASSING:
            raise _PassingError(problem, status, _asked_to_wait(response))
        hint = "configure credentials for it" if status in _NOT_ALLOWED else None
        raise ServiceError(str(url), problem, status=status, hint=hint)


def _excerpt_of(response: httpx2.Response, encoding: str) -> str:
    if encoding not in ("", "identity"):
        return ""
    found = bytearray()
    for chunk in response.iter_raw():
        found += chunk
        if len(found) >= _ERROR_BYTES:
            break
    return excerpt(bytes(found))


def _asked_to_wait(response: httpx2.Response) -> float:
    seconds = response.headers.get("retry-after", "")
    return float(seconds) if seconds.isascii() and seconds.isdigit() else 0.0


def _said(error: Exception) -> str:
    return excerpt(str(error).encode()) or type(error).__name__
