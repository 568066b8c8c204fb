"""How Arrow tables are kept in files: several to a file, written once, checked when read."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import xxhash

from headrace.errors import MachineError


def write_tables(path: Path, *tables: pa.Table) -> str:
    """Write tables to a new file, durably, and return its checksum.

    Raises:
        FileExistsError: the file is there already; names are never used twice.
    """
    sink = pa.BufferOutputStream()
    for table in tables:
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    content = sink.getvalue()
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return xxhash.xxh3_64_hexdigest(content)


def read_tables(path: Path, checksum: str) -> list[pa.Table]:
    """Read all tables of a file.

    Raises:
        MachineError: the file is not what was written.
    """
    try:
        with pa.memory_map(str(path)) as file:
            content = file.read_buffer()
    except OSError as error:
        raise MachineError(f"{path} cannot be read: {error}") from error
    if xxhash.xxh3_64_hexdigest(content) != checksum:
        raise MachineError(f"{path} is damaged: its checksum is not {checksum}")
    source, tables = pa.BufferReader(content), []
    while source.tell() < source.size():
        tables.append(pa.ipc.open_stream(source).read_all())
    return tables
