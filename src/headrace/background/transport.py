"""HTTP that connects to checked addresses only and ends when the time is up.

httpx2 does the protocol. What it does beyond that, such as redirects, proxies of the environment
and cookies, is switched off; where it would look a name up and connect, this does it instead.
"""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final

import httpcore2
import httpx2

from headrace.background.addresses import Network, Resolve, admitted, look_up

_PIECE: Final = 16_384
_CONNECTIONS: Final = 8
_SHORTEST: Final = 0.001
"""A time-out of zero would mean not to wait at all, which is another kind of socket."""

SocketOption = (
    tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]
)
Clock = Callable[[], float]


class Deadline(threading.local):
    """When the request of this thread must be over."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        """No request yet."""
        self.clock = clock
        self.ends = float("inf")

    def left(self, most: float | None = None) -> float:
        """Seconds that are left, or `most` of them.

        Raises:
            httpcore2.ReadTimeout: if there are none.
        """
        left = self.ends - self.clock()
        if left <= 0:
            raise httpcore2.ReadTimeout("the time is up")
        return max(_SHORTEST, left if most is None else min(left, most))


class _Stream(httpcore2.NetworkStream):
    """A connection whose every step ends by the deadline."""

    def __init__(self, inner: httpcore2.NetworkStream, deadline: Deadline) -> None:
        self._inner = inner
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._deadline.left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _PIECE):
            self._inner.write(buffer[start : start + _PIECE], self._deadline.left(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        left = self._deadline.left(timeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, left), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class GuardedBackend(httpcore2.NetworkBackend):
    """Connects to addresses that are admitted, and to nothing else."""

    def __init__(
        self, private: tuple[Network, ...], deadline: Deadline, resolve: Resolve = look_up
    ) -> None:
        """Admit public addresses and those of some private networks."""
        self._private = private
        self._deadline = deadline
        self._resolve = resolve
        self._network = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[SocketOption] | None = None,
    ) -> httpcore2.NetworkStream:
        """Connect to the first address of a host that is admitted and answers.

        Raises:
            AddressError: if none is admitted.
            httpcore2.ConnectError: if none answers.
        """
        left = self._deadline.left(timeout)
        problem: Exception = httpcore2.ConnectError("it has no address")
        for address in admitted(host, port, self._private, self._resolve, left):
            left = self._deadline.left(timeout)
            try:
                stream = self._network.connect_tcp(
                    address, port, left, local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                problem = error
            else:
                return _Stream(stream, self._deadline)
        raise problem


class _Body(httpx2.SyncByteStream):
    def __init__(self, stream: Iterable[bytes]) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        yield from self._stream

    def close(self) -> None:
        close = getattr(self._stream, "close", None)
        if close is not None:
            with suppress(httpcore2.NetworkError, httpcore2.ProtocolError):
                close()


class GuardedTransport(httpx2.BaseTransport):
    """What httpx2 sends requests through."""

    def __init__(self, backend: GuardedBackend, tls: ssl.SSLContext | None = None) -> None:
        """Keep connections of a backend open for the next request."""
        self._pool = httpcore2.ConnectionPool(
            ssl_context=tls,
            network_backend=backend,
            max_connections=_CONNECTIONS,
            keepalive_expiry=10.0,
            retries=0,
        )

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request."""
        url = request.url
        response = self._pool.handle_request(
            httpcore2.Request(
                method=request.method,
                url=httpcore2.URL(
                    scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
                ),
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        assert isinstance(response.stream, Iterable)
        return httpx2.Response(
            status_code=response.status,
            headers=response.headers,
            stream=_Body(response.stream),
            extensions=response.extensions,
        )

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()


def guarded_client(
    private: tuple[Network, ...],
    deadline: Deadline,
    resolve: Resolve = look_up,
    tls: ssl.SSLContext | None = None,
) -> httpx2.Client:
    """A client that follows no redirect, asks no proxy and keeps no cookie."""
    transport = GuardedTransport(GuardedBackend(private, deadline, resolve), tls)
    return httpx2.Client(
        transport=transport,
        trust_env=False,
        follow_redirects=False,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
    )
