"""Files as streams: which files a source names, and what of them each step takes."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from headrace.errors import SettingError
from headrace.inline import InlineRunner, StreamFeed
from headrace.rdf.files import content
from headrace.rdf.formats import Format, format_of_path
from headrace.rdf.options import ELEMENT_LIMITS, FILE_LIMITS, ReadOptions

PIECE = 16 << 20
"""So many bytes of a file of timed N-Quads are read and stepped at a time."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A document, or some whole elements of a file of timed N-Quads, from some line on."""

    path: Path
    data: bytes
    line: int = 1

    def push(self, runner: InlineRunner, feed: StreamFeed) -> None:
        """Give it to a stream."""
        form = format_of_path(self.path)
        in_lines = form in (Format.TIMED_N_QUADS, Format.NDJSON)
        options = ReadOptions(
            base=self.path.resolve().as_uri(), limits=ELEMENT_LIMITS if in_lines else FILE_LIMITS
        )
        runner.push_data(feed, self.data, form, (str(self.path), self.line), options)


def files_of(source: str) -> list[Path]:
    """The files that a source names: a file, those of a folder, or those of a pattern.

    Raises:
        SettingError: there is none, or it is not of a kind that can be read.
    """
    path = Path(source)
    if "://" in source or source.startswith(("rate:", "http-log:")):
        kind = source.split(":", 1)[0]
        raise SettingError(f"the inline runner reads files, not {kind}: sources ('{source}')")
    if path.is_dir():
        found = sorted(each for each in path.iterdir() if each.is_file() and _is_known(each))
    elif path.is_file():
        found = [path]
    else:
        matching = glob.glob(source)  # noqa: PTH207 - a pattern may be absolute
        found = sorted(Path(each) for each in matching if Path(each).is_file())
    if not found:
        raise SettingError(f"there is no file, folder or pattern '{source}' with RDF in it")
    for each in found:
        format_of_path(each)
    return found


def _is_known(path: Path) -> bool:
    try:
        format_of_path(path)
    except SettingError:
        return False
    return True


def interleaved(
    files: Mapping[str, Iterable[Path]], feeds: Mapping[str, StreamFeed]
) -> Iterator[tuple[StreamFeed, Piece]]:
    """The pieces of all streams, always one of the stream that is furthest behind.

    Answers do not depend on it, but what has to be kept in memory does.
    """
    waiting = {iri: _pieces(each) for iri, each in files.items()}
    while waiting:
        iri = min(waiting, key=lambda each: (feeds[each].high is not None, feeds[each].high or 0))
        piece = next(waiting[iri], None)
        if piece is None:
            del waiting[iri]
        else:
            yield feeds[iri], piece


def _pieces(files: Iterable[Path]) -> Iterator[Piece]:
    for path in files:
        try:
            data = content(path)
        except OSError as error:
            raise SettingError(f"cannot read {path}: {error.strerror}") from None
        if format_of_path(path) is not Format.TIMED_N_QUADS:
            yield Piece(path, data)
            continue
        line = 1
        for part in cut(data, PIECE):
            yield Piece(path, part, line)
            line += part.count(b"\n")


def cut(data: bytes, size: int) -> Iterator[bytes]:
    r"""A text of timed N-Quads in pieces of whole elements.

    >>> list(cut(b"1\ta b c g .\n1\ta b d g .\n2\ta b c .\n", 4))
    [b'1\ta b c g .\n1\ta b d g .\n', b'2\ta b c .\n']
    """
    start = 0
    while start < len(data):
        end = data.find(b"\n", min(start + size, len(data)))
        end = len(data) if end < 0 else end + 1
        time = data[data.rfind(b"\n", 0, end - 1) + 1 : end].split(b"\t", 1)[0]
        # Lines of one time may be one element: a piece ends where the time changes.
        while end < len(data) and data[end : end + len(time) + 1] == time + b"\t":
            following = data.find(b"\n", end)
            end = len(data) if following < 0 else following + 1
        yield data[start:end]
        start = end
