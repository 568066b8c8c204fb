"""Rebuild a source log from its good lines and from what manifests say of the files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from headrace.errors import DamagedError
from headrace.ingest.log import is_segment
from headrace.pipeline.intake import MOST_FILES
from headrace.pipeline.layout import create
from headrace.pipeline.manifest import Manifest
from headrace.pipeline.pieces import Piece
from headrace.pipeline.records import sealed, unsealed
from headrace.rdf.formats import Format, format_of_path

_NEVER: Final = 1 << 62
"""An ordinal that no piece reaches."""


@dataclass(frozen=True, slots=True)
class _Hole:
    """Bytes of a file that were read, and whose piece is lost.

    Attributes:
        stream: the IRI of its stream.
        path: the file.
        start: where they begin.
        stop: where they end.
        after: the ordinal of the piece before them in the file; -1 if there is none.
        before: the ordinal of the piece after them.
    """

    stream: str
    path: str
    start: int
    stop: int
    after: int
    before: int


class _UnknownError(Exception):
    """What was read is not certain."""


def rebuilt(path: Path, manifests: Sequence[Manifest]) -> list[Piece] | None:
    """Rebuild the pieces of a source log; None if it is not sure what was read.

    A piece that is lost need not have its old place in a file: it was read. What counts is how far
    each file was read with each manifest.

    Args:
        path: the log.
        manifests: those that can be read.

    Raises:
        MachineError: another version has written the log.
    """
    try:  # what cannot be read now may be whole
        known = _known_pieces(path, manifests)
        for manifest in sorted(manifests, key=lambda each: each.pieces):
            _fill(known, manifest)
    except (_UnknownError, OSError):
        return None
    pieces: list[Piece] = []
    while len(pieces) in known:
        pieces.append(known[len(pieces)])
    return pieces if _follow_each_other(pieces) else None


def write_log(path: Path, pieces: Sequence[Piece]) -> None:
    """Write a source log that is not there.

    Raises:
        MachineError: it cannot be written.
    """
    create(path, b"".join(sealed(each) + b"\n" for each in pieces))


def _known_pieces(path: Path, manifests: Sequence[Manifest]) -> dict[int, Piece]:
    known = {
        pane.piece.ordinal: pane.piece
        for manifest in manifests
        for pane in manifest.panes
        if pane.piece is not None
    }
    content = path.read_bytes() if path.is_file() else b""
    for line in content.split(b"\n"):
        try:
            piece = Piece(**unsealed(line, path))
        except (DamagedError, TypeError):  # what is lost, or no piece
            continue
        known[piece.ordinal] = piece
    return known


def _fill(known: dict[int, Piece], manifest: Manifest) -> None:
    """Give the unassigned ordinals that a manifest has read to the bytes that it has read.

    Raises:
        _UnknownError: it is not sure which bytes these are.
    """
    missing = [ordinal for ordinal in range(manifest.pieces) if ordinal not in known]
    if not missing:
        return
    if len(missing) > MOST_FILES:  # manifests name only so many files of a stream
        raise _UnknownError
    read = {ordinal: piece for ordinal, piece in known.items() if ordinal < manifest.pieces}
    holes = list(_holes(read, manifest))
    for ordinal in missing:
        fitting = [each for each in holes if each.after < ordinal < each.before]
        if fitting:
            hole = min(fitting, key=lambda each: each.before)
            holes.remove(hole)
            piece = _piece_of(hole, ordinal, known)
        else:
            piece = _nothing(ordinal, known)
        known[ordinal] = piece
    if holes:
        raise _UnknownError


def _holes(read: Mapping[int, Piece], manifest: Manifest) -> Iterator[_Hole]:
    for stream, state in manifest.streams.items():
        for path, lines in state.lines.items():
            if len(state.lines) >= MOST_FILES and not is_segment(Path(path)):
                raise _UnknownError  # its lines may not have been counted from the start
            own = sorted(
                (each for each in read.values() if (each.stream, each.path) == (stream, path)),
                key=lambda each: each.ordinal,
            )
            yield from _holes_between(stream, path, own, _end_of(path, lines, own))


def _holes_between(stream: str, path: str, own: Sequence[Piece], end: int) -> Iterator[_Hole]:
    place, after = 0, -1
    for piece in own:
        if piece.start > place:
            yield _Hole(stream, path, place, piece.start, after, piece.ordinal)
        place, after = piece.stop, piece.ordinal
    if place > end:
        raise _UnknownError
    if place < end:
        yield _Hole(stream, path, place, end, after, _NEVER)


def _end_of(path: str, lines: int, own: Sequence[Piece]) -> int:
    """Return where the lines of a file end that were read.

    Raises:
        _UnknownError: the file cannot tell that.
    """
    known = own[-1].stop if own else 0
    place = Path(path)
    if is_segment(place) and not place.exists():
        return known  # it is not read again
    if path.startswith("rate:") or place.suffix.lower() == ".gz":
        raise _UnknownError
    if format_of_path(path) not in (Format.TIMED_N_QUADS, Format.NDJSON):
        if not own:
            raise _UnknownError
        return known
    content = place.read_bytes()
    end = 0
    for _ in range(lines):
        end = content.find(b"\n", end) + 1
        if not end:
            raise _UnknownError
    if b"\n" not in content[end:] and end < len(content):
        raise _UnknownError  # a last line without an end may have been read or not
    return end


def _piece_of(hole: _Hole, ordinal: int, known: Mapping[int, Piece]) -> Piece:
    numbers = {each.path: each.file for each in known.values() if each.stream == hole.stream}
    path = Path(hole.path)
    modified = path.stat().st_mtime_ns // 1000 if path.exists() else 0
    number = numbers.get(hole.path, max(numbers.values(), default=-1) + 1)
    return Piece(ordinal, hole.stream, hole.path, hole.start, hole.stop, number, modified)


def _nothing(ordinal: int, known: Mapping[int, Piece]) -> Piece:
    """Make a piece without bytes, for one that was read of a file that is gone."""
    before = [each for each in known if each < ordinal]
    if not known:
        raise _UnknownError
    near = known[max(before, default=min(known))]
    place = near.stop if before else 0
    return replace(near, ordinal=ordinal, start=place, stop=place)


def _follow_each_other(pieces: Sequence[Piece]) -> bool:
    """Whether each piece begins where the one before it in its file ends."""
    ends = dict[tuple[str, str], int]()
    for piece in pieces:
        key = piece.stream, piece.path
        if piece.start != ends.get(key, 0):
            return False
        ends[key] = piece.stop
    return True
