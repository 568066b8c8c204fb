"""How Arrow tables are kept in files: several to a file, written once, checked when read."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Final

import polars as pl
import pyarrow as pa
import xxhash

from headrace.errors import DamagedError, InternalError, UnwritableError

IDENTITY: Final = "deployment.json"
"""The file by which the directory of a deployment is known."""
SERVED: Final = "deployment"
"""The folder of the deployment in the directory of a server."""
LOGS: Final = "streams"
"""The folder with the logs of streams, beside it."""
GRAPHS: Final = "static"
"""The folder with the static graphs that were written through a server."""
CATALOGUE: Final = "catalogue.json"
CATALOGUE_COPY: Final = "catalogue.copy.json"


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
        with private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as file:
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


def private(path: Path, flags: int) -> BinaryIO:
    """Open a file that, if it is new, only its owner can read."""
    return os.fdopen(os.open(path, flags, 0o600), "wb")


def unwritable(path: Path, error: OSError) -> UnwritableError:
    """Make the error of a file that cannot be written, with the remedy."""
    return UnwritableError(f"cannot write {path}", error)


def unusable(directory: Path, error: OSError) -> UnwritableError:
    """Make the error of a call of the system that failed while a directory was in use."""
    doing = "write" if error.errno in _ONLY_WRITING else "read or write"
    return UnwritableError(f"cannot {doing} {error.filename or directory}", error)


_ONLY_WRITING: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)


def damaged(path: Path, problem: str) -> DamagedError:
    """A file of a deployment is not what was written, and what to do."""
    kept = next((each for each in path.parents if (each / IDENTITY).exists()), path.parent)
    command = f"headrace doctor --checkpoint {home_of(kept)}"
    return DamagedError(f"{path} is damaged: {problem}; `{command}` says what can be done")


def home_of(deployment: Path) -> Path:
    """Return the directory that a user has named for a deployment: a server's has it in a folder.

    >>> home_of(Path("runs/checkpoint"))
    PosixPath('runs/checkpoint')
    """
    home = deployment.parent
    has_catalogue = any((home / each).exists() for each in (CATALOGUE, CATALOGUE_COPY))
    has_folders = all((home / each).is_dir() for each in (LOGS, GRAPHS))
    served = deployment.name == SERVED and (has_catalogue or has_folders)
    return home if served else deployment


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
        problem = error.strerror or str(error)
        raise damaged(path, f"it cannot be read ({problem})") from error
    if checksum is not None and xxhash.xxh3_64_hexdigest(content) != checksum:
        raise damaged(path, f"its checksum is not {checksum}")
    source, tables = pa.BufferReader(content), []
    while source.tell() < source.size():
        tables.append(pa.ipc.open_stream(source).read_all())
    return tables


def with_schema(frame: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    """A frame with the columns of a schema; an older version may have written fewer of them.

    >>> old = pl.DataFrame({"name": ["s.tnq"]})
    >>> with_schema(old, pl.Schema({"name": pl.String, "text": pl.String})).row(0)
    ('s.tnq', None)
    """
    if frame.schema == schema:
        return frame
    return pl.concat([schema.to_frame(), frame], how="diagonal_relaxed").cast(schema)


def frame_of(table: pa.Table) -> pl.DataFrame:
    """A table as a frame, without copying it."""
    frame = pl.from_arrow(table)
    if not isinstance(frame, pl.DataFrame):
        raise InternalError("a table that is not one")
    return frame


def read_static(path: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The statements and the terms of a file of static data."""
    statements, terms = map(frame_of, read_tables(path))
    return statements, terms
