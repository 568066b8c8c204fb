"""Files as streams of the runner in this process: what of them each step takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from headrace.errors import SettingError
from headrace.inline import InlineRunner, StreamFeed
from headrace.pipeline.cutting import PIECE, cut
from headrace.pipeline.streams import declared, files_of
from headrace.pipeline.time_jumps import Place
from headrace.rdf.files import content
from headrace.rdf.formats import Format, format_of_path
from headrace.rdf.options import ELEMENT_LIMITS, FILE_LIMITS, ReadOptions


@dataclass(frozen=True, slots=True)
class FilePart:
    """A document, or some whole elements of a file of lines, and where they stand."""

    data: bytes
    form: Format
    place: Place

    def push(self, runner: InlineRunner, feed: StreamFeed) -> None:
        """Give it to a stream."""
        runner.push_data(feed, self.data, self.form, self.place)


def files_named(source: str) -> list[Path]:
    """List the files that a source names.

    Raises:
        SettingError: it is none of files, or there are none.
    """
    found = declared(source)
    if found.kind != "file":
        raise SettingError(
            f"without a runner streams are read from files, not from '{source}'; say run(once=True,"
            " runner='inline'), or 'spark'"
        )
    return files_of(found.place)


def interleaved(
    files: Mapping[str, Iterable[Path]], feeds: Mapping[str, StreamFeed]
) -> Iterator[tuple[StreamFeed, FilePart]]:
    """The parts of the files of all streams, which take turns so that none gets far ahead."""
    for turn in zip_longest(*map(_parts, files.values())):
        for iri, part in zip(files, turn, strict=True):
            if part is not None:
                yield feeds[iri], part


def _parts(files: Iterable[Path]) -> Iterator[FilePart]:
    for number, path in enumerate(files):
        try:
            data, modified = content(path), path.stat().st_mtime_ns // 1000
        except OSError as error:
            raise SettingError(f"cannot read {path}: {error.strerror}") from None
        form = format_of_path(path)
        in_lines = form in (Format.TIMED_N_QUADS, Format.NDJSON)
        limits = ELEMENT_LIMITS if in_lines else FILE_LIMITS
        options = ReadOptions(base=path.resolve().as_uri(), limits=limits)
        start, line = 0, 1
        for stop in cut(data, PIECE, form) if in_lines else (len(data),):
            place = Place(str(path), number, start, line, modified, options)
            yield FilePart(data[start:stop], form, place)
            line += data.count(b"\n", start, stop)
            start = stop
