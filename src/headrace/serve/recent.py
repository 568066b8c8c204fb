"""The current contents of a stream: the latest of its elements, as its log has them."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from threading import Lock
from typing import Final

import polars as pl

from headrace.kernel.columns import GRAPH, OBJECT, POSITION, PREDICATE, SUBJECT, TIME
from headrace.rdf.columns import TimedColumns
from headrace.rdf.formats import Format
from headrace.rdf.options import LOG_LIMITS, ReadOptions
from headrace.rdf.streams import read_stream
from headrace.rdf.timestamps import TimeRule

MOST_BYTES: Final = 32 << 20
_SECOND: Final = 1_000_000


class Recent:
    """The last lines of a log, and what they say when somebody asks."""

    def __init__(self, rule: TimeRule, most: int, seconds: float) -> None:
        """Begin with nothing.

        Args:
            rule: where the times of elements stand.
            most: how many elements are current.
            seconds: how much older than the newest they may be.
        """
        self._rule = rule
        self._most = most
        self._age = int(seconds * _SECOND)
        self._guard = Lock()
        self._lines: deque[tuple[bytes, int]] = deque()
        self._elements = 0
        self._bytes = 0
        self._version = 0
        self._read: tuple[int, int, TimedColumns] | None = None

    def extend(self, lines: Iterable[tuple[bytes, int]]) -> None:
        """Take lines of the log, each with the number of its elements."""
        with self._guard:
            for each in lines:
                self._lines.append(each)
                self._elements += each[1]
                self._bytes += len(each[0])
            self._version += 1
            while len(self._lines) > 1 and (
                self._elements - self._lines[0][1] >= self._most or self._bytes > MOST_BYTES
            ):
                old, number = self._lines.popleft()
                self._elements -= number
                self._bytes -= len(old)

    def recall(self, segments: Sequence[Path]) -> None:
        """Take the ends of the segments of a log, the last one last."""
        lines: deque[bytes] = deque()
        size = 0
        for path in reversed(segments):
            for line in reversed(path.read_bytes().splitlines(keepends=True)):
                if size > MOST_BYTES or len(lines) >= self._most:
                    break
                lines.appendleft(line)
                size += len(line)
        self.extend((line, 1 if b'"data"' in line or b'"base64"' in line else 0) for line in lines)

    def columns(self, seed: int = 0) -> TimedColumns:
        """The current elements as columns; what cannot be read is left out."""
        with self._guard:
            version, data = self._version, b"".join(line for line, _ in self._lines)
        if self._read is None or self._read[:2] != (version, seed):
            found = read_stream(
                data,
                Format.NDJSON,
                seed=seed,
                rule=self._rule,
                options=ReadOptions(limits=LOG_LIMITS),
                on_error=lambda _error: None,
            )
            self._read = (version, seed, self._current(found))
        return self._read[2]

    def _current(self, found: TimedColumns) -> TimedColumns:
        """Those that are new enough, and not too many."""
        elements = found.elements.with_row_index("place").filter(pl.col("size") > 0)
        if elements.is_empty():
            return TimedColumns(found.statements.clear(), found.elements.clear(), found.terms)
        newest = elements[TIME].max()
        assert isinstance(newest, int), "there is one"
        kept = elements.filter(pl.col(TIME) > newest - self._age).tail(self._most)
        statements = found.statements.filter(pl.col(POSITION).is_in(kept["place"].implode()))
        return TimedColumns(statements, kept.drop("place"), found.terms)

    def elements(self, last: int) -> list[tuple[int, str]]:
        """The last elements, each with its time and its statements as N-Quads."""
        found = self.columns()
        texts = dict(found.terms.select("id", "text").iter_rows())
        by_place: dict[int, list[str]] = {}
        times: dict[int, int] = {}
        names = [POSITION, TIME, SUBJECT, PREDICATE, OBJECT, GRAPH]
        for place, time, *spoken in found.statements.select(names).iter_rows():
            words = [texts[each] for each in spoken if each is not None]
            by_place.setdefault(place, []).append(" ".join([*words, ".\n"]))
            times[place] = time
        latest = list(by_place)[-last:] if last else []
        return [(times[place], "".join(by_place[place])) for place in latest]

    def envelopes(self) -> bytes:
        """The current elements as NDJSON, each whole, in the order of their times."""
        found = sorted(self.elements(self._most), key=lambda each: each[0])
        return "".join(envelope(time, quads) for time, quads in found).encode()


def envelope(time: int, quads: str) -> str:
    r"""An element as a line of NDJSON.

    >>> envelope(1_500_000, "<x:a> <x:b> <x:c> .")
    '{"time": 1500.0, "data": "<x:a> <x:b> <x:c> ."}\n'
    """
    return json.dumps({"time": time / 1000, "data": quads}) + "\n"


def seconds_of(counts: Iterable[tuple[int, int]], now: int, number: int) -> list[int]:
    """How many there were in each of the last whole seconds, the oldest first.

    >>> seconds_of([(7, 3), (9, 1)], 10, 4)
    [0, 3, 0, 1]
    """
    known = dict(counts)
    return [known.get(second, 0) for second in range(now - number, now)]
