"""A thread that receives from somewhere, connects again when it must, and says how it is."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, TypeAlias

from headrace.arrival_times import ArrivalTimes, SteadyClock
from headrace.errors import DataError, HeadraceError, InternalError, SettingError
from headrace.ingest.log import IngestLog, LogFull
from headrace.ingest.records import Record, heartbeat
from headrace.rdf.formats import Format, format_of_media_type
from headrace.rdf.timed import read_timed
from headrace.timed_waits import wait_for_event

BeatRule: TypeAlias = Callable[[int, int], bool]
"""Tests whether a heartbeat is due, from the last time in the log and the present."""

_FIRST_DELAY: Final = 0.1
_LONGEST_DELAY: Final = 10.0
_ROOM_DELAY: Final = 0.2
_BEAT_WAIT: Final = 0.1


class Receiver(ABC):
    """Puts what one source sends into a log."""

    def __init__(self, log: IngestLog, clock: SteadyClock | None) -> None:
        """Receive nothing yet; without a clock, it is that of this machine."""
        self._log = log
        last = log.last_received()
        self._arrivals = ArrivalTimes(clock or SteadyClock(), last)
        self._stopping = threading.Event()
        self._ready = threading.Event()
        self._thread: threading.Thread | None = None
        self._delay = _FIRST_DELAY
        self._problem: HeadraceError | None = None
        self._trouble: str | None = None
        self._beat_rule: BeatRule | None = None
        self._written = last or 0
        self._says_times = _says_time(log.last_record())

    def schedule_heartbeats(self, rule: BeatRule) -> None:
        """Write heartbeats where nothing comes, so that windows close; call it before `start`."""
        self._beat_rule = rule

    @property
    def goes_by_arrival(self) -> bool:
        """True if its messages have no time but that of their arrival, as far as is known."""
        return self._says_times is False

    @property
    @abstractmethod
    def source(self) -> str:
        """What it receives from, for messages."""

    @property
    def problem(self) -> HeadraceError | None:
        """Why it has stopped by itself; None while it goes on."""
        return self._problem

    @property
    def trouble(self) -> str | None:
        """What keeps it from receiving just now, though it goes on trying."""
        return self._trouble

    def start(self) -> None:
        """Begin to receive, in a thread of its own.

        Raises:
            InternalError: it is receiving already.
        """
        if self._thread is not None:
            raise InternalError("a receiver was started twice")
        self._stopping.clear()
        self._problem = None
        self._thread = threading.Thread(target=self._run, name=type(self).__name__, daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Whether it is connected, after at most so long a wait."""
        return wait_for_event(self._ready, seconds)

    def stop(self) -> None:
        """End; what has arrived until then is in the log, if the log takes it."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._receive()
            except HeadraceError as error:
                self._problem = error
                return
            except OSError as error:
                self._trouble = error.strerror or str(error)
            except Exception as error:  # noqa: BLE001 - a thread has nobody to raise it to
                self._problem = InternalError(f"{type(self).__name__}: {error!r}")
                return
            finally:
                self._ready.clear()
            self._wait_with_heartbeats(self._delay)
            self._delay = min(2 * self._delay, _LONGEST_DELAY)

    def _now(self) -> int:
        """Return the time of arrival, which never goes back."""
        return self._arrivals.now()

    def _write_heartbeat(self) -> None:
        """Write a heartbeat if one is due; not while something is stamped that is not written.

        It is of the thread that stamps and writes what comes, so that times rise in the log.
        """
        if self._beat_rule is None or not self.goes_by_arrival:
            return
        now = self._now()
        if not self._beat_rule(self._written, now):
            return
        with suppress(LogFull):  # there is enough to read
            self._log.append([heartbeat(now)], urgent=True)
            self._written = now

    def _wait_with_heartbeats(self, seconds: float) -> None:
        """Wait for some time, or until it is stopped; time goes on for those who read."""
        while seconds > 0 and not wait_for_event(self._stopping, min(seconds, _BEAT_WAIT)):
            seconds -= _BEAT_WAIT
            self._write_heartbeat()

    def _connected(self) -> None:
        self._trouble = None
        self._ready.set()

    def _record(self, records: Sequence[Record]) -> bool:
        """Put records into the log; while it is full, wait, and so make the sender wait.

        Returns:
            Whether they are there; they are not if it was stopped before there was room.
        """
        while True:
            try:
                self._log.append(records)
            except LogFull as full:
                self._trouble = str(full)
                if wait_for_event(self._stopping, _ROOM_DELAY):
                    return False
            else:
                # A connection that only fails again and again does not get here.
                self._delay = _FIRST_DELAY
                self._trouble = None
                self._written = records[-1].received
                self._says_times = self._says_times or any(map(_says_time, records))
                return True

    @abstractmethod
    def _receive(self) -> None:
        """Connect, and receive until told to stop or until the connection fails.

        Raises:
            OSError: the connection failed; it is tried again.
            HeadraceError: it would fail again, or the log is broken.
        """


def _says_time(record: Record | None) -> bool | None:
    """Test whether a record may have a time of its own; None without a record."""
    if record is None or not record.data:
        return None if record is None else False
    try:
        form = format_of_media_type(record.media_type)
    except SettingError:
        return False  # nothing can read it
    if form is Format.TIMED_N_QUADS:  # a line without its begin says none
        return any(True for _ in read_timed(record.data, on_error=_ignore))
    in_envelope = form is Format.NDJSON and b'"time"' in record.data
    return in_envelope or record.time is not None


def _ignore(_error: DataError) -> None:
    """Leave it to the reader of the log to report what is wrong."""
