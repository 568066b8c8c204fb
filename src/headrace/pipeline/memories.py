"""What a kernel remembers, in files: its memory proper, and snapshots of long-lived windows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from uuid import uuid4

import polars as pl
import pyarrow as pa

from headrace.kernel.arrivals import Arrivals
from headrace.kernel.columns import ARRIVALS, HIGH, ID, POSITION, STATEMENT, TERMS, TIME
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.log import Elements, StreamLog
from headrace.kernel.memory import DerivedMemory, GroupMemory, Memory, QueryMemory
from headrace.pipeline.panes import SIZE
from headrace.pipeline.tables import frame_of, read_tables, write_tables

_NAME: Final = b"headrace"
_GROUP: Final = "previous of "
"""How the last answers of queries that are evaluated as one are called, before their names."""
_VIEW: Final = "view of "
"""How what a query knows of remote data is called, before the names of both."""

_USED: Final = "used by "
"""How the matches are called whose triples are used up, before the name of their query."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A file with all that windows held of a stream, in place of the panes that it came from.

    Attributes:
        name: the file.
        checksum: of its content.
        last: the greatest time of an element in it.
    """

    name: str
    checksum: str
    last: int


def write_memory(directory: Path, memory: Memory) -> tuple[str, str] | None:
    """Write the frames of a memory to a new file; its name and checksum, if there are any."""
    previous = {
        f"previous {name}": query.previous
        for name, query in memory.queries.items()
        if query.previous is not None
    }
    derived = {
        f"derived {iri}": each.statements
        for iri, each in memory.derived.items()
        if not each.statements.is_empty()
    }
    groups = {f"{_GROUP}{json.dumps(each.names)}": each.previous for each in memory.groups}
    used = {
        f"{_USED}{name}": query.used
        for name, query in memory.queries.items()
        if query.used is not None
    }
    views = {
        f"{_VIEW}{json.dumps([name, each])}": frame
        for name, query in memory.queries.items()
        for each, frame in query.views.items()
    }
    kept = {**previous, **derived, **groups, **used, **views}
    if not kept:
        return None
    name = f"{uuid4().hex}.arrow"
    frames = {"terms": memory.terms, **kept}
    tables = [_named(frame.to_arrow(), each) for each, frame in frames.items()]
    return name, write_tables(directory / name, tables)


def _named(table: pa.Table, name: str) -> pa.Table:
    return table.replace_schema_metadata({_NAME: name.encode()})


def read_memory(
    path: Path | None,
    checksum: str,
    queries: Mapping[str, QueryMemory],
    derived: Mapping[str, int | None],
    position: int,
) -> Memory:
    """A memory from its file and from what a manifest says.

    Args:
        path: the file, if there is one.
        checksum: of the file.
        queries: without their previous answers and what they have used.
        derived: how far the streams have come that queries make.
        position: of the last element.
    """
    frames: dict[str, pl.DataFrame] = {}
    for table in read_tables(path, checksum) if path is not None else ():
        name = (table.schema.metadata or {})[_NAME].decode()
        frames[name] = frame_of(table.replace_schema_metadata(None))
    views: dict[str, dict[str, pl.DataFrame]] = {}
    for name, frame in frames.items():
        if name.startswith(_VIEW):
            query, part = json.loads(name.removeprefix(_VIEW))
            views.setdefault(query, {})[part] = frame
    return Memory(
        position,
        {
            name: replace(
                each,
                previous=frames.get(f"previous {name}"),
                used=frames.get(f"{_USED}{name}"),
                views=views.get(name, {}),
            )
            for name, each in queries.items()
        },
        {
            iri: DerivedMemory(frames.get(f"derived {iri}", ARRIVALS.to_frame()), high)
            for iri, high in derived.items()
        },
        frames.get("terms", TERMS.to_frame()),
        tuple(
            GroupMemory(tuple(json.loads(name.removeprefix(_GROUP))), frame)
            for name, frame in frames.items()
            if name.startswith(_GROUP)
        ),
    )


def write_snapshot(directory: Path, log: StreamLog, dictionary: Dictionary) -> Snapshot:
    """Write what is kept of a stream to a new file."""
    elements = log.elements
    frame = pl.DataFrame(
        {
            POSITION: elements.positions,
            TIME: elements.times,
            HIGH: elements.highs,
            SIZE: elements.sizes,
        }
    )
    ids = pl.concat([log.statements[name].rename(ID) for name in STATEMENT]).drop_nulls().unique()
    terms = pl.DataFrame([ids, dictionary.texts(ids)]).select(*TERMS)
    name = f"{uuid4().hex}.arrow"
    tables = [frame.to_arrow(), log.statements.to_arrow(), terms.to_arrow()]
    checksum = write_tables(directory / name, tables)
    return Snapshot(name, checksum, int(elements.times.max()))


def read_snapshot(directory: Path, snapshot: Snapshot) -> tuple[Arrivals, pl.DataFrame]:
    """What was kept of a stream, and the terms in it."""
    tables = read_tables(directory / snapshot.name, snapshot.checksum)
    elements, statements, terms = map(frame_of, tables)
    arrays = (elements[name].to_numpy() for name in (POSITION, TIME, HIGH, SIZE))
    return Arrivals(statements.select(*ARRIVALS), None, Elements(*arrays)), terms
