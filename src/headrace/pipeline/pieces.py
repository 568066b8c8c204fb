"""Which bytes of which files are read, in which order, now and again when they are replayed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Final

from headrace.durable import AppendFile, sync_directory
from headrace.errors import DamagedError, DataError, MachineError
from headrace.ingest.log import check_segment, is_segment, sync_segment
from headrace.ingest.rate import parse_rate, rate_text
from headrace.pipeline.cutting import new_pieces
from headrace.pipeline.faults import reach
from headrace.pipeline.records import sealed, unsealed
from headrace.pipeline.tables import damaged, unwritable
from headrace.rdf.files import content
from headrace.rdf.formats import Format, format_of_path

_LEAST: Final = 256 << 10
"""A log of fewer bytes is not shortened."""
_FIRST: Final = "first"


@dataclass(frozen=True, slots=True)
class Piece:
    """A document, or some whole elements of a file of lines.

    Attributes:
        ordinal: its place among all pieces of the deployment.
        stream: the IRI of its stream.
        path: its file.
        start: where it begins there.
        stop: where it ends.
        file: the number of the file in its stream.
        modified: when the file was written last, in microseconds.
    """

    ordinal: int
    stream: str
    path: str
    start: int
    stop: int
    file: int = 0
    modified: int = 0

    @property
    def form(self) -> Format:
        """How it is to be read."""
        return Format.TIMED_N_QUADS if self.is_generated else format_of_path(self.path)

    @property
    def is_generated(self) -> bool:
        """Whether it stands in no file: start and stop are numbers of elements then."""
        return self.path.startswith("rate:")

    @property
    def base(self) -> str | None:
        """What relative IRIs in it are resolved against."""
        return None if self.is_generated else Path(self.path).as_uri()

    def content(self) -> bytes:
        """Its bytes.

        Raises:
            DataError: the file has become shorter since the piece was found, or is gone.
            DamagedError: it is an ingest log, and a record is not what was written.
        """
        if self.is_generated:
            spec = parse_rate(self.path)
            begins_now = "start=" not in self.path
            spec = replace(spec, start=self.modified) if begins_now else spec
            return rate_text(spec, self.start, self.stop)
        if _is_whole(Path(self.path)):
            try:
                return content(Path(self.path))
            except OSError as error:
                raise _unreadable(self.path, error) from None
        try:
            with Path(self.path).open("rb") as file:
                file.seek(self.start)
                found = file.read(self.stop - self.start)
        except OSError as error:
            raise _unreadable(self.path, error) from None
        if len(found) < self.stop - self.start:
            raise DataError("is shorter than when it was found", self.path)
        if is_segment(Path(self.path)):
            check_segment(Path(self.path), found, self.start)
        return found


def within(pieces: Sequence[Piece], size: int) -> list[Piece]:
    """Take the first pieces, at least one, that are of so many bytes together.

    >>> pieces = [Piece(number, "s", "f.tnq", 10 * number, 10 * number + 10) for number in range(3)]
    >>> [each.ordinal for each in within(pieces, 25)], len(within(pieces, 5))
    ([0, 1], 1)
    """
    found: list[Piece] = []
    for each in pieces:
        # Documents are pieces as a whole, and elements of a generator are counted, not measured.
        size -= each.stop - each.start
        if found and size < 0:
            break
        found.append(each)
    return found


def _unreadable(path: str, error: OSError) -> DataError:
    problem = f"cannot be read: {error.strerror}"
    return DataError(f"{problem}; make it readable, or put it back from a backup", path)


def _is_whole(path: Path) -> bool:
    """Whether a file can only be read as a whole."""
    compressed = path.suffix.lower() == ".gz"
    return compressed or format_of_path(path) not in (Format.TIMED_N_QUADS, Format.NDJSON)


@dataclass(frozen=True, slots=True)
class LoggedPieces:
    """The good prefix of a source log.

    Attributes:
        pieces: those of its good lines, without a gap.
        length: how many bytes its good lines have.
        damage: the error of the first line after them; none if there is only part of a line.
        before: the last piece of each file among those that stand in it no longer.
    """

    pieces: list[Piece]
    length: int
    damage: MachineError | None = None
    before: Sequence[Piece] = ()

    @property
    def count(self) -> int:
        """How many pieces were found until its end, those that stand in it no longer included."""
        return self.pieces[-1].ordinal + 1 if self.pieces else 0

    def check(self, path: Path, committed: int) -> None:
        """Check that the log has all pieces that were read for good.

        Raises:
            MachineError: it has fewer.
        """
        if self.count < committed:
            problem = f"it has {self.count} pieces, and {committed} were read"
            raise self.damage or damaged(path, problem)


def read_pieces(path: Path) -> LoggedPieces:
    """Read the good prefix of a source log; nothing that follows it was ever relied on.

    Raises:
        MachineError: the file cannot be read, or another version has written it.
    """
    before: list[Piece] = []
    pieces: list[Piece] = []
    length = 0
    try:
        *lines, _ = (path.read_bytes() if path.exists() else b"").split(b"\n")
    except OSError as error:
        raise damaged(path, f"it cannot be read ({error.strerror})") from error
    first, old = 0, 0
    for number, line in enumerate(lines):
        place = f"line {number + 1}"
        try:
            said = unsealed(line, path, place)
            if number == 0 and (head := head_of(said)) is not None:
                first, old = head
            elif 0 < number <= old:
                before.append(Piece(**said))
            elif said["ordinal"] != first + len(pieces):
                raise damaged(path, f"{place} is not piece {first + len(pieces)}")
            else:
                pieces.append(Piece(**said))
        except DamagedError as error:
            return LoggedPieces(pieces, length, error, before)
        length += len(line) + 1
    return LoggedPieces(pieces, length, None, before)


def head_of(said: Mapping[str, int]) -> tuple[int, int] | None:
    """Read the head of a log that was shortened.

    Returns:
        The first piece that stands in it, and how many lines before it name older pieces; None if
        the line is a piece.
    """
    return (said[_FIRST], said["before"]) if _FIRST in said else None


class SourceLog:
    """The pieces in the order in which they were found, on disk before anyone is told."""

    def __init__(self, path: Path, committed: int = 0) -> None:
        """Read what was found before, and cut what a crash or a failed write has left after it.

        Args:
            path: the log.
            committed: how many pieces have been read for good.

        Raises:
            MachineError: the log is not what was written, or has lost some of those.
        """
        self.path = path
        self.pieces: list[Piece] = []
        self.count = 0
        self._known: dict[tuple[str, str], Piece] = {}
        self._files: dict[str, int] = {}
        self._sizes: dict[str, int] = {}
        self._length = 0
        self._shortened = 0
        self._is_renamed = False
        self._read(committed)

    def _read(self, committed: int) -> None:
        found = read_pieces(self.path)
        found.check(self.path, committed)
        for piece in found.before:
            self._know(piece)
        if found.pieces:
            self.count = found.pieces[0].ordinal
        for piece in found.pieces:
            self._take(piece)
        self._length = found.length
        if self.path.exists() and self.path.stat().st_size > self._length:
            self._append(b"")  # cuts what stands after the good prefix

    def _append(self, lines: bytes) -> None:
        try:
            if self._is_renamed:
                sync_directory(self.path.parent)
                self._is_renamed = False
            with closing(AppendFile(self.path, self._length)) as file:
                file.append(lines)
        except OSError as error:
            raise unwritable(self.path, error) from error
        self._length += len(lines)

    def _take(self, piece: Piece) -> None:
        self.pieces.append(piece)
        self.count += 1
        self._know(piece)

    def _know(self, piece: Piece) -> None:
        self._known[piece.stream, piece.path] = piece
        self._files[piece.stream] = max(self._files.get(piece.stream, 0), piece.file + 1)

    def between(self, first: int, stop: int) -> list[Piece]:
        """The pieces from a number up to another, of those that are known and not forgotten."""
        forgotten = self.count - len(self.pieces)
        return self.pieces[first - forgotten : max(0, stop - forgotten)]

    def forget(self, read: int) -> None:
        """Keep the first so many pieces on disk only; how far each file was read is still known."""
        del self.pieces[: max(0, read - (self.count - len(self.pieces)))]

    def shorten(self) -> None:
        """Drop the lines of pieces that were forgotten, once they are most of a large log.

        How far each file was read stays, unless it is a segment of an ingest log that is gone. A
        disk that is full leaves the log as it is.
        """
        if self._length < max(_LEAST, 2 * self._shortened) or not self.pieces:
            return
        first = self.pieces[0].ordinal
        self._drop_gone()
        before = [piece for piece in self._known.values() if piece.ordinal < first]
        head = {_FIRST: first, "before": len(before)}
        content = b"".join(sealed(each) + b"\n" for each in (head, *before, *self.pieces))
        draft = self.path.with_name(f".{self.path.name}.new")
        try:
            with closing(AppendFile(draft, 0)) as file:
                file.append(content)
            draft.replace(self.path)
        except OSError:
            draft.unlink(missing_ok=True)
            return
        self._is_renamed = True  # nothing may be appended before its name is durable
        self._length = self._shortened = len(content)

    def _drop_gone(self) -> None:
        newest = dict[str, int]()
        for (stream, _), piece in self._known.items():
            newest[stream] = max(newest.get(stream, 0), piece.file)
        for key, piece in list(self._known.items()):
            path = Path(piece.path)
            if piece.file < newest[piece.stream] and is_segment(path) and not path.exists():
                del self._known[key]
                self._sizes.pop(piece.path, None)

    def last_of(self, stream: str, path: str) -> Piece | None:
        """The last piece of a file in a stream, if there is one."""
        return self._known.get((stream, path))

    def look(self, files: Mapping[str, Sequence[Path]], complete: bool) -> None:
        """Add what is new in the files: new ones, and lines added to known ones.

        Args:
            files: all files of each stream, in order.
            complete: whether what is there is all there will be.

        Raises:
            DataError: a file has become shorter, so that a replay could not read it again.
        """
        found = [list(self._new(stream, each, complete)) for stream, each in files.items()]
        # The streams take turns, so that none gets far ahead of the others.
        turns = [piece for turn in zip_longest(*found) for piece in turn if piece is not None]
        self.add(turns)

    def add(self, found: Iterable[Piece]) -> None:
        """Add pieces to the end; what they say of their ordinals does not count."""
        first = self.count
        numbered = [replace(piece, ordinal=first + place) for place, piece in enumerate(found)]
        if not numbered:
            return
        reach("source-log")
        self._append(b"".join(sealed(piece) + b"\n" for piece in numbered))
        reach("source-logged")
        for piece in numbered:
            self._take(piece)

    def _new(self, stream: str, files: Sequence[Path], complete: bool) -> Iterator[Piece]:
        number = self._files.get(stream, 0)
        for path in files:
            known = self.last_of(stream, str(path))
            try:
                state = path.stat()
            except OSError as error:
                raise _unreadable(str(path), error) from error
            start = 0 if known is None else known.stop
            if state.st_size < start and is_segment(path) and path != files[-1]:
                continue  # a failed append was cut off: its sender knows that it failed
            if state.st_size < start:
                problem = f"is shorter than before ({state.st_size:,} < {start:,} bytes)"
                remedy = "put the file back from a backup, or start again in a new directory"
                raise DataError(
                    f"{problem}, and what was read of it cannot be read again: {remedy}", str(path)
                )
            file = number if known is None else known.file
            modified = state.st_mtime_ns // 1000
            seen, self._sizes[str(path)] = self._sizes.get(str(path)), state.st_size
            before = start
            try:
                ends = list(_ends(path, start, complete and not is_segment(path), seen))
            except OSError as error:
                raise _unreadable(str(path), error) from error
            if known is None and not ends and complete and _is_empty_document(path):
                ends = [0]  # read it, so that it is rejected and counted
            if ends and is_segment(path):
                sync_segment(path)
            for stop in ends:
                yield Piece(0, stream, str(path), before, stop, file, modified)
                before = stop
            number += known is None and bool(ends)


def _is_empty_document(path: Path) -> bool:
    in_lines = format_of_path(path) in (Format.TIMED_N_QUADS, Format.NDJSON)
    return not in_lines and path.stat().st_size == 0


def _ends(path: Path, start: int, complete: bool, seen: int | None) -> Iterator[int]:
    if not _is_whole(path):
        yield from new_pieces(path, format_of_path(path), start, complete, seen)
        return
    size = path.stat().st_size
    # A document that is still being written grows from look to look.
    if start == 0 and size > 0 and (complete or seen == size):
        yield size
