"""The catalogue of a server: its streams and queries, durable before a change is confirmed."""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from headrace.durable import sync_directory
from headrace.errors import DamagedError, MachineError
from headrace.pipeline.records import sealed, unsealed
from headrace.pipeline.tables import LOGS, private, unwritable

LOGGER: Final = logging.getLogger("headrace.serve")
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
        registration_id: made anew whenever it is registered or resumed, so that it begins anew.
    """

    name: str
    text: str
    dialect: str
    settings: Mapping[str, str] = field(default_factory=dict)
    registered: int = 0
    paused: bool = False
    demo: str | None = None
    registration_id: str = ""

    def renewed(self) -> QueryEntry:
        """Return the same query with an identity that no other registration has."""
        return replace(self, registration_id=secrets.token_hex(8))


@dataclass(frozen=True, slots=True)
class CatalogueRecord:
    """A catalogue as it is written.

    Attributes:
        streams: those that there are.
        queries: those that there are.
        generation: how often a catalogue was written before.
        removed: the folders of logs that are to be deleted.
        has_graphs: whether there is an index of static graphs, which may name none.
    """

    streams: tuple[StreamEntry, ...] = ()
    queries: tuple[QueryEntry, ...] = ()
    generation: int = 0
    removed: tuple[str, ...] = ()
    has_graphs: bool = False


class Catalogue:
    """The streams and queries of a server, in a file and a copy of it.

    The copy is written after the file. So a catalogue that is older than its copy is not the one
    that was written last, and a lost one can be put back.
    """

    def __init__(self, path: Path, copy: Path) -> None:
        """Read a file that was checked, and bring its copy up to date.

        Args:
            path: the file.
            copy: its copy.

        Raises:
            MachineError: the file is damaged.
        """
        self.path = path
        self._copy = copy
        found = read_catalogue(path)
        self._set(found or CatalogueRecord())
        if found is not None and _readable(copy) != found:
            replace_file(copy, sealed(found))

    def _set(self, record: CatalogueRecord) -> None:
        self.generation = record.generation
        self.removed = record.removed
        self.streams = {each.name: each for each in record.streams}
        self.queries = {each.name: each for each in record.queries}

    def stream_of(self, iri: str) -> StreamEntry | None:
        """The stream of an IRI."""
        return next((each for each in self.streams.values() if each.iri == iri), None)

    def put_stream(self, entry: StreamEntry) -> None:
        """Add a stream, durably."""
        self._save({**self.streams, entry.name: entry}, self.queries)

    def drop_stream(self, name: str) -> None:
        """Remove a stream, durably; its log may be deleted after that."""
        others = {key: each for key, each in self.streams.items() if key != name}
        gone = self.streams[name].folder
        self._save(others, self.queries, (*self.removed, gone))

    def put_query(self, entry: QueryEntry) -> None:
        """Add a query, or change it, durably."""
        self._save(self.streams, {**self.queries, entry.name: entry})

    def drop_query(self, name: str) -> None:
        """Remove a query, durably."""
        others = {key: each for key, each in self.queries.items() if key != name}
        self._save(self.streams, others)

    def _save(
        self,
        streams: Mapping[str, StreamEntry],
        queries: Mapping[str, QueryEntry],
        removed: Sequence[str] | None = None,
    ) -> None:
        logs = self.path.parent / LOGS
        left = [each for each in self.removed if (logs / each).exists()]
        record = CatalogueRecord(
            tuple(streams.values()),
            tuple(queries.values()),
            self.generation + 1,
            tuple(left if removed is None else removed),
            has_graphs=True,
        )
        replace_file(self.path, sealed(record))
        self._set(record)
        try:
            replace_file(self._copy, sealed(record))
        except MachineError as error:  # what counts is written; the next change writes both
            LOGGER.warning("the copy of the catalogue is old: %s", error)


def read_catalogue(path: Path) -> CatalogueRecord | None:
    """Read a catalogue, if there is one.

    Raises:
        MachineError: it is not what was written.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        problem = f"{path} cannot be read ({error.strerror}): {remedy_of(path)}"
        raise DamagedError(problem) from error
    try:
        found = unsealed(content, path)
    except DamagedError:
        problem = f"{path} is damaged: its checksum is wrong; {remedy_of(path)}"
        raise DamagedError(problem) from None
    return CatalogueRecord(
        tuple(StreamEntry(**each) for each in found["streams"]),
        tuple(QueryEntry(**each) for each in found["queries"]),
        found.get("generation", 0),
        tuple(found.get("removed", ())),
        found.get("has_graphs", False),  # an older version wrote the index with the first graph
    )


def checked_catalogue(path: Path, copy: Path, *, is_new: bool) -> CatalogueRecord:
    """Read a catalogue that is as new as its copy; an empty one where nothing was ever written.

    Args:
        path: the file.
        copy: its copy.
        is_new: whether there is nothing that a catalogue would be missed for.

    Raises:
        MachineError: the file is damaged, missing or older than its copy.
    """
    found, kept = read_catalogue(path), _readable(copy)
    if copy.is_dir():
        raise DamagedError(f"{copy} is a folder, and has to be a file: move it out of the way")
    if found is None:
        if kept is not None or not is_new:
            raise DamagedError(_misses(path, kept))
        return CatalogueRecord()
    if kept is not None and kept.generation > found.generation:
        raise DamagedError(
            f"{path} is older than its copy {copy.name}: {remedy_of(path)}; to go on with the "
            "older one, delete the copy"
        )
    return found


def _readable(copy: Path) -> CatalogueRecord | None:
    """Read a copy, if it can be read: it only helps where the file itself is lost."""
    try:
        return read_catalogue(copy)
    except DamagedError:
        return None


def _misses(path: Path, copy: CatalogueRecord | None) -> str:
    if copy is None:
        return (
            f"{path} is missing, and this directory has streams or results: put the file back "
            "from a backup, or start in an empty directory"
        )
    return f"{path} is missing: {remedy_of(path)}"


def remedy_of(path: Path) -> str:
    """What to do for a lost catalogue."""
    return f"`headrace doctor --checkpoint {path.parent} --repair` puts its copy back"


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
