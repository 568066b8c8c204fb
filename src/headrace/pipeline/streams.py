"""Where streams come from: what `--stream IRI=SOURCE` names, and which files that is now."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl

import xxhash

from headrace.arrival_times import SECOND, ArrivalTimes, SteadyClock
from headrace.errors import SettingError, listing
from headrace.ingest.rate import parse_rate
from headrace.pipeline.pieces import Piece, SourceLog
from headrace.rdf.formats import format_of_path
from headrace.rdf.terms import Iri
from headrace.rdf.timestamps import SAID_TIME, SOURCE_TIME, TimeRule

RECEIVED: Final = ("mqtt", "mqtts", "tcp")
KAFKA: Final = "kafka"
RATE: Final = "rate"
LOG: Final = "http-log"
_GENERATED: Final = 50_000
"""So many generated elements are in a piece at most."""


@dataclass(frozen=True, slots=True)
class Declared:
    """A source of a stream, as a user names it.

    Attributes:
        kind: how it is read: `file`, or the scheme of its address.
        place: the file, folder, pattern or address.
        rule: where the times of its elements stand, unless they have a place of their own.
    """

    kind: str
    place: str
    rule: TimeRule = SAID_TIME

    @property
    def is_received(self) -> bool:
        """Whether it cannot be read again, so that what comes is kept in a log."""
        return self.kind in RECEIVED

    def log(self, logs: Path) -> Path:
        """Return the folder of the log of what comes."""
        if self.kind == LOG:
            return Path(self.place)
        return logs / xxhash.xxh3_64_hexdigest(self.place.encode())


def declared(source: str) -> Declared:
    """What a source names.

    >>> declared("cars.tnq").kind, declared("kafka://127.0.0.1:9092/cars").kind
    ('file', 'kafka')
    >>> declared("folder?time=source").rule.predicate is None
    True

    Raises:
        SettingError: nothing that can be read.
    """
    kind, colon, rest = source.partition(":")
    known = (*RECEIVED, KAFKA, RATE, LOG)
    if "://" in source.partition("?")[0] and kind not in known:
        raise SettingError(f"expected a file or {listing(known)}: as a source, found '{source}'")
    if not colon or kind not in known:
        path, rule = _with_rule(source) if not Path(source).exists() else (source, SAID_TIME)
        return Declared("file", path, rule)
    place, rule = _with_rule(source)
    if kind == RATE:
        parse_rate(place)
    return Declared(kind, rest.partition("?")[0] if kind == LOG else place, rule)


def _with_rule(source: str) -> tuple[str, TimeRule]:
    """A source without what it says about times, and that: `?time=source` or `?time=IRI`."""
    place, _, query = source.partition("?")
    pairs = parse_qsl(query, keep_blank_values=True)
    times = [value for key, value in pairs if key == "time"]
    others = "&".join(part for part in query.split("&") if part and not part.startswith("time="))
    bare = f"{place}?{others}" if others else place
    if not times:
        return bare, SAID_TIME
    [when] = times[-1:]
    if when in ("source", "arrival"):
        return bare, SOURCE_TIME
    if ":" not in when:
        expected = "expected ?time=source, ?time=arrival or ?time=IRI of a property"
        raise SettingError(f"{expected}, found '{when}' in '{source}'")
    return bare, TimeRule(Iri(when))


@dataclass(frozen=True, slots=True)
class Sources:
    """What each stream is read from, in order: files, folders, patterns, and `rate:`."""

    streams: Mapping[str, Sequence[str]]
    clock: SteadyClock = field(default_factory=SteadyClock, compare=False)
    _times: dict[tuple[str, str], ArrivalTimes] = field(default_factory=dict, compare=False)

    def to_json(self) -> str:
        """As text, for another process."""
        return json.dumps({iri: list(each) for iri, each in self.streams.items()})

    @classmethod
    def from_json(cls, text: str) -> Sources:
        """Out of that text."""
        return cls(json.loads(text))

    def look(self, log: SourceLog, complete: bool) -> None:
        """Add what is new to a log.

        Args:
            log: what is known.
            complete: whether what is there is all there will be.
        """
        files: dict[str, list[Path]] = {}
        for iri, sources in self.streams.items():
            for source in sources:
                if source.startswith(f"{RATE}:"):
                    log.add(self._generate(log, iri, source))
                else:
                    files.setdefault(iri, []).extend(files_of(source, there=False))
        log.look(files, complete)

    def _generate(self, log: SourceLog, iri: str, source: str) -> list[Piece]:
        """Find the elements that a generator makes until now, in pieces that fit into memory."""
        known, rate = log.last_of(iri, source), parse_rate(source).rate
        times = self._times.get((iri, source))
        if times is None:
            last = None if known is None else known.modified + known.stop * SECOND // rate
            times = self._times[iri, source] = ArrivalTimes(self.clock, last)
        now = times.now()
        if known is None:
            return [Piece(0, iri, source, 0, 0, 0, now)]
        stop = (now - known.modified) * rate // SECOND
        return [
            Piece(0, iri, source, first, min(first + _GENERATED, stop), 0, known.modified)
            for first in range(known.stop, stop, _GENERATED)
        ]


def files_of(source: str, there: bool = True) -> list[Path]:
    """Return the files that a source names: a file, those of a folder, or those of a pattern.

    Args:
        source: what names them.
        there: whether there must be one already.

    Raises:
        SettingError: there is none, or it is not of a kind that can be read.
    """
    path = Path(source)
    if path.is_dir():
        found = sorted(each for each in path.iterdir() if each.is_file() and _is_known(each))
    elif path.is_file():
        found = [path]
    else:
        matching = glob.glob(source)  # noqa: PTH207 - a pattern may be absolute
        found = sorted(Path(each) for each in matching if Path(each).is_file())
    if there and not found and not path.is_dir():
        raise SettingError(f"there is no file, folder or pattern '{source}' with RDF in it")
    for each in found:
        format_of_path(each)
        if not os.access(each, os.R_OK):
            raise SettingError(f"cannot read {each}: permission denied")
    return [each.absolute() for each in found]


def _is_known(path: Path) -> bool:
    try:
        format_of_path(path)
    except SettingError:
        return False
    return not path.name.startswith((".", "_"))  # what others are still writing
