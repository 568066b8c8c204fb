"""How Arrow tables are kept in files: several to a file, written once, checked when read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pyarrow as pa
import xxhash

from headrace.errors import InternalError, MachineError


def write_tables(path: Path, tables: Sequence[pa.Table], durable: bool = True) -> str:
    """Write tables to a new file and return its checksum.

    Args:
        path: a name that was never used.
        tables: what to write.
        durable: whether it must be there after a power cut; what can be made again need not.

    Raises:
        FileExistsError: the file is there already.
        MachineError: there is no space for it.
    """
    sink = pa.BufferOutputStream()
    for table in tables:
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    content = sink.getvalue()
    try:
        with path.open("xb") as file:
            file.write(content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
    except FileExistsError:
        raise
    except OSError as error:
        path.unlink(missing_ok=True)
        raise unwritable(path, error) from error
    return xxhash.xxh3_64_hexdigest(content)


def unwritable(path: Path, error: OSError) -> MachineError:
    """A file cannot be written, and what to do."""
    return MachineError(
        f"cannot write {path}: {error.strerror}; make room there, then run the same command again: "
        "it goes on where it has stopped"
    )


def read_tables(path: Path, checksum: str | None = None) -> list[pa.Table]:
    """Read all tables of a file.

    Args:
        path: the file.
        checksum: of its content; what can be made again at any time has none.

    Raises:
        MachineError: the file is not what was written.
    """
    try:
        with pa.memory_map(str(path)) as file:
            content = file.read_buffer()
    except OSError as error:
        raise MachineError(f"{path} cannot be read: {error}") from error
    if checksum is not None and xxhash.xxh3_64_hexdigest(content) != checksum:
        raise MachineError(f"{path} is damaged: its checksum is not {checksum}")
    source, tables = pa.BufferReader(content), []
    while source.tell() < source.size():
        tables.append(pa.ipc.open_stream(source).read_all())
    return tables


def frame_of(table: pa.Table) -> pl.DataFrame:
    """A table as a frame, without copying it."""
    frame = pl.from_arrow(table)
    if not isinstance(frame, pl.DataFrame):
        raise InternalError("a table that is not one")
    return frame
