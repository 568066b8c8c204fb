"""The log of a stream as pushes meet it: many of them are written and synced as one."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from headrace.arrival_times import SECOND, ArrivalTimes, SteadyClock
from headrace.errors import MachineError
from headrace.ingest.log import (
    RECENT,
    IngestLog,
    LogFull,
    check_segment,
    last_received,
    read_whole,
)
from headrace.ingest.records import Record, heartbeat
from headrace.rdf.formats import Format
from headrace.serve.arriving import Arrived, rule_of
from headrace.serve.catalogue import StreamEntry
from headrace.serve.limits import Limits
from headrace.serve.problems import Problem, busy
from headrace.serve.recent import MOST_BYTES, Recent, seconds_of

_SEGMENT: Final = 8 << 20
_SPAN: Final = 60 * SECOND
"""So much time of arrival is in a segment at most: only whole segments are deleted."""
_MOST_WAITING: Final = 64 << 20
_MOST_AT_ONCE: Final = 4 << 20
_LEAST_SEGMENTS: Final = 2
_MANY: Final = 4
_GATHER: Final = 0.004
_REMEMBERED_SECONDS: Final = 61
_BEAT_AFTER: Final = 1_000_000
_BEAT: Final = Arrived(Format.N_QUADS.media_type, b"", 0)
"""Nothing at a time is a heartbeat."""
Waiting: TypeAlias = tuple[Arrived, asyncio.Future[None]]
"""What is to be written, and who waits for it."""


def _bytes_of(batch: Sequence[Waiting]) -> int:
    """Add up the bytes of what waits for a log."""
    return sum(len(arrived.data) for arrived, _ in batch)


class Inlet:
    """The way into a stream. It belongs to the event loop; only `prune` is for other threads."""

    def __init__(
        self,
        entry: StreamEntry,
        folder: Path,
        limits: Limits,
        threads: Executor,
        clock: SteadyClock,
    ) -> None:
        """Open the log, or make it.

        Args:
            entry: the stream.
            folder: where its log is.
            limits: how large the log may become, and how much is current.
            threads: who writes.
            clock: what time it is.

        Raises:
            HeadraceError: the log cannot be opened.
        """
        self.entry = entry
        # Only whole segments are deleted: there must be several within the quota.
        segment = min(_SEGMENT, max(1, limits.log_bytes // 8))
        self.log = IngestLog(folder, segment=segment, quota=limits.log_bytes, span=_SPAN)
        self.quota = limits.log_bytes
        # What was acknowledged before a restart may be later than the clock is now.
        self.times = ArrivalTimes(clock, self.log.last_received())
        self.recent = Recent(rule_of(entry.time), limits.current_elements, limits.current_seconds)
        self._current = round(limits.current_seconds * SECOND)
        self._ends: dict[Path, int] = {}
        try:
            newest = self._current_segments()
            for path in newest:
                check_segment(path, read_whole(path), 0)
            self.recent.recall(newest)
        except BaseException:
            self.log.close()
            raise
        self._threads = threads
        self._keys: dict[str, None] = dict.fromkeys(self.log.recent_ids)
        self._coming: dict[str, asyncio.Future[None]] = {}
        self._waiting: list[Waiting] = []
        self._waiting_bytes = 0
        self._writer: asyncio.Task[None] | None = None
        self._counts: Counter[int] = Counter()
        self._written = 0
        self.pushed = 0
        self.closing = False
        self._problem: str | None = None
        self._failed_bytes = 0
        self._probing: asyncio.Task[None] | None = None
        self._no_room_for = 0

    # -- pushing -----------------------------------------------------------------------------

    async def push(self, arrived: Arrived) -> bool:
        """Put something into the log; it is on disk when this returns.

        Returns:
            Whether it is new; not if its key was seen before.

        Raises:
            Problem: 429 if there is no room, 404 if the stream is being removed.
        """
        if self.closing:
            raise self._removed()
        key = arrived.key
        if key is not None and key in self._keys:
            return False
        if key is not None and key in self._coming:
            await asyncio.shield(self._coming[key])
            return False
        done = self._enqueue(arrived)
        try:
            if key is None:
                await done
            else:
                self._coming[key] = done
                # A client that goes away must not undo what another one with its key waits for.
                await asyncio.shield(done)
        except LogFull:
            raise self._full() from None
        finally:
            if key is not None:
                self._coming.pop(key, None)
        return True

    def put(self, arrived: Arrived) -> asyncio.Future[None]:
        """Put something without a key into the log; it is on disk when what is returned ends.

        Raises:
            Problem: 429 if there is no room, 404 if the stream is being removed.
        """
        if self.closing:
            raise self._removed()
        return self._enqueue(arrived)

    def _removed(self) -> Problem:
        return Problem(404, f"stream '{self.entry.name}' is being removed")

    def _full(self) -> Problem:
        return busy(f"the log of stream '{self.entry.name}' is full", 1, 429)

    def _enqueue(self, arrived: Arrived) -> asyncio.Future[None]:
        if self._waiting_bytes + len(arrived.data) > _MOST_WAITING and self._waiting:
            raise busy(f"too much is waiting for the log of '{self.entry.name}'", 1, 429)
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        self._waiting.append((arrived, done))
        self._waiting_bytes += len(arrived.data)
        if self._writer is None or self._writer.done():
            self._writer = loop.create_task(self._write())
        return done

    async def _write(self) -> None:
        """Write what is waiting, again and again until nothing is; what comes meanwhile is next."""
        batch: list[Waiting] = []
        while self._waiting:
            if len(batch) >= _MANY:  # more will come at once: a thread for all of them is enough
                await asyncio.sleep(_GATHER)
            batch = self._next_batch()
            try:
                await self._append(batch, urgent=False)
            except LogFull as full:
                self._no_room_for = full.more
                # Heartbeats close windows, and only then may what has filled the log be deleted.
                beats = [each for each in batch if not each[0].elements]
                self._refuse([each for each in batch if each[0].elements], full)
                await self._append_urgent(beats)
            except Exception as error:  # noqa: BLE001 - reported to the clients that wait
                self._problem = str(error)
                self._failed_bytes = _bytes_of(batch)
                self._refuse(batch, error)

    def _next_batch(self) -> list[Waiting]:
        """Take what is waiting, but not very many bytes: lines of a log take more memory."""
        number = size = 0
        while number < len(self._waiting) and (size < _MOST_AT_ONCE or not number):
            size += len(self._waiting[number][0].data)
            number += 1
        batch, self._waiting = self._waiting[:number], self._waiting[number:]
        self._waiting_bytes -= size
        return batch

    async def _append_urgent(self, beats: Sequence[Waiting]) -> None:
        if not beats:
            return
        try:
            await self._append(beats, urgent=True)
        except Exception as error:  # noqa: BLE001 - those who wait are told
            self._refuse(beats, error)

    async def _append(self, batch: Sequence[Waiting], *, urgent: bool) -> None:
        records = [self._record(arrived) for arrived, _ in batch]
        append = partial(self.log.append, records, urgent=urgent)
        lines = await asyncio.get_running_loop().run_in_executor(self._threads, append)
        self._written = records[-1].received
        if _bytes_of(batch) >= self._failed_bytes:  # smaller ones do not show that there is room
            self._problem, self._failed_bytes = None, 0
        if any(arrived.elements for arrived, _ in batch):
            self._no_room_for = 0
        self._taken(batch, lines)

    def _record(self, arrived: Arrived) -> Record:
        now = self.times.now()
        if arrived is _BEAT:
            return heartbeat(now)
        return Record(now, arrived.media_type, arrived.data, arrived.time, arrived.key)

    def _refuse(self, batch: Sequence[Waiting], error: Exception) -> None:
        for _, done in batch:
            if not done.done():
                done.set_exception(error)
                done.exception()  # nobody may be left to hear of it, if the client has gone

    def _taken(self, batch: Sequence[Waiting], lines: Sequence[bytes]) -> None:
        elements = 0
        for arrived, done in batch:
            elements += arrived.elements
            if arrived.key is not None:
                self._keys[arrived.key] = None
            if not done.done():
                done.set_result(None)
        self.recent.extend(
            (line, arrived.elements)
            for (arrived, _), line in zip(batch, lines, strict=True)
            if arrived.elements
        )
        self._count(elements)
        while len(self._keys) > RECENT:
            del self._keys[next(iter(self._keys))]

    def _count(self, elements: int) -> None:
        second = self.times.now() // SECOND
        self._counts[second] += elements
        self.pushed += elements
        if len(self._counts) > 2 * _REMEMBERED_SECONDS:
            for old in [each for each in self._counts if each < second - _REMEMBERED_SECONDS]:
                del self._counts[old]

    async def beat(self) -> None:
        """Say that time goes on although nothing comes; for streams that go by arrival."""
        if not self.closing and self.times.now() - self._written > _BEAT_AFTER:
            await asyncio.shield(self._enqueue(_BEAT))

    # -- what has become of it ---------------------------------------------------------------

    def rates(self) -> list[int]:
        """How many elements came in each of the last 60 whole seconds, the oldest first."""
        return seconds_of(self._counts.items(), self.times.now() // SECOND, 60)

    @property
    def problem(self) -> str | None:
        """Why pushes are refused, after a failed write and until the disk takes writes."""
        return None if self.closing else self._problem

    def probe(self) -> asyncio.Task[None] | None:
        """Find out whether a disk that took no writes does so again; None if it took them."""
        if self.problem is None:
            return None
        # All who ask at once wait for one probe.
        if self._probing is None or self._probing.done():
            self._probing = asyncio.get_running_loop().create_task(self._probe())
        return self._probing

    async def _probe(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._threads, self.log.check_writable, self._failed_bytes)
        except MachineError as error:
            self._problem = str(error)
        else:
            self._problem, self._failed_bytes = None, 0

    @property
    def is_full(self) -> bool:
        """Whether the log still has no room for what was refused last."""
        return self._no_room_for > 0 and self.log.size + self._no_room_for > self.quota

    @property
    def size(self) -> int:
        """The bytes of the log."""
        return self.log.size

    def prune(self, is_needed: Callable[[Path], bool]) -> None:
        """Delete the oldest segments that nobody needs any more.

        Args:
            is_needed: whether somebody may read a segment, by its path.
        """
        later = self.log.size
        for name in self.log.segments[:-1]:
            path = self.log.directory / name
            later -= path.stat().st_size
            if self.closing or is_needed(path) or self._is_current(path, later):
                return
            self.log.prune(name)
            self._ends.pop(path, None)

    def _current_segments(self) -> list[Path]:
        """Find the segments that have the current contents of the stream."""
        found: list[Path] = []
        size = 0
        for name in reversed(self.log.segments):
            path = self.log.directory / name
            if len(found) >= _LEAST_SEGMENTS and not self._is_current(path, size):
                break
            found.append(path)
            size += path.stat().st_size
        return found[::-1]

    def _is_current(self, path: Path, later: int) -> bool:
        """Test whether a full segment has current contents; there are so many bytes after it."""
        if later >= min(MOST_BYTES, self.quota // 4):
            return False
        if path not in self._ends:
            self._ends[path] = last_received([path]) or 0
        return self._ends[path] >= self.times.last - self._current

    async def close(self) -> None:
        """Write what is waiting, and let go of the log."""
        self.closing = True
        for task in (self._writer, self._probing):
            if task is not None:
                await task
        self.log.close()
