"""Lines from a TCP connection, into a log.

What was sent while nobody was connected is lost, and so is what had arrived but was not on disk
when the process was killed: TCP tells the sender that bytes were received, not that they were
kept. What is in the log is there once, in the order in which it was sent.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator
from itertools import groupby
from time import monotonic
from typing import Final

from headrace.arrival_times import SteadyClock
from headrace.errors import DataError, SettingError, listing
from headrace.ingest.log import IngestLog
from headrace.ingest.receiving import Receiver
from headrace.ingest.records import Record
from headrace.ingest.urls import parse_url
from headrace.rdf.formats import Format, format_of_media_type

LONGEST_LINE: Final = 16_000_000
"""A longer line is no element that a reader would accept."""

GROUP: Final = 1_000_000
"""So many bytes go into a record, or more if they are of one time."""

LONGEST_GROUP: Final = 2_000_000
"""More only if they are one line: a reader refuses a record that is too long in JSON as a whole."""

_LACKS_TIME: Final = re.compile(rb"^[ \t]*(?:<|_:)", re.MULTILINE)
"""The begin of a line that is a statement without a time before it."""

_PAUSE: Final = 0.05
_CONNECT: Final = 10.0
_CHUNK: Final = 1 << 16


class TcpReceiver(Receiver):
    """Connects to a server and takes the lines it sends.

    A record has as many lines as have arrived, unless they are N-Triples or N-Quads: those have
    no times, so that lines in one record would be one element, and each has a record of its own.
    Lines of timed N-Quads with the same time stay together, because they may be one element,
    unless the sender pauses between them or they are very many.
    """

    def __init__(
        self,
        url: str,
        log: IngestLog,
        *,
        on_refused: Callable[[DataError], None] | None = None,
        clock: SteadyClock | None = None,
    ) -> None:
        """Receive nothing yet.

        Args:
            url: `tcp://HOST:PORT`, and `?type=MEDIA-TYPE`; without a type, a line is timed N-Quads,
                or N-Quads if it begins with a term in place of a time.
            log: where they go.
            on_refused: told of lines that are not taken, in the thread that receives.
            clock: says when something arrives; that of this machine if None.

        Raises:
            SettingError: the URL is wrong, or the type is none that is written in lines.
        """
        super().__init__(log, clock)
        self._url = parse_url(url, {"tcp": None}, ["type"])
        if self._url.path or self._url.user is not None:
            raise SettingError(f"expected only a host and a port in a tcp URL, found '{self._url}'")
        self._media_type = self._url.options.get("type", Format.TIMED_N_QUADS.media_type)
        self._syntax = format_of_media_type(self._media_type)
        if not self._syntax.by_line:
            known = listing(form.media_type for form in Format if form.by_line)
            raise SettingError(
                f"expected a type that is written in lines ({known}), found '{self._media_type}'"
            )
        self._may_lack_times = "type" not in self._url.options
        self._on_refused = on_refused
        self._refused = 0
        self._one_by_one = self._syntax in (Format.N_TRIPLES, Format.N_QUADS)
        if self._one_by_one:  # their lines have no place for a time
            self._says_times = False

    @property
    def source(self) -> str:
        """The server."""
        return str(self._url)

    @property
    def refused(self) -> int:
        """How many lines were not taken, because they were too long or had no end."""
        return self._refused

    def _receive(self) -> None:
        address = (self._url.host, self._url.port)
        with socket.create_connection(address, timeout=_CONNECT) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            connection.settimeout(_PAUSE)
            self._connected()
            lines = LineBuffer(LONGEST_LINE, timed=self._syntax is Format.TIMED_N_QUADS)
            try:
                self._receive_lines(connection, lines)
            finally:
                self._keep(lines.take(everything=True))
                if lines.unfinished:
                    self._refuse("the connection ended within a line")
        if not self._stopping.is_set():
            raise ConnectionError("the server has closed the connection")

    def _receive_lines(self, connection: socket.socket, lines: LineBuffer) -> None:
        kept = monotonic()
        while not self._stopping.is_set():
            try:
                data = connection.recv(_CHUNK)
            except TimeoutError:
                self._keep(lines.take(everything=True))
                self._write_heartbeat()
                continue
            if not data:
                return
            if lines.feed(data):
                self._refuse(f"expected lines of at most {LONGEST_LINE:,} bytes")
            if lines.size >= GROUP or monotonic() - kept >= _PAUSE:
                self._keep(lines.take(everything=False))
                kept = monotonic()

    def _keep(self, text: bytes) -> None:
        now = self._now()
        records = [Record(now, media_type, group) for media_type, group in self._groups(text)]
        if records:
            self._record(records)

    def _groups(self, text: bytes) -> Iterator[tuple[str, bytes]]:
        """What goes into each record, and its type."""
        if self._one_by_one:
            yield from ((self._media_type, line) for line in _statements(text))
            return
        for lacks_times, part in _by_times(text) if self._may_lack_times else ((False, text),):
            if lacks_times:
                yield from ((Format.N_QUADS.media_type, line) for line in _statements(part))
            else:  # a group of comments alone is no message
                groups = (group for group in _groups(part) if any(_statements(group)))
                yield from ((self._media_type, group) for group in groups)

    def _refuse(self, problem: str) -> None:
        self._refused += 1
        self._record([Record(self._now(), self._media_type, b"", problem=problem)])
        if self._on_refused is not None:
            self._on_refused(DataError(problem, str(self._url)))


class LineBuffer:
    """Bytes as they arrive, given out as whole lines."""

    def __init__(self, longest: int, *, timed: bool) -> None:
        """Hold nothing yet.

        Args:
            longest: how many bytes a line may have.
            timed: whether lines begin with times, and those of one time stay together.
        """
        self._longest = longest
        self._timed = timed
        self._whole = bytearray()
        self._begun = bytearray()
        self._skipping = False

    @property
    def size(self) -> int:
        """The bytes of its whole lines."""
        return len(self._whole)

    @property
    def unfinished(self) -> bool:
        """Whether a line has begun and not ended."""
        return bool(self._begun)

    def feed(self, data: bytes) -> bool:
        """Add what has arrived, which is no longer than a line may be.

        Returns:
            Whether a line was found to be too long; it is skipped to its end.
        """
        if self._skipping:
            _, end, data = data.partition(b"\n")
            self._skipping = not end
        first, end, rest = data.partition(b"\n")
        self._begun += first
        too_long = len(self._begun) > self._longest
        if too_long:
            self._begun.clear()
            self._skipping = not end
        elif end:
            self._whole += self._begun + end
            self._begun.clear()
        if end:
            last = rest.rfind(b"\n") + 1
            self._whole += rest[:last]
            self._begun += rest[last:]
        return too_long

    def take(self, *, everything: bool) -> bytes:
        """Give its whole lines, and hold them no more.

        Args:
            everything: also the last ones of one time, though more of that time may follow.
        """
        end = len(self._whole)
        if self._timed and not everything and end < LONGEST_GROUP:
            end = _last_time(self._whole)
        taken = bytes(self._whole[:end])
        del self._whole[:end]
        return taken


def _last_time(lines: bytes | bytearray) -> int:
    r"""Where the last lines of one time begin.

    >>> _last_time(b"1\ta\n2\tb\n2\tc\n")
    4
    """
    start = lines.rfind(b"\n", 0, len(lines) - 1) + 1
    time = _time(lines, start)
    if _time(lines, 0) == time:  # so it would be found in the end, after a walk through all lines
        return 0
    while _time(lines, before := lines.rfind(b"\n", 0, start - 1) + 1) == time:
        start = before
    return start


def _statements(lines: bytes) -> Iterator[bytes]:
    """The lines that are neither empty nor a comment."""
    for line in lines.splitlines(keepends=True):
        start = line.lstrip()
        if start and not start.startswith(b"#"):
            yield line


def _by_times(lines: bytes) -> Iterator[tuple[bool, bytes]]:
    r"""Adjacent lines that begin with a term, which are N-Quads, and others, which have times.

    >>> list(_by_times(b"<x:a> <x:b> 1 .\n_:c <x:b> 2 .\n1000\t<x:a> <x:b> 3 .\n"))
    [(True, b'<x:a> <x:b> 1 .\n_:c <x:b> 2 .\n'), (False, b'1000\t<x:a> <x:b> 3 .\n')]
    """
    if not _LACKS_TIME.search(lines):
        yield False, lines
        return
    parts = groupby(lines.splitlines(keepends=True), lambda line: bool(_LACKS_TIME.match(line)))
    yield from ((lacks_times, b"".join(part)) for lacks_times, part in parts)


def _groups(lines: bytes) -> Iterator[bytes]:
    """The lines in groups of about one size, cut where the time changes if that is near."""
    start = 0
    while start < len(lines):
        end = lines.rfind(b"\n", start, start + GROUP) + 1 or lines.find(b"\n", start) + 1
        time = _time(lines, lines.rfind(b"\n", start, end - 1) + 1 or start)
        while end < len(lines) and _time(lines, end) == time:
            following = lines.find(b"\n", end) + 1
            if following - start > LONGEST_GROUP:
                break
            end = following
        yield lines[start:end]
        start = end


def _time(lines: bytes | bytearray, start: int) -> bytes:
    """What stands before the tab of a line, or all of the line if it has none."""
    end = lines.find(b"\n", start)
    tab = lines.find(b"\t", start, end)
    return bytes(lines[start : end if tab < 0 else tab])
