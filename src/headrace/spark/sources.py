"""Which bytes of which files a batch reads, now and again when it is replayed."""

# Spark's names for what a source does are not written as Python writes them.
# ruff: noqa: N802

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from headrace.errors import DataError, SettingError

FORMAT: Final = "headrace-files"
SUFFIX: Final = ".tnq"
SCHEMA: Final = "ordinal bigint, path string, start bigint, stop bigint"


@dataclass(frozen=True, slots=True)
class Piece:
    """Some whole lines of a file; the ordinal is their place in the stream."""

    ordinal: int
    path: str
    start: int
    stop: int


class SourceLog:
    """The pieces in the order in which they were found, on disk before anyone is told."""

    def __init__(self, path: Path) -> None:
        """Read what was found before; a line that was cut short by a crash was told to nobody."""
        self.path = path
        self.pieces: list[Piece] = []
        whole = 0
        for line in path.read_bytes().splitlines(keepends=True) if path.exists() else ():
            if line.endswith(b"\n"):
                self.pieces.append(Piece(**json.loads(line)))
                whole += len(line)
        if path.exists():
            os.truncate(path, whole)

    def look(self, files: Sequence[Path], complete: bool) -> None:
        """Add what is new in the files: new ones, and lines added to known ones.

        Args:
            files: all files of the source, in order.
            complete: whether a last line without a line end is all there will be of it.

        Raises:
            DataError: a file has become shorter, so that a replay could not read it again.
        """
        known = {piece.path: piece.stop for piece in self.pieces}
        found: list[Piece] = []
        for file in files:
            start, size = known.get(str(file), 0), file.stat().st_size
            if size < start:
                raise DataError(f"is shorter than before ({size} < {start} bytes)", str(file))
            stop = size if complete else _end_of_lines(file, start, size)
            if stop > start:
                found.append(Piece(len(self.pieces) + len(found), str(file), start, stop))
        if found:
            with self.path.open("ab") as log:
                log.writelines(json.dumps(asdict(piece)).encode() + b"\n" for piece in found)
                log.flush()
                os.fsync(log.fileno())
            self.pieces.extend(found)


def find_files(path: Path) -> list[Path]:
    """The files of a source, by name: a file itself, or those in a folder.

    Raises:
        SettingError: there is nothing there, or not in a format that can be read.
    """
    if path.is_dir():
        return sorted(file for file in path.glob(f"*{SUFFIX}") if file.is_file())
    if not path.is_file():
        raise SettingError(f"there is no file or folder {path}")
    if path.suffix != SUFFIX:
        raise SettingError(f"expected a {SUFFIX} file, found {path}")
    return [path]


def _end_of_lines(file: Path, start: int, size: int) -> int:
    """Where the last whole line ends: a writer may be in the middle of the next one."""
    with file.open("rb") as content:
        for end in range(size, start, -_CHUNK):
            begin = max(start, end - _CHUNK)
            content.seek(begin)
            found = content.read(end - begin).rfind(b"\n")
            if found >= 0:
                return begin + found + 1
    return start


_CHUNK: Final = 1 << 16


class PiecePartition(InputPartition):
    """A piece on its way to the task that reads it."""

    def __init__(self, piece: Piece) -> None:
        """Carry one piece."""
        super().__init__(piece)
        self.piece = piece


class FileReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Tells Spark how many pieces there are; an offset is a number of pieces."""

    def __init__(self, path: Path, log: Path, files_per_batch: int) -> None:
        """Read the log of an earlier run, if there is one."""
        self.path = path
        self.log = SourceLog(log)
        self.files_per_batch = files_per_batch
        self.ends = False

    def initialOffset(self) -> dict[str, int]:
        """Before the first piece."""
        return {"pieces": 0}

    def getDefaultReadLimit(self) -> ReadLimit:
        """How much a batch may hold."""
        return ReadMaxFiles(self.files_per_batch) if self.files_per_batch else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """What is there now is all there will be."""
        self.log.look(find_files(self.path), complete=True)
        self.ends = True

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        """After the last piece that the next batch reads."""
        if not self.ends:
            self.log.look(find_files(self.path), complete=False)
        known = len(self.log.pieces)
        if isinstance(limit, ReadMaxFiles):
            known = min(known, start["pieces"] + limit.max_files)
        return {"pieces": known}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """One task for each piece."""
        pieces = self.log.pieces[start["pieces"] : end["pieces"]]
        return [PiecePartition(piece) for piece in pieces]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        """Only say what to read: bytes are faster to read where they are decoded."""
        if isinstance(partition, PiecePartition):
            piece = partition.piece
            yield piece.ordinal, piece.path, piece.start, piece.stop


class FileSource(DataSource):
    """A folder or a file of timed N-Quads as a stream; options `path`, `log`, `files`."""

    @classmethod
    def name(cls) -> str:
        """What `readStream.format` calls it."""
        return FORMAT

    def schema(self) -> str:
        """The columns of a piece."""
        return SCHEMA

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002
        """Read the stream from where its log says."""
        return FileReader(
            Path(self.options["path"]),
            Path(self.options["log"]),
            int(self.options["files"]),
        )
