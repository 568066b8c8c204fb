"""Tables in files that can be made again: mapped into memory when asked for, bounded in size.

A table is two files: its columns as Arrow without compression, so that they are used where they lie
in the file, and a note that says what it is. The note comes last, so that a table without one does
not count. What is damaged or of another version is not there: whoever asks makes it again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import uuid4
from weakref import WeakValueDictionary

import polars as pl
import pyarrow as pa
import xxhash

from headrace.errors import MachineError
from headrace.kernel.keeping import KeptTable
from headrace.pipeline.records import sealed, unsealed
from headrace.pipeline.tables import private
from headrace.version import __version__

FORMAT: Final = f"1 of {__version__}"
"""Tables of another one are made again: the same pattern may have other solutions there."""
MOST_BYTES: Final = 32 << 30
"""So much a folder may hold; what was not asked for the longest goes first."""
_BLOCK: Final = 1 << 22
_LEFT: Final = 3600.0
"""After so many seconds, columns without a note are what somebody has left behind."""
_COLUMNS, _NOTE = ".arrow", ".table"


@dataclass(frozen=True, slots=True)
class Entry:
    """What a folder says of a table without looking at its columns.

    Attributes:
        key: what it is.
        size: how many bytes its columns have.
        used: when it was last asked for, in seconds since 1970.
    """

    key: str
    size: int
    used: float


class KeptTables:
    """The tables of a folder, which several processes may use at the same time."""

    def __init__(self, folder: Path, most: int = MOST_BYTES) -> None:
        """Use a folder, which is made when it is needed.

        Args:
            folder: where.
            most: how many bytes may be there; what this process uses stays in any case.
        """
        self.folder = folder
        self.most = most
        self.problem: str | None = None
        self._total: int | None = None
        self._open: WeakValueDictionary[str, KeptTable] = WeakValueDictionary()

    def get(self, key: str) -> KeptTable | None:
        """A table by what it is, if it is there and as it was written."""
        name = _name(key)
        found = self._open.get(name)
        if found is not None:
            return found
        path = self.folder / f"{name}{_NOTE}"
        said = _read_note(path)
        if said is None or said["format"] != FORMAT or said["key"] != key:
            return None
        columns = self.folder / str(said["columns"])
        frame = _mapped(columns, said["size"], said["checksum"])
        if frame is None:
            _remove(path)
            return None
        with suppress(OSError):  # somebody may have removed it; we have it all the same
            os.utime(path)
        found = KeptTable(frame, said["note"], said["checksum"])
        self._open[name] = found
        return found

    def put(
        self, key: str, frame: pl.DataFrame, note: Mapping[str, Any] | None = None
    ) -> KeptTable:
        """Keep a table; if that fails, it is only in memory, and `problem` says why."""
        name = _name(key)
        columns = self.folder / f"{name}-{uuid4().hex}{_COLUMNS}"
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write(columns, frame)
            size, checksum = columns.stat().st_size, _checksum(columns)
            said = {
                "format": FORMAT,
                "key": key,
                "columns": columns.name,
                "size": size,
                "checksum": checksum,
                "note": dict(note or {}),
            }
            draft = columns.with_suffix(".draft")
            with private(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as file:
                file.write(sealed(said))
            before = _read_note(self.folder / f"{name}{_NOTE}")
            draft.replace(self.folder / f"{name}{_NOTE}")
        except (OSError, pl.exceptions.PolarsError) as error:
            with suppress(OSError):
                columns.unlink(missing_ok=True)
            self.problem = f"cannot keep tables in {self.folder}: {error}"
            return KeptTable(frame, dict(note or {}))
        self.problem = None
        if before is not None:
            (self.folder / str(before["columns"])).unlink(missing_ok=True)
        mapped = _mapped(columns, size, None)
        if mapped is None:
            return KeptTable(frame, dict(note or {}))
        found = KeptTable(mapped, dict(note or {}), checksum)
        self._open[name] = found
        self._bound(size)
        return found

    def _bound(self, more: int) -> None:
        """See to it that not too much is kept, when there is more; all is counted now and then."""
        if self._total is None:
            self._total = sum(entry.size for entry in self.entries())
        else:
            self._total += more
        if self._total > self.most:
            self.tidy()
            self._total = None

    def place(self, key: str) -> Path | None:
        """The file with the columns of a table, for who maps it too."""
        said = _read_note(self.folder / f"{_name(key)}{_NOTE}")
        return None if said is None else self.folder.absolute() / str(said["columns"])

    def tidy(self, most: int | None = None) -> int:
        """Remove what was not asked for the longest until the rest is small enough; how much."""
        limit = self.most if most is None else most
        entries = sorted(self._notes(), key=lambda each: each[1].used)
        total = sum(entry.size for _, entry in entries)
        removed = 0
        for path, entry in entries:
            if total - removed <= limit:
                break
            if path.stem not in self._open:
                _remove(path)
                removed += entry.size
        return removed + self._sweep()

    def entries(self) -> list[Entry]:
        """What is there, the last used first."""
        return sorted((entry for _, entry in self._notes()), key=lambda each: -each.used)

    def _notes(self) -> Iterator[tuple[Path, Entry]]:
        for path in self.folder.glob(f"*{_NOTE}"):
            said = _read_note(path)
            if said is not None:
                try:
                    used = path.stat().st_mtime
                except OSError:
                    continue
                yield path, Entry(str(said["key"]), int(said["size"]), used)

    def _sweep(self) -> int:
        """Remove columns and drafts that no note tells of, and that nobody writes any more."""
        told = {said["columns"] for said in map(_read_note, self.folder.glob(f"*{_NOTE}")) if said}
        swept = 0
        for pattern in (f"*{_COLUMNS}", "*.draft"):
            for path in self.folder.glob(pattern):
                try:
                    state = path.stat()
                    if path.name not in told and time.time() - state.st_mtime > _LEFT:
                        path.unlink()
                        swept += state.st_size
                except OSError:
                    continue  # another process was first
        return swept


def map_columns(path: Path) -> pl.DataFrame:
    """The columns of a file where they lie in it.

    Raises:
        OSError: it cannot be read.
        pa.ArrowInvalid: it is no such file.
    """
    with pa.memory_map(str(path)) as source:
        frame = pl.from_arrow(pa.ipc.open_file(source).read_all())
    assert isinstance(frame, pl.DataFrame), "it is a table"
    return frame


def write_columns(path: Path, frame: pl.DataFrame) -> None:
    """Write columns in one piece each, as they are in memory."""
    frame.write_ipc(path, compression="uncompressed", record_batch_size=max(1, frame.height))


def _write(path: Path, frame: pl.DataFrame) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    write_columns(path, frame)


def _name(key: str) -> str:
    return xxhash.xxh3_128_hexdigest(key.encode())


def _read_note(path: Path) -> dict[str, Any] | None:
    try:
        return unsealed(path.read_bytes(), path)
    except (OSError, MachineError):
        return None


def _mapped(path: Path, size: int, checksum: str | None) -> pl.DataFrame | None:
    """Columns as they were written; none if they are not any more."""
    try:
        if path.stat().st_size != size:
            return None
        if checksum is not None and _checksum(path) != checksum:
            return None
        return map_columns(path)
    except (OSError, pa.ArrowInvalid):
        return None


def _checksum(path: Path) -> str:
    """Of a whole file, read by blocks: what is mapped would count as memory of this process."""
    digest = xxhash.xxh3_64()
    block = bytearray(_BLOCK)
    with path.open("rb", buffering=0) as file:
        while size := file.readinto(block):
            digest.update(memoryview(block)[:size])
    return digest.hexdigest()


def _remove(path: Path) -> None:
    """Remove a table, its note first; who has it mapped still has it."""
    said = _read_note(path)
    path.unlink(missing_ok=True)
    if said is not None:
        (path.parent / str(said["columns"])).unlink(missing_ok=True)
