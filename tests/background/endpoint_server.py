"""A SPARQL endpoint on loopback over a pyoxigraph store, which can misbehave in many ways."""

from __future__ import annotations

import gzip
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pyoxigraph as ox

JSON = "application/sparql-results+json"
XML = "application/sparql-results+xml"


@dataclass(frozen=True, slots=True)
class Seen:
    """One request, as the server saw it."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    parameters: dict[str, list[str]]


Fault = Callable[["Handler"], bool]
"""Answers in place of the store; False lets the store answer after all."""


class Endpoint(ThreadingHTTPServer):
    """The server: a store, the faults of the next requests, and the requests so far."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, data: str, address: str = "127.0.0.1", port: int = 0) -> None:
        super().__init__((address, port), Handler)
        self.store = ox.Store()
        self.store.load(data.encode(), ox.RdfFormat.TRIG)
        self.faults: list[Fault] = []
        self.always: Fault | None = None
        self.seen: list[Seen] = []
        self.stopped = threading.Event()

    @property
    def iri(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/sparql"

    @property
    def asked(self) -> list[Seen]:
        """The requests that are more than a look at whether a view has been filled with all."""
        return [each for each in self.seen if " LIMIT 1 OFFSET " not in each.query]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay quiet: clients that give up are what is tested."""


class Handler(BaseHTTPRequestHandler):
    """Answers queries by GET and POST, in JSON or XML."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or each answer waits for the acknowledgement of its head
    server: Endpoint
    asked: str
    """The query of this request."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Stay quiet."""

    def do_GET(self) -> None:
        self._query(urlsplit(self.path).query)

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", "0"))
        body = self.rfile.read(length).decode()
        self._query("&".join(filter(None, [urlsplit(self.path).query, body])))

    def _query(self, form: str) -> None:
        if self.server.stopped.is_set():  # a connection that was kept open dies with the server
            self.close_connection = True
            return
        parameters = parse_qs(form)
        text = self.asked = parameters.get("query", [""])[0]
        path = urlsplit(self.path).path
        self.server.seen.append(Seen(self.command, path, text, dict(self.headers), parameters))
        fault = self.server.faults.pop(0) if self.server.faults else self.server.always
        if fault is not None and fault(self):
            return
        try:
            results = self.server.store.query(text)
        except (SyntaxError, ValueError) as error:
            self.answer(str(error).encode(), "text/plain", 400)
            return
        assert isinstance(results, ox.QuerySolutions)
        wants_xml = self.headers.get("Accept", "").startswith(XML)
        syntax = ox.QueryResultsFormat.XML if wants_xml else ox.QueryResultsFormat.JSON
        data = results.serialize(format=syntax)
        assert data is not None
        self.answer(data, XML if wants_xml else JSON)

    def answer(
        self, data: bytes, media_type: str = JSON, status: int = 200, **headers: str
    ) -> bool:
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(data)
        return True


@contextmanager
def serving(data: str = "", address: str = "127.0.0.1", port: int = 0) -> Iterator[Endpoint]:
    """An endpoint that runs until the end of the block."""
    server = Endpoint(data, address, port)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stopped.set()
        server.shutdown()
        server.server_close()
        thread.join(5)


# -- faults --------------------------------------------------------------------------------


def status(code: int, text: str = "", **headers: str) -> Fault:
    return lambda handler: handler.answer(text.encode(), "text/plain", code, **headers)


def body(text: str, media_type: str = JSON, **headers: str) -> Fault:
    return lambda handler: handler.answer(text.encode(), media_type, 200, **headers)


def zipped(data: bytes, encoding: str = "gzip") -> Fault:
    packed = gzip.compress(data)
    return lambda handler: handler.answer(packed, Content_Encoding=encoding)


def late(seconds: float) -> Fault:
    def fault(handler: Handler) -> bool:
        handler.server.stopped.wait(seconds)
        return False

    return fault


def reset(handler: Handler) -> bool:
    """End the connection with a reset, before any answer."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True
    return True


def truncated(handler: Handler) -> bool:
    """Promise more than is sent."""
    handler.send_response(200)
    handler.send_header("Content-Type", JSON)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"head": ')
    handler.close_connection = True
    return True


def dripping_body(handler: Handler) -> bool:
    """One byte now and then, for ever: no single read ever takes too long."""
    handler.send_response(200)
    handler.send_header("Content-Type", JSON)
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    return _drip(handler, b" ")


def dripping_head(handler: Handler) -> bool:
    """The same before the answer has even begun."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    return _drip(handler, b"a")


def _drip(handler: Handler, drop: bytes) -> bool:
    with suppress(OSError):
        while not handler.server.stopped.wait(0.05):
            handler.wfile.write(drop)
            handler.wfile.flush()
    handler.close_connection = True
    return True


def endless(handler: Handler) -> bool:
    """As much as the client takes, in chunks, as fast as it can."""
    handler.send_response(200)
    handler.send_header("Content-Type", JSON)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    piece = b" " * 65_536
    ends = time.monotonic() + 20
    with suppress(OSError):
        while not handler.server.stopped.is_set() and time.monotonic() < ends:
            handler.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
    handler.close_connection = True
    return True


@dataclass
class Sleeps:
    """A way to wait that does not, and knows how long it would have."""

    waited: list[float] = field(default_factory=list)

    def __call__(self, seconds: float) -> None:
        self.waited.append(seconds)
