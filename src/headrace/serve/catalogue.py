"""Which streams and queries there are: on disk before anyone is told, whole at any moment."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from headrace.durable import sync_directory
from headrace.pipeline.records import sealed, unsealed
from headrace.pipeline.tables import private, unwritable

ARRIVAL: Final = "arrival"
SAID: Final = "said"


@dataclass(frozen=True, slots=True)
class StreamEntry:
    """A stream as it was made.

    Attributes:
        name: what it is called in URLs.
        iri: by which queries read it.
        time: where the times of its elements are: `arrival`, `said`, or a property.
        delay: how far out of order it may be.
        title: for people.
        description: for people.
        license: for people.
        folder: where its log is; not the same if it is removed and made again.
        demo: the demo that it is a part of.
    """

    name: str
    iri: str
    time: str = ARRIVAL
    delay: str | None = None
    title: str | None = None
    description: str | None = None
    license: str | None = None
    folder: str = field(default_factory=lambda: secrets.token_hex(8))
    demo: str | None = None

    def says_the_same(self, other: StreamEntry) -> bool:
        """Whether it was made with the same words."""
        return replace(self, folder=other.folder, demo=other.demo) == other


@dataclass(frozen=True, slots=True)
class QueryEntry:
    """A query as it was registered.

    Attributes:
        name: what it is called.
        text: as it was sent.
        dialect: which it is written in.
        settings: of its own.
        registered: when, in milliseconds since the epoch.
        paused: whether it is not evaluated now.
        demo: the demo that it is a part of.
    """

    name: str
    text: str
    dialect: str
    settings: Mapping[str, str] = field(default_factory=dict)
    registered: int = 0
    paused: bool = False
    demo: str | None = None


class Catalogue:
    """The streams and queries of a server, kept in one file."""

    def __init__(self, path: Path) -> None:
        """Read what there is.

        Raises:
            MachineError: it is not what was written.
        """
        self.path = path
        self.streams: dict[str, StreamEntry] = {}
        self.queries: dict[str, QueryEntry] = {}
        if path.exists():
            found: dict[str, Any] = unsealed(path.read_bytes(), path)
            self.streams = {each["name"]: StreamEntry(**each) for each in found["streams"]}
            self.queries = {each["name"]: QueryEntry(**each) for each in found["queries"]}

    def stream_of(self, iri: str) -> StreamEntry | None:
        """The stream of an IRI."""
        return next((each for each in self.streams.values() if each.iri == iri), None)

    def put_stream(self, entry: StreamEntry) -> None:
        """Add a stream, durably."""
        self._save({**self.streams, entry.name: entry}, self.queries)

    def drop_stream(self, name: str) -> None:
        """Remove a stream, durably."""
        others = {key: each for key, each in self.streams.items() if key != name}
        self._save(others, self.queries)

    def put_query(self, entry: QueryEntry) -> None:
        """Add a query, or change it, durably."""
        self._save(self.streams, {**self.queries, entry.name: entry})

    def drop_query(self, name: str) -> None:
        """Remove a query, durably."""
        others = {key: each for key, each in self.queries.items() if key != name}
        self._save(self.streams, others)

    def _save(self, streams: Mapping[str, StreamEntry], queries: Mapping[str, QueryEntry]) -> None:
        record = {"streams": list(streams.values()), "queries": list(queries.values())}
        replace_file(self.path, sealed(record))
        self.streams, self.queries = dict(streams), dict(queries)


def replace_file(path: Path, content: bytes) -> None:
    """Write a file durably in place of the one that is there; it is never there in part.

    Raises:
        MachineError: there is no space for it.
    """
    draft = path.with_name(f".{path.name}.new")
    try:
        with private(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        raise unwritable(path, error) from error
