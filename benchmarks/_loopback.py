"""SPARQL endpoints on loopback, each in a process of its own."""

from __future__ import annotations

import multiprocessing as mp
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from threading import Thread
from typing import Any, Concatenate, Final, ParamSpec
from urllib.parse import parse_qs, urlsplit

import pyoxigraph as ox

JSON: Final = "application/sparql-results+json"
Arguments = ParamSpec("Arguments")


def results_of(store: ox.Store, query: str) -> bytes:
    """Evaluate a SELECT query, and write its solutions as JSON."""
    found = store.query(query)
    assert isinstance(found, ox.QuerySolutions)
    return found.serialize(format=ox.QueryResultsFormat.JSON) or b""


def serve_queries(
    pipe: Connection,
    answer: Callable[[str, str], bytes],
    execute: Callable[[Any], object],
    *,
    is_quiet: bool = False,
) -> None:
    """Answer queries over HTTP until None comes from the pipe.

    Args:
        pipe: to the process of the benchmark; it gets the port, and the result of each command.
        answer: makes the body of an answer from a path and a query.
        execute: executes a command of the benchmark.
        is_quiet: whether requests that clients abort are expected.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Log no request."""

        def do_GET(self) -> None:
            self.answer(urlsplit(self.path).query)

        def do_POST(self) -> None:
            self.answer(self.rfile.read(int(self.headers["Content-Length"])).decode())

        def answer(self, form: str) -> None:
            body = answer(urlsplit(self.path).path, parse_qs(form)["query"][0])
            self.send_response(200)
            self.send_header("Content-Type", JSON)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

        def handle_error(self, request: Any, client_address: Any) -> None:
            if not is_quiet:
                super().handle_error(request, client_address)

    server = Server(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    pipe.send(server.server_address[1])
    try:
        while (command := pipe.recv()) is not None:
            pipe.send(execute(command))
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def endpoint_process(
    serve: Callable[Concatenate[Connection, Arguments], None],
    *arguments: Arguments.args,
    **options: Arguments.kwargs,
) -> Iterator[tuple[str, Connection]]:
    """Start an endpoint in a process of its own, and yield its address and the pipe to it.

    Args:
        serve: serves the endpoint, given the other side of the pipe.
        arguments: what else `serve` takes.
        options: the same by name.
    """
    context = mp.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs, *arguments), kwargs=options, daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}", ours
    finally:
        ours.send(None)
        process.join()
