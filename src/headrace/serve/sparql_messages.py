"""Messages between the server and the processes that evaluate queries of `/sparql`.

What the server sends is a pickle, and what it gets is JSON and bytes: a process that evaluates
queries of clients is not trusted. Each part has its length in eight bytes before it.
"""

from __future__ import annotations

import json
import pickle
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeAlias

import polars as pl

from headrace.background.config import ServiceConfig
from headrace.metering import EvaluationLimits

HEAD: Final = struct.Struct(">Q")


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """What a worker is started with.

    Attributes:
        seed: of the ids of terms.
        services: which endpoints SERVICE may ask.
        schemas: files of the schema that queries read their data under.
        static: files of static data, by which schemas may be named.
        limits: what one evaluation may use.
        memory: bytes that one evaluation may add to the memory of the worker.
        answer_rows: rows of an answer.
    """

    seed: int
    services: ServiceConfig | None
    schemas: Sequence[tuple[str | None, Path]]
    static: Sequence[tuple[str | None, Path]]
    limits: EvaluationLimits
    memory: int
    answer_rows: int


@dataclass(frozen=True, slots=True)
class StaticSnapshot:
    """The static graphs of a server as they were at one time, in a file.

    Attributes:
        version: the number of changes before.
        path: a file of statements and terms.
    """

    version: int
    path: Path


@dataclass(frozen=True, slots=True)
class StreamContent:
    """The current content of a stream: the graph of its name.

    Attributes:
        iri: the name of the stream.
        statements: ids of subjects, predicates and objects.
        terms: what they stand for.
    """

    iri: str
    statements: pl.DataFrame
    terms: pl.DataFrame


@dataclass(frozen=True, slots=True)
class SparqlRequest:
    """A query of `/sparql`, and the data that it is asked over.

    Attributes:
        text: the query.
        base: what its relative IRIs are resolved against.
        default: graphs that make up the default graph, if the request names them.
        named: graphs that GRAPH sees, likewise.
        accept: the types that the client accepts.
        form: the type that it names in the URL.
        streams: the contents of streams, if the query may read graphs.
    """

    text: str
    base: str
    default: Sequence[str]
    named: Sequence[str]
    accept: str | None
    form: str | None
    streams: Sequence[StreamContent] = ()


Message: TypeAlias = "WorkerSettings | StaticSnapshot | SparqlRequest | Cancellation"
"""What the server sends."""


@dataclass(frozen=True, slots=True)
class SparqlAnswer:
    """The body of an answer.

    Attributes:
        content: the body.
        media_type: its type.
        notes: what expressions of the query could not compute.
    """

    content: bytes
    media_type: str
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there is no answer, as a problem of the server says it.

    Attributes:
        status: the status of HTTP.
        detail: what is wrong.
        title: what kind of problem it is.
        errors: where in the query.
    """

    status: int
    detail: str
    title: str
    errors: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Cancellation:
    """The request that is being worked on is to be given up.

    Attributes:
        reason: why, for the refusal.
    """

    reason: str


def pack(message: Message) -> bytes:
    """Return a message of the server as it is sent."""
    return _frame(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))


def pack_reply(reply: SparqlAnswer | Refusal | None) -> bytes:
    """Return a reply as it is sent; none says that the process is ready."""
    match reply:
        case SparqlAnswer(content, media_type, notes):
            said: dict[str, Any] = {"media_type": media_type, "notes": list(notes)}
            return _frame(json.dumps(said).encode()) + _frame(content)
        case Refusal(status, detail, title, errors):
            said = {"status": status, "detail": detail, "title": title, "errors": list(errors)}
            return _frame(json.dumps(said).encode()) + _frame(b"")
        case None:
            return _frame(b"{}") + _frame(b"")


def read_reply(stream: BinaryIO) -> SparqlAnswer | Refusal | None:
    """Read a reply.

    Raises:
        EOFError: the process has ended.
        ValueError: it is no reply.
    """
    said = json.loads(read_part(stream))
    content = read_part(stream)
    match said:
        case {"media_type": str(media_type), "notes": list(notes)}:
            return SparqlAnswer(content, media_type, [str(note) for note in notes])
        case {"status": int(status), "detail": str(detail), "title": str(title), "errors": errors}:
            return Refusal(status, detail, title, errors)
        case {}:
            return None
        case _:
            raise ValueError("the process of a query has sent no reply")


def read_part(stream: BinaryIO) -> bytes:
    """Read a part of a message.

    Raises:
        EOFError: the other process has ended.
    """
    head = stream.read(HEAD.size)
    if len(head) < HEAD.size:
        raise EOFError
    [length] = HEAD.unpack(head)
    content = stream.read(length)
    if len(content) < length:
        raise EOFError
    return content


def _frame(content: bytes) -> bytes:
    return HEAD.pack(len(content)) + content
